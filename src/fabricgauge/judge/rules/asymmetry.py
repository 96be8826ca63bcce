"""Check whether one direction is slower than the other."""

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from fabricgauge.judge import foreign, host
from fabricgauge.judge.interface import Subject, judge_networks
from fabricgauge.judge.stats.series import Point, Series
from fabricgauge.judge.streams import streams
from fabricgauge.model.absence import Skipped
from fabricgauge.model.plan import BACK
from fabricgauge.model.verdict import Figure, Outcome, Verdict, VerdictSubject
from fabricgauge.model.words import figures, patterns, sentences

ID = "asymmetry"

_REMEDY = (
    "check sender and receiver of the slower direction in turn: negotiated rate and duplex"
    " (ethtool), pause frames and drops (ethtool -S), the switch ports' counters; exchange the"
    " cable"
)


class Asymmetry(NamedTuple):
    """Two directions of one stream; the slower one's loss as shares of the faster (0 to 1).

    ``value`` is the median over the common ``sizes`` of the medians' difference;
    ``beyond_intervals`` is the same of what lies between the intervals (0 if they touch).
    """

    forward: Series
    backward: Series
    slower: Series
    value: float
    beyond_intervals: float
    sizes: int


@judge_networks(ID)
def judge(subject: Subject) -> list[Verdict] | Skipped:
    repeated = {
        second.forward.about: second for second in _find_asymmetries(subject, subject.again)
    }
    verdicts = []
    for first in _find_asymmetries(subject, subject.series):
        verdict, second = _judge_directions(subject, first), repeated.get(first.forward.about)
        # The verdict of a second measurement counts, unless the first one passed.
        if second is not None and verdict.outcome is not Outcome.PASS:
            once, verdict = verdict, _judge_directions(subject, second)
            verdict = replace(verdict, evidence=(f"once: {once.summary}", *verdict.evidence))
        verdicts.append(verdict)
    return verdicts or Skipped("only one direction was measured with large messages")


def to_recheck(subject: Subject) -> Iterator[Point]:
    """Yield the sizes at which one direction is slower: only a repeated result is the network's."""
    for gap in _find_asymmetries(subject, subject.series):
        if gap.beyond_intervals > subject.limit("asymmetry.warn"):
            for series in (gap.forward, gap.backward):
                yield from series.at_least(subject.limit("fraction.from"))


def _find_asymmetries(subject: Subject, all_series: Iterable[Series]) -> Iterator[Asymmetry]:
    plain = (series for series in all_series if not (series.variant or series.source))
    one_way = [series for series in plain if series.pattern in ("bandwidth", "put_bandwidth")]
    for forward, backward in combinations(one_way, 2):
        programs = {series.program.removesuffix(BACK) for series in (forward, backward)}
        is_same = forward.pattern == backward.pattern and len(programs) == 1
        if is_same and forward.ends == backward.ends[::-1]:
            yield from asymmetry(forward, backward, subject.limit("fraction.from"))


def asymmetry(forward: Series, backward: Series, from_bytes: float) -> Iterator[Asymmetry]:
    """Compare bandwidth at equal sizes of at least ``from_bytes``; nothing without any."""
    by_size = {point.message_bytes: point.bandwidth for point in backward.points}
    pairs = [
        (point.bandwidth, by_size[point.message_bytes])
        for point in forward.at_least(from_bytes)
        if point.message_bytes in by_size
        if point.bandwidth.low > 0 and by_size[point.message_bytes].low > 0
    ]
    if pairs:
        # Positive if backward is slower.
        values = [_gap(ahead.value, ahead.value, back.value, back.value) for ahead, back in pairs]
        gaps = [_gap(ahead.low, ahead.high, back.low, back.high) for ahead, back in pairs]
        value, gap = float(np.median(values)), float(np.median(gaps))
        slower = backward if value > 0 else forward
        yield Asymmetry(forward, backward, slower, abs(value), abs(gap), len(pairs))


def _gap(low: float, high: float, other_low: float, other_high: float) -> float:
    if other_high < low:
        return 1.0 - other_high / low
    if high < other_low:
        return -(1.0 - high / other_low)
    return 0.0


def _judge_directions(subject: Subject, asymmetry: Asymmetry) -> Verdict:
    forward, backward = asymmetry.forward, asymmetry.backward
    slower = sentences.direction(*asymmetry.slower.ends)
    signs: tuple[str, ...] = ()
    outcome, cause, remedy = Outcome.PASS, "", ""
    if asymmetry.beyond_intervals > subject.limit("asymmetry.warn"):
        outcome, remedy = Outcome.WARN, _REMEDY
        cause = f"a fault that slows only {slower}, at its sender or receiver"
        host_signs = [
            host.signs(stream)
            for stream in streams(subject, forward.pattern)
            if stream.series.ends == asymmetry.slower.ends
        ]
        signs = tuple(sign for stream_signs in host_signs for sign in stream_signs.against)
        if any(stream_signs.foreign for stream_signs in host_signs):
            cause, remedy = foreign.CAUSE, foreign.REMEDY
    if asymmetry.beyond_intervals > subject.limit("asymmetry.fail"):
        outcome = host.excuse_outcome(Outcome.FAIL, bool(signs))
    program = ",".join(dict.fromkeys((forward.program, backward.program)))
    return Verdict(
        outcome,
        f"{slower} is {figures.percent(asymmetry.value)} slower"
        f" ({patterns.sentence(forward.pattern)}, median over"
        f" {sentences.counted(asymmetry.sizes, 'message size')}),"
        f" {figures.percent(asymmetry.beyond_intervals)} beyond the intervals",
        Figure(asymmetry.beyond_intervals, "share", "difference of the directions' bandwidth"),
        subject.threshold("asymmetry.warn", "at most"),
        signs,
        cause,
        remedy,
        VerdictSubject(
            "directions", subject.name, forward.ends, forward.pattern, forward.variant, program
        ),
    )
