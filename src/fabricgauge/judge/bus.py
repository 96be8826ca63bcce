"""Bus bandwidth of collectives of GPUs, size by size, against what the adapters can carry.

nccl-tests scales a collective's rate so that it is the rate at which a ring moves bytes from GPU
to GPU (its doc/PERFORMANCE.md). A ring crosses each node's adapters once each way: there the wire
bounds it. Other algorithms cross them less often, but all have to move a least number of bytes.
"""

from collections.abc import Iterator
from operator import itemgetter
from typing import NamedTuple

from fabricgauge.judge.interface import Said
from fabricgauge.judge.nccl import offload
from fabricgauge.judge.subject import Subject
from fabricgauge.model.absence import Skipped
from fabricgauge.model.nccl import SUITES, NcclEvidence
from fabricgauge.model.plan import Purpose
from fabricgauge.model.suite import SuiteCurve, SuitePoint
from fabricgauge.model.verdict import Figure, Outcome, VerdictSubject
from fabricgauge.words import figures, sentences

#: A collective no longer grows if a message twice as large is not faster by this factor.
LEVEL = 1.05
#: A larger message is reported if its rate is below this share of the best.
HELD = 0.9
#: The evidence lists this many sizes, the largest.
MOST_SIZES = 12

#: Collectives whose bus bandwidth is that of a ring, in which every byte passes every node.
_RINGS = ("all_reduce", "all_gather", "reduce_scatter")
_CHAINS = ("broadcast", "reduce")
#: What pairs of many nodes are measured with.
_PAIR = "sendrecv_perf"

_LOW = (
    "adapters, GPUDirect RDMA or the algorithm: see path for what NCCL says; a slow link or a"
    " busy fabric",
    "measure pairs of nodes (sendrecv_perf) and each adapter (ib_write_bw) to find the slow one",
)
_LOW_AMONG_PAIRS = (
    "a slow node or way, which outliers names, slows all that cross it; else adapters, GPUDirect"
    " RDMA or the algorithm: see path for what NCCL says",
    "mend what outliers names, then check again; where it names nobody, measure each adapter"
    " (ib_write_bw)",
)
_CROWDED = (
    "other pairs sent at the same time, and may share a link or a switch with it",
    "measure again with --concurrent 1, one pair at a time",
)
_FASTER = "larger messages are faster yet"
_GROWING = "measure larger messages, e.g. -e 8G, until bus bandwidth no longer grows"
_MAY_BE_HELPED = (
    "SHARP or NVLS reduces on the way, or the bytes took another way",
    "run it again with NCCL_DEBUG=INFO, which tells of SHARP and NVLS",
)
_TOO_MUCH = (
    "the bytes did not cross this network alone, or its stated rate is too low",
    "look at placement and path; check the stated rate and its rails",
)
_ABOVE = "more than the wire carries: look at above-ceiling and placement"


class BusRate(NamedTuple):
    """A curve's best size. ``ceiling`` bounds a ring, ``most`` any algorithm without help."""

    curve: SuiteCurve
    best: SuitePoint
    ceiling: float
    most: float
    origin: str

    @property
    def share(self) -> float:
        return self.best.estimate.value / self.ceiling


def bus_rates(subject: Subject) -> Iterator[BusRate | Skipped]:
    """Each curve of bus bandwidth that can be held against something, or why it cannot."""
    least = subject.limit("fraction.from")
    for curve in _judged(subject):
        points = [point for point in curve.points if (point.message_bytes or 0) >= least]
        if curve.quantity != "bus_bandwidth" or curve.ranks == 1 or not points:
            continue
        wire, origin = _wire(subject, curve)
        shape = _shape(curve, _nodes(subject, curve), subject)
        if wire is None:
            yield Skipped(origin)
        elif isinstance(shape, Skipped):
            yield shape
        else:
            best = max(points, key=lambda point: point.estimate.value)
            yield BusRate(curve, best, wire * shape[0], wire * shape[1], origin)


def _judged(subject: Subject) -> Iterator[SuiteCurve]:
    """The curves; of many pairs only that of the median pair, as `outliers` names the slow ones.

    Pairs that were measured again had the fabric to themselves, so the higher median counts.
    """
    of_pairs: dict[Purpose, list[tuple[float, SuiteCurve]]] = {}
    for purpose, curve in ((of.purpose, curve) for of in subject.launches for curve in of.curves):
        if not subject.pairs or curve.benchmark != _PAIR:
            yield curve
        elif curve.quantity == "bus_bandwidth" and curve.points:
            best = max(point.estimate.value for point in curve.points)
            of_pairs.setdefault(purpose, []).append((best, curve))
    medians = [
        sorted(curves_of_pair, key=itemgetter(0))[len(curves_of_pair) // 2]
        for curves_of_pair in of_pairs.values()
    ]
    if medians:
        yield max(medians, key=itemgetter(0))[1]


def is_crowded(subject: Subject, curve: SuiteCurve) -> bool:
    """Check whether others were measured at the same time, and no pair was measured alone."""
    beside = subject.beside_others
    return not subject.again and any(
        curve is one for launch in subject.launches if launch.number in beside
        for one in launch.curves
    )  # fmt: skip


def _nodes(subject: Subject, curve: SuiteCurve) -> tuple[str, ...]:
    """The hosts of all ranks; those of a launch of our own are where it was told to start them."""
    own = (
        launch.nodes for launch in subject.launches if any(curve is each for each in launch.curves)
    )
    return curve.evidence.rank_hosts or next(own, ())


def _wire(subject: Subject, curve: SuiteCurve) -> tuple[float | None, str]:
    """What a node's adapters carry each way: as stated, or as the library tells their rates."""
    if not isinstance(subject.ceiling, Skipped):
        if curve.transport == "rdma" and subject.medium == "tcp":
            sentence = f"NCCL used RDMA on {subject.name}, whose ceiling is that of TCP"
            hint = '; state it, e.g. --network "100GbE roce"' if subject.imported else ""
            return None, sentence + hint
        return subject.ceiling.payload_bytes_per_s, subject.name
    rates = _library_rates(curve.evidence.nccl)
    if rates:
        adapters = sentences.counted(len(rates), "adapter")
        return sum(rates) / 8, f"{adapters}, nominal rates as NCCL tells them"
    return None, subject.ceiling.reason


def _library_rates(log: NcclEvidence | None) -> list[float]:
    """Nominal rates in bit/s of the adapters of one node: the node with the lowest sum."""
    if log is None:
        return []
    rates = {int(index): rate for index, rate in log.rates_bit_s.items()}
    for dump in log.dumps:
        rates |= {one.index: one.rate_bit_s for one in dump.devices if one.rate_bit_s}
    used: dict[str, set[int]] = {}
    for way in log.crossing:
        used.setdefault(way.node, set()).add(way.adapter or 0)
    each = [[rates[one] for one in some] for some in used.values() if some <= rates.keys()]
    return min(each, key=sum) if len(each) == len(used) and each else []


def _shape(
    curve: SuiteCurve, hosts: tuple[str, ...], subject: Subject
) -> tuple[float, float] | Skipped:
    """A ring's bus bandwidth and that of any algorithm, as shares of what a node's wire carries.

    With n ranks on N nodes an all-reduce of S bytes has to move 2 S (N - 1) / N into each node,
    and its bus bandwidth counts 2 S (n - 1) / n.
    """
    name, ranks, nodes = curve.benchmark.removesuffix("_perf"), len(hosts), len(set(hosts))
    unknown = Skipped(f"what {name} moves over a node's adapters is not known")
    if curve.suite not in SUITES:
        return Skipped(f"bus bandwidths of {curve.suite} are shown, but not judged")
    if not curve.benchmark.endswith("_perf"):
        return Skipped(
            "the log does not name its collective, and its rates are those of several: keep the"
            " command line above it"
        )
    if subject.medium == "memory":
        return (1.0, 1.0) if name in (*_RINGS, *_CHAINS, "alltoall", "sendrecv") else unknown
    if nodes < 2:
        return Skipped(
            "all ranks ran on one node: nothing crossed a network"
            if nodes
            else "the log does not say on which nodes the ranks ran"
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


def bus_words(subject: Subject) -> Iterator[Said]:
    """The best size of each collective against the wire; every large size is in the evidence."""
    skipped = {}
    for bus_rate in bus_rates(subject):
        if isinstance(bus_rate, Skipped):
            skipped[bus_rate.reason] = Said(Outcome.SKIPPED, bus_rate.reason)
        else:
            yield _judge_rate(subject, bus_rate)
    yield from skipped.values()


def _judge_rate(subject: Subject, bus_rate: BusRate) -> Said:
    enough, least = subject.limit("fraction.bus_pass"), subject.limit("fraction.bus_warn")
    outcome, cause, remedy, more = Outcome.PASS, "", "", ""
    helped = offload(bus_rate.curve)
    if bus_rate.share > 1.0 + subject.limit("above-ceiling.tolerance"):
        more = f"; {helped} may reduce on the way" if helped else _unlike_a_ring(bus_rate)
        if not helped and exceeds(subject, bus_rate):
            outcome, cause, remedy = Outcome.WARN, _ABOVE, "see above-ceiling"
    elif bus_rate.share < enough:
        growing = _growing(bus_rate)
        outcome = Outcome.WARN if bus_rate.share >= least else Outcome.FAIL
        cause, remedy = _LOW_AMONG_PAIRS if subject.pairs else _LOW
        if outcome is Outcome.FAIL and growing:
            outcome, cause, remedy = Outcome.INCONCLUSIVE, _FASTER, _GROWING
        elif outcome is Outcome.FAIL and is_crowded(subject, bus_rate.curve):
            outcome, (cause, remedy) = Outcome.INCONCLUSIVE, _CROWDED
    fallen = _fallen(bus_rate)
    if fallen and outcome is Outcome.PASS:
        outcome, cause, remedy = Outcome.WARN, "larger messages are slower than the best", _LOW[1]
    name = f"{bus_rate.curve.source}:{bus_rate.curve.first_line}"
    if not name.startswith(bus_rate.curve.benchmark):  # a start of our own is called by its program
        name = f"{name} {bus_rate.curve.benchmark}"
    placement = bus_rate.curve.settings.get("placement", "")
    at, rate = _at(bus_rate.best), figures.rate(bus_rate.best.estimate.value)
    of = (
        f"{figures.percent(bus_rate.share)} of {figures.rate(bus_rate.ceiling)} ({bus_rate.origin})"
    )
    return Said(
        outcome,
        f"{_which(subject, bus_rate.curve)}bus bandwidth {rate} {at} = {of}{more}{fallen}",
        Figure(bus_rate.share, "share", f"of what a node's adapters carry, {at} ({placement})"),
        subject.threshold("fraction.bus_pass"),
        tuple(_by_size(bus_rate)), cause, remedy,
        about=VerdictSubject(
            "stream", subject.name, ("GPUs", "GPUs"), "bus_bandwidth", placement,
            source=f"{name} {placement}".strip(),
        ),
    )  # fmt: skip


def _which(subject: Subject, curve: SuiteCurve) -> str:
    of_pairs = subject.pairs and curve.benchmark == _PAIR
    return f"the median pair, {sentences.listed(_nodes(subject, curve))}: " if of_pairs else ""


def exceeds(subject: Subject, bus_rate: BusRate) -> bool:
    """Check whether it is more than any algorithm can bring over that wire without help."""
    return bus_rate.best.estimate.value > bus_rate.most * (
        1 + subject.limit("above-ceiling.tolerance")
    )


def _unlike_a_ring(bus_rate: BusRate) -> str:
    if bus_rate.best.estimate.value > bus_rate.most:
        return "; only SHARP or NVLS over the wire explains it, and the log tells of none"
    return "; an algorithm that crosses the wire less often than a ring explains it"


def _at(point: SuitePoint) -> str:
    return figures.at(point.message_bytes or 0)


def _growing(bus_rate: BusRate) -> bool:
    """Check whether the largest message is the best, and clearly better than half of it."""
    last = bus_rate.curve.points[-1]
    half = (last.message_bytes or 0) / 2
    before = [p for p in bus_rate.curve.points if (p.message_bytes or 0) <= half]
    return not before or last.estimate.value > LEVEL * before[-1].estimate.value


def _fallen(bus_rate: BusRate) -> str:
    """Return the slowest of larger messages than the best, if it is much slower."""
    best = bus_rate.best.message_bytes or 0
    later = [p for p in bus_rate.curve.points if (p.message_bytes or 0) > best]
    slow = min(later, key=lambda p: p.estimate.value, default=bus_rate.best)
    if slow.estimate.value >= HELD * bus_rate.best.estimate.value:
        return ""
    return f"; {_at(slow)} it falls to {figures.rate(slow.estimate.value)}"


def _by_size(bus_rate: BusRate) -> Iterator[str]:
    log = bus_rate.curve.evidence.nccl
    for point in bus_rate.curve.points[-MOST_SIZES:]:
        share = figures.percent(point.estimate.value / bus_rate.ceiling)
        chosen = _chosen(log, point.message_bytes or 0)
        yield f"{_at(point)}: {figures.rate(point.estimate.value)}, {share}{chosen}"


def _chosen(log: NcclEvidence | None, message_bytes: int) -> str:
    """Return algorithm and protocol of that size, if the library printed them."""
    fitting = (
        f"{choice.algorithm}/{choice.protocol}"
        for choice in (log.choices if log else ())
        if choice.least_bytes <= message_bytes <= choice.most_bytes
    )
    choices = sentences.listed(list(dict.fromkeys(fitting)), 3)
    return f" by {choices}" if choices else ""


def above(subject: Subject) -> Said | None:
    """Return the first collective that is more than any algorithm can bring over the wire."""
    for bus_rate in bus_rates(subject):
        if (
            isinstance(bus_rate, Skipped)
            or offload(bus_rate.curve)
            or not exceeds(subject, bus_rate)
        ):
            continue
        sentence = (
            f"{bus_rate.curve.source}:{bus_rate.curve.first_line} {bus_rate.curve.benchmark}:"
            f" bus bandwidth {figures.rate(bus_rate.best.estimate.value)} {_at(bus_rate.best)}"
            f" is more than the {figures.rate(bus_rate.most)} that any algorithm can bring over"
            f" {bus_rate.origin}"
        )
        figure = Figure(
            bus_rate.best.estimate.value, f"bytes/s {_at(bus_rate.best)}", "bus bandwidth"
        )
        silent = bus_rate.curve.evidence.nccl is None
        mend = _MAY_BE_HELPED if silent else _TOO_MUCH
        return Said(Outcome.WARN if silent else Outcome.INVALID, sentence, figure, None, (), *mend)
    return None
