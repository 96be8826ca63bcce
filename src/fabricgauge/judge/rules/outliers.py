"""Which node, direction, link or group is slower than its peers?

Findings are joined by whom they name; a second measurement confirms each, or the hosts excuse it.
"""

from collections.abc import Iterator

import msgspec

from fabricgauge.judge import causes
from fabricgauge.judge.host import excused, waiting_beside
from fabricgauge.judge.host_case import HostCase
from fabricgauge.judge.interface import Context, verdict_on
from fabricgauge.judge.rules import pairs
from fabricgauge.judge.streams import Stream
from fabricgauge.judge.subject import Subject
from fabricgauge.model.absence import Skipped
from fabricgauge.model.pairs import (
    LEAST_EFFECT,
    Ends,
    PairAnalysis,
    PairFinding,
    Rechecked,
    Suspect,
    called,
)
from fabricgauge.model.verdict import Figure, Outcome, Verdict, VerdictSubject, finding_subject
from fabricgauge.words import figures, sentences

ID = "outliers"
TITLE = "No node, direction, link or group is slower than its peers"

#: Suspects that are told one by one; the others are counted.
MOST_SUSPECTS = 6

_LOOK = {
    "latency": "look at what else runs there, at power states and interrupt moderation of the"
    " adapter, and at the switch port's counters; exchange cable and port one at a time",
    "bandwidth": "compare its link's negotiated rate and width with the others', then error"
    " counters of both ends; exchange cable and switch port one at a time",
}
_GROUP = (
    "look at the cables and counters between this group's switch and the next level: a missing or"
    " slow uplink; compare with another group's"
)
_BUSY = "other work on the nodes, which accounts for it"
_QUIET = "end other work on the nodes, then make a new check of those that are named"


class SlowPart(msgspec.Struct, frozen=True):
    """All findings about the same part, the largest effect first."""

    findings: tuple[PairFinding, ...]

    @property
    def worst(self) -> PairFinding:
        return self.findings[0]


class Confirmation(msgspec.Struct, frozen=True):
    """One finding beside what was seen again, and what the hosts did that accounts for that."""

    finding: PairFinding
    excuse: tuple[str, ...]

    @property
    def confirmed(self) -> bool:
        seen = self.finding.rechecked
        return isinstance(seen, Rechecked) and seen.confirmed and not self.excuse

    @property
    def told(self) -> str:
        seen = self.finding.rechecked
        if isinstance(seen, Skipped):
            return f"not confirmed by a second measurement: {seen.reason}"
        latency = self.finding.quantity == "latency"
        figure, best = (figures.duration, "at best ") if latency else (figures.rate, "")
        verdict = "" if seen.confirmed else "not confirmed: "
        partners = sentences.listed(seen.partners) or "each other"
        return (
            f"{verdict}measured again alone, with {partners}: {best}{figure(seen.own)}"
            f" beside {figure(seen.good)} of {len(seen.good_pairs)} good pairs"
        )


def judge(context: Context) -> tuple[Verdict, ...]:
    return tuple(
        verdict
        for subject in context.subjects
        if subject.pairs
        for verdict in _judge(context, subject)
    )


def _judge(context: Context, subject: Subject) -> Iterator[Verdict]:
    faults = _slow_parts(subject)
    for one in faults:
        yield _fault(context, subject, one, faults)
    for analysis in subject.pairs:
        crossing = (one for one in analysis.findings if one.explanation == "oversubscription")
        yield from (_property(subject, one) for one in crossing)
    suspects = _suspects(subject, faults)
    if suspects:
        yield _suspected(subject, suspects)
    if not faults and not suspects:
        yield _nobody(context, subject)


def _fault(
    context: Context, subject: Subject, one: SlowPart, faults: tuple[SlowPart, ...]
) -> Verdict:
    look = _confirmation(context, subject, one)
    worst = look.finding
    outcome = excused(Outcome.FAIL, not look.confirmed)
    likely = _likely(context, subject, worst, faults)
    return verdict_on(
        rule=ID,
        outcome=outcome,
        about=VerdictSubject(one.worst.part, subject.name, one.worst.names),
        summary=f"{_NAMED[outcome]}: {_effect(worst)}",
        figure=Figure(worst.effect, "share", f"{worst.quantity} beside the other pairs'"),
        evidence=(
            *(_effect(finding) for finding in one.findings),
            *(line for finding in one.findings for line in finding.evidence),
            look.told,
            *look.excuse,
            *(cause.evidence for cause in likely if cause.evidence),
        ),
        cause=_BUSY if look.excuse else likely[0].cause if likely else _cause(worst),
        remedy=_remedy(context, look, likely),
    )


def _remedy(context: Context, look: Confirmation, likely: tuple[causes.Cause, ...]) -> str:
    if not look.confirmed:
        again = f"{sentences.resume(context.run)}, or a new check of the named nodes"
        return _QUIET if look.excuse else f"measure it again: {again}"
    if likely:
        return likely[0].remedy
    return _GROUP if look.finding.part == "group" else _LOOK[look.finding.quantity]


_NAMED = {
    Outcome.FAIL: "slower than its peers, and again when measured alone",
    Outcome.INCONCLUSIVE: "suspected, but not confirmed",
}


def _nodes(subject: Subject, one: PairFinding) -> tuple[str, ...]:
    return next(
        (nodes for each in subject.pairs if (nodes := each.nodes_of(one.part, one.names))), ()
    )


def _cause(worst: PairFinding) -> str:
    if worst.part == "group":
        return "the group's way to the others carries less than that of its peers"
    return "its link, adapter or port, or something that keeps the node busy"


def _likely(
    context: Context, subject: Subject, one: PairFinding, faults: tuple[SlowPart, ...]
) -> tuple[causes.Cause, ...]:
    """What the evidence of one of its pairs points at, where that is more than a guess."""
    if isinstance(subject.ceiling, Skipped) or one.quantity != "bandwidth":
        return ()
    own = {*one.names}
    others = {name for fault in faults for name in fault.worst.names} - own
    for series in subject.again:
        ends = {series.origin, series.target}
        if series.pattern == "bandwidth" and ends & own and not ends & others:
            best = series.best(context.limit("fraction.from"))
            if best is not None:
                stream = Stream(subject, subject.ceiling, series, best)
                found = causes.causes(context, stream)
                return tuple(cause for cause in found if cause.evidence)
    return ()


def _property(subject: Subject, one: PairFinding) -> Verdict:
    return verdict_on(
        ID, Outcome.WARN, finding_subject(subject.name, one),
        f"what crosses between groups has a {_effect(one)}: an oversubscribed level, no defect",
        Figure(one.effect, "share", "between groups beside within them"), None, one.evidence,
        "fewer or slower links between the switches than below them",
        "if the fabric was bought as non-blocking, look for missing uplinks on all switches;"
        " otherwise keep jobs within a group",
    )  # fmt: skip


def _suspects(subject: Subject, faults: tuple[SlowPart, ...]) -> tuple[Suspect, ...]:
    """Those that no fault explains, each once, the most conspicuous first."""
    named = {name for fault in faults for name in _nodes(subject, fault.worst)}
    found: dict[tuple[str, tuple[str, ...]], Suspect] = {}
    for analysis in subject.pairs:
        for one in sorted(analysis.suspects, key=lambda one: -abs(one.effect)):
            if not named & set(one.names):
                found.setdefault((one.part, one.names), one)
    return tuple(sorted(found.values(), key=lambda one: (-abs(one.effect), one.names)))


def _suspected(subject: Subject, suspects: tuple[Suspect, ...]) -> Verdict:
    first = suspects[0]
    shown = [called(one.part, one.names) for one in suspects]
    return verdict_on(
        ID, Outcome.WARN, subject.about,
        f"conspicuous, but not enough to name anybody: {sentences.listed(shown, MOST_SUSPECTS)}",
        Figure(first.effect, "share", f"{first.quantity} beside the other pairs'"), None,
        tuple(_why_not(one) for one in suspects[:MOST_SUSPECTS]),
        first.reason, first.next_test,
    )  # fmt: skip


def _why_not(one: Suspect) -> str:
    level = f"{one.quantity} like the others'"
    if abs(one.effect) >= LEAST_EFFECT:
        word = "lower" if one.effect < 0 else "higher"
        level = f"{figures.percent(abs(one.effect))} {word} {one.quantity}"
    return f"{called(one.part, one.names)}: {level}; {one.reason}"


def _nobody(context: Context, subject: Subject) -> Verdict:
    nodes = len(subject.pairs[0].matrix.nodes)
    slow = pairs.slow_nodes(context, subject)
    if slow:
        said = f"too few good pairs to compare with; rule {pairs.ID} names {sentences.listed(slow)}"
        return verdict_on(ID, Outcome.SKIPPED, subject.about, said)
    return verdict_on(
        ID, Outcome.PASS, subject.about,
        f"none of {nodes:,} nodes stands out",
        evidence=tuple(_matrix(one) for one in subject.pairs),
    )  # fmt: skip


def _matrix(analysis: PairAnalysis) -> str:
    matrix = analysis.matrix
    figure = figures.duration if matrix.quantity == "latency" else figures.rate
    return (
        f"{matrix.quantity} {figures.at(matrix.message_bytes)}: typical"
        f" {figure(analysis.typical)}, {figures.percent(matrix.coverage)} of the directed pairs"
        f" measured, unexplained {figures.percent(analysis.noise)}"
    )


def _slow_parts(subject: Subject) -> tuple[SlowPart, ...]:
    """The faults of a subject; a node that is slow in one quantity one way and in another both
    ways is one fault.
    """
    by_part: dict[VerdictSubject, list[PairFinding]] = {}
    for analysis in subject.pairs:
        for one in analysis.faults:
            part = VerdictSubject(one.part, subject.name, one.names).thing
            by_part.setdefault(part, []).append(one)
    ordered = (sorted(each, key=lambda one: -abs(one.effect)) for each in by_part.values())
    joined = (SlowPart(tuple(each)) for each in ordered)
    return tuple(sorted(joined, key=lambda one: (-abs(one.worst.effect), one.worst.names)))


def _effect(one: PairFinding) -> str:
    """``bandwidth at 1 MiB 75.1 % lower than the others' (74.8 % to 75.3 %)``."""
    ends = sorted((abs(one.low), abs(one.high)))
    word = "lower" if one.effect < 0 else "higher"
    pairs = sentences.counted(one.affected, "pair")
    return (
        f"{one.quantity} {figures.at(one.message_bytes)} {figures.percent(abs(one.effect))} {word}"
        f" than the others' (interval {figures.percent(ends[0])} to"
        f" {figures.percent(ends[1])}; false-discovery rate {one.q:.2g}; {pairs})"
    )


def _confirmation(context: Context, subject: Subject, one: SlowPart) -> Confirmation:
    """Of the largest effect that is confirmed; if none is, of the largest."""
    each = [Confirmation(found, _excuse(context, subject, found)) for found in one.findings]
    return next((one for one in each if one.confirmed), each[0])


def _excuse(context: Context, subject: Subject, one: PairFinding) -> tuple[str, ...]:
    """Two ranks that take turns on one processor delay even the fastest messages of a latency."""
    seen = one.rechecked
    if isinstance(seen, Skipped) or not seen.confirmed:
        return ()
    own = _cases(context, subject, one, seen.own_pairs)
    good = _cases(context, subject, one, seen.good_pairs)
    times_as_long = 1.0 + seen.effect
    left = 1.0 / times_as_long if one.quantity == "latency" else times_as_long
    return tuple(waiting_beside(own, good, left))


def _cases(
    context: Context, subject: Subject, one: PairFinding, pairs: tuple[Ends, ...]
) -> list[HostCase]:
    if isinstance(subject.ceiling, Skipped):
        return []
    return [
        HostCase(context, Stream(subject, subject.ceiling, series, best))
        for series in subject.again
        if series.pattern == one.quantity and (series.origin, series.target) in pairs
        if (best := series.best(one.message_bytes)) is not None
    ]
