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
            best = max(points, key=lambda one: one.estimate.value)
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
    medians = [sorted(each, key=itemgetter(0))[len(each) // 2] for each in of_pairs.values()]
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
            told = f"NCCL used RDMA on {subject.name}, whose ceiling is that of TCP"
            hint = '; state it, e.g. --network "100GbE roce"' if subject.imported else ""
            return None, told + hint
        return subject.ceiling.payload_bytes_per_s, subject.name
    rates = _told_rates(curve.evidence.nccl)
    if rates:
        adapters = sentences.counted(len(rates), "adapter")
        return sum(rates) / 8, f"{adapters}, nominal rates as NCCL tells them"
    return None, subject.ceiling.reason


def _told_rates(said: NcclEvidence | None) -> list[float]:
    """Nominal rates in bit/s of the adapters of one node: the node with the lowest sum."""
    if said is None:
        return []
    known = {int(index): rate for index, rate in said.rates_bit_s.items()}
    for dump in said.dumps:
        known |= {one.index: one.rate_bit_s for one in dump.devices if one.rate_bit_s}
    used: dict[str, set[int]] = {}
    for way in said.crossing:
        used.setdefault(way.node, set()).add(way.adapter or 0)
    each = [[known[one] for one in some] for some in used.values() if some <= known.keys()]
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
    for one in bus_rates(subject):
        if isinstance(one, Skipped):
            skipped[one.reason] = Said(Outcome.SKIPPED, one.reason)
        else:
            yield _said(subject, one)
    yield from skipped.values()


def _said(subject: Subject, one: BusRate) -> Said:
    enough, least = subject.limit("fraction.bus_pass"), subject.limit("fraction.bus_warn")
    outcome, cause, remedy, more = Outcome.PASS, "", "", ""
    helped = offload(one.curve)
    if one.share > 1.0 + subject.limit("above-ceiling.tolerance"):
        more = f"; {helped} may reduce on the way" if helped else _unlike_a_ring(one)
        if not helped and exceeds(subject, one):
            outcome, cause, remedy = Outcome.WARN, _ABOVE, "see above-ceiling"
    elif one.share < enough:
        growing = _growing(one)
        outcome = Outcome.WARN if one.share >= least else Outcome.FAIL
        cause, remedy = _LOW_AMONG_PAIRS if subject.pairs else _LOW
        if outcome is Outcome.FAIL and growing:
            outcome, cause, remedy = Outcome.INCONCLUSIVE, _FASTER, _GROWING
        elif outcome is Outcome.FAIL and is_crowded(subject, one.curve):
            outcome, (cause, remedy) = Outcome.INCONCLUSIVE, _CROWDED
    fallen = _fallen(one)
    if fallen and outcome is Outcome.PASS:
        outcome, cause, remedy = Outcome.WARN, "larger messages are slower than the best", _LOW[1]
    name = f"{one.curve.source}:{one.curve.first_line}"
    if not name.startswith(one.curve.benchmark):  # a start of our own is called by its program
        name = f"{name} {one.curve.benchmark}"
    placement = one.curve.settings.get("placement", "")
    at, rate = _at(one.best), figures.rate(one.best.estimate.value)
    of = f"{figures.percent(one.share)} of {figures.rate(one.ceiling)} ({one.origin})"
    return Said(
        outcome,
        f"{_which(subject, one.curve)}bus bandwidth {rate} {at} = {of}{more}{fallen}",
        Figure(one.share, "share", f"of what a node's adapters carry, {at} ({placement})"),
        subject.threshold("fraction.bus_pass"),
        tuple(_by_size(one)), cause, remedy,
        about=VerdictSubject(
            "stream", subject.name, ("GPUs", "GPUs"), "bus_bandwidth", placement,
            source=f"{name} {placement}".strip(),
        ),
    )  # fmt: skip


def _which(subject: Subject, curve: SuiteCurve) -> str:
    of_pairs = subject.pairs and curve.benchmark == _PAIR
    return f"the median pair, {sentences.listed(_nodes(subject, curve))}: " if of_pairs else ""


def exceeds(subject: Subject, one: BusRate) -> bool:
    """Check whether it is more than any algorithm can bring over that wire without help."""
    return one.best.estimate.value > one.most * (1 + subject.limit("above-ceiling.tolerance"))


def _unlike_a_ring(one: BusRate) -> str:
    if one.best.estimate.value > one.most:
        return "; only SHARP or NVLS over the wire explains it, and the log tells of none"
    return "; an algorithm that crosses the wire less often than a ring explains it"


def _at(point: SuitePoint) -> str:
    return figures.at(point.message_bytes or 0)


def _growing(one: BusRate) -> bool:
    """Check whether the largest message is the best, and clearly better than half of it."""
    last = one.curve.points[-1]
    half = (last.message_bytes or 0) / 2
    before = [p for p in one.curve.points if (p.message_bytes or 0) <= half]
    return not before or last.estimate.value > LEVEL * before[-1].estimate.value


def _fallen(one: BusRate) -> str:
    """Return the slowest of larger messages than the best, if it is much slower."""
    best = one.best.message_bytes or 0
    later = [p for p in one.curve.points if (p.message_bytes or 0) > best]
    slow = min(later, key=lambda p: p.estimate.value, default=one.best)
    if slow.estimate.value >= HELD * one.best.estimate.value:
        return ""
    return f"; {_at(slow)} it falls to {figures.rate(slow.estimate.value)}"


def _by_size(one: BusRate) -> Iterator[str]:
    said = one.curve.evidence.nccl
    for point in one.curve.points[-MOST_SIZES:]:
        share = figures.percent(point.estimate.value / one.ceiling)
        chosen = _chosen(said, point.message_bytes or 0)
        yield f"{_at(point)}: {figures.rate(point.estimate.value)}, {share}{chosen}"


def _chosen(said: NcclEvidence | None, message_bytes: int) -> str:
    """Return algorithm and protocol of that size, if the library printed them."""
    fitting = (
        f"{one.algorithm}/{one.protocol}"
        for one in (said.choices if said else ())
        if one.least_bytes <= message_bytes <= one.most_bytes
    )
    told = sentences.listed(list(dict.fromkeys(fitting)), 3)
    return f" by {told}" if told else ""


def above(subject: Subject) -> Said | None:
    """Return the first collective that is more than any algorithm can bring over the wire."""
    for one in bus_rates(subject):
        if isinstance(one, Skipped) or offload(one.curve) or not exceeds(subject, one):
            continue
        told = (
            f"{one.curve.source}:{one.curve.first_line} {one.curve.benchmark}: bus bandwidth"
            f" {figures.rate(one.best.estimate.value)} {_at(one.best)} is more than the"
            f" {figures.rate(one.most)} that any algorithm can bring over {one.origin}"
        )
        figure = Figure(one.best.estimate.value, f"bytes/s {_at(one.best)}", "bus bandwidth")
        silent = one.curve.evidence.nccl is None
        mend = _MAY_BE_HELPED if silent else _TOO_MUCH
        return Said(Outcome.WARN if silent else Outcome.INVALID, told, figure, None, (), *mend)
    return None
