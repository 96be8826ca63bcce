"""Can every node open TCP connections to every other node, and do bytes arrive?"""

from collections.abc import Iterator
from statistics import median

from fabricgauge.doctor.checks import Check, explain_untried, make_finding
from fabricgauge.doctor.places import Cluster
from fabricgauge.doctor.reachability import find_connection_faults
from fabricgauge.model.finding import CONNECT as ID
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.preflight import Connectivity, FailedConnection
from fabricgauge.model.words import sentences

_OUTCOMES = {
    "no answer": "no answer in 3.5 s",
    "refused": "refused",
    "no data": "connected, then no data arrived",
}

_LOST = (
    "on the source: ip route get ADDRESS, ip neigh show ADDRESS; on both ends: firewall rules for"
    " TCP ports from 32768 to 60999; then cable, switch port and VLAN"
)
_NO_DATA = (
    "compare the MTU of both interfaces and of the switch ports (fabricgauge doctor --only mtu):"
    " small packets pass and large ones do not"
)
_NOT_STARTED = (
    "let the node start a program: unless it shares the cache directory of the machine that runs"
    " doctor, one of 1 MB is carried to /tmp or the home; make room there, or mount it without"
    " noexec"
)
_SAME_ADDRESS = "give each node its own address; look for a second node with this address"


#: A node starts late if its program takes this much longer than twice the usual node's. A login
#: takes well under a second; a lookup of DNS that times out takes 5 s (resolv.conf(5), timeout).
#: Twice: a machine that starts many logins delays them evenly.
LATE_S = 3.0
_LATE = (
    "on the node: time a login and a first command; look at DNS, PAM, the automounter and a slow"
    " home directory"
)
_LATE_WHY = "Every launch waits for it; a launcher with a short time limit gives the job up."


def _examine_rounds(cluster: Cluster, rounds: tuple[Connectivity, ...]) -> Iterator[Finding]:
    yield from _find_late_nodes(rounds)
    for connectivity in rounds:
        network = connectivity.network
        if connectivity.silent:
            silent = sentences.folded(connectivity.silent)
            share = f"{len(connectivity.silent)} of {len(connectivity.tried)} nodes"
            yield make_finding(
                Severity.WARN, network, f"the connections of {silent} are unknown ({share})",
                *(f"{node}: {reason}" for node, reason in connectivity.silent.items()),
                remedy=_NOT_STARTED, nodes=tuple(connectivity.silent), network=network,
            )  # fmt: skip
        for fault in find_connection_faults(connectivity):
            is_network = fault.kind == "network"
            label = network if is_network else cluster.name_nodes(network, fault.named)
            remedy = _SAME_ADDRESS if fault.kind == "address" else _LOST
            if all(failure.how == "no data" for failure in fault.evidence):
                remedy = _NO_DATA
            yield make_finding(
                Severity.FAIL, label, fault.summary, *map(_describe_failure, fault.evidence),
                remedy=remedy, nodes=fault.nodes, network=network,
            )  # fmt: skip


def _find_late_nodes(rounds: tuple[Connectivity, ...]) -> Iterator[Finding]:
    """Report each node once whose program listens late: all connections wait for it."""
    late: dict[str, Finding] = {}
    for connectivity in rounds:
        usual_s = median(connectivity.start_s.values()) if connectivity.start_s else 0.0
        for node, start_s in connectivity.start_s.items():
            if start_s > 2 * usual_s + LATE_S and node not in late:
                late[node] = make_finding(
                    Severity.WARN, node,
                    f"starts late: {start_s:.0f} s after its command"
                    f" (WARN above {2 * usual_s + LATE_S:.0f} s)",
                    f"{node}: its program listened {start_s:.1f} s after its command, that of the"
                    f" usual node {usual_s:.1f} s",
                    remedy=_LATE, why=_LATE_WHY, nodes=(node,),
                )  # fmt: skip
    yield from late.values()


def _describe_failure(failure: FailedConnection) -> str:
    outcome = {
        "other node": f"{failure.answered_by} answered", "error": failure.said, **_OUTCOMES
    }[failure.how]  # fmt: skip
    return (
        f"{failure.source} ({failure.source_ip}) → {failure.target} ({failure.target_ip}):"
        f" {outcome}"
    )


CONNECT = Check(
    ID,
    "Every node can open TCP connections to every other node",
    "MPI opens the same connections: a job over these nodes hangs or aborts.",
    lambda cluster: cluster.preflight.connectivity,
    explain_untried(ID, "no connection was tried"),
    _examine_rounds,
    trials=("connect",),
)
