"""What this stage takes and gives: a run with its ceilings in, verdicts out."""

from collections.abc import Callable, Iterable
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
from fabricgauge.model.verdict import Figure, Outcome, Threshold, Verdict, VerdictSubject, identity
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
        return self.thresholds.limits[name].value

    def threshold(self, name: str, relation: str = "at least") -> Threshold:
        """The limit as a verdict quotes it; ``relation`` is e.g. "at most"."""
        limit = self.thresholds.limits[name]
        return Threshold(limit.value, limit.unit, relation, f"{name}, {limit.origin}")


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


class Said(msgspec.Struct, frozen=True):
    """A rule's word; fields as in ``Verdict``. Without ``about`` it is of what was looked at."""

    outcome: Outcome
    summary: str
    figure: Figure | None = None
    threshold: Threshold | None = None
    evidence: tuple[str, ...] = ()
    cause: str = ""
    remedy: str = ""
    about: VerdictSubject | None = None


Judge = Callable[[Context], tuple[Verdict, ...]]


def of_run(rule: str) -> Callable[[Callable[[Context], Iterable[Said]]], Judge]:
    """Of a function that looks at the run as a whole: its words with rule, subject and id."""
    return lambda say: (
        lambda context: tuple(verdict(rule, one, VerdictSubject()) for one in say(context))
    )


def of_networks(rule: str) -> Callable[[Callable[[Context, Subject], Iterable[Said]]], Judge]:
    """The same of one that looks at each network."""
    return lambda say: (
        lambda context: tuple(
            verdict(rule, one, subject.about)
            for subject in context.subjects
            for one in say(context, subject)
        )
    )


def verdict(rule: str, said: Said, usual: VerdictSubject) -> Verdict:
    """A word with its subject in words, its network and its id; ``usual`` is what it is of."""
    about = said.about or usual
    return Verdict(
        rule, said.outcome, in_words.subject(about), said.summary, said.figure, said.threshold,
        said.evidence, said.cause, said.remedy, about.network, identity(rule, about.thing), about,
    )  # fmt: skip


class Rule(Protocol):
    """A module with these names is a rule; ``ID`` is that of its page in the docs.

    ``judge`` gives one verdict for each subject (network, node, direction) that the rule judges.
    """

    ID: str
    TITLE: str
    judge: Judge
