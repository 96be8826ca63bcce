"""Can every node open TCP connections to every other, and do bytes arrive?"""

from collections.abc import Iterator
from statistics import median

from fabricgauge.doctor.check import Check, found, untried
from fabricgauge.doctor.places import Cluster
from fabricgauge.doctor.reachability import find_connection_faults
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


#: A node starts late if its program takes this much longer than twice the usual node's. A login
#: takes well under a second; a lookup of DNS that times out takes 5 s (resolv.conf(5), timeout).
#: Twice: one machine that starts many logins has some wait for others, evenly.
LATE_S = 3.0
_LATE = (
    "on the node: time how long a login and a first command take; look at DNS, PAM, the automounter"
    " and a home directory that answers late"
)
_LATE_WHY = "Every launch waits for it; a job that is started in a short time may be given up."


def _broken(cluster: Cluster, rounds: tuple[Connectivity, ...]) -> Iterator[Finding]:
    yield from _late(rounds)
    for of in rounds:
        if of.silent:
            many = f"{len(of.silent)} of {len(of.tried)} nodes"
            yield found(
                Severity.WARN, of.network, f"nothing is known of the connections of {many}",
                *(f"{node}: {reason}" for node, reason in of.silent.items()),
                remedy=_UNTRIED, nodes=tuple(of.silent), network=of.network,
            )  # fmt: skip
        for one in find_connection_faults(of):
            everywhere = one.kind == "network"
            where = of.network if everywhere else cluster.where(of.network, one.named)
            remedy = _TAKEN if one.kind == "address" else _LOST
            if all(each.how == "no data" for each in one.evidence):
                remedy = _NO_DATA
            yield found(
                Severity.FAIL, where, one.summary, *map(_line, one.evidence), remedy=remedy,
                nodes=one.nodes, network=of.network,
            )  # fmt: skip


def _late(rounds: tuple[Connectivity, ...]) -> Iterator[Finding]:
    """Nodes whose programs start late, each once: no connection is tried before they listen."""
    late: dict[str, Finding] = {}
    for of in rounds:
        usual_s = median(of.start_s.values()) if of.start_s else 0.0
        for node, start_s in of.start_s.items():
            if start_s > 2 * usual_s + LATE_S and node not in late:
                late[node] = found(
                    Severity.WARN, node, f"starts late: {start_s:.0f} s after its command",
                    f"{node}: its program listened {start_s:.1f} s after its command, that of the"
                    f" usual node {usual_s:.1f} s",
                    remedy=_LATE, why=_LATE_WHY, nodes=(node,),
                )  # fmt: skip
    yield from late.values()


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
