"""Whether the ends of a network reach each other; pure."""

from collections.abc import Iterator
from itertools import pairwise

from fabricgauge.configure.job import PlanInput
from fabricgauge.model.absence import Skipped
from fabricgauge.model.configuration import Step, Verification, WantedNetwork, WantedPort
from fabricgauge.model.finding import Command

#: Enough that a lost one shows, few enough to wait for; iputils and busybox know both options.
COUNT, WAIT_S = 3, 2

#: IPv4's header without options (RFC 791) and that of an ICMP echo (RFC 792).
_HEADERS_BYTES = 20 + 8

#: A node keeps the adapter that had an address before for up to 45 s, then asks it for 8 s more
#: (arp(7): base_reachable_time_ms times 0.5 to 1.5, delay_first_probe_time, ucast_solicit).
PATIENCE_S = 60.0


def steps(job: PlanInput) -> Iterator[Step]:
    """For each network a check along its row of nodes, each neighbour both ways."""
    for wanted in job.wanted:
        pairs = [*_neighbours(wanted.ports)]
        if pairs:
            yield Step(
                f"See that the ends of {wanted.name} reach each other",
                _reason(wanted),
                (),
                tuple(_ping(wanted, one, other) for one, other in pairs),
                (),
                undo_note="it changes nothing",
                follows=True,
            )


def _neighbours(ports: tuple[WantedPort, ...]) -> Iterator[tuple[WantedPort, WantedPort]]:
    for one, other in pairwise(ports):
        yield one, other
        yield other, one


def _ping(wanted: WantedNetwork, one: WantedPort, other: WantedPort) -> Verification:
    count = ("-c", str(COUNT), "-W", str(WAIT_S), *_long(wanted))
    words = ("ping", *count, "-I", one.interface, other.ip)
    return Verification(Command(one.node, words), " 0% packet loss", patience_s=PATIENCE_S)


def _reason(wanted: WantedNetwork) -> str:
    alone = "addresses that are right on each node alone do not make a network"
    if isinstance(wanted.mtu_bytes, Skipped):
        return alone
    return f"{alone}, and a switch between may drop packets of {wanted.mtu_bytes} bytes"


def _long(wanted: WantedNetwork) -> tuple[str, ...]:
    """Packets as long as the MTU, which a node itself never cuts."""
    if isinstance(wanted.mtu_bytes, Skipped):
        return ()
    return ("-s", str(wanted.mtu_bytes - _HEADERS_BYTES))
