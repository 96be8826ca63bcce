"""Which node, direction, link or group is slower than its peers?

Findings are joined by whom they name; a second measurement confirms each, or the hosts excuse it.
"""

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from fabricgauge.judge import causes, foreign
from fabricgauge.judge.host import (
    excused,
    waiting_beside,
    waiting_everywhere,
    waiting_nodes,
)
from fabricgauge.judge.interface import Said, of_networks
from fabricgauge.judge.rules import lossy, pairs
from fabricgauge.judge.streams import alone
from fabricgauge.judge.subject import Subject
from fabricgauge.model.absence import Skipped
from fabricgauge.model.pairs import (
    LEAST_EFFECT,
    WAYS,
    Claim,
    PairAnalysis,
    PairFinding,
    Quantity,
    Rechecked,
    Suspect,
    name_part,
)
from fabricgauge.model.pattern import Pattern
from fabricgauge.model.verdict import Figure, Outcome, VerdictSubject, finding_subject
from fabricgauge.words import figures, sentences

ID = "outliers"

#: Suspects that the evidence lists; the others are counted.
MOST_SUSPECTS = 6

#: The cause to name where no evidence points at one, and what to look at, by quantity.
_PART = "its link, adapter or port, or something that keeps the node busy"
_LOOK = {
    "latency": "look at what else runs there, at power states and interrupt moderation of the"
    " adapter, and at the switch port's counters; exchange cable and port one at a time",
    "bandwidth": "compare its link's negotiated rate and width with the others', then error"
    " counters of both ends; exchange cable and switch port one at a time",
}
_GROUP = (
    "the group's way to the others carries less than that of its peers",
    "look at the cables and counters between this group's switch and the next level: a missing or"
    " slow uplink; compare with another group's",
)
_LEVEL = (
    "fewer or slower links between the switches than below them",
    "if the fabric was bought as non-blocking, look for missing uplinks on all switches;"
    " otherwise keep jobs within a group",
)
_BUSY = "other work on the nodes, or a quota of processor time, which accounts for it"
_QUIET = "end other work on the nodes, then make a new check of those that are named"

#: All findings about the same part, the largest effect first.
_SlowPart = tuple[PairFinding, ...]


class Confirmation(msgspec.Struct, frozen=True):
    """One finding beside what was seen again, and what accounts for that: hosts, other traffic."""

    finding: PairFinding
    excuse: tuple[str, ...]
    foreign: tuple[str, ...] = ()

    @property
    def confirmed(self) -> bool:
        seen = self.finding.rechecked
        return isinstance(seen, Rechecked) and seen.confirmed and not (self.excuse or self.foreign)

    @property
    def told(self) -> str:
        seen = self.finding.rechecked
        if isinstance(seen, Skipped):
            return f"not confirmed by a second measurement: {seen.reason}"
        latency = self.finding.quantity == "latency"
        figure, best = (figures.duration, "at best ") if latency else (figures.rate, "")
        partners = sentences.listed(seen.partners) or "each other"
        if not seen.own_pairs:
            return (
                f"what its pairs with {partners} carry at once, in the median round:"
                f" {figure(seen.own)}, beside {figure(seen.good)} between other groups"
            )
        return (
            f"{'' if seen.confirmed else 'not confirmed: '}measured again alone, with {partners}:"
            f" {best}{figure(seen.own)} beside {figure(seen.good)} of {len(seen.good_pairs)} good"
            " pairs"
        )


@of_networks(ID)
def judge(subject: Subject) -> Iterator[Said]:
    if not subject.pairs:
        return
    loses = lossy.named(subject)
    slow = _slow_parts(subject)
    faults = tuple(one for one in slow if one[0].part not in WAYS or not loses & {*one[0].names})
    every = _suspects(subject, faults, loses)
    reasons = [_explanation(subject, one) for one in every]
    suspects = tuple(one for one, why in zip(every, reasons, strict=True) if not why)
    each = [(one, *_fault(subject, one, faults)) for one in faults]
    yield from (said for _, said, why in each if not why)
    yield from _undecided([one for one in each if one[2]])
    yield from (_of_losses(subject, one, loses) for one in slow if one not in faults)
    for finding in (finding for analysis in subject.pairs for finding in analysis.findings):
        if finding.explanation == "oversubscription":
            yield Said(
                Outcome.WARN,
                f"what crosses between groups has a {_effect(finding)}: an oversubscribed level,"
                " no defect",
                Figure(finding.effect, "share", "between groups beside within them"),
                None, finding.evidence, *_LEVEL, finding_subject(subject.name, finding),
            )  # fmt: skip
    if suspects:
        yield _suspected(suspects)
    elif any(reasons):
        yield _unnamed(every, reasons)
    elif not slow:
        yield _nobody(subject)
    for suspect, why in zip(every, reasons, strict=True):
        if why:
            about = VerdictSubject(suspect.part, subject.name, suspect.names)
            yield Said(Outcome.SKIPPED, f"{_level(suspect)}: {why}", about=about)


def _undecided(each: Sequence[tuple[_SlowPart, Said, str]]) -> Iterator[Said]:
    """Yield verdicts on the network instead of its parts if other traffic or hosts explain them."""
    for _, said, _ in each:
        yield msgspec.structs.replace(said, outcome=Outcome.SKIPPED, remedy="")
    for why in dict.fromkeys(why for _, _, why in each):
        own = [(part[0], said) for part, said, reason in each if reason == why]
        names = sentences.listed([name_part(one.part, one.names) for one, _ in own], MOST_SUSPECTS)
        first = own[0][1]
        yield Said(
            Outcome.INCONCLUSIVE, f"not known whether {names} is slow: {why}", first.figure, None,
            tuple(line for _, said in own for line in said.evidence), first.cause, first.remedy,
        )  # fmt: skip


def _fault(subject: Subject, part: _SlowPart, faults: tuple[_SlowPart, ...]) -> tuple[Said, str]:
    """Told of the largest effect that is confirmed; if none is, of the largest.

    With it why the part is not to be named: other traffic, or hosts that wait wherever they are.
    """
    each = [Confirmation(one, *_excuses(subject, one)) for one in part]
    look = next((one for one in each if one.confirmed), each[0])
    worst = look.finding
    likely = _likely(subject, worst, faults)
    cause, remedy = _PART, _LOOK[worst.quantity]
    if likely:
        cause, remedy = likely[0].cause, likely[0].remedy
    elif worst.part == "group":
        cause, remedy = _GROUP
    if look.foreign:
        cause, remedy = foreign.CAUSE, foreign.REMEDY
    elif look.excuse:
        cause, remedy = _BUSY, _QUIET
    elif not look.confirmed:
        again = f"{sentences.resume(subject.run)}, or a new check of the named nodes"
        remedy = f"measure it again: {again}"
    why = "; ".join(look.foreign)
    if not why and not look.confirmed:
        why = waiting_everywhere(subject, _all_pairs(worst.quantity))
        cause, remedy = (_BUSY, _QUIET) if why else (cause, remedy)
    named = "slower than its peers, and again when measured alone"
    if isinstance(worst.rechecked, Rechecked) and not worst.rechecked.own_pairs:
        named = "slower than its peers, in all that crosses at once"
    if look.foreign:
        named = "slower than its peers, which other traffic on its links accounts for"
    elif look.excuse:
        named = "slower than its peers, which its host accounts for"
    elif not look.confirmed:
        named = "suspected, but not confirmed"
    said = Said(
        excused(Outcome.FAIL, not look.confirmed),
        f"{named}: {_effect(worst)}",
        Figure(worst.effect, "share", f"{worst.quantity} beside the other pairs'"),
        None,
        (
            *map(_effect, part),
            *(line for finding in part for line in finding.evidence),
            look.told,
            *look.foreign,
            *look.excuse,
            *(one.evidence for one in likely if one.evidence),
        ),
        cause,
        remedy,
        VerdictSubject(part[0].part, subject.name, part[0].names),
    )
    return said, why


def _all_pairs(quantity: Quantity) -> Pattern:
    return "all_pairs_latency" if quantity == "latency" else "all_pairs_bandwidth"


def _likely(
    subject: Subject, one: PairFinding, faults: tuple[_SlowPart, ...]
) -> tuple[causes.Cause, ...]:
    """Return what the evidence of one of its pairs points at, where that is more than a guess."""
    own = {*one.names}
    others = {name for fault in faults for name in fault[0].names} - own
    if one.quantity == "bandwidth":
        for stream in alone(subject, "bandwidth", subject.limit("fraction.from")):
            ends = {*stream.series.ends}
            if ends & own and not ends & others:
                return tuple(cause for cause in causes.causes(stream) if cause.evidence)
    return ()


def _of_losses(subject: Subject, part: _SlowPart, loses: frozenset[str]) -> Said:
    """A way is slow because one of its ends loses frames: that node is to be named, no way."""
    worst = part[0]
    ends = sentences.listed([name for name in worst.names if name in loses])
    return Said(
        Outcome.SKIPPED,
        f"{_effect(worst)}; that follows from the frames that {ends} loses ({lossy.ID})",
        about=VerdictSubject(worst.part, subject.name, worst.names),
    )


def _suspects(
    subject: Subject, faults: tuple[_SlowPart, ...], loses: frozenset[str]
) -> tuple[Suspect, ...]:
    """Return those that no fault and no loss explains, each once, the largest effect first."""
    named = {name for fault in faults for name in _nodes_of(subject, fault[0])} | loses
    found: dict[tuple[str, tuple[str, ...]], Suspect] = {}
    for analysis in subject.pairs:
        for one in sorted(analysis.suspects, key=lambda one: -abs(one.effect)):
            if not named & set(one.names):
                found.setdefault((one.part, one.names), one)
    return tuple(sorted(found.values(), key=lambda one: (-abs(one.effect), one.names)))


def _nodes_of(subject: Subject, one: Claim) -> tuple[str, ...]:
    each = (analysis.nodes_of(one) for analysis in subject.pairs)
    return next(filter(None, each), ())


def _suspected(suspects: tuple[Suspect, ...]) -> Said:
    first = suspects[0]
    shown = [name_part(suspect.part, suspect.names) for suspect in suspects]
    return Said(
        Outcome.WARN,
        f"suspects, with too little evidence to name one: {sentences.listed(shown, MOST_SUSPECTS)}",
        Figure(first.effect, "share", f"{first.quantity} beside the other pairs'"), None,
        tuple(map(_why_not, suspects[:MOST_SUSPECTS])), first.reason, first.next_test,
    )  # fmt: skip


def _why_not(one: Suspect) -> str:
    return f"{name_part(one.part, one.names)}: {_level(one)}; {one.reason}"


def _level(one: Suspect) -> str:
    if abs(one.effect) < LEAST_EFFECT:
        return f"{one.quantity} like the others'"
    word = "lower" if one.effect < 0 else "higher"
    return f"{figures.percent(abs(one.effect))} {word} {one.quantity}"


def _explanation(subject: Subject, one: Claim) -> str:
    """Why a suspect's host, or other traffic on its links, may make it look slow.

    One pass shows little: whoever waited is no suspect, however slow it looks.
    """
    nodes = _nodes_of(subject, one)
    pattern = _all_pairs(one.quantity)
    busy = foreign.foreign_in(subject, pattern)
    limit = subject.limit("foreign-traffic.share")
    usual = _typical([busy[node].share for node in busy if node not in nodes])
    for node in nodes:
        if node in busy and busy[node].share >= usual + limit:
            return foreign.sentence(busy[node], limit)
    waiting = waiting_nodes(subject, pattern)
    told = (waiting[node] for node in nodes if node in waiting)
    return next(told, "") or waiting_everywhere(subject, pattern)


def _unnamed(suspects: Sequence[Suspect], reasons: Sequence[str]) -> Said:
    """Suspects that something else may explain: they are counted, and none is named."""
    worst = suspects[0]
    return Said(
        Outcome.WARN,
        f"{sentences.counted(len(suspects), 'suspect')}, none named: other work or traffic on the"
        " nodes may explain what stands out",
        Figure(worst.effect, "share", f"{worst.quantity} beside the other pairs'"), None,
        tuple(dict.fromkeys(reasons)), _BUSY, _QUIET,
    )  # fmt: skip


def _typical(values: Sequence[float]) -> float:
    return float(np.median(values)) if values else 0.0


def _nobody(subject: Subject) -> Said:
    slow = pairs.slow_nodes(subject)
    if slow:
        said = f"too few good pairs to compare with; rule {pairs.ID} names {sentences.listed(slow)}"
        return Said(Outcome.SKIPPED, said)
    nodes = len(subject.pairs[0].matrix.nodes)
    told = tuple(map(_matrix, subject.pairs))
    return Said(Outcome.PASS, f"none of {nodes:,} nodes stands out", evidence=told)


def _matrix(analysis: PairAnalysis) -> str:
    matrix = analysis.matrix
    figure = figures.duration if matrix.quantity == "latency" else figures.rate
    return (
        f"{matrix.quantity} {figures.at(matrix.message_bytes)}: typical"
        f" {figure(analysis.typical)}, {figures.percent(matrix.coverage)} of the directed pairs"
        f" measured, unexplained {figures.percent(analysis.noise)}"
    )


def _slow_parts(subject: Subject) -> tuple[_SlowPart, ...]:
    """The faults of a subject; a node that is slow in one quantity one way and in another both
    ways is one fault.
    """
    by_part: dict[VerdictSubject, list[PairFinding]] = {}
    for one in (fault for analysis in subject.pairs for fault in analysis.faults):
        part = VerdictSubject(one.part, subject.name, one.names).thing
        by_part.setdefault(part, []).append(one)
    ordered = (tuple(sorted(each, key=lambda one: -abs(one.effect))) for each in by_part.values())
    return tuple(sorted(ordered, key=lambda each: (-abs(each[0].effect), each[0].names)))


def _effect(one: PairFinding) -> str:
    """``bandwidth at 1 MiB 75.1 % lower than the others' (74.8 % to 75.3 %)``."""
    ends = sorted((abs(one.low), abs(one.high)))
    word = "lower" if one.effect < 0 else "higher"
    return (
        f"{one.quantity} {figures.at(one.message_bytes)} {figures.percent(abs(one.effect))} {word}"
        f" than the others' (interval {figures.percent(ends[0])} to"
        f" {figures.percent(ends[1])}; false-discovery rate {one.q:.2g};"
        f" {sentences.counted(one.affected, 'pair')})"
    )


def _excuses(subject: Subject, one: PairFinding) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what hosts did, and what other traffic did, that accounts for a confirmed finding.

    Two ranks that take turns on one processor delay even the fastest messages of a latency.
    """
    seen = one.rechecked
    if isinstance(seen, Skipped) or not seen.confirmed:
        return (), ()
    if not seen.own_pairs:  # a group that all pairs at once show, and not single pairs
        return tuple(filter(None, [_explanation(subject, one)])), ()
    each = [*alone(subject, one.quantity, one.message_bytes)]
    own, good = (
        [stream for stream in each if stream.series.ends in met]
        for met in (seen.own_pairs, seen.good_pairs)
    )
    left, latency = _left(one.quantity, seen.effect), one.quantity == "latency"
    return (
        tuple(waiting_beside(own, good, left)),
        tuple(foreign.beside_good(own, good, left, latency=latency)),
    )


def _left(quantity: Quantity, effect: float) -> float:
    """Return the speed of what is slow, as a share of the others'."""
    return 1.0 / (1.0 + effect) if quantity == "latency" else 1.0 + effect
