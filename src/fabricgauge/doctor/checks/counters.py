"""Do counters of errors and drops stand still while nothing is measured?"""

from collections import Counter
from collections.abc import Iterator

from fabricgauge.doctor.check import Check, found, untried
from fabricgauge.doctor.places import Cluster, has_cable
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.groups import grouped
from fabricgauge.model.preflight import Rise
from fabricgauge.words.port_counters import QUIET_PER_S, kind_of

#: A single bad frame or symbol may be chance: links are specified to have some (10^-12 of bits
#: and less), and many ports are watched.
CHANCE = 1


def _counters(cluster: Cluster, _: object) -> Iterator[Finding]:
    # A port of an RDMA device (``mlx5_0:1``) is no interface, and has a cable.
    every = ((seen.name, one) for seen in cluster.nodes for one in seen.node.interfaces)
    bare = {(node, one.name) for node, one in every if not has_cable(one)}
    rises = (one for one in cluster.preflight.rises if _counts(one))
    ports = grouped(rises, lambda one: (one.node, one.interface))
    ours = {place: some for place, some in ports.items() if place not in bare}
    networks = cluster.memberships
    sizes = Counter(networks.values())
    noisy = Counter(networks[place] for place in ours if place in networks)
    for place, some in ours.items():
        network = networks.get(place, "")
        chatter = noisy[network] > 2 and 2 * noisy[network] > sizes[network]
        yield _finding(place, some, network, chatter=chatter)


def _counts(rise: Rise) -> bool:
    per_s = rise.by / rise.seconds if rise.seconds > 0 else 0.0
    return rise.by > 0 and per_s > QUIET_PER_S.get(kind_of(rise.counter), float("inf"))


def _finding(
    place: tuple[str, str], rises: tuple[Rise, ...], network: str, *, chatter: bool
) -> Finding:
    """``chatter``: most members of the network see the like, so it is sent to everybody."""
    where = ":".join(place)
    kinds = {kind_of(rise.counter) for rise in rises}
    worst = next(one for one in SAID if one in kinds)
    severity = Severity.WARN
    if worst == "errors" and sum(rise.by for rise in rises) > CHANCE:
        severity = Severity.FAIL
    elif worst == "drops" and chatter:
        severity = Severity.NOTE
    told = [f"{where}: {one.counter} rose by {one.by:,} in {one.seconds:.1f} s" for one in rises]
    what, remedy = SAID[worst]
    return found(
        severity, where, what, *told, remedy=remedy, nodes=place[:1], network=network
    )  # fmt: skip


#: By kind of counter, the worst first: what is said, and what to do.
SAID = {
    "errors": (
        "counts errors while it is quiet",
        "exchange cable and transceiver, then the port; look at the switch port's counters",
    ),
    "drops": (
        "drops frames while it is quiet",
        "see what is dropped: ethtool -S INTERFACE, tcpdump -e -i INTERFACE for frames of a"
        " protocol or VLAN that the node does not have; raise rings (ethtool -G) where it is load",
    ),
    "retries": (
        "sends RDMA packets again while it is quiet",
        "look at the error and drop counters of the switch's ports on the way; see that both ends"
        " and the switch have the same priority lossless (mlnx_qos, dcb pfc show)",
    ),
    "pauses": (
        "is paused or pauses others while it is quiet",
        "find who cannot keep up: pause counters of the switch's ports lead to it",
    ),
    "congestion": (
        "sees congestion while it is quiet",
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
    untried("counters", "counters were not watched"),
    _counters,
    reads=("counters",),
)
