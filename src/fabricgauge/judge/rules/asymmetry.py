"""Is one direction slower than the other?"""

from collections.abc import Iterable, Iterator
from itertools import combinations

import msgspec

from fabricgauge.judge import host
from fabricgauge.judge.interface import Said, of_networks
from fabricgauge.judge.streams import streams
from fabricgauge.judge.subject import Subject
from fabricgauge.model.absence import Skipped
from fabricgauge.model.plan import BACK
from fabricgauge.model.verdict import Figure, Outcome, VerdictSubject
from fabricgauge.stats.series import Point, Series
from fabricgauge.stats.shape import Asymmetry, asymmetry
from fabricgauge.words import figures, patterns, sentences

ID = "asymmetry"
TITLE = "Both directions are alike"

_REMEDY = (
    "look at the slower direction's sender and receiver in turn: negotiated rate and duplex"
    " (ethtool), pause frames and drops (ethtool -S), the switch ports' counters; exchange the"
    " cable"
)


#: Two directions of one stream, and what tells them apart.
_Held = tuple[Series, Series, Asymmetry]


@of_networks(ID)
def judge(subject: Subject) -> list[Said] | Skipped:
    second = {held[0].about: held for held in _held(subject, subject.again)}
    each = [
        _said_again(subject, held, second.get(held[0].about))
        for held in _held(subject, subject.series)
    ]
    return each or Skipped("only one direction was measured with large messages")


def _said_again(subject: Subject, held: _Held, second: _Held | None) -> Said:
    """What a second measurement shows, where the first one was no pass."""
    said = _said(subject, *held)
    if said.outcome is Outcome.PASS or second is None:
        return said
    once, again = f"once: {said.summary}", _said(subject, *second)
    return msgspec.structs.replace(again, evidence=(once, *again.evidence))


def doubted(subject: Subject) -> Iterator[Point]:
    """The sizes of which one direction is slower: only what comes back is the network's."""
    for forward, backward, result in _held(subject, subject.series):
        if result.beyond_intervals > subject.limit("asymmetry.warn"):
            for series in (forward, backward):
                yield from series.at_least(subject.limit("fraction.from"))


def _held(subject: Subject, every: Iterable[Series]) -> list[_Held]:
    one_way = [
        one
        for one in every
        if one.pattern in ("bandwidth", "put_bandwidth") and not one.variant and not one.source
    ]
    return [
        (forward, backward, result)
        for forward, backward in combinations(one_way, 2)
        if _are_opposite(forward, backward)
        if (result := asymmetry(forward, backward, subject.limit("fraction.from")))
    ]


def _are_opposite(one: Series, other: Series) -> bool:
    """Whether they are one stream's two directions, the word for the other one left out."""
    turned = one.ends == other.ends[::-1]
    alike = one.program.removesuffix(BACK) == other.program.removesuffix(BACK)
    return one.pattern == other.pattern and turned and alike


def _said(subject: Subject, forward: Series, backward: Series, result: Asymmetry) -> Said:
    fine = result.beyond_intervals <= subject.limit("asymmetry.warn")
    signs = () if fine else _signs(subject, forward, result)
    outcome = Outcome.PASS if fine else Outcome.WARN
    if result.beyond_intervals > subject.limit("asymmetry.fail"):
        outcome = host.excused(Outcome.FAIL, bool(signs))
    slower = sentences.direction(result.slower_origin, result.slower_target)
    program = ",".join(dict.fromkeys((forward.program, backward.program)))
    return Said(
        outcome,
        f"{slower} is {figures.percent(result.value)} slower"
        f" ({patterns.sentence(forward.pattern)}, median over {result.sizes} message sizes),"
        f" {figures.percent(result.beyond_intervals)} beyond the intervals",
        Figure(result.beyond_intervals, "share", "difference of the directions' bandwidth"),
        subject.threshold("asymmetry.warn", "at most"),
        signs,
        "" if fine else f"something on the way {slower} only: a sender's or receiver's half",
        "" if fine else _REMEDY,
        VerdictSubject(
            "directions", subject.name, forward.ends, forward.pattern, forward.variant, program
        ),
    )


def _signs(subject: Subject, forward: Series, result: Asymmetry) -> tuple[str, ...]:
    """Signs that a host limits the slower direction, or may do so unseen."""
    slower = result.slower_origin, result.slower_target
    return tuple(
        sign
        for stream in streams(subject, forward.pattern)
        if stream.series.ends == slower
        for sign in host.signs(stream).against
    )
