"""Is any figure better than the network can be?"""

import msgspec

from fabricgauge.judge.interface import Context, verdict_on
from fabricgauge.judge.streams import unlike
from fabricgauge.judge.subject import Subject
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.verdict import Figure, Outcome, Threshold, Verdict
from fabricgauge.stats.series import Point, Series
from fabricgauge.words import figures, patterns

ID = "above-ceiling"
TITLE = "Nothing is faster than the network can be"

_CAUSE = (
    "the bytes did not cross this network alone: shared memory, a second network, or a nominal"
    " rate that is too low"
)
_REMEDY = "look at placement and path; check the nominal rate that the ceiling was worked out from"

_UNSURE = "few or unsteady samples, a burst that discovery did not see, or a nominal rate too low"
_AGAIN = (
    "measure again with more samples: fabricgauge check --profile full; check the nominal rate"
    " that the ceiling was worked out from"
)


class _Excess(msgspec.Struct, frozen=True):
    """How far a sample time is below the least that the ceiling allows (negative: above)."""

    series: Series
    point: Point
    least_s: float

    @property
    def share(self) -> float:
        """By the slow end of the fastest launch's own interval: one launch too fast is enough."""
        slow_ends_s = (max(one.high_s, one.median_s) for one in self.point.observed)
        return self.least_s / min(slow_ends_s) - 1.0

    @property
    def of_median(self) -> float:
        return self.least_s / self.point.time.value - 1.0


def judge(context: Context) -> tuple[Verdict, ...]:
    return tuple(_judge(context, subject) for subject in context.subjects)


def _judge(context: Context, subject: Subject) -> Verdict:
    if isinstance(subject.ceiling, Skipped):
        return verdict_on(ID, Outcome.SKIPPED, subject.about, subject.ceiling.reason)
    excesses = _excesses(context, subject, subject.ceiling)
    if not excesses:
        return verdict_on(ID, Outcome.SKIPPED, subject.about, "nothing was measured")
    above = sorted((one for one in excesses if one.share > 0), key=lambda one: -one.share)
    if above:
        return _above(context, subject, subject.ceiling, above, Outcome.INVALID)
    medians = sorted((one for one in excesses if one.of_median > 0), key=lambda one: -one.of_median)
    if medians:
        return _above(context, subject, subject.ceiling, medians, Outcome.WARN)
    return verdict_on(
        ID, Outcome.PASS, subject.about,
        f"no figure is above the ceiling of {figures.rate(subject.ceiling.payload_bytes_per_s)}"
        " per direction"
        + (" (bursts of the token bucket allowed for)" if subject.ceiling.burst_bytes else ""),
    )  # fmt: skip


def exceeds(context: Context, subject: Subject) -> bool:
    """Whether a figure is surely more than the network can carry."""
    ceiling = subject.ceiling
    if isinstance(ceiling, Skipped):
        return False
    return any(one.share > 0 for one in _excesses(context, subject, ceiling))


def _excesses(context: Context, subject: Subject, ceiling: Ceiling) -> list[_Excess]:
    return [
        _Excess(series, point, least_s(context, ceiling, point))
        for series in subject.series
        if not unlike(subject, series)
        for point in series.points
    ]


def least_s(context: Context, ceiling: Ceiling, point: Point) -> float:
    """The least time of a sample, tolerances taken off.

    A half round trip of a message and a window of messages alike have to carry their
    payload in one direction; what a token bucket lets through at once is free.
    """
    payload = min(one.payload_bytes for one in point.observed)
    floor = ceiling.one_transfer_floor_s(payload)
    tolerance = 1.0 + context.limit("above-ceiling.tolerance")
    # A mean over many messages has no such share of a clock's reading in it.
    clock_s = context.limit("above-ceiling.clock") if point.measurements else 0.0
    return max(0.0, floor / tolerance - clock_s)


def _above(
    context: Context, subject: Subject, ceiling: Ceiling, above: list[_Excess], outcome: Outcome
) -> Verdict:
    worst, unsure = above[0], outcome is Outcome.WARN
    limit = context.thresholds.threshold("above-ceiling.tolerance", "")
    at = figures.at(worst.point.message_bytes, worst.point.sized)
    return verdict_on(
        rule=ID,
        outcome=outcome,
        about=subject.about,
        summary=f"{_sentence(worst)} is more than the ceiling of"
        f" {figures.rate(ceiling.payload_bytes_per_s)} per direction allows"
        + (", though its interval reaches below" if unsure else ""),
        figure=Figure(
            worst.point.bandwidth.value, f"bytes/s per direction {at}",
            patterns.sentence(worst.series.pattern),
        ),
        threshold=Threshold(
            ceiling.payload_bytes_per_s * (1 + limit.value), "bytes/s per direction", "at most",
            f"ceiling of {subject.name} with {limit.origin}",
        ),
        evidence=tuple(_sentence(one) for one in above[:6]),
        cause=_UNSURE if unsure else _CAUSE,
        remedy=_AGAIN if unsure else _REMEDY,
    )  # fmt: skip


def _sentence(excess: _Excess) -> str:
    series, point = excess.series, excess.point
    return (
        f"{series.name}: {figures.rate(point.bandwidth.value)} per direction"
        f" {figures.at(point.message_bytes, point.sized)}"
        f" ({patterns.sentence(series.pattern)}; at least {figures.rate(point.bandwidth.low)})"
    )
