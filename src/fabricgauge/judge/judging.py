"""All rules over one run, and the overall outcome."""

from collections.abc import Iterable, Sequence

import msgspec

from fabricgauge.judge.interface import Context, Rule, by_network, verdict_on, worst
from fabricgauge.judge.rules import (
    DECIDING,
    DECIDING_IMPORTED,
    DECIDING_SIMULATED,
    RULES,
    completeness,
    dips,
)
from fabricgauge.judge.streams import streams
from fabricgauge.judge.tables import overall as overall_of
from fabricgauge.judge.tables import parts, table_verdict, together
from fabricgauge.judge.thresholds import DEFAULTS, Thresholds
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.evidence import RunEvidence
from fabricgauge.model.judged import RunVerdicts
from fabricgauge.model.pairs import NO_PAIRS, FabricResult
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.model.run import Run
from fabricgauge.model.verdict import Outcome, Verdict, VerdictSubject, distinct

#: Raised whenever a rule could judge the same run differently.
RULES_VERSION = "10"


def judge(
    run: Run,
    ceilings: dict[str, Ceiling | Skipped],
    thresholds: Thresholds = DEFAULTS,
    fabric: FabricResult = NO_PAIRS,
    evidence: RunEvidence | None = None,
) -> tuple[Verdict, ...]:
    """Every rule's verdicts, in the rules' order; see ``judgement``."""
    return judgement(run, ceilings, thresholds, fabric, evidence).verdicts


def judgement(
    run: Run,
    ceilings: dict[str, Ceiling | Skipped],
    thresholds: Thresholds = DEFAULTS,
    fabric: FabricResult = NO_PAIRS,
    evidence: RunEvidence | None = None,
) -> RunVerdicts:
    """All rules over a run, and what they amount to; ``ceilings`` are by network name.

    ``evidence`` is the run's own, gathered here where it is not given. Others' logs are judged
    table by table: what one holds excuses or condemns no other.
    """
    if imported(run):
        return _of_logs(run, ceilings, thresholds)
    context = Context(run, ceilings, thresholds, fabric, evidence)
    verdicts = _identified(one for rule in RULES for one in _apply(rule, context))
    return RunVerdicts(verdicts, overall(verdicts, deciding(run)))


def imported(run: Run) -> bool:
    """Whether all of it was read from others' logs."""
    return bool(run.launches) and all(launch.imported for launch in run.launches)


def _of_logs(
    run: Run, ceilings: dict[str, Ceiling | Skipped], thresholds: Thresholds
) -> RunVerdicts:
    judged = []
    for part in parts(run):
        context = Context(part, ceilings, thresholds)
        verdicts = [one for rule in RULES for one in _apply(rule, context)]
        table = table_verdict(part, verdicts, overall(verdicts, DECIDING_IMPORTED))
        judged.append((table, [one for one in verdicts if one.rule != completeness.ID]))
    whole = _apply(completeness, Context(run, ceilings, thresholds))
    order = {rule.ID: place for place, rule in enumerate(RULES)}
    ordered = sorted((*together(judged), *whole), key=lambda one: order[one.rule])
    tables = tuple(table for table, _ in judged)
    return RunVerdicts(_identified(ordered), overall_of(tables), tables)


def _identified(verdicts: Iterable[Verdict]) -> tuple[Verdict, ...]:
    given = tuple(verdicts)
    ids = distinct(one.id for one in given)
    return tuple(msgspec.structs.replace(one, id=own) for one, own in zip(given, ids, strict=True))


def _apply(rule: Rule, context: Context) -> Sequence[Verdict]:
    # A rule that breaks on unforeseen input must not take the other verdicts along.
    try:
        return rule.judge(context)
    except Exception as error:
        return (verdict_on(
            rule.ID, Outcome.INCONCLUSIVE, VerdictSubject(),
            f"the rule could not be applied ({type(error).__name__}: {error})",
            cause="an error in the rule", remedy="report it with the run directory",
        ),)  # fmt: skip


def below_pass(
    run: Run,
    ceilings: dict[str, Ceiling | Skipped],
    thresholds: Thresholds,
    fabric: FabricResult = NO_PAIRS,
) -> tuple[str, ...]:
    """Names of networks on which a two-sided stream stayed below the passing fraction."""
    context = Context(run, ceilings, thresholds, fabric)
    enough = context.limit("fraction.pass")
    return tuple(
        subject.name
        for subject in context.subjects
        if any(stream.fraction < enough for stream in streams(context, subject, "bandwidth"))
    )


def doubtful(
    run: Run,
    ceilings: dict[str, Ceiling | Skipped],
    thresholds: Thresholds,
    fabric: FabricResult = NO_PAIRS,
) -> tuple[PlannedLaunch, ...]:
    """What one pair should measure once more before a dip is believed, numbered after the plan."""
    context = Context(run, ceilings, thresholds, fabric)
    number = max((launch.number for launch in run.plan.launches), default=0)
    launches = (one for subject in context.subjects for one in dips.again(context, subject))
    return tuple(
        msgspec.structs.replace(one, number=number + place)
        for place, one in enumerate(launches, start=1)
    )


def deciding(run: Run) -> tuple[str, ...]:
    """The rules without whose pass (or warning) nothing was shown."""
    if run.fabric.simulated:
        return DECIDING_SIMULATED
    return DECIDING_IMPORTED if imported(run) else DECIDING


def overall(verdicts: Iterable[Verdict], deciding: Sequence[str] = DECIDING) -> Outcome:
    """What the whole run amounts to, never a pass unless the deciding rules gave one.

    A deciding rule that said nothing, or skipped a subject, leaves the run inconclusive.
    """
    given = tuple(verdicts)
    # The worst of a network stands for all that belongs to it, or to the run as a whole.
    outcomes = by_network((one.network, one.outcome) for one in given)
    if outcomes == {Outcome.FAIL}:
        return Outcome.FAIL
    for rule in deciding:
        said = {one.outcome for one in given if one.rule == rule}
        if not said or Outcome.SKIPPED in said:
            outcomes.add(Outcome.INCONCLUSIVE)
    return worst(outcomes, empty=Outcome.INCONCLUSIVE)
