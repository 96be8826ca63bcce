"""Whether the ends of a network reach each other; pure."""

from collections.abc import Iterator
from itertools import pairwise

from fabricgauge.configure.job import Draft
from fabricgauge.model.absence import Skipped
from fabricgauge.model.configuration import Step, Verification
from fabricgauge.model.finding import Command

#: Enough that a lost one shows, few enough to wait for; iputils and busybox know both options.
COUNT, WAIT_S = 3, 2

#: IPv4's header without options (RFC 791) and that of an ICMP echo (RFC 792).
_HEADERS_BYTES = 20 + 8

#: A node keeps the adapter that had an address before for up to 45 s, then asks it for 8 s more
#: (arp(7): base_reachable_time_ms times 0.5 to 1.5, delay_first_probe_time, ucast_solicit).
PATIENCE_S = 60.0


def steps(job: Draft) -> Iterator[Step]:
    """For each network a check along its row of nodes, each neighbour both ways."""
    for wanted in job.wanted:
        reason = "addresses that are right on each node alone do not make a network"
        words = ["-c", str(COUNT), "-W", str(WAIT_S)]
        if not isinstance(wanted.mtu_bytes, Skipped):  # a node itself never cuts such packets
            reason += f", and a switch between may drop packets of {wanted.mtu_bytes} bytes"
            words += ["-s", str(wanted.mtu_bytes - _HEADERS_BYTES)]
        pings = tuple(
            Verification(
                Command(one.node, ("ping", *words, "-I", one.interface, other.ip)),
                " 0% packet loss", patience_s=PATIENCE_S,
            )
            for pair in pairwise(wanted.ports)
            for one, other in (pair, pair[::-1])
        )  # fmt: skip
        if pings:
            yield Step(
                f"See that the ends of {wanted.name} reach each other", reason, verify=pings,
                undo_note="it changes nothing", follows=True,
            )  # fmt: skip
