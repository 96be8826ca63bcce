"""What this stage takes and gives: a run with its ceilings in, verdicts out."""

from collections.abc import Iterable
from functools import cached_property
from typing import Protocol

import msgspec

from fabricgauge.evidence.gathering import evidence
from fabricgauge.judge.subject import Subject, subjects
from fabricgauge.judge.thresholds import DEFAULTS, Thresholds
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.evidence import RunEvidence
from fabricgauge.model.pairs import NO_PAIRS, FabricResult
from fabricgauge.model.run import Run
from fabricgauge.model.verdict import (
    Figure,
    Outcome,
    Threshold,
    Verdict,
    VerdictSubject,
    identity,
)
from fabricgauge.words import subjects as in_words


class Context(msgspec.Struct, frozen=True, dict=True):
    """Everything that a rule may look at; ``ceilings`` are by network name.

    ``fabric`` is what the matrices of all pairs say, where pairs of many nodes were measured.
    ``known`` is the run's evidence, where it has been gathered already.
    """

    run: Run
    ceilings: dict[str, Ceiling | Skipped]
    thresholds: Thresholds = DEFAULTS
    fabric: FabricResult = NO_PAIRS
    known: RunEvidence | None = None

    @cached_property
    def evidence(self) -> RunEvidence:
        return evidence(self.run) if self.known is None else self.known

    @cached_property
    def subjects(self) -> tuple[Subject, ...]:
        return subjects(self.run, self.ceilings, self.evidence, self.fabric)

    def limit(self, name: str) -> float:
        return self.thresholds.value(name)


_PRECEDENCE = list(Outcome)


def worst(outcomes: Iterable[Outcome], *, empty: Outcome) -> Outcome:
    """The outcome that takes precedence (see ``Outcome``), ``empty`` if there is none."""
    return min(outcomes, key=_PRECEDENCE.index, default=empty)


def by_network(said: Iterable[tuple[str, Outcome]]) -> set[Outcome]:
    """The worst outcome of each network, or FAIL alone where one network has it.

    On one network INVALID outranks FAIL: figures of another path condemn nobody. Among
    networks FAIL comes first: one that was proved to be bad is bad whatever the others are.
    """
    found: dict[str, list[Outcome]] = {}
    for network, outcome in said:
        found.setdefault(network, []).append(outcome)
    outcomes = {worst(same, empty=Outcome.INCONCLUSIVE) for same in found.values()}
    return {Outcome.FAIL} if Outcome.FAIL in outcomes else outcomes


def verdict_on(
    rule: str,
    outcome: Outcome,
    about: VerdictSubject,
    summary: str,
    figure: Figure | None = None,
    threshold: Threshold | None = None,
    evidence: tuple[str, ...] = (),
    cause: str = "",
    remedy: str = "",
) -> Verdict:
    """A verdict with its subject in words, its network and its id."""
    return Verdict(
        rule, outcome, in_words.subject(about), summary, figure, threshold, evidence, cause,
        remedy, about.network, identity(rule, about.thing), about,
    )  # fmt: skip


class Rule(Protocol):
    """A module with these names is a rule; ``ID`` is that of its page in the docs."""

    ID: str
    TITLE: str

    def judge(self, context: Context) -> tuple[Verdict, ...]:
        """One verdict for each subject (network, node, direction) that the rule judges."""
        ...
