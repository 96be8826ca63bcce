"""Do printouts of counters and of an InfiniBand subnet show errors or slow links? pure.

Counters count since they were cleared or the driver was loaded, and printouts do not give that
time. So a port is compared with other ports, and no rate of errors is given.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median_low

import msgspec

from fabricgauge.doctor.checks import Check, make_finding
from fabricgauge.doctor.checks.rates import CABLE, NEAR, name_width
from fabricgauge.doctor.places import Cluster, find_majority
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.groups import group_by
from fabricgauge.model.inventory import SubnetLink, SubnetPort
from fabricgauge.model.words.port_counters import kind_of

#: Fewer errors since an unknown time are chance: the specification of a link permits one wrong bit
#: of 10^12, which at 100 Gb/s is one in ten seconds without forward error correction.
MIN_ERRORS = 100

#: A healthy link goes down or is trained again less often than this: nodes and switches restart now
#: and then.
MIN_DOWN = 20
_DOWN = ("down", "recovery")

#: A port stands out with this many times the count of the median port of its group.
MEDIAN_FACTOR = 10

#: The largest value of a counter of the standard, at which it stays (InfiniBand Architecture
#: Specification Volume 1, 16.1.3.5, PortCounters: 16, 8 and 4 bits).
FULL = {
    "SymbolErrorCounter": 65535, "LinkErrorRecoveryCounter": 255, "LinkDownedCounter": 255,
    "PortRcvErrors": 65535, "PortRcvRemotePhysicalErrors": 65535, "PortXmitDiscards": 65535,
    "LocalLinkIntegrityErrors": 15, "ExcessiveBufferOverrunErrors": 15, "VL15Dropped": 65535,
}  # fmt: skip

#: A switch drops multicast packets that would go back to their sender; it is not an error
#: (ibqueryerrors(8) leaves it out by default in its own list of thresholds).
_SOUND = frozenset({"PortRcvSwitchRelayErrors"})


class CountedPort(msgspec.Struct, frozen=True):
    """A port with its counters of errors and drops; ``group`` names the ports to compare with."""

    label: str
    node: str
    group: tuple[str, ...]
    counters: dict[str, int]

    def list_counters(self, kind: str) -> dict[str, int]:
        return {
            name: value
            for name, value in self.counters.items()
            if name not in _SOUND and kind_of(name) == kind
        }


def _list_counted_ports(cluster: Cluster) -> list[CountedPort]:
    """Return ports of nodes with the counters in their facts.

    Ports of the subnet without errors are not listed: their count is zero.
    """
    ports: list[CountedPort] = []
    for number, peers in enumerate(cluster.peer_groups):
        for node in peers:
            for name, text in node.facts.items():
                if name.startswith(FACT):
                    port = name.removeprefix(FACT)
                    group = ("node", str(number), port)
                    label = f"{node.name}:{port}"
                    ports.append(CountedPort(label, node.name, group, _parse_counters(text)))
    return ports


#: The fact of ``ethtool -S``, ``mlxlink -c``: ``counters of ens1``.
FACT = "counters of "


def _parse_counters(text: str) -> dict[str, int]:
    pairs = (word.rpartition("=") for word in text.split())
    return {name: int(value) for name, _, value in pairs if name and value.isdecimal()}


NamePort = Callable[[SubnetPort], tuple[str, str]]


def make_port_namer(cluster: Cluster) -> NamePort:
    """Return a function that names a port of the subnet and its node: ``n2:mlx5_0:1``, ``n2``.

    A switch's port keeps its description and has no node.
    """
    by_guid: dict[str, tuple[str, str]] = {}
    by_name: dict[tuple[str, str], tuple[str, str]] = {}
    nodes_by_host: dict[str, str] = {}
    for node in cluster.nodes:
        nodes_by_host |= {node.probe.hostname or node.name: node.name, node.name: node.name}
        for rdma_port in node.inventory.rdma_ports:
            names = (f"{node.name}:{rdma_port.name}", node.name)
            by_guid.setdefault(rdma_port.guid if isinstance(rdma_port.guid, str) else "", names)
            by_name[node.name, rdma_port.name] = names

    def name_port(port: SubnetPort) -> tuple[str, str]:
        if port.guid and port.guid in by_guid:
            return by_guid[port.guid]
        host, _, device = port.description.partition(" ")
        node = nodes_by_host.get(host, "") if device else ""
        return by_name.get((node, f"{device}:{port.number}"), (port.name, node))

    return name_port


def _examine_errors(cluster: Cluster, _: object) -> Iterator[Finding]:
    for ports in group_by(_list_counted_ports(cluster), lambda port: port.group).values():
        medians = _compute_medians(ports)
        with_errors = [port for port in ports if _find_high_counters(port, {}, "errors")]
        for port in ports:
            counters, severity = _find_high_counters(port, medians, "errors"), Severity.WARN
            if not counters:
                counters, severity = _find_high_counters(port, medians, "drops"), Severity.NOTE
            if counters:
                yield _report_counters(port, counters, severity, len(ports) - 1)
        if len(ports) > 1 and 2 * len(with_errors) > len(ports):
            yield _report_common_errors(with_errors)
    name_port = make_port_namer(cluster)
    for errors in cluster.preflight.subnet.errors:
        label, node = name_port(errors.port)
        port = CountedPort(label, node, (), errors.counters)
        if counters := _find_high_counters(port, {}, "errors"):
            yield _report_counters(port, counters, Severity.WARN, 0)


def _report_common_errors(ports: Sequence[CountedPort]) -> Finding:
    """Report errors that most like ports count: no port stands out, all may be in trouble."""
    counters = ((port.label, port.list_counters("errors").items()) for port in ports)
    return make_finding(
        Severity.NOTE, f"{ports[0].group[-1]} of {len(ports):,} nodes",
        "has counted errors on most nodes",
        *(f"{label}: {', '.join(f'{name} {n:,}' for name, n in rows)}" for label, rows in counters),
        nodes=[port.node for port in ports],
    )  # fmt: skip


def _compute_medians(ports: Sequence[CountedPort]) -> dict[str, int]:
    names = {name for port in ports for name in port.counters}
    return {name: median_low([port.counters.get(name, 0) for port in ports]) for name in names}


def _find_high_counters(port: CountedPort, medians: Mapping[str, int], kind: str) -> dict[str, int]:
    high = {}
    for name, value in port.list_counters(kind).items():
        is_down = any(word in name.lower() for word in _DOWN)
        minimum = MIN_DOWN if is_down else MIN_ERRORS
        is_above_chance = value >= minimum or _is_full(name, value)
        if is_above_chance and value > MEDIAN_FACTOR * medians.get(name, 0):
            high[name] = value
    return high


def _is_full(name: str, value: int) -> bool:
    return value >= FULL.get(name, value + 1)


def _report_counters(
    port: CountedPort, counters: Mapping[str, int], severity: Severity, peer_count: int
) -> Finding:
    name, value = max(counters.items(), key=lambda item: item[1])
    peers = f", like ports of {peer_count} nodes have far fewer" if peer_count else ""
    summary = f"has counted {value:,} {name}{peers}"
    values = ", ".join(
        f"{name} {value:,}{' (full)' * _is_full(name, value)}" for name, value in counters.items()
    )
    has_full = any(_is_full(name, value) for name, value in counters.items())
    return make_finding(
        severity, port.label, summary, f"{port.label}: {values}",
        *["a full counter stops counting"] * has_full,
        remedy=DROPPED if kind_of(name) == "drops" else ERRORS,
        nodes=(port.node,) if port.node else (),
    )  # fmt: skip


ERRORS = (
    "clear the counters or note them, wait, and read them again: if they rise, exchange cable and"
    " transceiver, then the port; look at the counters of the other end as well"
)
DROPPED = (
    "read them again under load: if they rise, the port's buffers overflow (pause or PFC is off,"
    " the node cannot keep up, or its PCI Express link is too slow)"
)

PORT_ERRORS = Check(
    "port-errors",
    "No port has counted many more errors than ports like it",
    "Each bad frame is sent again: latency jumps and bandwidth falls; a link that goes down and up"
    " breaks jobs.",
    lambda cluster: [
        *_list_counted_ports(cluster), *cluster.preflight.subnet.read & {"errors"}
    ],
    "no printout of ethtool -S, mlxlink -c or ibqueryerrors is available",
    _examine_errors,
    ERRORS,
)  # fmt: skip


def _examine_links(cluster: Cluster, links: Sequence[SubnetLink]) -> Iterator[Finding]:
    """Report each slow link once, by its node's end if it has one."""
    name_port = make_port_namer(cluster)
    by_ends = {
        frozenset((end.description, end.number) for end in (link.port, link.peer)): link
        for link in sorted(links, key=lambda link: bool(name_port(link.port)[1]))
    }
    distinct_links = by_ends.values()
    slow_links = [
        link for link in distinct_links if link.rate_bit_s < NEAR * link.rate_supported_bit_s
    ]
    common = find_majority((link.lanes, link.lane_bit_s) for link in slow_links)
    most_are_slow = 2 * len(slow_links) > len(distinct_links)
    for link in slow_links:
        may_be_design = most_are_slow and (link.lanes, link.lane_bit_s) == common
        yield _report_slow_link(name_port, link, may_be_design)


def _report_slow_link(name_port: NamePort, link: SubnetLink, may_be_design: bool) -> Finding:
    """Half of the lanes at full speed may come from a split cable (HDR100, NDR200)."""
    label, node = name_port(link.port)
    peer, _ = name_port(link.peer)
    is_split = (
        link.lanes * 2 == link.lanes_supported and link.lane_bit_s >= link.lane_bit_s_supported
    )
    severity = Severity.WARN if is_split else Severity.FAIL
    remedy = SPLIT if is_split else CABLE
    if may_be_design:
        severity, remedy = Severity.NOTE, DESIGN
    width = name_width((link.lanes, link.lane_bit_s))
    supported = name_width((link.lanes_supported, link.lane_bit_s_supported))
    return make_finding(
        severity, label,
        f"has a link to {peer} that runs at {width}, both ends support {supported}",
        f"{label} ↔ {peer}: {width}, could be {supported}", remedy=remedy,
        nodes=(node,) if node else (),
    )  # fmt: skip


SPLIT = f"none, if a cable splits the switch's port; else {CABLE}"
DESIGN = (
    "none, if cables or the switch's ports were bought so: most links are alike; else exchange the"
    " cables for ones of the speed that both ends support"
)

SUBNET_LINKS = Check(
    "subnet-links",
    "Every link of the InfiniBand subnet runs as fast as both its ends can",
    "Each missing lane takes its share of the bandwidth; a slow link between switches slows all"
    " pairs whose route crosses it.",
    lambda cluster: cluster.preflight.subnet.links,
    "no printout of iblinkinfo is available",
    _examine_links,
    CABLE,
)
