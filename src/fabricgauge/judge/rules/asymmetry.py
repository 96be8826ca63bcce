"""Is one direction slower than the other?"""

from itertools import combinations

from fabricgauge.judge import host
from fabricgauge.judge.interface import Context, verdict_on
from fabricgauge.judge.streams import streams
from fabricgauge.judge.subject import Subject
from fabricgauge.model.plan import BACK
from fabricgauge.model.verdict import Figure, Outcome, Verdict, VerdictSubject
from fabricgauge.stats.series import Series
from fabricgauge.stats.shape import Asymmetry, asymmetry
from fabricgauge.words import figures, patterns, sentences

ID = "asymmetry"
TITLE = "Both directions are alike"

_REMEDY = (
    "look at the slower direction's sender and receiver in turn: negotiated rate and duplex"
    " (ethtool), pause frames and drops (ethtool -S), the switch ports' counters; exchange the"
    " cable"
)


def judge(context: Context) -> tuple[Verdict, ...]:
    return tuple(verdict for subject in context.subjects for verdict in _judge(context, subject))


def _judge(context: Context, subject: Subject) -> tuple[Verdict, ...]:
    one_way = tuple(one for one in subject.of("bandwidth", "put_bandwidth") if not one.source)
    found = [
        (forward, backward, result)
        for forward, backward in combinations(one_way, 2)
        if _are_opposite(forward, backward)
        for result in [asymmetry(forward, backward, context.limit("fraction.from"))]
        if result
    ]
    if not found:
        reason = "only one direction was measured with large messages"
        return (verdict_on(ID, Outcome.SKIPPED, subject.about, reason),)
    return tuple(_verdict(context, subject, *one) for one in found)


def _are_opposite(one: Series, other: Series) -> bool:
    turned = (one.origin, one.target) == (other.target, other.origin)
    alike = _turned(one.program) == _turned(other.program)
    return one.pattern == other.pattern and turned and alike


def _turned(program: str) -> str:
    """A program's name without the word for its other direction: one stream, not four."""
    return program.removesuffix(BACK)


def _about(subject: Subject, forward: Series, backward: Series) -> VerdictSubject:
    program = ",".join(dict.fromkeys((forward.program, backward.program)))
    names = (forward.origin, forward.target)
    return VerdictSubject(
        "directions", subject.name, names, forward.pattern, forward.variant, program
    )


def _verdict(
    context: Context, subject: Subject, forward: Series, backward: Series, result: Asymmetry
) -> Verdict:
    outcome = _outcome(context, subject, forward, result)
    slower = sentences.direction(result.slower_origin, result.slower_target)
    fine = outcome is Outcome.PASS
    return verdict_on(
        rule=ID,
        outcome=outcome,
        about=_about(subject, forward, backward),
        summary=f"{slower} is {figures.percent(result.value)} slower"
        f" ({patterns.sentence(forward.pattern)}, median over {result.sizes} message sizes),"
        f" {figures.percent(result.beyond_intervals)} beyond the intervals",
        figure=Figure(result.beyond_intervals, "share", "difference of the directions' bandwidth"),
        threshold=context.thresholds.threshold("asymmetry.warn", "at most"),
        evidence=() if fine else _signs(context, subject, forward, result),
        cause="" if fine else f"something on the way {slower} only: a sender's or receiver's half",
        remedy="" if fine else _REMEDY,
    )


def _outcome(context: Context, subject: Subject, forward: Series, result: Asymmetry) -> Outcome:
    if result.beyond_intervals <= context.limit("asymmetry.warn"):
        return Outcome.PASS
    if result.beyond_intervals <= context.limit("asymmetry.fail"):
        return Outcome.WARN
    hosts = _signs(context, subject, forward, result)
    return host.excused(Outcome.FAIL, bool(hosts))


def _signs(
    context: Context, subject: Subject, forward: Series, result: Asymmetry
) -> tuple[str, ...]:
    """Signs that a host limits the slower direction, or may do so unseen."""
    return tuple(
        sign
        for stream in streams(context, subject, forward.pattern)
        if (stream.series.origin, stream.series.target)
        == (result.slower_origin, result.slower_target)
        for signs in [host.signs(context, stream)]
        for sign in (*signs.limiting, *filter(None, (signs.unseen,)))
    )
