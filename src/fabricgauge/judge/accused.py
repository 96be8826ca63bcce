"""Findings of one network joined by whom they name, and how a sentence calls them."""

import msgspec

from fabricgauge.judge import wording
from fabricgauge.judge.subject import Subject
from fabricgauge.model.pairs import ENDS, Finding, called


class Accused(msgspec.Struct, frozen=True):
    """All findings about the same part, the largest effect first."""

    findings: tuple[Finding, ...]

    @property
    def worst(self) -> Finding:
        return self.findings[0]

    @property
    def name(self) -> str:
        return called(self.worst.part, self.worst.names)


def accused(subject: Subject) -> tuple[Accused, ...]:
    """The faults of a subject; a node that is slow in one quantity one way and in another both
    ways is one fault.
    """
    by_part: dict[tuple[str, tuple[str, ...]], list[Finding]] = {}
    for analysis in subject.pairs:
        for one in analysis.findings:
            if one.explanation == "fault":
                by_part.setdefault(_key(one), []).append(one)
    ordered = (sorted(each, key=lambda one: -abs(one.effect)) for each in by_part.values())
    joined = (Accused(tuple(each)) for each in ordered)
    return tuple(sorted(joined, key=lambda one: (-abs(one.worst.effect), one.worst.names)))


def _key(one: Finding) -> tuple[str, tuple[str, ...]]:
    if one.part in ENDS:
        return "node", one.names
    return one.part, tuple(sorted(one.names)) if one.part == "pair" else one.names


def effect(one: Finding) -> str:
    """``bandwidth at 1 MiB 75.1 % lower than the others' (74.8 % to 75.3 %)``."""
    ends = sorted((abs(one.low), abs(one.high)))
    word = "lower" if one.effect < 0 else "higher"
    pairs = wording.counted(one.affected, "pair")
    return (
        f"{one.quantity} {wording.at(one.message_bytes)} {wording.percent(abs(one.effect))} {word}"
        f" than the others' (interval {wording.percent(ends[0])} to"
        f" {wording.percent(ends[1])}; false-discovery rate {one.q:.2g}; {pairs})"
    )
