"""Interface of the judge: a run with its ceilings comes in, verdicts go out."""

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from typing import Protocol

import msgspec

from fabricgauge.judge.subject import Context as Context
from fabricgauge.judge.subject import Subject
from fabricgauge.model.absence import Skipped
from fabricgauge.model.verdict import Outcome, Verdict, VerdictSubject, identity
from fabricgauge.model.words import subjects as in_words


def worst(outcomes: Iterable[Outcome], *, empty: Outcome) -> Outcome:
    """Return the outcome that takes precedence (see ``Outcome``); ``empty`` without outcomes."""
    return min(outcomes, key=lambda outcome: outcome.rank, default=empty)


def by_network(network_outcomes: Iterable[tuple[str, Outcome]]) -> set[Outcome]:
    """Return the worst outcome of each network, or only FAIL if one network fails.

    On one network INVALID outranks FAIL: figures of another path prove no fault. Among
    networks FAIL comes first: a proved fault of one network does not depend on the others.
    """
    outcomes_by_network: dict[str, list[Outcome]] = {}
    for network, outcome in network_outcomes:
        outcomes_by_network.setdefault(network, []).append(outcome)
    outcomes = {worst(same, empty=Outcome.INCONCLUSIVE) for same in outcomes_by_network.values()}
    return {Outcome.FAIL} if Outcome.FAIL in outcomes else outcomes


#: A rule's result for a subject: one verdict, several, or the reason why there is none.
Verdicts = Verdict | Skipped | Iterable[Verdict]
Judge = Callable[[Context], tuple[Verdict, ...]]


def judge_run(rule: str) -> Callable[[Callable[[Context], Verdicts]], Judge]:
    """Return a judge from a function that yields a rule's results on a whole run."""
    return lambda find: (
        lambda context: tuple(_verdicts(rule, partial(find, context), VerdictSubject()))
    )


def judge_networks(rule: str) -> Callable[[Callable[[Subject], Verdicts]], Judge]:
    """Return a judge from a function that yields a rule's results on one network."""
    return lambda find: (
        lambda context: tuple(
            judged
            for subject in context.subjects
            for judged in _verdicts(rule, partial(find, subject), subject.about)
        )
    )


def _verdicts(
    rule: str, find: Callable[[], Verdicts], default: VerdictSubject
) -> Iterator[Verdict]:
    """Yield a rule's verdicts; an error ends those of this subject alone."""
    try:
        results = find()
        if isinstance(results, Skipped):
            results = Verdict(Outcome.SKIPPED, results.reason)
        for result in (results,) if isinstance(results, Verdict) else results:
            yield complete(rule, result, default)
    except Exception as error:
        yield report_error(rule, error, default)


def report_error(rule: str, error: Exception, about: VerdictSubject) -> Verdict:
    reason = f"the rule could not be applied ({type(error).__name__}: {error})"
    cause_and_remedy = "an error in fabricgauge", "report it with the run directory"
    verdict = Verdict(Outcome.INCONCLUSIVE, reason, None, None, (), *cause_and_remedy)
    return complete(rule, verdict, about)


_NO_SUBJECT = VerdictSubject()


def complete(rule: str, verdict: Verdict, default: VerdictSubject) -> Verdict:
    """Return a rule's verdict with its rule, subject and id; ``default`` is the judged subject."""
    about = default if verdict.about == _NO_SUBJECT else verdict.about
    words, identifier = _name_subject(rule, about)
    return msgspec.structs.replace(
        verdict, rule=rule, subject=words, network=about.network, id=identifier, about=about
    )


@lru_cache(maxsize=1024)
def _name_subject(rule: str, about: VerdictSubject) -> tuple[str, str]:
    """Return the subject in words, and the verdict's id; each table of a log has the same ones."""
    return in_words.subject(about), identity(rule, about.thing)


class Rule(Protocol):
    """A module with these names is a rule; ``ID`` names its page in the docs.

    ``judge`` returns one verdict for each subject (network, node, direction) that the rule judges.
    A rule that knows consequences of its verdicts, or their causes, also has
    ``find_consequences(context, verdicts)``: ids of verdicts, each with the id of its cause.
    """

    ID: str
    judge: Judge
