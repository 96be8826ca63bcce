"""Does every port run at the rate of its network, with all of its lanes? pure."""

import math
from collections.abc import Iterator, Sequence

import msgspec

from fabricgauge.doctor.checks import Check, examine_separately, make_finding
from fabricgauge.doctor.places import (
    Cluster,
    KnownNode,
    MemberInterface,
    Port,
    find_majority,
    get_rate,
    group_by_network,
)
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Shaper
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.groups import group_by
from fabricgauge.model.inventory import Adapter, LinkModes, RdmaPort
from fabricgauge.model.words.figures import link_rate
from fabricgauge.model.words.sentences import listed

#: Two rates this near are the same: the kernel rounds a token bucket. A bond whose rate is further
#: below its ports' sum uses one of them: an active-backup bond.
NEAR = 0.98

#: Octets around a packet of full MTU as a token bucket counts them and as they are on the
#: wire: header; and preamble, frame check sequence, gap (IEEE 802.3 clauses 3, 4.4.2).
COUNTED_BYTES, WIRE_BYTES = 14, 38


def _examine_endpoints(endpoints: tuple[MemberInterface, ...]) -> Iterator[Finding]:
    nominal_bit_s = _find_nominal_rate(endpoints)
    fast_products = {
        product
        for endpoint in endpoints
        if (reading := read_rate(endpoint)) and reading[0] >= NEAR * nominal_bit_s
        for product in _list_products(endpoint)
    }
    for endpoint in endpoints:
        yield from _examine_endpoint(endpoint, nominal_bit_s, fast_products)


def _find_nominal_rate(endpoints: Sequence[MemberInterface]) -> float:
    """Return the rate that a member should have in bit/s, 0 if unknown.

    It is the declared rate, else that of most members, else the fastest. A head with a faster port
    than all nodes is not a fault of theirs. Without a declared rate, discovery takes it from a
    member's driver, and ``rate_origin`` names the driver.
    """
    network = endpoints[0].network
    stated = 0.0 if isinstance(network.rate_bit_s, Skipped) else network.rate_bit_s
    if not any(
        network.rate_origin.startswith(f"{endpoint.label}'s driver ") for endpoint in endpoints
    ):
        return stated
    common = find_majority(rate for endpoint in endpoints if (rate := get_rate(endpoint.interface)))
    return stated if isinstance(common, Skipped) else common


def _list_products(endpoint: MemberInterface) -> list[str]:
    """Return the products of the known adapters behind a port, a VLAN or a bond."""
    adapters = filter(None, find_adapters(endpoint))
    return list(dict.fromkeys(map(endpoint.node.get_product, adapters)))


def read_rate(endpoint: MemberInterface) -> tuple[float, str] | None:
    """Return the rate that the node itself reports in bit/s, with its source; None without one."""
    interface, readings = endpoint.interface, []
    if not isinstance(interface.speed_bit_s, Skipped):
        speed = link_rate(interface.speed_bit_s)
        readings.append((interface.speed_bit_s, f"{endpoint.label} reports {speed}"))
    if isinstance(interface.shaper, Shaper):
        bucket, mtu = interface.shaper.rate_bit_s, interface.mtu_bytes
        wire = bucket * (mtu + WIRE_BYTES) / (mtu + COUNTED_BYTES)
        words = f"a token bucket of {link_rate(bucket)}: {link_rate(wire)} on the wire"
        readings.append((wire, f"{endpoint.label} has {words}"))
    return min(readings, default=None)


def _examine_endpoint(
    endpoint: MemberInterface, nominal_bit_s: float, fast_products: set[str]
) -> Iterator[Finding]:
    """A node of another generation is not a fault, although a pair with it is slower."""
    reading, modes = read_rate(endpoint), _get_single_modes(endpoint)
    is_shaped = isinstance(endpoint.interface.shaper, Shaper)
    severity, remedy, limit = Severity.FAIL, SHAPED if is_shaped else "", None
    if modes and modes.duplex == "half":
        evidence = f"{endpoint.label} reports half duplex"
        yield make_finding(severity, endpoint, "runs half duplex", evidence, remedy=remedy)
    if reading is None:
        return
    rate, source = reading
    common_rates = {*modes.supported_bit_s} & {*modes.partner_bit_s} if modes else set()
    best = max(common_rates, default=0.0)
    if rate < NEAR * nominal_bit_s:
        evidence_lines = [source, f"{endpoint.network_name}: {endpoint.network.rate_origin}"]
        limit = explain_lower_rate(endpoint, rate, NEAR * nominal_bit_s)
        if not limit and not is_shaped:
            limit = _compare_products(endpoint, nominal_bit_s, fast_products)
        if limit:
            severity, reason = limit
            evidence_lines.append(reason)
            remedy = "none; compare pairs of like nodes, or declare a network for each rate"
        summary = f"runs at {link_rate(rate)} instead of {link_rate(nominal_bit_s)}"
        yield make_finding(severity, endpoint, summary, *evidence_lines, remedy=remedy)
    elif rate < NEAR * best:
        summary = f"runs at {link_rate(rate)}, though both ends support {link_rate(best)}"
        offer = f"{endpoint.label}: link partner offers {link_rate(best)}"
        yield make_finding(severity, endpoint, summary, source, offer, remedy=remedy)


def _compare_products(
    endpoint: MemberInterface, nominal_bit_s: float, fast_products: set[str]
) -> tuple[Severity, str] | None:
    products = _list_products(endpoint)
    is_supported_known = any(modes and modes.supported_bit_s for modes in find_modes(endpoint))
    if is_supported_known or not products or not fast_products or fast_products & {*products}:
        return None
    peers = f"the members with {link_rate(nominal_bit_s)}"
    return Severity.NOTE, f"{endpoint.label} has another adapter than {peers}: {listed(products)}"


def _get_single_modes(endpoint: MemberInterface) -> LinkModes | None:
    """Return the link modes of a single port, which a VLAN may be on."""
    modes = find_modes(endpoint)
    return modes[0] if len(modes) == 1 else None


SHAPED = "look at tc qdisc show on the node; remove the token bucket or set it to the rate"


class PrintedPort(msgspec.Struct, frozen=True):
    """An interface as ``ethtool`` prints it, of a node that did not answer.

    ``rate_bit_s`` is 0 if the printout gives no rate.
    """

    node: KnownNode
    name: str
    rate_bit_s: float
    modes: LinkModes | None

    @property
    def label(self) -> str:
        return f"{self.node.name}:{self.name}"


def _group_printed_ports(cluster: Cluster) -> list[tuple[PrintedPort, ...]]:
    groups: list[tuple[PrintedPort, ...]] = []
    for peers in cluster.peer_groups:
        ports = [
            PrintedPort(
                node, name, float(node.get_fact(f"speed of {name}") or 0),
                _get_modes(node.find_adapter(name)),
            )
            for node in peers
            if not node.answered
            for name in sorted(
                fact.partition(" of ")[2] for fact in node.facts if fact.startswith("link of ")
            )
        ]  # fmt: skip
        groups += group_by(ports, lambda port: port.name).values()
    return groups


def _examine_printed_ports(ports: tuple[PrintedPort, ...]) -> Iterator[Finding]:
    """Compare ports with the rate of most; report a missing link if most ports have one."""
    linked = [port for port in ports if port.node.get_fact(f"link of {port.name}") != "no"]
    nominal_bit_s = _choose_usual_rate([port.rate_bit_s for port in linked if port.rate_bit_s])
    for port in ports:
        rate = link_rate(port.rate_bit_s) if port.rate_bit_s else "no rate"
        evidence, nodes = f"{port.label}: {rate}", (port.node.name,)
        if port not in linked and 2 * len(linked) > len(ports):
            reason = port.node.get_fact(f"link reason of {port.name}")
            evidence = f"{port.label}: link detected: no{f' ({reason})' * bool(reason)}"
            summary = "has no link, like ports have one"
            yield make_finding(Severity.FAIL, port.label, summary, evidence, nodes=nodes)
        elif port in linked and port.modes and port.modes.duplex == "half":
            yield make_finding(Severity.FAIL, port.label, "runs half duplex", evidence, nodes=nodes)
        elif port in linked and 0 < port.rate_bit_s < NEAR * nominal_bit_s:
            summary = f"runs at {rate}, like ports at {link_rate(nominal_bit_s)}"
            yield make_finding(Severity.FAIL, port.label, summary, evidence, nodes=nodes)


def _examine_groups(cluster: Cluster) -> tuple[Iterator[Finding], ...]:
    """Return the findings of each network with a known rate, and of ports that ethtool prints."""
    readings = (
        read_rate(endpoint) or _get_single_modes(endpoint) for endpoint in cluster.endpoints
    )
    networks = group_by_network(cluster.endpoints) if any(readings) else ()
    printed = map(_examine_printed_ports, _group_printed_ports(cluster))
    return (*map(_examine_endpoints, networks), *printed)


RATE = Check(
    "rate",
    "Every port runs at its network's rate, full duplex",
    "No figure of a pair can be above the rate of its slower port.",
    _examine_groups,
    lambda cluster: (
        "no driver and no declaration gives a rate"
        if cluster.endpoints
        else "no network joins these nodes"
    ),
    examine_separately(iter),
    "let both ends negotiate (ethtool INTERFACE shows what they offer), reseat or exchange the"
    " cable and the transceiver, then the port; check the setting of the switch's port",
)

#: Lanes, and the rate of each in bit/s.
Width = tuple[int, float]

CABLE = (
    "reseat or exchange the cable, then the transceiver and the port; look at the port's symbol and"
    " link error counters and at the setting of the switch's port"
)


def _examine_rdma_ports(_: Cluster, ports: Sequence[Port]) -> Iterator[Finding]:
    usual: dict[int, tuple[Width | None, float]] = {}
    for port in ports:
        key = id(port.like_ports)
        if key not in usual:
            active = [peer for peer in port.like_ports if peer.state == "ACTIVE"]
            rates = [peer.rate_bit_s for peer in active if isinstance(peer.rate_bit_s, float)]
            usual[key] = (_find_usual_width(active), _choose_usual_rate(rates))
        yield from _examine_rdma_port(port, *usual[key])


def _examine_rdma_port(
    port: Port, usual_width: Width | None, usual_bit_s: float
) -> Iterator[Finding]:
    if port.port.state != "ACTIVE":
        return  # the check ``port`` reports it
    width, rate = get_width(port.port), port.port.rate_bit_s
    if width is None and isinstance(rate, float) and rate < NEAR * usual_bit_s:
        summary = f"runs at {link_rate(rate)}, like ports at {link_rate(usual_bit_s)}"
        yield make_finding(Severity.FAIL, port, summary, f"{port.label}: {link_rate(rate)}")
    elif width and usual_width and math.prod(width) < NEAR * math.prod(usual_width):
        summary = f"runs at {name_width(width)}, like ports at {name_width(usual_width)}"
        evidence = f"{port.label}: {name_width(width)}{_describe_lanes(port.port)}"
        yield make_finding(Severity.FAIL, port, summary, evidence)
    else:
        yield from _compare_with_supported(port)


def _choose_usual_rate(rates: Sequence[float]) -> float:
    """Return the rate of most ports, without a majority the best, 0 without a rate."""
    common = find_majority(rates)
    return max(rates, default=0.0) if isinstance(common, Skipped) else common


def get_width(port: RdmaPort) -> Width | None:
    """Return lanes, and bit/s of each; None if one of them is unknown."""
    if isinstance(port.lanes, Skipped) or isinstance(port.lane_bit_s, Skipped):
        return None
    return port.lanes, port.lane_bit_s


def _find_usual_width(ports: Sequence[RdmaPort]) -> Width | None:
    widths = [width for width in map(get_width, ports) if width is not None]
    common = find_majority(widths)
    best = max(widths, key=lambda width: width[0] * width[1], default=None)
    return best if isinstance(common, Skipped) else common


def name_width(width: Width) -> str:
    lanes, lane_bit_s = width
    return f"{lanes} lane{'s' * (lanes != 1)} of {link_rate(lane_bit_s)}"


def _describe_lanes(port: RdmaPort) -> str:
    supported = f"; lanes supported: {max(port.lanes_supported)}" if port.lanes_supported else ""
    enabled = [str(count) for count in port.lanes_enabled]
    return supported + (f", enabled: {listed(enabled)}" if enabled else "")


def _compare_with_supported(port: Port) -> Iterator[Finding]:
    """Report a port below what it supports; all like ports are the same.

    A printout without what it supports may have what is enabled, as opainfo's of an active port.

    InfiniBand's cables that split a switch's port leave two of four lanes (HDR100, NDR200), and
    a switch may be of an older generation; Omni-Path has neither.
    """
    rdma_port = port.port
    may_be_design = rdma_port.protocol != "omni-path"
    severity = Severity.NOTE if may_be_design else Severity.FAIL
    max_lanes = max(rdma_port.lanes_supported or rdma_port.lanes_enabled, default=0)
    if isinstance(rdma_port.lanes, int) and 0 < rdma_port.lanes < max_lanes:
        evidence = f"{port.label}: {rdma_port.lanes} lanes{_describe_lanes(rdma_port)}"
        summary = f"has {rdma_port.lanes} of {max_lanes} lanes"
        yield make_finding(severity, port, summary, evidence)
    max_lane_bit_s = max(
        rdma_port.lane_bit_s_supported or rdma_port.lane_bit_s_enabled, default=0.0
    )
    lane_bit_s = rdma_port.lane_bit_s
    if not isinstance(lane_bit_s, Skipped) and 0 < lane_bit_s < NEAR * max_lane_bit_s:
        summary = f"has lanes of {link_rate(lane_bit_s)}, supports {link_rate(max_lane_bit_s)}"
        evidence = f"{port.label}: {link_rate(lane_bit_s)} a lane"
        yield make_finding(Severity.NOTE, port, summary, evidence)
    if not max_lanes and not max_lane_bit_s:
        yield from _compare_with_family(port)


#: Mellanox' adapters by their PCI numbers: the family, its fastest link, and the nominal rate in
#: bit/s of four lanes (pci.ids of 2024-11-25; NVIDIA's user manuals of ConnectX-4 to ConnectX-8).
#: Some models of a family have less.
FAMILIES: dict[str, tuple[str, str, float]] = {
    "15b3:1011": ("Connect-IB", "FDR", 56e9), "15b3:1003": ("ConnectX-3", "FDR", 56e9),
    "15b3:1007": ("ConnectX-3 Pro", "FDR", 56e9), "15b3:1013": ("ConnectX-4", "EDR", 100e9),
    "15b3:1017": ("ConnectX-5", "EDR", 100e9), "15b3:1019": ("ConnectX-5 Ex", "EDR", 100e9),
    "15b3:101b": ("ConnectX-6", "HDR", 200e9), "15b3:1021": ("ConnectX-7", "NDR", 400e9),
    "15b3:1023": ("ConnectX-8", "XDR", 800e9),
}  # fmt: skip


def _compare_with_family(port: Port) -> Iterator[Finding]:
    rdma_port, rate, node = port.port, port.port.rate_bit_s, port.node
    products = (node.get_product(a) for a in node.adapters if rdma_port.device in a.rdma_devices)
    part = node.get_fact(f"part {rdma_port.device}") or next(products, "")
    if rdma_port.protocol != "infiniband" or part not in FAMILIES or not isinstance(rate, float):
        return
    family, link, max_bit_s = FAMILIES[part]
    if rate < NEAR * max_bit_s:
        width = get_width(rdma_port)
        lanes = f" ({name_width(width)})" if width else ""
        yield make_finding(
            Severity.NOTE, port,
            f"runs at {link_rate(rate)}{lanes}, {family} has up to {link_rate(max_bit_s)} ({link})",
            f"{port.label}: {link_rate(rate)}, adapter {part}", remedy=BOUGHT_SO,
        )  # fmt: skip


BOUGHT_SO = (
    "none, if the adapters are models of that rate, the switch is of an older generation, or cables"
    " split its ports; else exchange the cables for ones of the adapter's speed"
)

RDMA_RATE = Check(
    "rdma-rate",
    "Every RDMA port has all its lanes, at the speed that it supports",
    "Each missing lane takes its share of the bandwidth; slow lanes reduce all of it.",
    lambda cluster: cluster.ports,
    "no RDMA port is known",
    _examine_rdma_ports,
    CABLE,
)

#: Drivers of interfaces that are on other interfaces, as ethtool and ip name them. Linux 6.12,
#: net/8021q/vlan_dev.c, net/bridge/br_device.c; in drivers/net: bonding, team, macvlan.c.
STACKED = frozenset({
    "802.1Q VLAN Support", "vlan", "bonding", "bond", "team", "bridge", "macvlan", "ipvlan",
})  # fmt: skip


def find_adapters(endpoint: MemberInterface) -> tuple[Adapter | None, ...]:
    """Return the adapter of each port that the endpoint is on, None for an unknown adapter."""
    ports = endpoint.node.find_ports_behind(endpoint.interface.name)
    return tuple(endpoint.node.find_adapter(port.name) for port in ports)


def find_modes(endpoint: MemberInterface) -> tuple[LinkModes | None, ...]:
    """Return the link modes of each port that the endpoint is on, None for unknown modes."""
    return tuple(map(_get_modes, find_adapters(endpoint)))


def explain_lower_rate(
    endpoint: MemberInterface, rate_bit_s: float, needed_bit_s: float
) -> tuple[Severity, str] | None:
    """Return why the hardware cannot reach ``needed_bit_s``, and the severity; None if it may."""
    max_bit_s = _find_supported_rate(endpoint, rate_bit_s)
    if max_bit_s is not None:
        reason = f"{endpoint.label} supports no more than {link_rate(max_bit_s)}"
        return (Severity.NOTE, reason) if max_bit_s < needed_bit_s else None
    if endpoint.interface.driver in STACKED and not any(find_adapters(endpoint)):
        return _compare_all_ports(endpoint, rate_bit_s)
    return None


def _find_supported_rate(endpoint: MemberInterface, rate_bit_s: float) -> float | None:
    """Return what the ports behind support together; the best of them for an active-backup bond."""
    supported = [_get_supported_rate(adapter) for adapter in find_adapters(endpoint)]
    if not supported or not all(supported):
        return None
    ports = endpoint.node.find_ports_behind(endpoint.interface.name)
    current_bit_s = sum(get_rate(port) for port in ports)
    return max(supported) if rate_bit_s < NEAR * current_bit_s else sum(supported)


def _compare_all_ports(endpoint: MemberInterface, rate_bit_s: float) -> tuple[Severity, str] | None:
    """Compare with all ports of the node if the ports behind are unknown."""
    node = endpoint.node
    adapters = [adapter for adapter in node.adapters if adapter.kind == "ethernet"]
    names = {name for adapter in adapters for name in adapter.interfaces}
    ports = [
        interface
        for interface in node.probe.interfaces
        if interface.name in names and interface.carrier is True
    ]
    best = [
        max(get_rate(port), _get_supported_rate(node.find_adapter(port.name))) for port in ports
    ]
    if not best or not all(best) or NEAR * max(best) > rate_bit_s:
        return None
    return Severity.WARN, f"no active port of {node.name} can do more than {link_rate(max(best))}"


def _get_modes(adapter: Adapter | None) -> LinkModes | None:
    return adapter.modes if adapter and isinstance(adapter.modes, LinkModes) else None


def _get_supported_rate(adapter: Adapter | None) -> float:
    modes = _get_modes(adapter)
    return max(modes.supported_bit_s, default=0.0) if modes else 0.0
