"""Is one direction slower than the other?"""

from collections.abc import Iterator
from itertools import combinations

from fabricgauge.judge import host
from fabricgauge.judge.interface import Context, Said, of_networks
from fabricgauge.judge.streams import streams
from fabricgauge.judge.subject import Subject
from fabricgauge.model.plan import BACK
from fabricgauge.model.verdict import Figure, Outcome, VerdictSubject
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


@of_networks(ID)
def judge(context: Context, subject: Subject) -> Iterator[Said]:
    one_way = [one for one in subject.of("bandwidth", "put_bandwidth") if not one.source]
    found = [
        (forward, backward, result)
        for forward, backward in combinations(one_way, 2)
        if _are_opposite(forward, backward)
        if (result := asymmetry(forward, backward, context.limit("fraction.from")))
    ]
    for forward, backward, result in found:
        yield _said(context, subject, forward, backward, result)
    if not found:
        yield Said(Outcome.SKIPPED, "only one direction was measured with large messages")


def _are_opposite(one: Series, other: Series) -> bool:
    """Whether they are one stream's two directions, the word for the other one left out."""
    turned = (one.origin, one.target) == (other.target, other.origin)
    alike = one.program.removesuffix(BACK) == other.program.removesuffix(BACK)
    return one.pattern == other.pattern and turned and alike


def _said(
    context: Context, subject: Subject, forward: Series, backward: Series, result: Asymmetry
) -> Said:
    fine = result.beyond_intervals <= context.limit("asymmetry.warn")
    signs = () if fine else _signs(context, subject, forward, result)
    outcome = Outcome.PASS if fine else Outcome.WARN
    if result.beyond_intervals > context.limit("asymmetry.fail"):
        outcome = host.excused(Outcome.FAIL, bool(signs))
    slower = sentences.direction(result.slower_origin, result.slower_target)
    program = ",".join(dict.fromkeys((forward.program, backward.program)))
    names = (forward.origin, forward.target)
    return Said(
        outcome,
        f"{slower} is {figures.percent(result.value)} slower"
        f" ({patterns.sentence(forward.pattern)}, median over {result.sizes} message sizes),"
        f" {figures.percent(result.beyond_intervals)} beyond the intervals",
        Figure(result.beyond_intervals, "share", "difference of the directions' bandwidth"),
        context.threshold("asymmetry.warn", "at most"),
        signs,
        "" if fine else f"something on the way {slower} only: a sender's or receiver's half",
        "" if fine else _REMEDY,
        VerdictSubject(
            "directions", subject.name, names, forward.pattern, forward.variant, program
        ),
    )


def _signs(
    context: Context, subject: Subject, forward: Series, result: Asymmetry
) -> tuple[str, ...]:
    """Signs that a host limits the slower direction, or may do so unseen."""
    slower = result.slower_origin, result.slower_target
    return tuple(
        sign
        for stream in streams(context, subject, forward.pattern)
        if (stream.series.origin, stream.series.target) == slower
        for sign in host.signs(context, stream).against
    )
