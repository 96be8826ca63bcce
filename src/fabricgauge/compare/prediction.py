"""An application's mix of messages by the measured curves of two stacks.

The lower bound uses medians and has no contention. Messages follow each other as in a one-way
stream. Collectives take as long as they took when nothing else ran.

The upper bound uses means. Each message waits for its half round trip on both ends, while all ranks
of its node send as well. Means contain delays that medians leave out, such as that of a rank that
lost its processor, and a program waits for each of them. MPIs differ most in these delays: a rank
that waits keeps its processor under one MPI, and yields it under another.

Interpolation is linear in the logarithms of size and time, between measured sizes only. No curve
shows that compute and communication overlap, or that ranks wait for late ones. So what is predicted
is a bound, as LogGOPSim's is (T. Hoefler, T. Schneider, A. Lumsdaine, HPDC 2010).
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from fabricgauge.model.application import ApplicationProfile, CallMix
from fabricgauge.model.prediction import Bounds, PredictedMix, Prediction, Span, Winner
from fabricgauge.model.suite import SuiteCurve, SuitePoint

#: Beyond the largest measured size the rate there is taken to go on up to this factor.
FARTHEST = 4.0
#: Below the smallest measured size, which must be one of these, nothing gets faster.
SMALL_BYTES = 8
#: A winner needs curves for this share of the calls between nodes.
ENOUGH = 0.95
#: It is faster by more than this factor: contention and waiting, which are in no curve, are larger.
WORTH = 1.05

#: Low, value and high of a time in seconds; of a curve's, those of the median and of the mean.
Times = NDArray[np.float64]

#: Of what a rank sends by itself.
_MESSAGES = ("PointToPoint", "Starting", "OneSided")
#: What makes and frees communicators and windows carries no message of the application.
_MAKING = ("Making", "FreeingCommunicator", "FreeingWindow")


class _Stack(msgspec.Struct, frozen=True):
    """Times by size, of each pattern and number of ranks (0 for a pair)."""

    curves: dict[tuple[str, int], dict[int, Times]]

    def at(self, pattern: str, ranks: int, size: float) -> Times | None:
        """The time at a size, None where nothing near was measured."""
        known = self.curves.get((pattern, ranks))
        if not known:
            return None
        sizes = np.array(sorted(known), float)
        if size > FARTHEST * sizes[-1] or (size < sizes[0] and sizes[0] > SMALL_BYTES):
            return None
        if size > sizes[-1]:
            farther: Times = known[int(sizes[-1])] * float(size / max(sizes[-1], 1.0))
            return farther
        places = np.log2(sizes + 1)
        logs = np.log([known[int(one)].ravel() for one in sizes])
        found = [float(np.interp(math.log2(size + 1), places, column)) for column in logs.T]
        times: Times = np.exp(np.array(found)).reshape(2, 3)
        return times

    def half_round_trip(self, size: float) -> Times | None:
        """As measured; of sizes beyond those the largest one's and what a stream takes."""
        own, known = self.at("latency", 0, size), self.curves.get(("latency", 0))
        if own is not None or not known:
            return own
        stream = self.at("bandwidth", 0, size)
        return None if stream is None else known[max(known)] + stream


def _stack(curves: Iterable[SuiteCurve]) -> _Stack:
    """Several curves of one kind (directions, networks, checks) become one."""
    found: dict[tuple[str, int], dict[int, list[Times]]] = {}
    for one in curves:
        if one.pattern is None or one.settings.get("load"):
            continue
        key = (one.pattern, 0 if one.pattern in ("latency", "bandwidth") else one.ranks or 0)
        for point in one.points:
            size = point.message_bytes or 0
            if point.estimate.value > 0:
                time = _time(point, size, one.quantity == "bandwidth")
                found.setdefault(key, {}).setdefault(size, []).append(time)
    return _Stack({
        key: {size: _joined(np.array(times)) for size, times in sizes.items()}
        for key, sizes in found.items()
    })  # fmt: skip


def _joined(times: Times) -> Times:
    """The median of medians and the mean of means, from the least to the most."""
    low, value, high = np.moveaxis(times, -1, 0)
    values = [np.median(value[:, 0]), value[:, 1].mean()]
    return np.stack([low.min(axis=0), values, high.max(axis=0)], axis=1)


def _time(point: SuitePoint, size: int, is_rate: bool) -> Times:
    """Median and mean (rows); how far other launches' means go is not known from one."""
    one = point.estimate
    mean = point.besides.get("mean") or one.value
    ends = np.array(
        [(one.low, one.value, one.high), (min(one.low, mean), mean, max(one.high, mean))]
    )
    return size / ends[:, ::-1] if is_rate else ends


def predicted(
    profile: ApplicationProfile, a_name: str, a: Iterable[SuiteCurve], b_name: str,
    b: Iterable[SuiteCurve], cautions: Sequence[str] = (), invalid: Sequence[str] = (),
) -> Prediction:  # fmt: skip
    """The mix on both stacks; only what both have a curve for is counted."""
    stacks, nodes = (_stack(a), _stack(b)), max(1, profile.nodes)
    beside = max(1, profile.size // nodes) - 1
    rows: list[PredictedMix] = []
    sums = [np.zeros((2, 3)), np.zeros((2, 3))]
    without: Counter[str] = Counter()
    between = [one for one in profile.mix if _is_between(one)]
    for one in between:
        size = _size(one)
        each = [_bounds(stack, one, size, nodes, beside) for stack in stacks]
        if each[0] is None or each[1] is None:
            without[f"{one.call} of {one.ranks} ranks at {size:,.0f} B"] += one.calls
            continue
        on_a, on_b = (one.calls * found for found, _ in (each[0], each[1]))
        sums[0] += on_a
        sums[1] += on_b
        rows.append(
            PredictedMix(
                one.call, one.least_bytes, one.calls, _bounded(on_a), _bounded(on_b), each[0][1]
            )
        )
    calls = sum(one.calls for one in between)
    covered = 1.0 - sum(without.values()) / calls if calls else 0.0
    least, most = (_ratio(sums[1][which], sums[0][which]) for which in (0, 1))
    found = Prediction(
        program=profile.program, a_name=a_name, b_name=b_name, ranks=profile.size,
        a=_bounded(sums[0]), b=_bounded(sums[1]), least_ratio=least, most_ratio=most,
        winner="undecided", covered=covered,
        rows=tuple(sorted(rows, key=lambda one: -abs(one.a.most.value - one.b.most.value))),
        left_out=tuple(f"{what}: {count:,} calls" for what, count in without.most_common()),
        cautions=tuple(cautions), invalid=tuple(invalid), recorded_s=recorded_s(profile),
    )  # fmt: skip
    return msgspec.structs.replace(found, winner=_winner(found))


def recorded_s(profile: ApplicationProfile) -> float:
    """Time that all ranks together spent in calls to other nodes and in waiting, in seconds."""
    return sum(
        one.time_s for one in profile.mix if one.kind not in _MAKING and one.side != "same node"
    )


def _is_between(one: CallMix) -> bool:
    """Whether it sends to other nodes; waiting for that is not counted again."""
    if one.side != "other nodes":
        return False
    return one.kind == "Collective" or (one.kind in _MESSAGES and one.least_bytes is not None)


def _size(one: CallMix) -> float:
    """One message's mean size; of an alltoall that of a pair."""
    each = one.bytes / max(1, one.calls)
    return each / one.ranks if "lltoall" in one.call and one.ranks else each


def _bounds(
    stack: _Stack, one: CallMix, size: float, nodes: int, beside: int
) -> tuple[NDArray[np.float64], str] | None:
    """Both bounds of one call (rows) with their intervals (columns), and where they are from.

    ``beside`` is how many other ranks share a rank's node.
    """
    wait = stack.half_round_trip(size)
    if one.kind == "Collective":
        pattern = one.call.lower()
        own = stack.at(pattern, one.ranks, size)
        if own is not None:
            return own, f"{pattern} of {one.ranks} ranks, as measured"
        if wait is None:
            return None
        # A tree has the fewest steps one after the other, a ring there and back the most.
        steps = max(1, math.ceil(math.log2(max(2, nodes))))
        return np.array([steps * wait[0], 2 * (one.ranks - 1) * wait[1]]), "latency, in steps"
    if wait is None:
        return None
    stream = stack.at("bandwidth", 0, size) if size >= 1 else None
    follow = wait if stream is None else np.minimum(wait, stream)
    shared = beside * (follow if stream is None else stream)
    return np.array([follow[0], 2 * (wait + shared)[1]]), "latency and one-way stream"


def _bounded(times: NDArray[np.float64]) -> Bounds:
    least, most = (Span(*map(float, each)) for each in times)
    return Bounds(least, most)


def _ratio(b: Times, a: Times) -> Span:
    if not a[1]:
        return Span(0.0, 1.0, math.inf)
    return Span(float(b[0] / a[2]), float(b[1] / a[1]), float(b[2] / a[0]))


def _winner(found: Prediction) -> Winner:
    """None where what no curve explains could turn the difference round, or a side is INVALID."""
    if found.invalid:
        return "undecided"
    ratios, a, b = (found.least_ratio, found.most_ratio), found.a, found.b
    apart_s = min(abs(b.least.value - a.least.value), abs(b.most.value - a.most.value))
    if found.covered < ENOUGH or found.unexplained_s >= apart_s:
        return "undecided"
    if all(one.low > WORTH for one in ratios):
        return "a"
    return "b" if all(one.high < 1 / WORTH for one in ratios) else "undecided"
