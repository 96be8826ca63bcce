"""Why a network may carry less than its ceiling: what the evidence points at."""

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial

import msgspec
import numpy as np

from fabricgauge.evidence.connections import lost_segments
from fabricgauge.judge import plateaus, staging
from fabricgauge.judge.kept_rate import KEPT_RATE, kept_rate
from fabricgauge.judge.streams import Stream, streams
from fabricgauge.judge.tcp_limits import tcp_limits
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import OVER_TCP, Interface, Member, Network, Shaper
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.suite import MessageKind
from fabricgauge.words import figures, sentences

#: Streams that may share a link evenly, how near a share is to one of them, and how steady.
SHARED_BY, EVEN, STEADY = (2, 3, 4), (0.97, 1.02), 0.03

#: A curve rises that gains this much from its last size to the one before; larger messages than
#: the other fill any network.
RISES, ENOUGH_BYTES = 1.15, 1 << 20

#: How near a figure must be to the rate that streams keep to.
LIKE = 0.1

#: Frames as the kernel's token bucket counts them, and as they are on the wire, at MTU 1500.
SHAPED_BYTES, WIRE_BYTES = 1514, 1538

#: Drivers of a bond, as ethtool and ip name them. Linux 6.12, drivers/net: bonding, team.
BONDS = ("bonding", "bond", "team")

#: How near a figure must be to the copy between a GPU and its host that a staged message waits for.
NEAR_COPY = (0.8, 1.05)

#: Checks whose findings a rule sees in the run itself, and those that make no stream slow.
NOT_A_CAUSE = frozenset(
    {"rate", "reach", "connect", "names", "clocks", "limits", "thp", "firewall", "likeness"}
)

#: Checks whose findings concern one interface: without a network it carries none of the traffic.
OF_AN_INTERFACE = frozenset({"link", "addresses", "counters"})

#: Commands, and lines of evidence, that stand in one sentence.
MOST_MENDS, MOST_LINES = 4, 2


class Cause(msgspec.Struct, frozen=True):
    """A likely cause with what points at it and what mends it.

    ``in_host`` is one that was found in a host: it stands where a host limits the figure as well.
    """

    cause: str
    remedy: str
    evidence: str = ""
    in_host: bool = False


class _Low(msgspec.Struct, frozen=True):
    """A low stream on a network whose rate is known."""

    stream: Stream
    network: Network
    rate_bit_s: float

    @property
    def bytes_per_s(self) -> float:
        return self.stream.best.bandwidth.value

    @property
    def ports(self) -> Iterator[tuple[Member, Interface]]:
        for member in self.network.members:
            port = self.stream.subject.run.fabric.interface_of(member)
            if not isinstance(port, Skipped):
                yield member, port

    def down_from(self, nodes: Collection[str]) -> Iterator[tuple[str, Interface]]:
        """Yield the interface of each member among these nodes, and all that it is on."""
        for member, port in self.ports:
            node = self.stream.subject.run.fabric.node(member.node)
            if member.node in nodes and not isinstance(node, Skipped):
                under = node.below(port.name)
                yield node.name, port
                yield from (
                    (node.name, interface)
                    for interface in node.interfaces
                    if interface.name in under
                )


UNKNOWN = Cause(
    "the link, its ends or what is between them carry less than the nominal rate",
    "compare the negotiated rates (ethtool) and error counters of both ends and of the switch"
    " port; exchange cable and port one at a time; measure the same pair again",
)
UNKNOWN_OF_LOGS = Cause(
    "the log does not tell why, and the figure is at no known rate of a link, slot or transport",
    "look at what both nodes say of the link (ibstat, ethtool) and of the slot (lspci -vv, LnkSta);"
    " let MPI name its transport (UCX_LOG_LEVEL=info, I_MPI_DEBUG=5, --mca btl_base_verbose 30);"
    " measure without MPI as well (ib_write_bw, iperf3)",
)
#: Cause and remedy where TCP carried what an adapter should have.
_USED_TCP = (
    "MPI used TCP, not the adapter's own transport",
    "let MPI use the adapter: UCX with --with-verbs and UCX_NET_DEVICES of a device that"
    " `ucx_info -d` lists, Open MPI with --mca pml ucx, Intel MPI with FI_PROVIDER=mlx, verbs or"
    " psm3; see that the library finds libibverbs and that memory may be locked (ulimit -l)",
)
#: What a row of a kind is called, and its remedy; what costs least to look at comes first.
_OF_PLATEAUS: dict[plateaus.Kind, tuple[str, str]] = {
    "tcp": (
        "MPI may have used TCP",
        "let MPI name its transport (UCX_LOG_LEVEL=info, I_MPI_DEBUG=5, --mca btl_base_verbose 30)",
    ),
    "network": (
        "MPI may have used another network",
        "let MPI name its network (UCX_LOG_LEVEL=info, I_MPI_DEBUG=5, --mca btl_base_verbose 30),"
        " and keep it to the fast one (UCX_NET_DEVICES, FI_PROVIDER)",
    ),
    "verbs": (
        "MPI may have used verbs instead of PSM2 or OPX",
        "let MPI use the adapter's own library: Open MPI with --mca pml cm --mca mtl psm2 or ofi,"
        " FI_PROVIDER=psm2 or opx",
    ),
    "rail": (
        "fewer rails carried it",
        "name all rails to the program: UCX_NET_DEVICES, UCX_MAX_RNDV_RAILS, NCCL_IB_HCA",
    ),
    "host": (
        "the processors limit one program's TCP",
        "measure several programs at once (iperf3 on several ports), with a larger MTU",
    ),
    "slot": (
        "the adapter's PCIe slot limits it",
        "look at the slot's width and speed: lspci -vv (LnkSta beside LnkCap)",
    ),
    "link": (
        "a link on the way runs at a lower rate, or a limit keeps it there",
        "look at the negotiated rate and width of both ends and of the switch ports (ibstat,"
        " iblinkinfo, ethtool)",
    ),
}
UNSTEADY = Cause(
    "the figure reaches the ceiling but is not steady: other load on the hosts or the link",
    "measure again when nodes and network are quiet: fabricgauge check --profile standard",
)


def causes(stream: Stream) -> tuple[Cause, ...]:
    """Likely causes of one low bandwidth, the most telling first; never empty."""
    unknown = UNKNOWN_OF_LOGS if stream.subject.imported else UNKNOWN
    return _seen(stream, _LOOKS) or (unknown,)


def proved(stream: Stream, slow_hosts: bool) -> tuple[Cause, ...]:
    """Causes in the network that were seen themselves, not inferred from the figure.

    Hosts that can't keep up (``slow_hosts``) drop segments from their own queues and answer so
    late that some are sent again; beside them only many lost segments are the network's.
    """
    losses = partial(_losses, above="host-limited.lost_segments" if slow_hosts else "errors.share")
    return _seen(stream, (*_PROVING, losses))


def _seen(stream: Stream, looks: "tuple[_Look, ...]") -> tuple[Cause, ...]:
    network = stream.subject.network
    if isinstance(network, Skipped) or isinstance(network.rate_bit_s, Skipped):
        return ()
    low = _Low(stream, network, network.rate_bit_s)
    return tuple(cause for look in looks for cause in look(low))


def _shaper(low: _Low) -> Iterator[Cause]:
    """Yield token buckets of the sender: they limit what their node sends, not what it receives."""
    series = low.stream.series
    sender = "" if series.of_pairs or low.stream.directions == 2 else series.way[0]
    shaping = {
        node.name
        for node in low.stream.subject.run.fabric.nodes
        if any(isinstance(interface.shaper, Shaper) for interface in node.interfaces)
    }
    for node, interface in low.down_from(shaping):
        if not isinstance(interface.shaper, Shaper) or sender not in ("", node):
            continue
        shaped, where = interface.shaper.rate_bit_s, f"{node}:{interface.name}"
        wire = shaped * WIRE_BYTES / SHAPED_BYTES
        if wire < plateaus.LOWER * low.rate_bit_s:
            remove = sentences.command(("tc", "qdisc", "del", "dev", interface.name, "root"))
            yield Cause(
                f"a token bucket on {where} lets through only {figures.link_rate(wire)} of"
                f" {figures.link_rate(low.rate_bit_s)}",
                f"on {node}: {remove}, or set it to the link's rate",
                f"{where} has a token bucket of {figures.link_rate(shaped)} (frames without"
                " preamble, FCS, gap)",
            )


def _slow_copy(low: _Low) -> Iterator[Cause]:
    """Yield what a GPU's slot lets through, where MPI stages or sends by the same slot."""
    copy = staging.slowest_copy(low.stream)
    if copy is None or not NEAR_COPY[0] <= staging.share(low.stream, copy) <= NEAR_COPY[1]:
        return
    way, _ = staging.way_of_messages(low.stream)
    staged = f"messages are {way}" if way else "MPI stages messages, or the GPU's slot limits it"
    yield Cause(
        f"{copy} carries {figures.rate(copy.bytes_per_s)} and sets the pace: {staged}",
        f"on {copy.node}: look at the width and speed of the GPU's slot (nvidia-smi -q, lspci -vv)"
        " and at what MPI needs to send from GPU memory itself (GPUDirect RDMA: nvidia-peermem or"
        " dma-buf, and RDMA instead of TCP)",
        in_host=True,
    )


def _shown(interface: str) -> str:
    """Return the command that shows a link's rate: of an RDMA port ibstat, else ethtool."""
    device, _, number = interface.partition(":")
    return sentences.command(("ibstat", device, number) if number else ("ethtool", interface))


def _far_adapter(low: _Low) -> Iterator[Cause]:
    """Yield ranks whose memory is not near the adapter; the rate between sockets is unknown."""
    if not low.network.has_rdma_ports:
        return
    placed = [
        placement for launch in low.stream.subject.launches for placement in launch.placements
    ]
    ranks = {(one.host, one.numa_node) for one in placed if isinstance(one.numa_node, int)}
    for member, _ in low.ports:
        node = low.stream.subject.run.fabric.node(member.node)
        if isinstance(node, Skipped):
            continue
        adapter = node.adapter_of(member.interface)
        near = adapter if isinstance(adapter, Skipped) else adapter.numa_node
        here = {numa for host, numa in ranks if host in (node.name, node.hostname)}
        if isinstance(near, int) and here and near not in here:
            ran = sentences.listed([str(one) for one in sorted(here)])
            yield Cause(
                f"the rank on {member.node} ran on NUMA node {ran}, the adapter of"
                f" {member.interface} is on {near}",
                "let ranks run on the adapter's NUMA node: numactl --cpunodebind, or the binding of"
                " the scheduler",
                f"adapter of {member.interface} on {member.node}: NUMA node {near}; rank: {ran}",
            )


def _slow_port(low: _Low) -> Iterator[Cause]:
    for member, interface in low.ports:
        speed = interface.speed_bit_s
        if isinstance(speed, Skipped) or not 0 < speed < plateaus.LOWER * low.rate_bit_s:
            continue
        # Else the driver's word is refuted.
        if low.stream.fraction * low.rate_bit_s <= plateaus.NEAR[1] * speed:
            show = _shown(member.interface)
            yield Cause(
                f"{member.node}:{member.interface} runs at {figures.link_rate(speed)} instead of"
                f" {figures.link_rate(low.rate_bit_s)}",
                f"on {member.node}: {show}; reseat or exchange the cable, and let both ends"
                " negotiate the rate",
                f"{member.node}:{member.interface} reports {figures.link_rate(speed)}",
            )


def lower_rate(stream: Stream, near: tuple[float, float]) -> float | None:
    """Return the rate of a slower link of the network's family that a figure is at, in bit/s.

    ``near`` bounds the figure as a multiple of what that rate's link can carry.
    """
    nominal, network = stream.rate_bit_s, stream.subject.network
    if isinstance(nominal, Skipped) or isinstance(network, Skipped):
        return None
    for _, rate in plateaus.link_rates(network):
        relative = stream.fraction * nominal / rate
        if rate < plateaus.LOWER * nominal and near[0] <= relative <= near[1]:
            return rate
    return None


def one_port(stream: Stream) -> str:
    """What shows that one connection used one port of a bond and filled it; empty where nothing
    does, or where a fault of the network was seen."""
    network, rate, of_pairs = stream.subject.network, stream.rate_bit_s, stream.series.of_pairs
    if isinstance(network, Skipped) or isinstance(rate, Skipped):
        return ""
    ends = [member for member in network.members if of_pairs or member.node in stream.series.ends]
    bonds = [ports for one in ends if (ports := _ports_of_bond(stream, one))]
    if not bonds or (of_pairs and len(bonds) < len(ends)) or proved(stream, True):
        return ""
    # Of two bonds that with the slower ports sets the pace.
    port_bit_s = min(
        max((s for port in ports if not isinstance(s := port.speed_bit_s, Skipped)),
            default=rate / len(ports))
        for ports in bonds
    )  # fmt: skip
    share = stream.fraction * rate / port_bit_s
    # Of several connections at once only some may share a port.
    most = math.inf if of_pairs and stream.subject.sharing > 1 else plateaus.NEAR[1]
    if not stream.limit("fraction.warn") <= share <= most:
        return ""
    names = sentences.listed([one.name for one in bonds[0]])
    return (
        f"{bonds[0][0].master} is a bond of {names}; the figure is {figures.percent(share)} of"
        f" what one port of {figures.link_rate(port_bit_s)} carries"
    )


def _ports_of_bond(stream: Stream, member: Member) -> tuple[Interface, ...]:
    """Those of the bond that a member is, or is a VLAN on; none where it is no bond of several."""
    node = stream.subject.run.fabric.node(member.node)
    own = node if isinstance(node, Skipped) else node.interface(member.interface)
    if isinstance(node, Skipped) or isinstance(own, Skipped):
        return ()
    bonds = {
        interface.name
        for interface in node.interfaces
        if interface.name in (own.name, own.parent) and interface.driver in BONDS
    }
    ports = tuple(interface for interface in node.interfaces if interface.master in bonds)
    return ports if len(ports) > 1 else ()


def heard(stream: Stream, *kinds: MessageKind) -> tuple[str, ...]:
    """Return the lines of these kinds that stand beside the stream's table, as evidence."""
    foreign = stream.series.foreign
    lines = foreign.evidence.messages if foreign else ()
    source = stream.series.source
    told = (f"{source}:{one.line}: {one.text}" for one in lines if one.kind in kinds)
    return tuple(dict.fromkeys(told))[:MOST_LINES]


def _transport(low: _Low) -> Iterator[Cause]:
    """TCP where an adapter should have sent: by the log's own lines, or by its provider."""
    stream = low.stream
    if low.network.technology in OVER_TCP:
        return
    lines = heard(stream, "tcp")
    who = plateaus.carrier(stream.series)
    if not lines and who != "adapter" and low.bytes_per_s <= plateaus.TCP_BYTES_S[1]:
        lines = heard(stream, "fallback", "asked")
    foreign = stream.series.foreign
    if not lines and foreign is not None and foreign.transport == "tcp":
        lines = (f"{stream.series.source}: {foreign.benchmark} sends by TCP",)
    if lines:
        yield Cause(*_USED_TCP, "; ".join(lines))


def _known_rates(low: _Low) -> Iterator[Cause]:
    """Known rates that others' figure fits: one is named, of several all are."""
    stream, payload = low.stream, low.stream.ceiling.payload_bytes_per_s
    if not stream.subject.imported:
        return
    fits = plateaus.fitting(stream.series, low.network, payload, low.bytes_per_s)
    if not fits:
        return
    kinds = tuple(kind for kind in _OF_PLATEAUS if any(one.kind == kind for one in fits))
    names = [
        (f"{_OF_PLATEAUS[kind][0]}: {sentences.listed([p.name for p in fits if p.kind == kind])}")
        for kind in kinds
    ]
    yield Cause(
        names[0] if len(names) == 1 else f"candidates: {sentences.listed(names)}",
        "; ".join(_OF_PLATEAUS[kind][1] for kind in kinds),
        "; ".join(
            f"{one.name} carries {figures.rate(one.low)} to {figures.rate(one.high)}"
            for one in fits
        ),
    )


def _unsaturated(low: _Low) -> Iterator[Cause]:
    """Yield a cause if the curve still rises at its end: larger messages carry more."""
    points = [point for point in low.stream.series.points if point.sized]
    if not low.stream.subject.imported or len(points) < 2 or low.stream.series.is_latency:
        return
    before, last = points[-2:]
    rises = last.bandwidth.value / before.bandwidth.value
    if last is low.stream.best and rises >= RISES and last.message_bytes < ENOUGH_BYTES:
        yield Cause(
            f"messages of {figures.size(last.message_bytes)} do not fill the network yet: the curve"
            " still rises",
            "measure larger messages as well (osu_bw -m 65536:4194304, ib_write_bw -a)",
            f"{figures.size(before.message_bytes)} to {figures.size(last.message_bytes)}:"
            f" {figures.percent(rises - 1.0)} more",
        )


def _lower_rate(low: _Low) -> Iterator[Cause]:
    """What the best one-way stream between two ends shows holds for each stream between them."""
    if low.stream.subject.imported:
        return
    series = low.stream.series
    others = streams(low.stream.subject, "bandwidth", "put_bandwidth")
    same = (one for one in others if one.series.ends == series.ends)
    shown = max((low.stream, *same), key=lambda stream: stream.fraction)
    rate = lower_rate(shown, plateaus.NEAR)
    if rate is None:
        return
    figure = "the figure" if shown.series == series else f"that of {shown.series.name}"
    interfaces = sorted({member.interface for member in low.network.members})
    commands = sentences.listed([_shown(name) for name in interfaces])
    yield Cause(
        f"a link on the way runs at {figures.link_rate(rate)} instead of"
        f" {figures.link_rate(low.rate_bit_s)}",
        f"compare the negotiated rate on each node{f' ({commands})' if commands else ''} and on the"
        " switch's ports; reseat or exchange the cable, and let both ends negotiate",
        f"{figure} is {figures.percent(shown.fraction * low.rate_bit_s / rate)} of what a"
        f" {figures.link_rate(rate)} link can carry",
    )


def _errors(low: _Low, many: bool) -> Iterator[Cause]:
    """Counters that rose, or only those that rose by more than `errors` allows."""
    least = low.stream.limit("errors.least") if many else 0.0
    share = low.stream.limit("errors.share") if many else 0.0
    troubles = low.stream.subject.evidence.troubles
    rose = {trouble.node for trouble in troubles}
    ours = {(node, interface.name) for node, interface in low.down_from(rose)}
    for one in troubles:
        enough = one.count >= least and one.count > max(one.strays, share * one.frames)
        if enough and (one.node, one.interface) in ours:
            yield Cause(
                f"{one.node}:{one.interface} loses frames ({one.counter})",
                f"exchange the cable and the transceiver of {one.node}:{one.interface}, then its"
                " port; look at the switch port's counters",
                f"{one.counter} of {one.node}:{one.interface} rose by {one.count:,} during the"
                " cases",
            )


def _even_share(low: _Low) -> Iterator[Cause]:
    """A steady share of the rate: a limit drops what is above it, a bad cable keeps to no rate."""
    stream, (_, lost) = low.stream, _lost(low)
    parts = [n for n in SHARED_BY if EVEN[0] <= n * stream.fraction <= EVEN[1]]
    steady = stream.high - stream.low <= STEADY * stream.fraction
    if parts and steady and lost <= low.stream.limit("host-limited.lost_segments"):
        yield Cause(
            f"something keeps the stream to 1/{parts[0]} of the rate: a limit on the way, or"
            f" {sentences.counted(parts[0], 'stream')} that share a link",
            "look for rate limits on both nodes (tc qdisc show) and on the switch's ports (policer,"
            " shaper), and for other traffic on the way; then measure again",
            f"the figure is {figures.percent(stream.fraction)} of the ceiling,"
            f" {figures.percent(stream.low)} to {figures.percent(stream.high)};"
            f" {figures.percent(lost)} of the TCP segments of a case were lost (median)",
        )


def _kept_rate(low: _Low) -> Iterator[Cause]:
    """A rate that streams of the same way, or of one of its ends, keep to, whatever is lost."""
    stream = low.stream
    way = stream.series.way
    nodes = {node for launch in stream.subject.launches for node in launch.nodes}
    at_ends = [[(end, one) for one in nodes] + [(one, end) for one in nodes] for end in way]
    for ways in ([way, way[::-1]], *at_ends):
        rate = kept_rate(stream.subject, ways)
        if rate is None or abs(stream.fraction / rate.share - 1.0) > LIKE:
            continue
        if max(rate.lost) > stream.limit("errors.share"):
            cause, remedy = KEPT_RATE
            kept = figures.link_rate(rate.share * low.rate_bit_s)
            yield Cause(
                f"something keeps streams to {kept} of {figures.link_rate(low.rate_bit_s)}:"
                f" {cause}",
                f"{remedy}; then measure again", rate.sentence,
            )  # fmt: skip
            return


def _tcp_limit(low: _Low) -> Iterator[Cause]:
    """Yield a buffer or window of TCP that holds the stream back, with the setting's value."""
    for one in tcp_limits(low.stream):
        yield Cause(one.what, one.remedy, one.evidence, in_host=True)


def _lost(low: _Low) -> tuple[int, float]:
    """Segments lost in all cases, and their share of a case's segments, the median.

    A queue that fills as a stream begins is one case's only.
    """
    cases = [
        lost_segments(case)
        for point in low.stream.series.at_least(low.stream.limit("fraction.from"))
        for case in point.measurements
    ]
    shares = [lost / segments for lost, segments in cases if segments > 0]
    return sum(lost for lost, _ in cases), float(np.median(shares)) if shares else 0.0


def _losses(low: _Low, above: str) -> Iterator[Cause]:
    """Losses above a threshold in most cases."""
    (origin, target), (count, share) = low.stream.series.way, _lost(low)
    if count >= low.stream.limit("errors.least") and share > low.stream.limit(above):
        yield Cause(
            f"segments from {origin} to {target} are lost on the way",
            "look at error and drop counters of both ends and of the switch ports between them;"
            " exchange cable and transceiver, then the port",
            f"{count:,} TCP segments from {origin} did not reach {target},"
            f" {figures.percent(share)} of those of a case (median)",
        )


def _found_before(low: _Low, severity: Severity) -> Iterator[Cause]:
    preflight, ends = low.stream.subject.run.preflight, low.stream.series.ends
    return preflight_causes(preflight, severity, low.network.name, ends)


def preflight_causes(
    preflight: Sequence[Finding], severity: Severity, network: str, ends: Collection[str]
) -> Iterator[Cause]:
    """Each finding from before the measurement about the network or about one of its ends."""
    for finding in preflight:
        of_node = not finding.network and finding.check not in OF_AN_INTERFACE
        about = finding.network == network or (of_node and set(ends) & set(finding.nodes))
        if about and finding.severity is severity and finding.check not in NOT_A_CAUSE:
            mends = [
                f"on {do.node}: {sentences.command(do.argv)}" for do in finding.mends[:MOST_MENDS]
            ]
            yield Cause(
                f"{finding.where} {finding.what} (found before the measurement, check"
                f" {finding.check})",
                "; ".join(mends) or finding.remedy,
                "; ".join(finding.evidence[:MOST_LINES]),
            )


_Look = Callable[[_Low], Iterator[Cause]]
_LOOKS: tuple[_Look, ...] = (
    _transport,
    _slow_port,
    _shaper,
    partial(_found_before, severity=Severity.FAIL),
    _slow_copy,
    _far_adapter,
    _tcp_limit,
    _lower_rate,
    _unsaturated,
    _known_rates,
    partial(_errors, many=False),
    _even_share,
    _kept_rate,
    partial(_losses, above="errors.share"),
    partial(_found_before, severity=Severity.WARN),
)
_PROVING: tuple[_Look, ...] = (_slow_port, _shaper, partial(_errors, many=True))
