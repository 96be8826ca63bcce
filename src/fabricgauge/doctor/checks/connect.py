"""Can every node open TCP connections to every other, and do bytes arrive?"""

from collections.abc import Iterator

from fabricgauge.doctor.check import Check, found, untried
from fabricgauge.doctor.places import Cluster
from fabricgauge.doctor.reachability import Dead, DeadNetwork, DeadNode, TakenAddress, dead
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
_TAKEN = "give each node an address of its own; look for a second node with this one"


def _dead(cluster: Cluster, rounds: tuple[Connectivity, ...]) -> Iterator[Finding]:
    for of in rounds:
        for one in dead(of):
            what, nodes = _told(one)
            named = nodes[:1] if isinstance(one, TakenAddress) else nodes
            where = of.network if isinstance(one, DeadNetwork) else cluster.where(of.network, named)
            remedy = _TAKEN if isinstance(one, TakenAddress) else _LOST
            if all(each.how == "no data" for each in one.evidence):
                remedy = _NO_DATA
            yield found(
                Severity.FAIL, where, what, *map(_line, one.evidence), remedy=remedy, nodes=nodes,
                network=of.network,
            )  # fmt: skip


def _told(one: Dead) -> tuple[str, tuple[str, ...]]:
    """What is wrong, and the nodes to touch."""
    if isinstance(one, DeadNode):
        failing = f"{len(one.failing)} of {one.partners} nodes"
        what = {
            "both ways": f"no TCP connection works between it and {failing}",
            "to it": f"{failing} cannot connect to it; it can connect to them",
            "from it": f"it cannot connect to {failing}; they can connect to it",
        }[one.way]
        return what, (one.node,)
    if isinstance(one, TakenAddress):
        return f"{one.answered_by} answers at its address {one.ip}", (one.node, one.answered_by)
    if isinstance(one, DeadNetwork):
        return "no TCP connection works between any two nodes", one.nodes
    what = f"{one.source} cannot connect to {one.target}; the other way works"
    if one.both_ways:
        what = "no TCP connection works between them"
    return what, (one.source, one.target)


def _line(one: FailedConnection) -> str:
    how = {"other node": f"{one.answered_by} answered", "error": one.said, **_HOW}[one.how]
    return f"{one.source} ({one.source_ip}) → {one.target} ({one.target_ip}): {how}"


CONNECT = Check(
    ID,
    "Every node can open TCP connections to every other",
    "MPI opens the same connections: a job over these nodes hangs or aborts.",
    lambda cluster: cluster.preflight.connectivity,
    untried(ID, "no connection was tried"),
    _dead,
    reads=("connect",),
)
