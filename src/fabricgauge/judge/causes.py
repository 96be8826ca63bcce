"""Find why a network carries less than its ceiling, from the evidence of a run."""

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from itertools import chain

import msgspec

from fabricgauge.judge import plateaus
from fabricgauge.judge.ceiling.technologies import slot_share
from fabricgauge.judge.evidence.connections import count_segments, lost_segments
from fabricgauge.judge.evidence.traffic import without_traffic
from fabricgauge.judge.kept_rate import KEPT_RATE, kept_rate
from fabricgauge.judge.rates_over_time import LEVEL_REMEDY, find_unsteady
from fabricgauge.judge.stats import median_or_zero
from fabricgauge.judge.stats.series import Point, node_of
from fabricgauge.judge.streams import Stream, rails_if_one_used, streams
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import OVER_TCP, Interface, Member, Network, Shaper
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.suite import MessageKind
from fabricgauge.model.words import figures, sentences
from fabricgauge.model.words.port_counters import CounterKind, kind_of

#: Numbers of streams that may share a link evenly, how near the figure must be to an even share,
#: and the largest spread of such a figure.
SHARED_BY, EVEN, STEADY = (2, 3, 4), (0.97, 1.02), 0.03

#: A curve still rises if its last size is faster than the one before by this factor. Messages of
#: this many bytes fill any network.
RISES, ENOUGH_BYTES = 1.15, 1 << 20

#: How near a figure must be to the rate that streams keep to.
LIKE = 0.1

#: Bytes of a frame at MTU 1500, as the kernel's token bucket counts them and on the wire.
SHAPED_BYTES, WIRE_BYTES = 1514, 1538

#: Drivers of a bond, as ethtool and ip name them. Linux 6.12, drivers/net: bonding, team.
BONDS = ("bonding", "bond", "team")

#: The path between processors leaves a far adapter at least this share: 96 of 200 Gb/s on EPYC
#: without relaxed ordering is the least that is published.
LEAST_FAR = 0.4

#: A rail that carries less than this part of the busiest one's bytes is slower, or gets less.
UNEVEN = 0.75

#: How near a figure must be to the rate of the copy that a staged message waits for.
NEAR_COPY = (0.8, 1.05)

#: Checks whose findings rules see in the run itself, or that make no stream slow.
NOT_A_CAUSE = frozenset(
    {"rate", "reach", "connect", "names", "clocks", "limits", "thp", "firewall", "likeness"}
)

#: Checks of one interface. Without a network the interface carries none of the traffic.
OF_AN_INTERFACE = frozenset({"link", "addresses", "counters"})

#: Most commands, and most lines of evidence, in one sentence.
MOST_MENDS, MOST_LINES = 4, 2
#: Ports that the evidence lists; the others are counted.
MOST_PORTS = 4

#: Where to look for a rate limit; the kernel's queues do not see RDMA.
_LIMITS = {
    False: "look for rate limits on both nodes (tc qdisc show) and on the switch's ports (policer,"
    " shaper)",
    True: "look for rate limits of both adapters and of the switch's ports (policer, shaper)",
}


class Cause(msgspec.Struct, frozen=True):
    """A likely cause with its evidence and its remedy.

    ``in_host`` is a cause in a host: it is reported even if a host limits the figure. ``node`` is
    the node that has it, empty if it lies between nodes or is that of several.
    """

    cause: str
    remedy: str
    evidence: str = ""
    in_host: bool = False
    node: str = ""


class _Low(msgspec.Struct, frozen=True):
    """A low stream on a network whose rate is known."""

    stream: Stream
    network: Network
    rate_bit_s: float

    @property
    def bytes_per_s(self) -> float:
        return self.stream.best.bandwidth.value

    @property
    def link_bit_s(self) -> float:
        """Return the rate of a link that the stream would fill."""
        return self.stream.fraction * slot_share(self.network) * self.rate_bit_s

    @property
    def ports(self) -> Iterator[tuple[Member, Interface]]:
        """Yield each end's members with their ports, at the lowest rate in the stream's cases."""
        rates, series = self._read_rates(), self.stream.series
        for member in self.network.members:
            if not series.of_pairs and member.node not in series.ends:
                continue
            port = self.stream.subject.run.fabric.interface_of(member)
            if isinstance(port, Skipped):
                continue
            rate = rates.get((member.node, member.interface), math.inf)
            # A driver without a physical rate reports none to discovery, and any to the engine.
            if not isinstance(port.speed_bit_s, Skipped) and 0 < rate < port.speed_bit_s:
                port = msgspec.structs.replace(port, speed_bit_s=rate)
            yield member, port

    def _read_rates(self) -> dict[tuple[str, str], float]:
        """Return the lowest rate of each port that was read in the cases behind the figure."""
        ids = {id(case) for case in (*self.stream.measurements, *self.stream.round_robins)}
        rates: dict[tuple[str, str], float] = {}
        for launch in self.stream.subject.launches:
            for case in (case for case in launch.measurements if id(case) in ids):
                for counters in case.counters:
                    node = node_of(launch, counters.rank)
                    for name, reading in chain(counters.before.items(), counters.after.items()):
                        link = reading.link
                        rate = link if isinstance(link, Skipped) else link.speed_bit_s
                        if not isinstance(rate, Skipped):
                            rates[node, name] = min(rate, rates.get((node, name), rate))
        return rates

    def down_from(self, nodes: Collection[str]) -> Iterator[tuple[str, Interface]]:
        """Yield the interface of each member among these nodes, and the interfaces below it."""
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
    "a part between the two nodes carries less than the nominal rate; the evidence does not show"
    " which",
    "compare the negotiated rates (ethtool) and the error counters of both ends and of the switch"
    " port; exchange first the cable, then the port; measure the same pair after each step",
)
UNKNOWN_OF_PORTS = Cause(
    UNKNOWN.cause,
    "compare rate, width and error counters of both ends and of the switch ports (ibstat,"
    " iblinkinfo, perfquery), and the adapters' slots (lspci -vv); exchange first the cable, then"
    " the port; measure the same pair after each step",
)
_WITHOUT_MPI = Cause(
    "unknown: the log gives no reason, and no known rate of a link, slot or transport fits",
    "on both nodes, check the link (ibstat, ethtool) and the slot (lspci -vv, LnkSta)",
)
UNKNOWN_OF_LOGS = Cause(
    _WITHOUT_MPI.cause,
    f"{_WITHOUT_MPI.remedy}; let MPI print its transport (UCX_LOG_LEVEL=info, I_MPI_DEBUG=5, --mca"
    " btl_base_verbose 30); measure without MPI too (ib_write_bw, iperf3)",
)
BOTH_WAYS = Cause(
    "both directions at once share what one alone has to itself: the hosts' slots, memory and"
    " processors, and acknowledgements take a part of the link",
    "measure each direction alone (osu_bw, ib_write_bw, iperf3, fabricgauge check --patterns"
    " bandwidth): a faulty cable or port slows that as well; if each is sound, look at the slot of"
    " the adapter (lspci -vv, LnkSta)",
)
_HALF_DUPLEX = Cause(
    "each direction alone fills the link, and both together share it: half duplex, a limit for the"
    " sum of both directions, or one processor that serves both",
    "look at the duplex of both ends and of the switch's ports (ethtool NAME: Duplex), at rate"
    " limits, and at the load of the processors (mpstat -P ALL)",
    "each direction alone passes, and both at once carry half of it each",
)
#: Effect and remedy by kind of a counter that rose.
_COUNTED: dict[CounterKind, tuple[str, str]] = {
    "errors": (
        "loses frames",
        "check the switch port's counters; exchange the cable and the transceiver of {place}, then"
        " its port",
    ),
    "drops": (
        "drops frames: a receiver or queue that cannot keep up",
        "enlarge the receive ring of {place} (ethtool -G NAME rx N), and spread its interrupts over"
        " the processors",
    ),
    "retries": (
        "sent packets again, got them out of order or had no buffer: packets are lost on the path",
        "look at the drops of the switch's ports; make the same priority lossless (PFC) on adapters"
        " and switch",
    ),
    "congestion": (
        "got notice of congestion: a queue on the path fills",
        "find the port that fills: other jobs may use it, or several flows share one uplink",
    ),
    "pauses": (
        "was paused, or paused its peer: a receiver cannot keep up",
        "find the slow receiver: follow the pause counters of the switch's ports",
    ),
}
#: Cause and remedy if TCP carried the messages instead of an adapter.
_USED_TCP = (
    "MPI used TCP instead of the adapter's own transport",
    "let MPI use the adapter: UCX built --with-verbs and UCX_NET_DEVICES with a device that"
    " `ucx_info -d` lists, Open MPI with --mca pml ucx, Intel MPI with FI_PROVIDER=mlx, verbs or"
    " psm3; check that the library finds libibverbs and that memory may be locked (ulimit -l)",
)
#: Cause and remedy of each kind of known rate; the cheapest check comes first.
_PLATEAU_WORDS: dict[plateaus.Kind, tuple[str, str]] = {
    "tcp": (
        "MPI may have used TCP",
        "let MPI print its transport (UCX_LOG_LEVEL=info, I_MPI_DEBUG=5, --mca btl_base_verbose"
        " 30)",
    ),
    "network": (
        "MPI may have used another network",
        "let MPI print its network (UCX_LOG_LEVEL=info, I_MPI_DEBUG=5, --mca btl_base_verbose 30),"
        " and restrict it to the fast one (UCX_NET_DEVICES, FI_PROVIDER)",
    ),
    "verbs": (
        "MPI may have used verbs instead of PSM2 or OPX",
        "let MPI use the adapter's own library: Open MPI with --mca pml cm --mca mtl psm2 or ofi,"
        " FI_PROVIDER=psm2 or opx",
    ),
    "rail": (
        "only some of the rails carried the data",
        "give all rails to the program: UCX_NET_DEVICES, UCX_MAX_RNDV_RAILS, NCCL_IB_HCA",
    ),
    "host": (
        "the processors limit the TCP rate of one program",
        "run several programs at once (iperf3 on several ports), and use a larger MTU",
    ),
    "slot": (
        "the adapter's PCIe slot limits the rate",
        "check the slot's width and speed: lspci -vv (compare LnkSta with LnkCap)",
    ),
    "link": (
        "a link between the nodes runs at a lower rate, or a rate limit is set",
        "check the negotiated rate and width of both ends and of the switch ports (ibstat,"
        " iblinkinfo, ethtool)",
    ),
}
#: How OSU's headings begin to name buffers on a GPU.
_GPU_BUFFERS = ("DEVICE", "MANAGED")
_STAGED = (
    "MPI copies GPU memory through the host, or the GPU's slot limits the rate",
    "measure host memory too (osu_bw H H), and let MPI send from GPU memory (GPUDirect RDMA:"
    " nvidia-peermem or dma-buf)",
)
UNSTEADY = Cause(
    "the figure reaches the ceiling but is not steady: other load uses the hosts or the link",
    "measure again when nodes and network are idle: fabricgauge check --profile standard",
)


def causes(stream: Stream) -> tuple[Cause, ...]:
    """Return the likely causes of a low bandwidth, the strongest first; never empty."""
    unknown = UNKNOWN_OF_PORTS if stream.subject.has_rdma_ports else UNKNOWN
    if stream.subject.imported:
        foreign = stream.series.foreign
        unknown = _WITHOUT_MPI if foreign and foreign.transport else UNKNOWN_OF_LOGS
    unknown = unknown if stream.directions == 1 else BOTH_WAYS
    return _run_checks(stream, _CHECKS) or (unknown,)


def prove_causes(stream: Stream, slow_hosts: bool) -> tuple[Cause, ...]:
    """Return causes in the network with direct evidence, not inferred from the figure.

    Overloaded hosts (``slow_hosts``) drop segments from their own queues and answer so late that
    some are sent again. With them only many lost segments show a fault of the network.
    """
    losses = partial(_losses, above="host-limited.lost_segments" if slow_hosts else "errors.share")
    return _run_checks(stream, (*_PROVING, losses))


def _run_checks(stream: Stream, checks: "tuple[_Check, ...]") -> tuple[Cause, ...]:
    network = stream.subject.network
    if isinstance(network, Skipped) or isinstance(network.rate_bit_s, Skipped):
        return ()
    low = _Low(stream, network, network.rate_bit_s)
    return tuple(cause for check in checks for cause in check(low))


def _shaper(low: _Low) -> Iterator[Cause]:
    """Yield token buckets of the sender; a bucket limits only what its node sends."""
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
        shaped, place = interface.shaper.rate_bit_s, f"{node}:{interface.name}"
        wire = shaped * WIRE_BYTES / SHAPED_BYTES
        if wire < plateaus.LOWER * low.rate_bit_s:
            remove = sentences.command(("tc", "qdisc", "del", "dev", interface.name, "root"))
            yield Cause(
                f"a token bucket on {place} limits the stream to {figures.link_rate(wire)} of"
                f" {figures.link_rate(low.rate_bit_s)}",
                f"on {node}: {remove}, or set the bucket to the link's rate",
                f"{place} has a token bucket of {figures.link_rate(shaped)} (frames without"
                " preamble, FCS and gap)",
                node=node,
            )


def _slow_copy(low: _Low) -> Iterator[Cause]:
    """Yield the copy between GPU and host that limits staged messages or the GPU's slot."""
    from fabricgauge.judge import staging

    copy = staging.slowest_copy(low.stream)
    if copy is None or not NEAR_COPY[0] <= staging.share(low.stream, copy) <= NEAR_COPY[1]:
        return
    staging_kind, _ = staging.way_of_messages(low.stream)
    staged = (
        f"messages are {staging_kind}"
        if staging_kind
        else "MPI stages messages, or the GPU's slot limits it"
    )
    yield Cause(
        f"{copy} carries only {figures.rate(copy.bytes_per_s)} and limits the stream: {staged}",
        f"on {copy.node}: check the width and speed of the GPU's slot (nvidia-smi -q, lspci -vv);"
        " let MPI send from GPU memory directly (GPUDirect RDMA: nvidia-peermem or dma-buf, and"
        " RDMA instead of TCP)",
        in_host=True,
        node=copy.node,
    )


def _rate_command(interface: str) -> str:
    """Return the command that shows a link's rate: ibstat for an RDMA port, else ethtool."""
    device, _, number = interface.partition(":")
    return sentences.command(("ibstat", device, number) if number else ("ethtool", interface))


def _far_adapter(low: _Low) -> Iterator[Cause]:
    """Yield ranks whose memory is near none of the rails; the rate between sockets is unknown."""
    if not low.network.has_rdma_ports or low.stream.fraction < LEAST_FAR:
        return
    ranks = {
        (placement.host, placement.numa_node)
        for launch in low.stream.subject.launches
        for placement in launch.placements
        if isinstance(placement.numa_node, int)
    }
    for member in dict.fromkeys(low.network.rails_of(port.node)[0] for port, _ in low.ports):
        node = low.stream.subject.run.fabric.node(member.node)
        if isinstance(node, Skipped):
            continue
        adapters = [node.adapter_of(rail.interface) for rail in low.network.rails_of(node.name)]
        adapter_nodes = [a if isinstance(a, Skipped) else a.numa_node for a in adapters]
        adapter_node = adapter_nodes[0]
        rank_nodes = {numa for host, numa in ranks if host in (node.name, node.hostname)}
        # A rank is near one rail of several; the others are on the other processors.
        if isinstance(adapter_node, int) and rank_nodes and rank_nodes.isdisjoint(adapter_nodes):
            rank_text = sentences.listed([str(numa) for numa in sorted(rank_nodes)])
            yield Cause(
                f"the rank on {member.node} ran on NUMA node {rank_text}, but the adapter of"
                f" {member.interface} is on NUMA node {adapter_node}",
                "bind ranks to the adapter's NUMA node: numactl --cpunodebind, or the scheduler's"
                " binding",
                f"adapter of {member.interface} on {member.node}: NUMA node {adapter_node};"
                f" rank: {rank_text}",
                node=member.node,
            )


def _slow_port(low: _Low) -> Iterator[Cause]:
    for member, interface in low.ports:
        speed = interface.speed_bit_s
        if isinstance(speed, Skipped) or not 0 < speed < plateaus.LOWER * low.rate_bit_s:
            continue
        # A faster figure proves that the driver reports a wrong rate.
        if low.link_bit_s <= plateaus.NEAR[1] * speed:
            show = _rate_command(member.interface)
            yield Cause(
                f"{member.node}:{member.interface} runs at {figures.link_rate(speed)} instead of"
                f" {figures.link_rate(low.rate_bit_s)}",
                f"on {member.node}: {show}; reseat or exchange the cable, and let both ends"
                " negotiate the rate",
                f"{member.node}:{member.interface} reports {figures.link_rate(speed)}",
                node=member.node,
            )


def _slow_slot(low: _Low) -> Iterator[Cause]:
    """Yield slots of the ends that carry less than the link, and as much as the figure."""
    network, rails = low.network, low.network.rails
    if network.slots not in (0, rails):
        return
    figure, full = low.bytes_per_s / rails, low.stream.ceiling.payload_bytes_per_s / rails
    for member, _ in low.ports:
        node = low.stream.subject.run.fabric.node(member.node)
        adapter = node if isinstance(node, Skipped) else node.adapter_of(member.interface)
        if isinstance(adapter, Skipped) or isinstance(adapter.pcie_now, Skipped):
            continue
        slot = adapter.pcie_now
        data = slot.data_bit_s / 8
        least, most = (share * data for share in plateaus.PCIE_SHARE)
        if most < plateaus.LOWER * full and least <= figure <= data:
            able = "" if isinstance(adapter.pcie_capable, Skipped) else str(adapter.pcie_capable)
            of = f"; the adapter is able of {able}" if able not in ("", str(slot)) else ""
            place = f"{member.node}:{member.interface}"
            yield Cause(
                f"the slot of {place} runs at {slot} and carries less than the link",
                f"on {member.node}: {sentences.command(('lspci', '-vv', '-s', str(adapter.bus)))}"
                " (LnkSta beside LnkCap); reseat the adapter, or use a wider or faster slot",
                f"{slot} of {place} has {figures.rate(data)} before packets' headers{of}",
                in_host=True,
                node=member.node,
            )


def _unused_rail(low: _Low) -> Iterator[Cause]:
    """Yield rails of the sender that carried nothing, or less than the others."""
    if low.network.rails < 2 or not low.network.has_rdma_ports:
        return
    series, cause = low.stream.series, _PLATEAU_WORDS["rail"]
    senders = {*series.ends} if low.stream.directions == 2 else {series.way[0]}
    for launch in low.stream.subject.evidence.launches:
        for moved in launch.moved:
            names = [rail.interface for rail in low.network.rails_of(moved.node)]
            sent = {name: moved.sent_bytes.get(name, 0) for name in names}
            most = max(sent.values(), default=0)
            if not most or not (series.of_pairs or moved.node in senders):
                continue
            listed = ", ".join(f"{name} {figures.amount(count)}" for name, count in sent.items())
            evidence = f"launch {launch.placed.launch}: {moved.node} sent by {listed}"
            if idle := without_traffic(sent, moved.payload_bytes):
                where = f"{sentences.listed(idle)} of {moved.node} carried almost nothing"
                yield Cause(f"{cause[0]}: {where}", cause[1], evidence, node=moved.node)
                return
            if min(sent.values()) < UNEVEN * most:
                slow = f"{moved.node}:{min(sent, key=lambda name: (sent[name], name))}"
                yield Cause(
                    f"{slow} carried less than the other rail: its link or slot is slower, or MPI"
                    " gives it less",
                    "measure each rail alone (fabricgauge check --network NAME), and compare rate,"
                    " width and slot of both (ibstat, lspci -vv)",
                    evidence,
                    node=moved.node,
                )
                return


def find_lower_rate(stream: Stream, near: tuple[float, float]) -> float | None:
    """Return the bit/s of a slower link of the network's family that fits a figure, or None.

    ``near`` bounds the figure as a multiple of what that rate's link can carry.
    """
    nominal, network = stream.rate_bit_s, stream.subject.network
    if isinstance(nominal, Skipped) or isinstance(network, Skipped):
        return None
    link_bit_s = stream.fraction * slot_share(network) * nominal
    for _, rate in plateaus.link_rates(network):
        relative = link_bit_s / rate
        if rate < plateaus.LOWER * nominal and near[0] <= relative <= near[1]:
            return rate
    return None


def describe_full_port(stream: Stream) -> str:
    """Return a sentence if one connection filled one port of a bond.

    Empty without such a bond, or if the evidence proves a fault of the network.
    """
    network, rate, of_pairs = stream.subject.network, stream.rate_bit_s, stream.series.of_pairs
    if isinstance(network, Skipped) or isinstance(rate, Skipped):
        return ""
    ends = [member for member in network.members if of_pairs or member.node in stream.series.ends]
    bonds = [ports for member in ends if (ports := _find_bond_ports(stream, member))]
    if not bonds or (of_pairs and len(bonds) < len(ends)) or prove_causes(stream, True):
        return ""
    # The bond with the slower ports limits the pair.
    port_bit_s = min(
        max((s for port in ports if not isinstance(s := port.speed_bit_s, Skipped)),
            default=rate / len(ports))
        for ports in bonds
    )  # fmt: skip
    share = stream.fraction * rate / port_bit_s
    # Among several connections at once only some may share a port.
    most = math.inf if of_pairs and stream.subject.sharing > 1 else plateaus.NEAR[1]
    if not stream.limit("fraction.warn") <= share <= most:
        return ""
    names = sentences.listed([member.name for member in bonds[0]])
    return (
        f"{bonds[0][0].master} is a bond of {names}; the figure is {figures.percent(share)} of"
        f" one port's {figures.link_rate(port_bit_s)}"
    )


def _find_bond_ports(stream: Stream, member: Member) -> tuple[Interface, ...]:
    """Return the ports of the bond that a member uses, or none without several ports."""
    node = stream.subject.run.fabric.node(member.node)
    interface = node if isinstance(node, Skipped) else node.interface(member.interface)
    if isinstance(node, Skipped) or isinstance(interface, Skipped):
        return ()
    bonds = {
        port.name
        for port in node.interfaces
        if port.name in (interface.name, interface.parent) and port.driver in BONDS
    }
    ports = tuple(port for port in node.interfaces if port.master in bonds)
    return ports if len(ports) > 1 else ()


def find_log_lines(stream: Stream, *kinds: MessageKind) -> tuple[str, ...]:
    """Return the log's lines of these kinds near the stream's table, as evidence."""
    foreign = stream.series.foreign
    lines = foreign.evidence.messages if foreign else ()
    source = stream.series.source
    log_lines = (f"{source}:{line.line}: {line.text}" for line in lines if line.kind in kinds)
    return tuple(dict.fromkeys(log_lines))[:MOST_LINES]


def _transport(low: _Low) -> Iterator[Cause]:
    """Yield TCP instead of an adapter, by the log's own lines or by its provider."""
    stream = low.stream
    if low.network.technology in OVER_TCP:
        return
    lines = find_log_lines(stream, "tcp")
    who = plateaus.carrier(stream.series)
    if not lines and who != "adapter" and low.bytes_per_s <= plateaus.TCP_BYTES_S[1]:
        lines = find_log_lines(stream, "fallback", "asked")
    foreign = stream.series.foreign
    if not lines and foreign is not None and foreign.transport == "tcp":
        lines = (f"{stream.series.source}: {foreign.benchmark} uses TCP",)
    if lines:
        yield Cause(*_USED_TCP, "; ".join(lines))


def _unsteady_rate(low: _Low) -> Iterator[Cause]:
    """Yield outages and changes of rate between a log's own intervals."""
    if rate := find_unsteady(low.stream):
        source = low.stream.series.source
        yield Cause(f"{rate.sentence}: {rate.cause}", LEVEL_REMEDY, f"{source}: {rate.sentence}")


def _settings_of(stream: Stream) -> dict[str, str]:
    return stream.series.foreign.settings if stream.series.foreign else {}


def _known_rates(low: _Low) -> Iterator[Cause]:
    """Yield the known rates that fit a figure of an imported log; all are candidates."""
    stream, payload = low.stream, low.stream.ceiling.payload_bytes_per_s
    fits = plateaus.fitting(stream.series, low.network, payload, low.bytes_per_s)
    if rails_if_one_used(stream.subject, stream.series):  # the ceiling is that of its device
        fits = tuple(plateau for plateau in fits if plateau.kind != "rail")
    on_gpu = any(value.startswith(_GPU_BUFFERS) for value in _settings_of(stream).values())
    if not stream.subject.imported or not (fits or on_gpu) or stream.directions == 2:
        return
    candidates, remedies = [], []
    for kind, (cause, remedy) in _PLATEAU_WORDS.items():
        if names := [plateau.name for plateau in fits if plateau.kind == kind]:
            candidates.append(f"{cause}: {sentences.listed(names)}")
            remedies.append(remedy)
    if on_gpu:
        candidates += (*(() if fits else (_WITHOUT_MPI.cause,)), _STAGED[0])
        remedies.append(_STAGED[1])
    yield Cause(
        candidates[0] if len(candidates) == 1 else f"candidates: {'; or '.join(candidates)}",
        "; ".join(remedies),
        "; ".join(
            f"{plateau.name} carries {figures.rate(plateau.low)} to {figures.rate(plateau.high)}"
            for plateau in fits
        ),
    )


def rate_of_larger(stream: Stream) -> float:
    """Return the bytes/s that a log's last two sizes grow to; 0 if the last one is large enough.

    A message takes a constant time, and the time of its bytes.
    """
    if not (ends := _find_small_end(stream)):
        return 0.0
    before, last = ends
    before_s, last_s = (point.message_bytes / point.bandwidth.value for point in ends)
    if last_s <= before_s:
        return 0.0
    return (last.message_bytes - before.message_bytes) / (last_s - before_s)


def _find_small_end(stream: Stream) -> tuple[Point, Point] | None:
    """Return the last two points of a log's stream if the last is its best, and still small."""
    points = [point for point in stream.series.points if point.sized]
    if not stream.subject.imported or len(points) < 2 or points[-1] is not stream.best:
        return None
    return (points[-2], points[-1]) if points[-1].message_bytes < ENOUGH_BYTES else None


def _unsaturated(low: _Low) -> Iterator[Cause]:
    """Yield a cause if the curve still rises at its end: larger messages carry more."""
    if low.stream.series.is_latency or not (ends := _find_small_end(low.stream)):
        return
    before, last = ends
    rises = last.bandwidth.value / before.bandwidth.value
    if rises >= RISES:
        yield Cause(
            f"messages of {figures.size(last.message_bytes)} do not fill the network yet: the curve"
            " still rises",
            "measure larger messages too (osu_bw -m 65536:4194304, ib_write_bw -a)",
            f"{figures.size(before.message_bytes)} to {figures.size(last.message_bytes)}:"
            f" {figures.percent(rises - 1.0)} more",
        )


def _lower_rate(low: _Low) -> Iterator[Cause]:
    """Yield a lower link rate that the fastest one-way stream between the two ends fits."""
    if low.stream.subject.imported:
        return
    series = low.stream.series
    one_way_streams = streams(low.stream.subject, "bandwidth", "put_bandwidth")
    same = (stream for stream in one_way_streams if stream.series.ends == series.ends)
    fastest = max((low.stream, *same), key=lambda stream: stream.fraction)
    rate = find_lower_rate(fastest, plateaus.NEAR)
    if rate is None:
        return
    lower, nominal = figures.link_rate(rate), figures.link_rate(low.rate_bit_s)
    figure = "the figure" if fastest.series == series else f"the figure of {fastest.series.name}"
    share = fastest.fraction * slot_share(low.network) * low.rate_bit_s / rate
    evidence = f"{figure} is {figures.percent(share)} of what a {lower} link can carry"
    speeds = {f"{member.node}:{member.interface}": port.speed_bit_s for member, port in low.ports}
    full = [
        name
        for name, speed in speeds.items()
        if not isinstance(speed, Skipped) and speed >= plateaus.LOWER * low.rate_bit_s
    ]
    if full and len(full) == len(speeds):
        ports = sentences.listed(full, MOST_PORTS)
        yield Cause(
            f"a rate limit, or a link between switches, holds the stream at {lower} instead of"
            f" {nominal}: the nodes' own ports report {nominal}",
            f"{_LIMITS[low.network.has_rdma_ports]}; compare the rates of the links between"
            " switches; then measure again",
            f"{evidence}; {ports} {'reports' if len(full) == 1 else 'report'} {nominal}",
        )
        return
    interfaces = sorted({member.interface for member in low.network.members})
    commands = sentences.listed([_rate_command(name) for name in interfaces])
    yield Cause(
        f"a link between the nodes runs at {lower} instead of {nominal}",
        f"compare the negotiated rate on each node{f' ({commands})' if commands else ''} and on the"
        " switch's ports; reseat or exchange the cable, and let both ends negotiate",
        evidence,
    )


def _errors(low: _Low, many: bool) -> Iterator[Cause]:
    """Yield error counters that rose; with ``many``, only by more than `errors` allows.

    A slow host drops frames, pauses its peer or has no buffer as well: with ``many``, only errors.
    """
    least = low.stream.limit("errors.least") if many else 0.0
    share = low.stream.limit("errors.share") if many else 0.0
    troubles = low.stream.subject.evidence.troubles
    nodes = {trouble.node for trouble in troubles}
    rail_interfaces = {(node, interface.name) for node, interface in low.down_from(nodes)}
    for trouble in troubles:
        count, place = trouble.count, f"{trouble.node}:{trouble.interface}"
        kind = kind_of(trouble.counter)
        is_above = count >= least and count > max(trouble.strays, share * trouble.frames)
        is_meant = kind == "errors" if many else kind in _COUNTED
        if is_above and is_meant and (trouble.node, trouble.interface) in rail_interfaces:
            effect, remedy = _COUNTED[kind]
            yield Cause(
                f"{place} {effect} ({trouble.counter})",
                remedy.format(place=place),
                f"{trouble.counter} of {place} rose by {count:,} during the cases",
                in_host=kind == "drops",
                node=trouble.node if kind in ("errors", "drops") else "",
            )


def _even_share(low: _Low) -> Iterator[Cause]:
    """Yield a steady even share of the rate: a limit or a shared link; a bad cable scatters."""
    stream, (_, lost) = low.stream, _sum_losses(low)
    parts = [n for n in SHARED_BY if EVEN[0] <= n * stream.fraction <= EVEN[1]]
    steady = stream.high - stream.low <= STEADY * stream.fraction
    if stream.directions == 2 and 2 in parts and _is_full_one_way(low):
        yield _HALF_DUPLEX
    elif parts and steady and lost <= low.stream.limit("host-limited.lost_segments"):
        yield Cause(
            f"a limit between the nodes holds the stream at 1/{parts[0]} of the rate, or"
            f" {sentences.counted(parts[0], 'stream')} share a link",
            f"{_LIMITS[low.network.has_rdma_ports]}, and for other traffic on the link; then"
            " measure again",
            f"the figure is {figures.percent(stream.fraction)} of the ceiling,"
            f" {figures.percent(stream.low)} to {figures.percent(stream.high)};"
            f" a case lost {figures.percent(lost)} of its TCP segments (median)",
        )


def _is_full_one_way(low: _Low) -> bool:
    """Check whether each direction alone fills the link between the two ends."""
    one_way = [
        stream
        for stream in streams(low.stream.subject, "bandwidth")
        if {*stream.series.ends} == {*low.stream.series.ends}
    ]
    least = low.stream.limit("fraction.pass")
    return bool(one_way) and all(stream.fraction >= least for stream in one_way)


def _kept_rate(low: _Low) -> Iterator[Cause]:
    """Yield a rate that streams of this direction, or at one of its ends, keep despite losses."""
    stream = low.stream
    direction = stream.series.way
    nodes = {node for launch in stream.subject.launches for node in launch.nodes}
    at_ends = [
        [(end, node) for node in nodes] + [(node, end) for node in nodes] for end in direction
    ]
    for directions in ([direction, direction[::-1]], *at_ends):
        rate = kept_rate(stream.subject, directions)
        is_like = rate is not None and abs(stream.fraction / rate.share - 1.0) <= LIKE
        if rate and is_like and max(rate.lost) > stream.limit("errors.share"):
            cause, remedy = KEPT_RATE
            kept_rate_text = figures.link_rate(rate.share * low.rate_bit_s)
            yield Cause(
                f"streams stay at {kept_rate_text} of {figures.link_rate(low.rate_bit_s)}:"
                f" {cause}",
                f"{remedy}; then measure again", rate.sentence,
            )  # fmt: skip
            return


def _tcp_limit(low: _Low) -> Iterator[Cause]:
    from fabricgauge.judge.tcp_limits import tcp_limits

    return tcp_limits(low.stream)


def _sum_losses(low: _Low) -> tuple[int, float]:
    """Return the lost segments of all cases, and the median of their share in a case.

    In the cases of all pairs, each rank's segments count as a case.
    """
    cases = [
        count_segments(case, rank)
        for case in low.stream.round_robins
        for rank in range(len(case.sockets))
    ] or [
        lost_segments(case)
        for point in low.stream.series.at_least(low.stream.limit("fraction.from"))
        for case in point.measurements
    ]
    # With the median, a queue that fills in one case only does not count.
    shares = [lost / segments for lost, segments in cases if segments > 0]
    return sum(lost for lost, _ in cases), median_or_zero(shares)


def _losses(low: _Low, above: str) -> Iterator[Cause]:
    """Yield losses if most cases have more than a threshold."""
    (origin, target), (count, share) = low.stream.series.way, _sum_losses(low)
    if count >= low.stream.limit("errors.least") and share > low.stream.limit(above):
        yield Cause(
            f"the network loses segments from {origin} to {target}",
            "check the error and drop counters of both ends and of the switch ports between them;"
            " exchange cable and transceiver, then the port",
            f"{count:,} TCP segments from {origin} did not reach {target},"
            f" {figures.percent(share)} of a case's segments (median)",
        )


def _preflight(low: _Low, severity: Severity) -> Iterator[Cause]:
    preflight, series = low.stream.subject.run.preflight, low.stream.series
    members = {member.node for member in low.network.members}
    ends = members if series.of_pairs else series.ends
    return preflight_causes(preflight, severity, low.network.name, ends)


def preflight_causes(
    preflight: Sequence[Finding], severity: Severity, network: str, ends: Collection[str]
) -> Iterator[Cause]:
    """Yield findings about the ends of a pair, or about half of many nodes and more."""
    fewest = 1 if len(ends) <= 2 else len(ends) / 2
    for finding in preflight:
        of_node = not finding.network and finding.check not in OF_AN_INTERFACE
        concerned = {*finding.nodes, *finding.affects} & {*ends}
        is_near = len(concerned) >= fewest or not finding.nodes
        about = is_near and (finding.network == network or (of_node and bool(concerned)))
        if about and finding.severity is severity and finding.check not in NOT_A_CAUSE:
            mends = [
                f"on {mend.node}: {sentences.command(mend.argv)}"
                for mend in finding.mends[:MOST_MENDS]
            ]
            yield Cause(
                f"{finding.where} {finding.what} (preflight check {finding.check})",
                "; ".join(mends) or finding.remedy,
                "; ".join(finding.evidence[:MOST_LINES]),
                node=finding.nodes[0] if len(finding.nodes) == 1 else "",
            )


_Check = Callable[[_Low], Iterator[Cause]]
_CHECKS: tuple[_Check, ...] = (
    _unsteady_rate,
    _transport,
    _unused_rail,
    _slow_port,
    _slow_slot,
    _shaper,
    partial(_preflight, severity=Severity.FAIL),
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
    partial(_preflight, severity=Severity.WARN),
)
_PROVING: tuple[_Check, ...] = (_slow_port, _shaper, partial(_errors, many=True))
