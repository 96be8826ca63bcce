"""All rules over one run, and the overall outcome."""

from collections.abc import Iterable, Sequence

import msgspec

from fabricgauge.judge.interface import Context, Rule, verdict_on, worst
from fabricgauge.judge.rules import (
    DECIDING,
    DECIDING_IMPORTED,
    DECIDING_SIMULATED,
    RULES,
    dips,
)
from fabricgauge.judge.streams import streams
from fabricgauge.judge.thresholds import DEFAULTS, Thresholds
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.evidence import RunEvidence
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
    """Every rule's verdicts, in the rules' order; ``ceilings`` are by network name.

    ``evidence`` is the run's own, gathered here where it is not given.
    """
    context = Context(run, ceilings, thresholds, fabric, evidence)
    given = [one for rule in RULES for one in _apply(rule, context)]
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
    run: Run, ceilings: dict[str, Ceiling | Skipped], thresholds: Thresholds
) -> tuple[PlannedLaunch, ...]:
    """What one pair should measure once more before a dip is believed, numbered after the plan."""
    context = Context(run, ceilings, thresholds)
    number = max(launch.number for launch in run.plan.launches)
    launches = (one for subject in context.subjects for one in dips.again(context, subject))
    return tuple(
        msgspec.structs.replace(one, number=number + place)
        for place, one in enumerate(launches, start=1)
    )


def deciding(run: Run) -> tuple[str, ...]:
    """The rules without whose pass (or warning) nothing was shown."""
    if run.fabric.simulated:
        return DECIDING_SIMULATED
    read = run.launches and all(launch.imported for launch in run.launches)
    return DECIDING_IMPORTED if read else DECIDING


def overall(verdicts: Iterable[Verdict], deciding: Sequence[str] = DECIDING) -> Outcome:
    """What the whole run amounts to, never a pass unless the deciding rules gave one.

    On one network INVALID outranks FAIL: figures of another path condemn nobody. Among
    networks FAIL comes first: one that was proved to be bad is bad whatever the others are.
    A deciding rule that said nothing, or skipped a subject, leaves the run inconclusive.
    """
    given = tuple(verdicts)
    by_network: dict[str, list[Outcome]] = {}
    for one in given:
        by_network.setdefault(one.network, []).append(one.outcome)
    # The worst of a network stands for all that belongs to it, or to the run as a whole.
    outcomes = {worst(same, empty=Outcome.INCONCLUSIVE) for same in by_network.values()}
    if Outcome.FAIL in outcomes:
        return Outcome.FAIL
    for rule in deciding:
        said = {one.outcome for one in given if one.rule == rule}
        if not said or Outcome.SKIPPED in said:
            outcomes.add(Outcome.INCONCLUSIVE)
    return worst(outcomes, empty=Outcome.INCONCLUSIVE)
