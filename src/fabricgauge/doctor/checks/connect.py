"""Can every node open TCP connections to every other, and do bytes arrive?"""

from collections.abc import Iterator

from fabricgauge.doctor.check import Check, found, untried
from fabricgauge.doctor.places import Cluster
from fabricgauge.doctor.reachability import dead
from fabricgauge.model.connectivity import Connectivity, FailedConnection
from fabricgauge.model.finding import CONNECT as ID
from fabricgauge.model.finding import Finding, Severity

_HOW = {
    "no answer": "no answer in 3.5 s",
    "refused": "refused",
    "no data": "connected, then no data arrived",
}

_LOST = (
    "on the source: ip route get ADDRESS, ip neigh show ADDRESS; on both ends: firewall rules for"
    " TCP ports from 32768 to 60999; then cable, switch port and VLAN"
)
_NO_DATA = (
    "small packets pass and large ones do not: compare the MTU of both interfaces and of the"
    " switch ports (fabricgauge doctor --only mtu)"
)
_UNTRIED = (
    "let the nodes share the cache directory of the machine that asks ($XDG_CACHE_HOME, ~/.cache),"
    " which holds the program that connects"
)
_TAKEN = "give each node an address of its own; look for a second node with this one"


def _broken(cluster: Cluster, rounds: tuple[Connectivity, ...]) -> Iterator[Finding]:
    for of in rounds:
        if of.silent:
            many = f"{len(of.silent)} of {len(of.tried)} nodes"
            yield found(
                Severity.WARN, of.network, f"nothing is known of the connections of {many}",
                *(f"{node}: {reason}" for node, reason in of.silent.items()),
                remedy=_UNTRIED, nodes=tuple(of.silent), network=of.network,
            )  # fmt: skip
        for one in dead(of):
            everywhere = one.kind == "network"
            where = of.network if everywhere else cluster.where(of.network, one.named)
            remedy = _TAKEN if one.kind == "address" else _LOST
            if all(each.how == "no data" for each in one.evidence):
                remedy = _NO_DATA
            yield found(
                Severity.FAIL, where, one.what, *map(_line, one.evidence), remedy=remedy,
                nodes=one.nodes, network=of.network,
            )  # fmt: skip


def _line(one: FailedConnection) -> str:
    how = {"other node": f"{one.answered_by} answered", "error": one.said, **_HOW}[one.how]
    return f"{one.source} ({one.source_ip}) → {one.target} ({one.target_ip}): {how}"


CONNECT = Check(
    ID,
    "Every node can open TCP connections to every other",
    "MPI opens the same connections: a job over these nodes hangs or aborts.",
    lambda cluster: cluster.preflight.connectivity,
    untried(ID, "no connection was tried"),
    _broken,
    reads=("connect",),
)
