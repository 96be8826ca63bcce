"""Findings of one network joined by whom they name, and what a second measurement says of each."""

import msgspec

from fabricgauge.judge.host_beside import waiting_beside
from fabricgauge.judge.host_case import HostCase
from fabricgauge.judge.interface import Context
from fabricgauge.judge.streams import Stream
from fabricgauge.judge.subject import Subject
from fabricgauge.model.absence import Skipped
from fabricgauge.model.pairs import Ends, Finding, Rechecked
from fabricgauge.model.verdict import VerdictSubject
from fabricgauge.words import figures, sentences


class SlowPart(msgspec.Struct, frozen=True):
    """All findings about the same part, the largest effect first."""

    findings: tuple[Finding, ...]

    @property
    def worst(self) -> Finding:
        return self.findings[0]


def slow_parts(subject: Subject) -> tuple[SlowPart, ...]:
    """The faults of a subject; a node that is slow in one quantity one way and in another both
    ways is one fault.
    """
    by_part: dict[VerdictSubject, list[Finding]] = {}
    for analysis in subject.pairs:
        for one in analysis.faults:
            part = VerdictSubject(one.part, subject.name, one.names).thing
            by_part.setdefault(part, []).append(one)
    ordered = (sorted(each, key=lambda one: -abs(one.effect)) for each in by_part.values())
    joined = (SlowPart(tuple(each)) for each in ordered)
    return tuple(sorted(joined, key=lambda one: (-abs(one.worst.effect), one.worst.names)))


def effect(one: Finding) -> str:
    """``bandwidth at 1 MiB 75.1 % lower than the others' (74.8 % to 75.3 %)``."""
    ends = sorted((abs(one.low), abs(one.high)))
    word = "lower" if one.effect < 0 else "higher"
    pairs = sentences.counted(one.affected, "pair")
    return (
        f"{one.quantity} {figures.at(one.message_bytes)} {figures.percent(abs(one.effect))} {word}"
        f" than the others' (interval {figures.percent(ends[0])} to"
        f" {figures.percent(ends[1])}; false-discovery rate {one.q:.2g}; {pairs})"
    )


class Confirmation(msgspec.Struct, frozen=True):
    """One finding beside what was seen again, and what the hosts did that accounts for that."""

    finding: Finding
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


def confirmation(context: Context, subject: Subject, one: SlowPart) -> Confirmation:
    """Of the largest effect that is confirmed; if none is, of the largest."""
    each = [Confirmation(found, _excuse(context, subject, found)) for found in one.findings]
    return next((one for one in each if one.confirmed), each[0])


def _excuse(context: Context, subject: Subject, one: Finding) -> tuple[str, ...]:
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
    context: Context, subject: Subject, one: Finding, pairs: tuple[Ends, ...]
) -> list[HostCase]:
    if isinstance(subject.ceiling, Skipped):
        return []
    return [
        HostCase(context, Stream(subject, subject.ceiling, series, best))
        for series in subject.again
        if series.pattern == one.quantity and (series.origin, series.target) in pairs
        if (best := series.best(one.message_bytes)) is not None
    ]
