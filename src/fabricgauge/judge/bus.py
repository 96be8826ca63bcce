"""Bus bandwidth of GPU collectives, size by size, against the rate of the adapters.

nccl-tests scales a collective's rate to the rate at which a ring moves bytes from GPU to GPU (its
doc/PERFORMANCE.md). A ring crosses each node's adapters once in each direction, so the wire bounds
it. Other algorithms cross them less often, but each must move a minimum number of bytes.
"""

import re
from collections import Counter
from collections.abc import Iterator
from operator import attrgetter, itemgetter
from typing import NamedTuple

from fabricgauge.judge.interface import Subject
from fabricgauge.judge.nccl import FIND_ADAPTERS, describe_missing_adapters, find_offload
from fabricgauge.model.absence import Skipped
from fabricgauge.model.groups import group_by
from fabricgauge.model.nccl import ADAPTERS, SUITES, NcclEvidence
from fabricgauge.model.plan import Purpose
from fabricgauge.model.run import Launch
from fabricgauge.model.suite import SuiteCurve, SuitePoint
from fabricgauge.model.verdict import Figure, Outcome, Verdict, VerdictSubject
from fabricgauge.model.words import figures, sentences

#: A collective still grows if a message twice as large is faster by more than this factor.
LEVEL = 1.05
#: A larger message is reported if its rate is below this share of the best.
HELD = 0.9
#: The evidence lists this many sizes, the largest.
MOST_SIZES = 12

#: Collectives whose bus bandwidth is that of a ring: each byte passes each node.
_RINGS = ("all_reduce", "all_gather", "reduce_scatter")
_CHAINS = ("broadcast", "reduce")
#: The name of one device; ``mlx5`` is that of a driver.
_DEVICE = re.compile(r"(?!mlx\d$).*\d")
#: The program that measures pairs of many nodes.
_PAIR = "sendrecv_perf"

_LOW = (
    "adapters, GPUDirect RDMA or the algorithm (rule path lists NCCL's log lines), a slow link, or"
    " a busy fabric",
    "measure pairs of nodes (sendrecv_perf) and each adapter (ib_write_bw) to find the slow part",
)
_LOW_AMONG_PAIRS = (
    "a slow node or link (see rule outliers) slows all pairs that use it; else adapters, GPUDirect"
    " RDMA or the algorithm (rule path lists NCCL's log lines)",
    "repair the part that outliers names, then check again; if it names none, measure each adapter"
    " (ib_write_bw)",
)
_CROWDED = (
    "other pairs sent at the same time and may share a link or a switch with this pair",
    "measure again with --concurrent 1, one pair at a time",
)
_FEWER_RAILS = (
    f"{ADAPTERS} leaves the other rails out, and nothing shows what they carry",
    f"leave {ADAPTERS} out, or name all adapters in it; else state as many rails as it names",
)
_BROKE = "remove what broke the run, and measure again"
_NAMES = "keep the line of the command above the table, and the lines from '# Using devices' on"
#: Reasons for which a collective is not judged, and what the user can do.
_UNNAMED = "the log does not name its collective, and its rates fit several"
_NO_NODES = "the log does not name the nodes of the ranks"
_REMEDIES = {
    _UNNAMED: _NAMES,
    _NO_NODES: f"{_NAMES}; or state the nodes: --hosts 'n[1-2]'",
}
_STILL_GROWS = (
    "the measured messages are too small: larger ones are still faster",
    "measure larger messages, e.g. -e 8G, until the bus bandwidth stops growing",
)
_MAY_BE_HELPED = (
    "SHARP or NVLS reduces in the network, or the bytes took another network",
    "run it again with NCCL_DEBUG=INFO, which reports SHARP and NVLS",
)
_TOO_MUCH = (
    "the bytes also crossed another network, or the stated rate is too low",
    "check the rules placement and path, the stated rate and the number of rails",
)
_ABOVE = "the rate is higher than the wire allows: check the rules above-ceiling and placement"


class BusRate(NamedTuple):
    """The best size of a curve.

    In bytes/s, ``ceiling`` bounds a ring, ``most`` bounds any algorithm without SHARP or NVLS. Both
    are those of ``rails`` of the stated rails, if NCCL was given fewer than all; 0 for all.
    """

    curve: SuiteCurve
    best: SuitePoint
    ceiling: float
    most: float
    origin: str
    rails: int = 0

    @property
    def share(self) -> float:
        return self.best.estimate.value / self.ceiling


def bus_rates(subject: Subject) -> Iterator[BusRate | Skipped]:
    """Yield each curve of bus bandwidth with its bounds, or why it has none."""
    least = subject.limit("fraction.from")
    for curve in _select_curves(subject):
        points = [point for point in curve.points if (point.message_bytes or 0) >= least]
        if curve.quantity != "bus_bandwidth" or curve.ranks == 1 or not points:
            continue
        wire, origin = _find_wire_rate(subject, curve)
        shape = _find_bounds(curve, _find_hosts(subject, curve), subject)
        if wire is None:
            yield Skipped(origin)
        elif isinstance(shape, Skipped):
            yield shape
        else:
            best = max(points, key=lambda point: point.estimate.value)
            rails, stated, most = _given_rails(subject, curve), subject.rails, wire * shape[1]
            # A name is a prefix: ``mlx5_1`` names ``mlx5_10`` as well.
            if not rails or best.estimate.value > most * rails / stated * LEVEL:
                yield BusRate(curve, best, wire * shape[0], most, origin)
                continue
            part, given = rails / stated, f"{rails} of {stated} rails of {origin}"
            yield BusRate(curve, best, wire * shape[0] * part, most * part, given, rails)


def _given_rails(subject: Subject, curve: SuiteCurve) -> int:
    """Return the number of adapters that NCCL_IB_HCA names, if fewer than rails; 0 for all.

    ``mlx5`` names all adapters that begin so, ``^mlx5_3`` all but one (NCCL's documentation,
    "Environment"): both leave the number open.
    """
    log = curve.evidence.nccl
    value = curve.settings.get(ADAPTERS, "") or (log.variables.get(ADAPTERS, "") if log else "")
    names = {name.partition(":")[0] for name in value.removeprefix("=").split(",")}
    exact = not value.startswith("^") and all(map(_DEVICE.fullmatch, names))
    return len(names) if exact and len(names) < subject.rails else 0


def _select_curves(subject: Subject) -> Iterator[SuiteCurve]:
    """Yield the curves to judge; for many pairs only that of the median pair."""
    curves_by_purpose: dict[Purpose, list[tuple[float, SuiteCurve]]] = {}
    for launch in subject.launches:
        for curve in launch.curves:
            if not subject.pairs or curve.benchmark != _PAIR:
                yield curve
            elif curve.quantity == "bus_bandwidth" and curve.points:
                best = max(point.estimate.value for point in curve.points)
                curves_by_purpose.setdefault(launch.purpose, []).append((best, curve))
    rate = itemgetter(0)
    medians = [sorted(rated, key=rate)[len(rated) // 2] for rated in curves_by_purpose.values()]
    # Pairs in a recheck had the fabric to themselves, so the higher median counts.
    if medians:
        yield max(medians, key=rate)[1]


def is_crowded(subject: Subject, curve: SuiteCurve) -> bool:
    """Check whether other pairs were measured at the same time, and no pair alone."""
    launches = _launches_of(subject, curve)
    return not subject.again and any(launch.number in subject.beside_others for launch in launches)


def _launches_of(subject: Subject, curve: SuiteCurve) -> Iterator[Launch]:
    return (
        launch
        for launch in subject.launches
        if any(curve is launch_curve for launch_curve in launch.curves)
    )


def _find_hosts(subject: Subject, curve: SuiteCurve) -> tuple[str, ...]:
    """Return the hosts of all ranks; for a launch of our own, its nodes."""
    started_nodes = (launch.nodes for launch in _launches_of(subject, curve))
    return curve.evidence.rank_hosts or next(started_nodes, ())


def _find_wire_rate(subject: Subject, curve: SuiteCurve) -> tuple[float | None, str]:
    """Return the bytes/s of a node's adapters per direction and their origin, or None and why."""
    if not isinstance(subject.ceiling, Skipped):
        if curve.transport == "rdma" and subject.medium == "tcp":
            sentence = f"NCCL used RDMA on {subject.name}, but its ceiling is that of TCP"
            hint = '; state the link, e.g. --network "100GbE roce"' if subject.imported else ""
            return None, sentence + hint
        return subject.ceiling.payload_bytes_per_s, subject.name
    # A stated rate comes before the rates in the library's log.
    if rates := _library_rates(curve.evidence.nccl):
        adapters = sentences.counted(len(rates), "adapter")
        return sum(rates) / 8, f"{adapters}, nominal rates from NCCL's log"
    return None, subject.ceiling.reason


def _library_rates(log: NcclEvidence | None) -> list[float]:
    """Return nominal rates in bit/s of one node's adapters: the node with the lowest sum.

    Those of sockets are no evidence: NCCL takes 10 Gb/s where the kernel knows no rate.
    """
    if log is None or log.sockets:
        return []
    rates = {int(index): rate for index, rate in log.rates_bit_s.items()}
    for dump in log.dumps:
        rates |= {device.index: device.rate_bit_s for device in dump.devices if device.rate_bit_s}
    adapters_by_node = [
        {crossing.adapter or 0 for crossing in crossings}
        for crossings in group_by(log.crossing, attrgetter("node")).values()
    ]
    if not all(adapters <= rates.keys() for adapters in adapters_by_node):
        return []
    rates_by_node = ([rates[adapter] for adapter in adapters] for adapters in adapters_by_node)
    return min(rates_by_node, key=sum, default=[])


def _find_bounds(
    curve: SuiteCurve, hosts: tuple[str, ...], subject: Subject
) -> tuple[float, float] | Skipped:
    """Return bounds of the bus bandwidth, as shares of the rate of a node's wire.

    The first bounds a ring, the second any algorithm. With n ranks on N nodes an all-reduce of
    S bytes must move 2 S (N - 1) / N into each node, and its bus bandwidth counts 2 S (n - 1) / n.
    """
    name, ranks, nodes = curve.benchmark.removesuffix("_perf"), len(hosts), len(set(hosts))
    unknown = Skipped(f"it is unknown how many bytes {name} moves over a node's adapters")
    if curve.suite not in SUITES:
        return Skipped(f"bus bandwidths of {curve.suite} are shown but not judged")
    if not curve.benchmark.endswith("_perf"):
        return Skipped(_UNNAMED)
    if subject.medium == "memory":
        return (1.0, 1.0) if name in (*_RINGS, *_CHAINS, "alltoall", "sendrecv") else unknown
    if nodes < 2:
        return Skipped(
            "all ranks ran on one node: nothing crossed a network" if nodes else _NO_NODES
        )
    if name in _RINGS:
        return 1.0, (ranks - 1) * nodes / (ranks * (nodes - 1))
    if name in _CHAINS:
        return 1.0, 1.0
    gpus = ranks // nodes
    if name == "alltoall":
        share = (ranks - 1) / (gpus * (ranks - gpus))
        return share, share
    return (1.0, 1.0) if name == "sendrecv" and gpus == 1 else unknown


def judge_bus_rates(subject: Subject) -> Iterator[Verdict]:
    """Yield a verdict on the best size of each collective; the evidence has the largest sizes."""
    skipped = {}
    for bus_rate in bus_rates(subject):
        if isinstance(bus_rate, Skipped):
            remedy = _REMEDIES.get(bus_rate.reason, "")
            skipped[bus_rate.reason] = Verdict(Outcome.SKIPPED, bus_rate.reason, remedy=remedy)
        else:
            yield _judge_rate(subject, bus_rate)
    yield from skipped.values()


def _judge_rate(subject: Subject, bus_rate: BusRate) -> Verdict:
    pass_share, warn_share = subject.limit("fraction.bus_pass"), subject.limit("fraction.bus_warn")
    outcome, cause, remedy, explanation = Outcome.PASS, "", "", ""
    offload_name = find_offload(bus_rate.curve)
    if bus_rate.share > 1.0 + subject.limit("above-ceiling.tolerance"):
        explanation = "; an algorithm that crosses the wire less often than a ring explains it"
        if offload_name:
            explanation = f"; {offload_name} may reduce in the network"
        elif bus_rate.best.estimate.value > bus_rate.most:
            explanation = (
                "; only SHARP or NVLS over the wire explains it, and the log shows neither"
            )
        if not offload_name and exceeds(subject, bus_rate):
            outcome, cause, remedy = Outcome.WARN, _ABOVE, "see the rule above-ceiling"
    elif bus_rate.share < pass_share:
        outcome, (cause, remedy) = Outcome.WARN, _LOW_AMONG_PAIRS if subject.pairs else _LOW
        if missing := describe_missing_adapters(subject, bus_rate.curve):
            cause, remedy = missing, FIND_ADAPTERS
        if bus_rate.share < warn_share:
            outcome = Outcome.FAIL
            if doubt := _find_doubt(subject, bus_rate):
                outcome, (cause, remedy) = Outcome.INCONCLUSIVE, doubt
    if bus_rate.rails and outcome is Outcome.PASS:
        outcome, (cause, remedy) = Outcome.WARN, _FEWER_RAILS
    drop = _describe_drop(bus_rate)
    if drop and outcome is Outcome.PASS:
        outcome, remedy = Outcome.WARN, _LOW[1]
        cause = "messages larger than the best size are slower"
    name = bus_rate.curve.place
    # A launch of our own has the name of its program.
    if not name.startswith(bus_rate.curve.benchmark):
        name = f"{name} {bus_rate.curve.benchmark}"
    placement = bus_rate.curve.settings.get("placement", "")
    size, rate = _at(bus_rate.best), figures.rate(bus_rate.best.estimate.value)
    pair = ""
    if subject.pairs and bus_rate.curve.benchmark == _PAIR:
        pair = f"the median pair, {sentences.listed(_find_hosts(subject, bus_rate.curve))}: "
    share = figures.percent(bus_rate.share)
    ceiling = f"{figures.rate(bus_rate.ceiling)} ({bus_rate.origin})"
    return Verdict(
        outcome,
        f"{pair}bus bandwidth {rate} {size} = {share} of {ceiling}{explanation}{drop}",
        Figure(bus_rate.share, "share", f"of what a node's adapters carry, {size} ({placement})"),
        subject.threshold("fraction.bus_pass"),
        tuple(_list_sizes(bus_rate)), cause, remedy,
        about=VerdictSubject(
            "stream", subject.name, ("GPUs", "GPUs"), "bus_bandwidth", placement,
            source=f"{name} {placement}".strip(),
        ),
    )  # fmt: skip


def _find_doubt(subject: Subject, bus_rate: BusRate) -> tuple[str, str] | None:
    """Return why a low rate does not show the network, and what to do; None if it does."""
    curve, last = bus_rate.curve, bus_rate.curve.points[-1]
    broke = any(message.kind == "broken" for message in curve.evidence.messages)
    if curve.cut_off and (broke or curve.cut_off.startswith("the program stopped")):
        return f"the run broke: {curve.cut_off}", _BROKE
    half = (last.message_bytes or 0) / 2
    smaller = [point for point in curve.points if (point.message_bytes or 0) <= half]
    if not smaller or last.estimate.value > LEVEL * smaller[-1].estimate.value:
        return _STILL_GROWS
    hosts = _find_hosts(subject, curve)
    gpus = max(Counter(hosts).values()) if hosts and len(hosts) == curve.ranks else subject.rails
    part = bus_rate.share * subject.rails / gpus
    most = 1.0 + subject.limit("above-ceiling.tolerance")
    fills = subject.limit("fraction.bus_warn") <= part <= most
    if gpus < subject.rails and not bus_rate.rails and fills:
        return (
            f"each node has {sentences.counted(gpus, 'GPU')}, too few for {subject.rails} rails:"
            f" the figure is {figures.percent(part)} of {sentences.counted(gpus, 'rail')}",
            "run it on all GPUs of the nodes, or state the rails that these GPUs use",
        )
    return _CROWDED if is_crowded(subject, curve) else None


def exceeds(subject: Subject, bus_rate: BusRate) -> bool:
    """Check whether the rate is higher than any algorithm allows without SHARP or NVLS."""
    return bus_rate.best.estimate.value > bus_rate.most * (
        1 + subject.limit("above-ceiling.tolerance")
    )


def _at(point: SuitePoint) -> str:
    return figures.at(point.message_bytes or 0)


def _describe_drop(bus_rate: BusRate) -> str:
    """Describe the slowest message above the best size, if it is much slower."""
    best = bus_rate.best.message_bytes or 0
    larger = [point for point in bus_rate.curve.points if (point.message_bytes or 0) > best]
    slow = min(larger, key=lambda point: point.estimate.value, default=bus_rate.best)
    if slow.estimate.value >= HELD * bus_rate.best.estimate.value:
        return ""
    return f"; {_at(slow)} it falls to {figures.rate(slow.estimate.value)}"


def _list_sizes(bus_rate: BusRate) -> Iterator[str]:
    """Yield the rate of each size, with algorithm and protocol if the library printed them."""
    log = bus_rate.curve.evidence.nccl
    for point in bus_rate.curve.points[-MOST_SIZES:]:
        share = figures.percent(point.estimate.value / bus_rate.ceiling)
        fitting = (
            f"{choice.algorithm}/{choice.protocol}"
            for choice in (log.choices if log else ())
            if choice.least_bytes <= (point.message_bytes or 0) <= choice.most_bytes
        )
        choices = sentences.listed(list(dict.fromkeys(fitting)), 3)
        by = f" by {choices}" if choices else ""
        yield f"{_at(point)}: {figures.rate(point.estimate.value)}, {share}{by}"


def above(subject: Subject) -> Verdict | None:
    """Return a verdict on the first collective that is faster than its wire allows."""
    for bus_rate in bus_rates(subject):
        if isinstance(bus_rate, Skipped) or find_offload(bus_rate.curve):
            continue
        if not exceeds(subject, bus_rate):
            continue
        rate, at = bus_rate.best.estimate.value, _at(bus_rate.best)
        sentence = (
            f"{bus_rate.curve.name}: bus bandwidth {figures.rate(rate)} {at}"
            f" is more than {figures.rate(bus_rate.most)}, the most for any algorithm over"
            f" {bus_rate.origin}"
        )
        outcome, cause_and_remedy = Outcome.INVALID, _TOO_MUCH
        if bus_rate.curve.evidence.nccl is None:
            outcome, cause_and_remedy = Outcome.WARN, _MAY_BE_HELPED
        figure = Figure(rate, f"bytes/s {at}", "bus bandwidth")
        return Verdict(outcome, sentence, figure, None, (), *cause_and_remedy)
    return None
