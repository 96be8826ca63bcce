"""All rules over one run, and the overall outcome."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import msgspec

from fabricgauge.judge import closing_round
from fabricgauge.judge.consequences import consequences
from fabricgauge.judge.interface import Context, Rule, Said, by_network, verdict, worst
from fabricgauge.judge.rules import (
    DECIDING,
    DECIDING_EMULATED,
    DECIDING_IMPORTED,
    DECIDING_SIMULATED,
    RULES,
    asymmetry,
    completeness,
    dips,
    lossy,
    pairs,
)
from fabricgauge.judge.streams import streams
from fabricgauge.judge.subject import Subject
from fabricgauge.judge.tables import join_verdicts, parts, table_verdict
from fabricgauge.judge.tables import overall as overall_of
from fabricgauge.model.judged import RunVerdicts
from fabricgauge.model.pairs import Recheck
from fabricgauge.model.plan import PlannedLaunch, renumber
from fabricgauge.model.run import Run
from fabricgauge.model.verdict import (
    RULES_OF_SPEED,
    Outcome,
    Verdict,
    VerdictSubject,
    number_repeats,
)

#: Raised whenever a rule could judge the same run differently.
RULES_VERSION = "20"


def judgement(context: Context) -> RunVerdicts:
    """Every rule's verdicts over a run, in the rules' order, and what they amount to.

    Others' logs are judged table by table: no table excuses or condemns another.
    """
    run = context.run
    if not run.imported:
        verdicts = _identified(one for rule in RULES for one in _apply(rule, context))
        follows = consequences(context, verdicts)
        return RunVerdicts(verdicts, overall(verdicts, deciding(run)), follows=follows)
    judged = []
    for part in parts(run):
        part_context = Context(part, context.ceilings, context.thresholds)
        part_verdicts = [one for rule in RULES for one in _apply(rule, part_context)]
        table = table_verdict(part, part_verdicts, overall(part_verdicts, DECIDING_IMPORTED))
        judged.append(
            (table, [verdict for verdict in part_verdicts if verdict.rule != completeness.ID])
        )
    order = {rule.ID: place for place, rule in enumerate(RULES)}
    all_verdicts = (*join_verdicts(judged), *_apply(completeness, context))
    ordered = _identified(sorted(all_verdicts, key=lambda one: order[one.rule]))
    tables = tuple(table for table, _ in judged)
    return RunVerdicts(ordered, overall_of(tables), tables)


def _identified(verdicts: Iterable[Verdict]) -> tuple[Verdict, ...]:
    all_verdicts = tuple(verdicts)
    ids = number_repeats(verdict.id for verdict in all_verdicts)
    return tuple(
        msgspec.structs.replace(one, id=own) for one, own in zip(all_verdicts, ids, strict=True)
    )


def _apply(rule: Rule, context: Context) -> Sequence[Verdict]:
    if context.run.fabric.emulated and rule.ID in RULES_OF_SPEED:
        said = Said(Outcome.SKIPPED, "emulated: not judged, these processors' times mean nothing")
        return tuple(verdict(rule.ID, said, subject.about) for subject in context.subjects)
    # A rule that breaks on unforeseen input must not take the other verdicts along.
    try:
        return rule.judge(context)
    except Exception as error:
        reason = f"the rule could not be applied ({type(error).__name__}: {error})"
        mend = "an error in the rule", "report it with the run directory"
        said = Said(Outcome.INCONCLUSIVE, reason, None, None, (), *mend)
        return (verdict(rule.ID, said, VerdictSubject()),)


def below_pass(context: Context) -> tuple[str, ...]:
    """Names of networks on which a two-sided stream stayed below the passing fraction."""
    return tuple(
        subject.name
        for subject in context.subjects
        if any(
            stream.fraction < stream.limit(stream.enough)
            for stream in streams(subject, "bandwidth")
        )
    )


def doubtful(context: Context) -> tuple[PlannedLaunch, ...]:
    """What one pair should measure once more before a rule believes it, numbered after the plan.

    What a single case shows is a property of the network only if a second case shows it too.
    """
    launches = (one for subject in context.subjects for one in _rechecks_of(subject))
    return renumber(launches, context.run.plan.last)


def _rechecks_of(subject: Subject) -> Iterator[PlannedLaunch]:
    if subject.pairs or subject.again:
        return
    points = chain(dips.to_recheck(subject), asymmetry.to_recheck(subject))
    names = {case.case for point in points for case in point.measurements}
    for launch in subject.planned:
        cases = tuple(case for case in launch.cases if case.name in names)
        names -= {case.name for case in cases}
        if cases:
            yield msgspec.structs.replace(launch, cases=cases, purpose="again")


def unclear(context: Context) -> tuple[Recheck, ...]:
    """Pairs that rules want measured again, one at a time, before they report them.

    For each network the first rule that asks decides which pairs: they serve the others as well.
    """
    loses = losing(context.run)
    rules = {True: (lossy, pairs, closing_round), False: (pairs, lossy, closing_round)}
    rechecks = (
        next(filter(None, (rule.again(subject) for rule in rules[subject.name in loses])), None)
        for subject in context.subjects
    )
    return tuple(filter(None, rechecks))


def losing(run: Run) -> frozenset[str]:
    """Return the networks whose losses alone explain what is slow there."""
    return frozenset(
        launch.network
        for launch in run.launches
        if launch.network is not None and any(case.losing for case in launch.measurements)
    )


def deciding(run: Run) -> tuple[str, ...]:
    """Return the rules that must pass (or warn), or else a run of our own has shown nothing."""
    if run.fabric.simulated:
        return DECIDING_SIMULATED
    return DECIDING_EMULATED if run.fabric.emulated else DECIDING


def overall(verdicts: Iterable[Verdict], deciding: Sequence[str] = DECIDING) -> Outcome:
    """Return what the whole run amounts to, never a pass unless the deciding rules gave one.

    A deciding rule that said nothing, or skipped a subject, leaves the run inconclusive.
    """
    all_verdicts = tuple(verdicts)
    # The worst of a network stands for all that belongs to it, or to the run as a whole.
    outcomes = by_network((verdict.network, verdict.outcome) for verdict in all_verdicts)
    if outcomes == {Outcome.FAIL}:
        return Outcome.FAIL
    for rule in deciding:
        rule_outcomes = {verdict.outcome for verdict in all_verdicts if verdict.rule == rule}
        if not rule_outcomes or Outcome.SKIPPED in rule_outcomes:
            outcomes.add(Outcome.INCONCLUSIVE)
    return worst(outcomes, empty=Outcome.INCONCLUSIVE)
