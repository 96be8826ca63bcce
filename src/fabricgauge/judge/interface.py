"""What this stage takes and gives: a run with its ceilings in, verdicts out."""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

import msgspec

from fabricgauge.judge.subject import Context as Context
from fabricgauge.judge.subject import Subject
from fabricgauge.model.absence import Skipped
from fabricgauge.model.verdict import Figure, Outcome, Threshold, Verdict, VerdictSubject, identity
from fabricgauge.words import subjects as in_words


def worst(outcomes: Iterable[Outcome], *, empty: Outcome) -> Outcome:
    """Return the outcome that takes precedence (see ``Outcome``), ``empty`` if there is none."""
    return min(outcomes, key=lambda one: one.rank, default=empty)


def by_network(network_outcomes: Iterable[tuple[str, Outcome]]) -> set[Outcome]:
    """Return the worst outcome of each network, or FAIL alone where one network has it.

    On one network INVALID outranks FAIL: figures of another path prove no fault. Among
    networks FAIL comes first: one that was proved to be bad is bad whatever the others are.
    """
    outcomes_by_network: dict[str, list[Outcome]] = {}
    for network, outcome in network_outcomes:
        outcomes_by_network.setdefault(network, []).append(outcome)
    outcomes = {worst(same, empty=Outcome.INCONCLUSIVE) for same in outcomes_by_network.values()}
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


#: A rule's result for a subject: one word, several, or why there is none.
Words = Said | Skipped | Iterable[Said]
Judge = Callable[[Context], tuple[Verdict, ...]]


def of_run(rule: str) -> Callable[[Callable[[Context], Words]], Judge]:
    """Return a judge for a function of the whole run: its words with rule, subject and id."""
    return lambda say: lambda context: tuple(_verdicts(rule, say(context), VerdictSubject()))


def of_networks(rule: str) -> Callable[[Callable[[Subject], Words]], Judge]:
    """Return the same for a function that looks at each network."""
    return lambda say: (
        lambda context: tuple(
            judged
            for subject in context.subjects
            for judged in _verdicts(rule, say(subject), subject.about)
        )
    )


def _verdicts(rule: str, words: Words, usual: VerdictSubject) -> Iterator[Verdict]:
    if isinstance(words, Skipped):
        words = Said(Outcome.SKIPPED, words.reason)
    for item in (words,) if isinstance(words, Said) else words:
        yield verdict(rule, item, usual)


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
    judge: Judge
