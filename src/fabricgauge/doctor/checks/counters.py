"""Do counters of errors and drops stand still while nothing is measured?"""

from collections import Counter
from collections.abc import Iterator

from fabricgauge.doctor.checks import Check, explain_untried, make_finding
from fabricgauge.doctor.places import Cluster, has_cable
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.groups import group_by
from fabricgauge.model.preflight import Rise
from fabricgauge.model.words.port_counters import QUIET_PER_S, kind_of

#: A single bad frame or symbol may be chance: the specification of links permits some (10^-12 of
#: the bits and less), and many ports are watched.
MAX_CHANCE_ERRORS = 1


def _examine_counters(cluster: Cluster, _: object) -> Iterator[Finding]:
    # A port of an RDMA device (``mlx5_0:1``) is not an interface, and has a cable.
    virtual_places = {
        (node.name, interface.name)
        for node in cluster.nodes
        for interface in node.probe.interfaces
        if not has_cable(interface)
    }
    rises = (
        rise
        for rise in cluster.preflight.rises
        if _is_conspicuous(rise) and (rise.node, rise.interface) not in virtual_places
    )
    cabled = group_by(rises, lambda rise: (rise.node, rise.interface))
    networks = cluster.memberships
    sizes = Counter(networks.values())
    noisy = Counter(networks[place] for place in cabled if place in networks)
    for place, place_rises in cabled.items():
        network = networks.get(place, "")
        is_common = noisy[network] > 2 and 2 * noisy[network] > sizes[network]
        yield _report_rises(place, place_rises, network, is_common=is_common)


def _is_conspicuous(rise: Rise) -> bool:
    per_s = rise.by / rise.seconds if rise.seconds > 0 else 0.0
    return rise.by > 0 and per_s > QUIET_PER_S.get(kind_of(rise.counter), float("inf"))


def _report_rises(
    place: tuple[str, str], rises: tuple[Rise, ...], network: str, *, is_common: bool
) -> Finding:
    """Report the worst counter of a port.

    ``is_common``: most members of the network drop such frames, so they are sent to all nodes.
    """
    label = ":".join(place)
    kinds = {kind_of(rise.counter) for rise in rises}
    worst = next(kind for kind in SENTENCES if kind in kinds)
    severity = Severity.WARN
    if worst == "errors" and sum(rise.by for rise in rises) > MAX_CHANCE_ERRORS:
        severity = Severity.FAIL
    elif worst == "drops" and is_common:
        severity = Severity.NOTE
    summary, remedy = SENTENCES[worst]
    return make_finding(
        severity, label, summary,
        *(f"{label}: {rise.counter} rose by {rise.by:,} in {rise.seconds:.1f} s" for rise in rises),
        remedy=remedy, nodes=place[:1], network=network,
    )  # fmt: skip


#: By kind of counter, the worst first: the finding's sentence and its remedy.
SENTENCES = {
    "errors": (
        "counts errors while the network is quiet",
        "exchange cable and transceiver, then the port; look at the switch port's counters",
    ),
    "drops": (
        "drops frames while the network is quiet",
        "see which frames are dropped: ethtool -S INTERFACE, tcpdump -e -i INTERFACE for frames of"
        " a protocol or VLAN that the node does not have; if load causes it, raise the rings"
        " (ethtool -G)",
    ),
    "retries": (
        "sends RDMA packets again while the network is quiet",
        "look at the error and drop counters of the switch's ports on the path; check that both"
        " ends and the switch have the same lossless priority (mlnx_qos, dcb pfc show)",
    ),
    "pauses": (
        "is paused or pauses its peers while the network is quiet",
        "find the receiver that cannot keep up: follow the pause counters of the switch's ports",
    ),
    "congestion": (
        "sees congestion while the network is quiet",
        "find the queue that fills: the switch's ports count the packets that they mark (ECN)",
    ),
}

COUNTERS = Check(
    "counters",
    "No counter of errors, drops, pauses or congestion rises while the nodes are quiet",
    "Each bad or dropped frame is sent again: latency jumps and bandwidth falls under load.",
    lambda cluster: (
        cluster.preflight.seconds > 0
        and (cluster.preflight.rises or "counters" not in cluster.preflight.untried)
    ),
    explain_untried("counters", "counters were not watched"),
    _examine_counters,
    trials=("counters",),
)
