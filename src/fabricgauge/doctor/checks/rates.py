"""Does every port run at the rate of its network, with all of its lanes? pure."""

from collections.abc import Iterator, Sequence

import msgspec

from fabricgauge.doctor.check import Check, found
from fabricgauge.doctor.places import Cluster, KnownNode, MemberPort, Port, by_network, usual
from fabricgauge.doctor.places import rate as port_rate
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Shaper
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.groups import grouped
from fabricgauge.model.inventory import Adapter, LinkModes, RdmaPort
from fabricgauge.words.figures import link_rate
from fabricgauge.words.sentences import listed

#: A rate this near another is the same; a token bucket is rounded by the kernel. The rate of a bond
#: that is further below its ports' sum is that of one of them: an active-backup bond.
NEAR = 0.98

#: Octets around a packet of full MTU as a token bucket counts them and as they are on the
#: wire: header; and preamble, frame check sequence, gap (IEEE 802.3 clauses 3, 4.4.2).
COUNTED_BYTES, WIRE_BYTES = 14, 38


def _rated(cluster: Cluster) -> tuple[tuple[MemberPort, ...], ...]:
    """The ends by network, if a rate of any is known."""
    known = (own_rate(end) or _own_modes(end) for end in cluster.ends)
    return by_network(cluster.ends) if any(known) else ()


def _rates(members: tuple[MemberPort, ...]) -> Iterator[Finding]:
    nominal = _reference(members)
    fast = {
        product
        for end in members
        if (own := own_rate(end)) and own[0] >= NEAR * nominal
        for product in _products_of(end)
    }
    for end in members:
        yield from _rate_findings(end, nominal, fast)


def _reference(members: Sequence[MemberPort]) -> float:
    """The rate that a member should have: as declared, else that of most of them; 0 without any.

    A head with a faster port than all nodes is no fault of theirs. Where no rate is that of
    most, the fastest counts. Discovery takes a network's rate from a member's driver where
    nobody declared one, and says so.
    """
    network = members[0].network
    stated = 0.0 if isinstance(network.rate_bit_s, Skipped) else network.rate_bit_s
    if not any(network.rate_origin.startswith(f"{end.where}'s driver ") for end in members):
        return stated
    common = usual(rate for end in members if (rate := port_rate(end.interface)))
    return stated if isinstance(common, Skipped) else common


def _products_of(end: MemberPort) -> tuple[str, ...]:
    """Those of the adapters behind a port, a VLAN or a bond that are known."""
    return tuple(dict.fromkeys(end.seen.product(one) for one in behind(end) if one))


def own_rate(end: MemberPort) -> tuple[float, str] | None:
    """What the node itself says that the port carries in bit/s, and how it says so; None where
    it gives no rate."""
    interface, known = end.interface, []
    if not isinstance(interface.speed_bit_s, Skipped):
        known.append(
            (interface.speed_bit_s, f"{end.where} reports {link_rate(interface.speed_bit_s)}")
        )
    if isinstance(interface.shaper, Shaper):
        bucket = interface.shaper.rate_bit_s
        mtu = interface.mtu_bytes
        wire = bucket * (mtu + WIRE_BYTES) / (mtu + COUNTED_BYTES)
        told = f"{end.where} has a token bucket of {link_rate(bucket)}: {link_rate(wire)} of wire"
        known.append((wire, told))
    return min(known, default=None)


def _rate_findings(end: MemberPort, nominal: float, fast: set[str]) -> Iterator[Finding]:
    """A node of another generation is no fault; a pair with it is slower all the same."""
    own, modes = own_rate(end), _own_modes(end)
    shaped = isinstance(end.interface.shaper, Shaper)
    severity, remedy, made = Severity.FAIL, SHAPED if shaped else "", None
    if modes and modes.duplex == "half":
        told = f"{end.where} reports half duplex"
        yield found(severity, end, "runs half duplex", told, remedy=remedy)
    if own is None:
        return
    rate, told = own
    best = max({*modes.supported_bit_s} & {*modes.partner_bit_s}, default=0.0) if modes else 0.0
    if rate < NEAR * nominal:
        evidence = [told, f"{end.net}: {end.network.rate_origin}"]
        made = no_more(end, rate, NEAR * nominal)
        if not made and not shaped:
            made = _other_product(end, nominal, fast)
        if made:
            severity, reason = made
            evidence.append(reason)
            remedy = "none; compare pairs of like nodes, or declare networks of their own"
        what = f"runs at {link_rate(rate)} instead of {link_rate(nominal)}"
        yield found(severity, end, what, *evidence, remedy=remedy)
    elif rate < NEAR * best:
        what = f"runs at {link_rate(rate)}, though both ends support {link_rate(best)}"
        offers = f"{end.where}: link partner offers {link_rate(best)}"
        yield found(severity, end, what, told, offers, remedy=remedy)


def _other_product(end: MemberPort, nominal: float, fast: set[str]) -> tuple[Severity, str] | None:
    own = _products_of(end)
    known = any(modes and modes.supported_bit_s for modes in modes_behind(end))
    if known or not own or not fast or fast & {*own}:
        return None
    told = f"{end.where} is on another adapter than those with {link_rate(nominal)}"
    return Severity.NOTE, f"{told}: {listed(own)}"


def _own_modes(end: MemberPort) -> LinkModes | None:
    """Those of a single port, which a VLAN may be on."""
    modes = modes_behind(end)
    return modes[0] if len(modes) == 1 else None


SHAPED = "look at tc qdisc show on the node; remove the token bucket or set it to the rate"


class PrintedPort(msgspec.Struct, frozen=True):
    """An interface of a node that was not asked, as ``ethtool`` prints it; ``rate_bit_s`` is 0
    where it gives none."""

    seen: KnownNode
    name: str
    rate_bit_s: float
    modes: LinkModes | None

    @property
    def where(self) -> str:
        return f"{self.seen.name}:{self.name}"


def _printed(cluster: Cluster) -> list[tuple[PrintedPort, ...]]:
    """Interfaces of one name on like nodes that were not asked, where a printout has their link."""
    found: list[tuple[PrintedPort, ...]] = []
    for group in cluster.alike:
        ports = [
            PrintedPort(seen, name, float(seen.fact(f"speed of {name}") or 0), modes_of(seen, name))
            for seen in group
            if not seen.asked
            for name in sorted(
                key.partition(" of ")[2] for key in seen.facts if key.startswith("link of ")
            )
        ]
        found += grouped(ports, lambda one: one.name).values()
    return found


def modes_of(seen: KnownNode, interface: str) -> LinkModes | None:
    """The link modes of an interface, ``None`` where they are not known."""
    return _modes(seen.adapter_of(interface))


def _printed_rates(ports: tuple[PrintedPort, ...]) -> Iterator[Finding]:
    """Beside the rate of most; a port without a link is told of where most have one."""
    up = [one for one in ports if one.seen.fact(f"link of {one.name}") != "no"]
    rates = [one.rate_bit_s for one in up if one.rate_bit_s]
    common = usual(rates)
    nominal = max(rates, default=0.0) if isinstance(common, Skipped) else common
    for one in ports:
        told = f"{one.where}: {link_rate(one.rate_bit_s) if one.rate_bit_s else 'no rate'}"
        if one not in up and 2 * len(up) > len(ports):
            reason = one.seen.fact(f"link reason of {one.name}")
            why = f"{one.where}: link detected: no{f' ({reason})' * bool(reason)}"
            yield found(Severity.FAIL, one.where, "has no link, like ports have", why,
                        nodes=(one.seen.name,))  # fmt: skip
        elif one in up and one.modes and one.modes.duplex == "half":
            yield found(Severity.FAIL, one.where, "runs half duplex", told, nodes=(one.seen.name,))
        elif one in up and 0 < one.rate_bit_s < NEAR * nominal:
            what = f"runs at {link_rate(one.rate_bit_s)}, like ports at {link_rate(nominal)}"
            yield found(Severity.FAIL, one.where, what, told, nodes=(one.seen.name,))


def _look(
    _: Cluster, groups: Sequence[tuple[MemberPort, ...] | tuple[PrintedPort, ...]]
) -> Iterator[Finding]:
    for group in groups:
        members = [one for one in group if isinstance(one, MemberPort)]
        printed = [one for one in group if isinstance(one, PrintedPort)]
        yield from _rates(tuple(members)) if members else _printed_rates(tuple(printed))


RATE = Check(
    "rate",
    "Every port runs at its network's rate, full duplex",
    "No figure of a pair can be above the rate of its slower port.",
    lambda cluster: (*_rated(cluster), *_printed(cluster)),
    lambda cluster: (
        "no driver and no declaration gives a rate"
        if cluster.ends
        else "no network joins these nodes"
    ),
    _look,
    "let both ends negotiate (ethtool INTERFACE shows what they offer), reseat or exchange the"
    " cable and the transceiver, then the port; see how the switch's port is set",
)

#: Lanes, and the rate of each in bit/s.
Width = tuple[int, float]

CABLE = (
    "reseat or exchange the cable, then the transceiver and the port; look at the port's symbol and"
    " link error counters and at what the switch's port is set to"
)


def _rdma_rates(_: Cluster, every: Sequence[Port]) -> Iterator[Finding]:
    same = {id(one.same): one.same for one in every}
    common = {key: _usual(some) for key, some in same.items()}
    rates = {key: _usual_rate(some) for key, some in same.items()}
    for one in every:
        yield from _rdma_rate_findings(one, common[id(one.same)], rates[id(one.same)])


def _rdma_rate_findings(one: Port, others: Width | None, rate_bit_s: float) -> Iterator[Finding]:
    """``others`` and ``rate_bit_s`` are those of most like ports."""
    if one.port.state != "ACTIVE":
        return  # the check of ports has it
    own, rate = width(one.port), one.port.rate_bit_s
    if own is None and isinstance(rate, float) and rate < NEAR * rate_bit_s:
        what = f"runs at {link_rate(rate)}, like ports at {link_rate(rate_bit_s)}"
        yield found(Severity.FAIL, one, what, f"{one.where}: {link_rate(rate)}")
        return
    if own is not None and others is not None and _width_rate(own) < NEAR * _width_rate(others):
        what = f"runs at {_name(own)}, like ports at {_name(others)}"
        told = f"{one.where}: {_name(own)}{_supported_lanes(one.port)}"
        yield found(Severity.FAIL, one, what, told)
    else:
        yield from _below_own(one)


def _usual_rate(same: tuple[RdmaPort, ...]) -> float:
    """The rate in bit/s of most like ports that are up, the best where there is no usual one, 0
    where none is known."""
    rates = [one.rate_bit_s for one in same
             if one.state == "ACTIVE" and isinstance(one.rate_bit_s, float)]  # fmt: skip
    common = usual(rates)
    return max(rates, default=0.0) if isinstance(common, Skipped) else common


def width(port: RdmaPort) -> Width | None:
    """Lanes, and bit/s of each; None where one of them is not known."""
    if isinstance(port.lanes, Skipped) or isinstance(port.lane_bit_s, Skipped):
        return None
    return port.lanes, port.lane_bit_s


def _usual(same: tuple[RdmaPort, ...]) -> Width | None:
    """That of most like ports that are up; the best where there is no usual one."""
    up = (port for port in same if port.state == "ACTIVE")
    known = [one for one in map(width, up) if one is not None]
    common = usual(known)
    return max(known, key=_width_rate, default=None) if isinstance(common, Skipped) else common


def _width_rate(width: Width) -> float:
    return width[0] * width[1]


def _name(width: Width) -> str:
    lanes, lane_bit_s = width
    return f"{lanes} lane{'s' * (lanes != 1)} of {link_rate(lane_bit_s)}"


def _supported_lanes(port: RdmaPort) -> str:
    lanes = f"; lanes supported: {max(port.lanes_supported)}" if port.lanes_supported else ""
    enabled = [str(count) for count in port.lanes_enabled]
    return lanes + (f", enabled: {listed(enabled)}" if enabled else "")


def _below_own(one: Port) -> Iterator[Finding]:
    """Less than it supports, as are all like ports.

    InfiniBand's cables that split a switch's port leave two of four lanes (HDR100, NDR200), and
    a switch may be of an older generation; Omni-Path knows neither.
    """
    port = one.port
    by_design = port.protocol != "omni-path"
    severity = Severity.NOTE if by_design else Severity.FAIL
    most = max(port.lanes_supported, default=0)
    if isinstance(port.lanes, int) and 0 < port.lanes < most:
        told = f"{one.where}: {port.lanes} lanes{_supported_lanes(port)}"
        yield found(severity, one, f"has {port.lanes} of {most} lanes", told)
    best = max(port.lane_bit_s_supported, default=0.0)
    if not isinstance(port.lane_bit_s, Skipped) and 0 < port.lane_bit_s < NEAR * best:
        what = f"has lanes of {link_rate(port.lane_bit_s)}, supports {link_rate(best)}"
        told = f"{one.where}: {link_rate(port.lane_bit_s)} a lane"
        yield found(Severity.NOTE, one, what, told)
    if not most and not best:
        yield from _below_family(one)


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


def _below_family(one: Port) -> Iterator[Finding]:
    """Where no source tells what the port supports, and all like ports are alike."""
    port, rate = one.port, one.port.rate_bit_s
    adapter = next((a for a in one.seen.adapters if port.device in a.rdma_devices), None)
    part = one.seen.fact(f"part {port.device}") or (one.seen.product(adapter) if adapter else "")
    if port.protocol != "infiniband" or part not in FAMILIES or not isinstance(rate, float):
        return
    family, link, most = FAMILIES[part]
    if rate < NEAR * most:
        own = width(port)
        lanes = f" ({_name(own)})" if own else ""
        what = f"runs at {link_rate(rate)}{lanes}, {family} has up to {link_rate(most)} ({link})"
        yield found(
            Severity.NOTE, one, what, f"{one.where}: {link_rate(rate)}, adapter {part}",
            remedy=BOUGHT_SO,
        )  # fmt: skip


BOUGHT_SO = (
    "none, if the adapters are models of that rate, the switch is of an older generation, or cables"
    " split its ports; else exchange the cables for ones of the adapter's speed"
)

RDMA_RATE = Check(
    "rdma-rate",
    "Every RDMA port has all its lanes, at the speed that it supports",
    "Each lane that is missing takes its share of the bandwidth; a slower lane takes it of all.",
    lambda cluster: cluster.ports,
    "no RDMA port is known",
    _rdma_rates,
    CABLE,
)

#: Drivers of what is on other interfaces, as ethtool and ip name them. Linux 6.12,
#: net/8021q/vlan_dev.c, net/bridge/br_device.c; in drivers/net: bonding, team, macvlan.c.
STACKED = frozenset(
    {"802.1Q VLAN Support", "vlan", "bonding", "bond", "team", "bridge", "macvlan", "ipvlan"}
)


def behind(end: MemberPort) -> tuple[Adapter | None, ...]:
    """The adapter of each port that the end is on, ``None`` where it is not known."""
    return tuple(end.seen.adapter_of(one.name) for one in end.seen.ports_behind(end.interface.name))


def modes_behind(end: MemberPort) -> tuple[LinkModes | None, ...]:
    """The link modes of each port that the end is on, ``None`` where they are not known."""
    return tuple(map(_modes, behind(end)))


def no_more(end: MemberPort, rate_bit_s: float, needed_bit_s: float) -> tuple[Severity, str] | None:
    """Why the end, which runs at ``rate_bit_s``, is not made for ``needed_bit_s``, and how much
    that counts; ``None`` where it may be."""
    most = _most(end, rate_bit_s)
    if most is not None:
        told = f"{end.where} supports no more than {link_rate(most)}"
        return (Severity.NOTE, told) if most < needed_bit_s else None
    if end.interface.driver in STACKED and not any(behind(end)):
        return _all_ports(end, rate_bit_s)
    return None


def _most(end: MemberPort, rate_bit_s: float) -> float | None:
    """What the ports behind support: together, or of a bond that uses one of them the best."""
    best = [_supported(one) for one in behind(end)]
    if not best or not all(best):
        return None
    now = sum(port_rate(one) for one in end.seen.ports_behind(end.interface.name))
    return max(best) if rate_bit_s < NEAR * now else sum(best)


def _all_ports(end: MemberPort, rate_bit_s: float) -> tuple[Severity, str] | None:
    """Where it is not known what the end is on: no port of the node runs at more, or could."""
    adapters = [one for one in end.seen.adapters if one.kind == "ethernet"]
    names = {name for one in adapters for name in one.interfaces}
    ports = [one for one in end.seen.node.interfaces if one.name in names and one.carrier is True]
    best = [max(port_rate(one), _supported(end.seen.adapter_of(one.name))) for one in ports]
    if not best or not all(best) or NEAR * max(best) > rate_bit_s:
        return None
    told = f"no port of {end.seen.name} that is up can do more than {link_rate(max(best))}"
    return Severity.WARN, told


def _modes(adapter: Adapter | None) -> LinkModes | None:
    return adapter.modes if adapter and isinstance(adapter.modes, LinkModes) else None


def _supported(adapter: Adapter | None) -> float:
    modes = _modes(adapter)
    return max(modes.supported_bit_s, default=0.0) if modes else 0.0
