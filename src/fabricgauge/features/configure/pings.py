"""Check that the ends of a network reach each other; pure."""

from collections.abc import Iterator
from itertools import pairwise

from fabricgauge.features.configure.job import Draft
from fabricgauge.features.configure.values import Step, Verification
from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Command

#: Enough that a lost one shows, few enough to wait for; iputils and busybox know both options.
COUNT, WAIT_S = 3, 2

#: IPv4's header without options (RFC 791) and that of an ICMP echo (RFC 792).
_HEADERS_BYTES = 20 + 8

#: A node keeps the former adapter of an address for up to 45 s, then probes it for 8 s more
#: (arp(7): base_reachable_time_ms times 0.5 to 1.5, delay_first_probe_time, ucast_solicit).
PATIENCE_S = 60.0


def steps(job: Draft) -> Iterator[Step]:
    """Yield for each network pings along its row of nodes, both ways between neighbours."""
    for network in job.wanted:
        reason = "correct addresses on each node do not prove that the network works"
        words = ["-c", str(COUNT), "-W", str(WAIT_S)]
        if not isinstance(network.mtu_bytes, Skipped):  # a node does not fragment such packets
            reason += f", and a switch may drop packets of {network.mtu_bytes} bytes"
            words += ["-s", str(network.mtu_bytes - _HEADERS_BYTES)]
        pings = tuple(
            Verification(
                Command(sender.node, ("ping", *words, "-I", sender.interface, receiver.ip)),
                " 0% packet loss", patience_s=PATIENCE_S,
            )
            for pair in pairwise(network.ports)
            for sender, receiver in (pair, pair[::-1])
        )  # fmt: skip
        if pings:
            yield Step(
                f"Check that the ends of {network.name} reach each other", reason, verify=pings,
                undo_note="it changes nothing", follows=True,
            )  # fmt: skip
