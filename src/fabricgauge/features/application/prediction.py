"""Predict the time of an application's mix of messages from the measured curves of two stacks.

The lower bound uses medians and has no contention. Messages follow each other as in a one-way
stream. Collectives take as long as measured alone.

The upper bound uses means. Each message waits for its half round trip on both ends, while all ranks
of its node send as well. Means contain delays that medians leave out, such as that of a rank that
lost its processor, and a program waits for each of them. MPIs differ most in these delays: a rank
that waits keeps its processor under one MPI, and yields it under another.

Interpolation is linear in the logarithms of size and time, between measured sizes only. No curve
shows that compute and communication overlap, or that ranks wait for late ones. So the prediction is
a bound, as LogGOPSim's is (T. Hoefler, T. Schneider, A. Lumsdaine, HPDC 2010).
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from fabricgauge.features.application.profile_values import ApplicationProfile, CallMix
from fabricgauge.model.suite import SuiteCurve, SuitePoint

Winner = Literal["a", "b", "undecided"]


class Span(msgspec.Struct, frozen=True):
    """A time in seconds with the interval that follows from its curves' intervals."""

    low: float
    value: float
    high: float


class Bounds(msgspec.Struct, frozen=True):
    """``least`` is without contention, ``most`` with all ranks of a node sending at once."""

    least: Span
    most: Span


class PredictedMix(msgspec.Struct, frozen=True):
    """One kind of call at one class of sizes: time on A and on B, summed over all ranks.

    ``how`` names the curve behind the figures. ``site`` is the profiler's number of the call's
    place in the program, empty without one. ``bytes`` is what its calls moved.
    """

    call: str
    least_bytes: int | None
    calls: int
    a: Bounds
    b: Bounds
    how: str
    site: str = ""
    bytes: int = 0

    @property
    def gain(self) -> float:
        """How much more B sends in the same time without contention: 1.47 is +147 %."""
        return self.a.least.value / self.b.least.value - 1.0 if self.b.least.value else 0.0


class Prediction(msgspec.Struct, frozen=True):
    """Both stacks' times in communication between nodes, summed over all ranks.

    ``least_ratio`` and ``most_ratio`` are B's time over A's. ``covered`` is the share of calls
    between nodes that have a curve; ``left_out`` are reasons for the other calls. ``winner`` is
    decided only if both ratios' intervals are beyond 1 by 5 %, the curves cover nearly all calls,
    and both bounds differ by more than ``unexplained_s``. If the profile has call sites, the winner
    is that of the sites with curves. ``invalid`` are reasons why a stack's figures are not a
    network's: then there is no winner.
    """

    program: str
    a_name: str
    b_name: str
    ranks: int
    a: Bounds
    b: Bounds
    least_ratio: Span
    most_ratio: Span
    winner: Winner
    covered: float
    rows: tuple[PredictedMix, ...]
    left_out: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    invalid: tuple[str, ...] = ()
    recorded_s: float = 0.0

    @property
    def by_site(self) -> bool:
        """Check whether the rows are places in the program."""
        return bool(self.rows) and all(row.site for row in self.rows)

    @property
    def unexplained_s(self) -> float:
        """Time of the profiled run beyond both stacks' upper bounds; no curve explains it."""
        return max(0.0, self.recorded_s - max(self.a.most.high, self.b.most.high))


#: The rate at the largest measured size is used up to this factor beyond it.
FARTHEST = 4.0
#: The time at the smallest measured size is used below it, if that size is at most this.
SMALL_BYTES = 8
#: A winner needs curves for this share of the calls between nodes.
ENOUGH = 0.95
#: A winner is faster by more than this factor: contention and waits are in no curve.
WORTH = 1.05

#: Low, value and high of a time in seconds; a curve's times have a row for median and mean each.
Times = NDArray[np.float64]

#: Kinds of calls with messages of one rank.
_MESSAGE_KINDS = ("PointToPoint", "Starting", "OneSided")
#: Kinds of calls that make or free communicators and windows: they carry no message.
_COMMUNICATOR_KINDS = ("Making", "FreeingCommunicator", "FreeingWindow")


_UNPLACED = (
    "the profile does not say which messages cross nodes: all of them are counted, and their waits"
    " are in no curve"
)


class _Stack(msgspec.Struct, frozen=True):
    """Times by size, for each pattern and number of ranks (0 for a pair)."""

    curves: dict[tuple[str, int], dict[int, Times]]

    def at(self, pattern: str, ranks: int, size: float) -> Times | None:
        """Return the time at a size, None if no near size was measured."""
        times_by_size = self.curves.get((pattern, ranks))
        if not times_by_size:
            return None
        sizes = np.array(sorted(times_by_size), float)
        if size > FARTHEST * sizes[-1] or (size < sizes[0] and sizes[0] > SMALL_BYTES):
            return None
        if size > sizes[-1]:
            farther: Times = times_by_size[int(sizes[-1])] * float(size / max(sizes[-1], 1.0))
            return farther
        places = np.log2(sizes + 1)
        logs = np.log([times_by_size[int(size_key)].ravel() for size_key in sizes])
        log_times = [float(np.interp(math.log2(size + 1), places, column)) for column in logs.T]
        times: Times = np.exp(np.array(log_times)).reshape(2, 3)
        return times

    def half_round_trip(self, size: float) -> Times | None:
        """Return the measured time; beyond the largest size its time plus that of a stream."""
        measured, latencies = self.at("latency", 0, size), self.curves.get(("latency", 0))
        if measured is not None or not latencies:
            return measured
        stream = self.at("bandwidth", 0, size)
        return None if stream is None else latencies[max(latencies)] + stream


def _stack(curves: Iterable[SuiteCurve]) -> _Stack:
    """Join curves of one kind (directions, networks, checks)."""
    times: dict[tuple[str, int], dict[int, list[Times]]] = {}
    for curve in curves:
        if curve.pattern is None or curve.settings.get("load"):
            continue
        if curve.quantity == "message_rate" and curve.pattern != "bandwidth":
            continue
        key = (curve.pattern, 0 if curve.pattern in ("latency", "bandwidth") else curve.ranks or 0)
        for point in curve.points:
            size = point.message_bytes or 0
            if point.estimate.value > 0 and curve.quantity in _PER_SECOND:
                moved = size if curve.quantity == "bandwidth" else 1
                time = _time(point, moved, curve.quantity != "time")
                times.setdefault(key, {}).setdefault(size, []).append(time)
    return _Stack({
        key: {size: _join_times(np.array(times)) for size, times in sizes.items()}
        for key, sizes in times.items()
    })  # fmt: skip


def _join_times(times: Times) -> Times:
    """Return the median of medians and the mean of means, with the least and the most."""
    low, value, high = np.moveaxis(times, -1, 0)
    values = [np.median(value[:, 0]), value[:, 1].mean()]
    return np.stack([low.min(axis=0), values, high.max(axis=0)], axis=1)


#: Quantities of which the time of one message follows.
_PER_SECOND = ("time", "bandwidth", "message_rate")


def _time(point: SuitePoint, size: int, is_rate: bool) -> Times:
    """Return median and mean (rows). One mean has no interval of other launches' means.

    ``size`` is what a rate counts of one message: its bytes, or 1.
    """
    estimate = point.estimate
    mean = point.besides.get("mean") or estimate.value
    ends = np.array(
        [
            (estimate.low, estimate.value, estimate.high),
            (min(estimate.low, mean), mean, max(estimate.high, mean)),
        ]
    )
    return size / ends[:, ::-1] if is_rate else ends


def predict(
    profile: ApplicationProfile, a_name: str, a: Iterable[SuiteCurve], b_name: str,
    b: Iterable[SuiteCurve], cautions: Sequence[str] = (), invalid: Sequence[str] = (),
) -> Prediction:  # fmt: skip
    """Predict the mix on both stacks; only calls with a curve of both are counted."""
    stacks, nodes = (_stack(a), _stack(b)), max(1, profile.nodes)
    neighbours = max(1, profile.size // nodes) - 1
    rows: list[PredictedMix] = []
    sums = [np.zeros((2, 3)), np.zeros((2, 3))]
    without: Counter[str] = Counter()
    between = [call for call in profile.mix if _crosses_nodes(call)]
    if all(call.side == "unknown" for call in profile.mix):
        # mpiP and IPM do not name peers: every message may cross nodes.
        placed = (msgspec.structs.replace(call, side="other nodes") for call in profile.mix)
        between = [call for call in placed if _crosses_nodes(call)]
        cautions = (*cautions, *([_UNPLACED] if between else []))
    for call in between:
        # The mean size of one message; for an alltoall that of a pair.
        size = call.bytes / max(1, call.calls)
        if "lltoall" in call.call and call.ranks:
            size /= call.ranks
        bounds = [_call_bounds(stack, call, size, nodes, neighbours) for stack in stacks]
        if bounds[0] is None or bounds[1] is None:
            ranks = f" of {call.ranks} ranks" if call.ranks else ""
            without[f"{call.call}{ranks} at {size:,.0f} B"] += call.calls
            continue
        on_a, on_b = (call.calls * times for times, _ in (bounds[0], bounds[1]))
        sums[0] += on_a
        sums[1] += on_b
        rows.append(PredictedMix(
            call.call, call.least_bytes, call.calls, _as_bounds(on_a), _as_bounds(on_b),
            bounds[0][1], call.site, call.bytes,
        ))  # fmt: skip
    calls = sum(call.calls for call in between)
    covered = 1.0 - sum(without.values()) / calls if calls else 0.0
    least_ratio, most_ratio = (_ratio(sums[1][bound], sums[0][bound]) for bound in (0, 1))
    prediction = Prediction(
        program=profile.program, a_name=a_name, b_name=b_name, ranks=profile.size,
        a=_as_bounds(sums[0]), b=_as_bounds(sums[1]),
        least_ratio=least_ratio, most_ratio=most_ratio,
        winner="undecided", covered=covered,
        rows=tuple(sorted(rows, key=lambda row: -abs(row.a.most.value - row.b.most.value))),
        left_out=tuple(f"{name}: {count:,} calls" for name, count in without.most_common()),
        cautions=tuple(cautions), invalid=tuple(invalid), recorded_s=recorded_s(profile),
    )  # fmt: skip
    return msgspec.structs.replace(prediction, winner=_winner(prediction))


def recorded_s(profile: ApplicationProfile) -> float:
    """Return the seconds that all ranks together spent in calls to other nodes and in waits."""
    return sum(
        call.time_s
        for call in profile.mix
        if call.kind not in _COMMUNICATOR_KINDS and call.side != "same node"
    )


def _crosses_nodes(call: CallMix) -> bool:
    """Check that a call sends to other nodes; waiting for that is not counted again."""
    if call.side != "other nodes":
        return False
    return call.kind == "Collective" or (
        call.kind in _MESSAGE_KINDS and call.least_bytes is not None
    )


def _call_bounds(
    stack: _Stack, call: CallMix, size: float, nodes: int, neighbours: int
) -> tuple[NDArray[np.float64], str] | None:
    """Return both bounds of a call (rows), their intervals (columns) and their source.

    ``neighbours`` is the number of other ranks on a rank's node.
    """
    wait = stack.half_round_trip(size)
    if wait is None and call.kind in _MESSAGE_KINDS:
        stream = stack.at("bandwidth", 0, size) if size >= 1 else None
        return None if stream is None else (stream, "one-way stream alone")
    if call.kind == "Collective":
        pattern = call.call.lower()
        measured = stack.at(pattern, call.ranks, size)
        if measured is not None:
            return measured, f"{pattern} of {call.ranks} ranks, as measured"
        if wait is None:
            return None
        # A tree has the fewest steps one after the other, a ring there and back the most.
        steps = max(1, math.ceil(math.log2(max(2, nodes))))
        return np.array([steps * wait[0], 2 * (call.ranks - 1) * wait[1]]), "latency, in steps"
    if wait is None:
        return None
    stream = stack.at("bandwidth", 0, size) if size >= 1 else None
    follow = wait if stream is None else np.minimum(wait, stream)
    shared = neighbours * (follow if stream is None else stream)
    return np.array([follow[0], 2 * (wait + shared)[1]]), "latency and one-way stream"


def _as_bounds(times: NDArray[np.float64]) -> Bounds:
    least, most = (Span(*map(float, row)) for row in times)
    return Bounds(least, most)


def _ratio(b: Times, a: Times) -> Span:
    if not a[1]:
        return Span(0.0, 1.0, math.inf)
    return Span(float(b[0] / a[2]), float(b[1] / a[1]), float(b[2] / a[0]))


def _winner(prediction: Prediction) -> Winner:
    """Return the faster side. It is undecided if unexplained time could turn the difference."""
    if prediction.invalid:
        return "undecided"
    ratios, a, b = (prediction.least_ratio, prediction.most_ratio), prediction.a, prediction.b
    apart_s = min(abs(b.least.value - a.least.value), abs(b.most.value - a.most.value))
    covers_too_few = prediction.covered < ENOUGH and not prediction.by_site
    if covers_too_few or prediction.unexplained_s >= apart_s:
        return "undecided"
    if all(ratio.low > WORTH for ratio in ratios):
        return "a"
    return "b" if all(ratio.high < 1 / WORTH for ratio in ratios) else "undecided"
