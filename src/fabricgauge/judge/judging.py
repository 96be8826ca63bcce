"""Apply all rules to a run, and find the overall outcome."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from msgspec.structs import replace

from fabricgauge.judge import rules
from fabricgauge.judge.consequences import consequences
from fabricgauge.judge.interface import Context, Subject, by_network, complete, report_error, worst
from fabricgauge.judge.streams import streams
from fabricgauge.model.judged import RunVerdicts, TableVerdict
from fabricgauge.model.pairs import NO_PAIRS, FabricResult, Recheck
from fabricgauge.model.plan import PlannedLaunch, renumber
from fabricgauge.model.run import Run
from fabricgauge.model.verdict import Outcome, Verdict, VerdictSubject, number_repeats

#: It rises whenever a rule may judge the same run differently.
RULES_VERSION = "20"


def judgement(context: Context) -> RunVerdicts:
    """Return the verdicts of all rules on a run, in the rules' order, with the overall outcome.

    Imported logs are judged table by table: a table does not change another one's outcome.
    """
    run = context.run
    if not run.imported:
        verdicts = _number_verdicts(_apply_all(context))
        follows = consequences(context, verdicts)
        return RunVerdicts(verdicts, overall(verdicts, deciding(run)), follows=follows)
    from fabricgauge.judge.tables import TableVerdicts, parts
    from fabricgauge.judge.tables import overall as overall_of

    joined = TableVerdicts()
    for part in parts(run):
        table, part_verdicts = judge_table(context, part)
        joined.add(table, [verdict for verdict in part_verdicts if verdict.rule != "completeness"])
    order = {rule: position for position, rule in enumerate(rules.RULES)}
    all_verdicts = (*joined.join(), *_apply("completeness", context))
    ordered = _number_verdicts(sorted(all_verdicts, key=lambda verdict: order[verdict.rule]))
    tables = tuple(joined.tables)
    return RunVerdicts(ordered, overall_of(tables), tables)


def judge_table(context: Context, part: Run) -> tuple[TableVerdict, list[Verdict]]:
    """Return the verdict on a run of one table, and those of all rules."""
    from fabricgauge.judge.tables import table_verdict

    part_context = Context(part, context.ceilings, context.thresholds, _analyse_matrix(part))
    verdicts = [*_apply_all(part_context)]
    outcome = overall(verdicts, rules.DECIDING_IMPORTED)
    return table_verdict(part, verdicts, outcome), verdicts


def _analyse_matrix(part: Run) -> FabricResult:
    """Return what a table's matrix of pairs shows; other tables do not load the analysis."""
    if not any(launch.has_many_pairs for launch in part.launches):
        return NO_PAIRS
    from fabricgauge.judge.localise.detect import localise

    return localise(part.launches, part.fabric.topology)


def _number_verdicts(verdicts: Iterable[Verdict]) -> tuple[Verdict, ...]:
    all_verdicts = tuple(verdicts)
    ids = number_repeats(verdict.id for verdict in all_verdicts)
    return tuple(
        replace(verdict, id=verdict_id)
        for verdict, verdict_id in zip(all_verdicts, ids, strict=True)
    )


def _apply_all(context: Context) -> Iterator[Verdict]:
    """Yield the verdicts of all rules; those on pairs have none without a matrix of pairs."""
    of_pairs = context.fabric.analyses or context.run.fabric.emulated
    for rule in rules.RULES:
        if of_pairs or rule not in rules.RULES_OF_PAIRS:
            yield from _apply(rule, context)


def _apply(rule: str, context: Context) -> Sequence[Verdict]:
    if context.run.fabric.emulated and rule in rules.RULES_OF_SPEED:
        result = Verdict(
            Outcome.SKIPPED, "emulated: not judged, times of emulated processors mean nothing"
        )
        return tuple(complete(rule, result, subject.about) for subject in context.subjects)
    # An error in one rule must not lose the verdicts of the other rules.
    try:
        return rules.load_rule(rule).judge(context)
    except Exception as error:
        return (report_error(rule, error, VerdictSubject()),)


def below_pass(context: Context) -> tuple[str, ...]:
    """Return the networks on which a two-sided stream is below the passing fraction."""
    return tuple(
        subject.name
        for subject in context.subjects
        if any(
            stream.fraction < stream.limit(stream.enough)
            for stream in streams(subject, "bandwidth")
        )
    )


def doubtful(context: Context) -> tuple[PlannedLaunch, ...]:
    """Return launches that measure doubtful cases of one pair again, numbered after the plan.

    A single case shows a property of the network only if a second case confirms it.
    """
    launches = (launch for subject in context.subjects for launch in _plan_rechecks(subject))
    return renumber(launches, context.run.plan.last)


def _plan_rechecks(subject: Subject) -> Iterator[PlannedLaunch]:
    from fabricgauge.judge.rules import asymmetry, dips

    if subject.pairs or subject.again:
        return
    points = chain(dips.to_recheck(subject), asymmetry.to_recheck(subject))
    names = {case.case for point in points for case in point.measurements}
    for launch in subject.planned:
        cases = tuple(case for case in launch.cases if case.name in names)
        names -= {case.name for case in cases}
        if cases:
            yield replace(launch, cases=cases, purpose="again")


def unclear(context: Context) -> tuple[Recheck, ...]:
    """Return the pairs that rules want measured again, one at a time, before they report them.

    For each network the first rule with pairs decides; other rules use the same pairs.
    """
    if not context.fabric.analyses:
        return ()
    from fabricgauge.judge import closing_round
    from fabricgauge.judge.rules import lossy, pairs

    loses = losing(context.run)
    by_loss = {True: (lossy, pairs, closing_round), False: (pairs, lossy, closing_round)}
    rechecks = (
        next(filter(None, (rule.again(subject) for rule in by_loss[subject.name in loses])), None)
        for subject in context.subjects
    )
    return tuple(filter(None, rechecks))


def losing(run: Run) -> frozenset[str]:
    """Return the networks whose losses alone explain their slow figures."""
    return frozenset(
        launch.network
        for launch in run.launches
        if launch.network is not None and any(case.losing for case in launch.measurements)
    )


def deciding(run: Run) -> tuple[str, ...]:
    """Return the rules that must pass or warn; without them a run is inconclusive."""
    if run.fabric.simulated:
        return rules.DECIDING_SIMULATED
    return rules.DECIDING_EMULATED if run.fabric.emulated else rules.DECIDING


def overall(verdicts: Iterable[Verdict], deciding: Sequence[str] = rules.DECIDING) -> Outcome:
    """Return the outcome of the whole run; PASS only if the deciding rules pass or warn.

    Without a verdict of a deciding rule, or with a skipped subject, the run is inconclusive.
    """
    all_verdicts = tuple(verdicts)
    # The worst outcome of a network counts for the network; the run as a whole counts as one.
    outcomes = by_network((verdict.network, verdict.outcome) for verdict in all_verdicts)
    if outcomes == {Outcome.FAIL}:
        return Outcome.FAIL
    for rule in deciding:
        rule_outcomes = {verdict.outcome for verdict in all_verdicts if verdict.rule == rule}
        if not rule_outcomes or Outcome.SKIPPED in rule_outcomes:
            outcomes.add(Outcome.INCONCLUSIVE)
    return worst(outcomes, empty=Outcome.INCONCLUSIVE)
