"""All rules over one run, the overall outcome, and the exit status that follows."""

from collections.abc import Iterable, Sequence

from fabricgauge.judge.interface import Context, Rule
from fabricgauge.judge.precedence import worst
from fabricgauge.judge.rules import DECIDING, RULES
from fabricgauge.judge.thresholds import DEFAULTS, Thresholds
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.run import Run
from fabricgauge.model.verdict import Outcome, Verdict

#: Raised whenever a rule could judge the same run differently.
RULES_VERSION = "1"

_EXIT_STATUS = {Outcome.PASS: 0, Outcome.WARN: 0, Outcome.FAIL: 1}


def judge(
    run: Run, ceilings: dict[str, Ceiling | Skipped], thresholds: Thresholds = DEFAULTS
) -> tuple[Verdict, ...]:
    """Every rule's verdicts, in the rules' order; ``ceilings`` are by network name."""
    context = Context(run, ceilings, thresholds)
    return tuple(verdict for rule in RULES for verdict in _apply(rule, context))


def _apply(rule: Rule, context: Context) -> Sequence[Verdict]:
    # A rule that breaks on unforeseen input must not take the other verdicts along.
    try:
        return rule.judge(context)
    except Exception as error:
        return (Verdict(
            rule.ID, Outcome.INCONCLUSIVE, "run",
            f"the rule could not be applied ({type(error).__name__}: {error})",
            cause="an error in the rule", remedy="report it with the run directory",
        ),)  # fmt: skip


def overall(verdicts: Iterable[Verdict]) -> Outcome:
    """The outcome that takes precedence, never a pass unless the deciding rules gave one.

    A deciding rule that said nothing, or skipped a subject, leaves the run inconclusive.
    """
    given = tuple(verdicts)
    outcome = worst((one.outcome for one in given), empty=Outcome.INCONCLUSIVE)
    undecided = [rule for rule in DECIDING if not _decided(rule, given)]
    return worst((outcome, Outcome.INCONCLUSIVE), empty=outcome) if undecided else outcome


def _decided(rule: str, verdicts: tuple[Verdict, ...]) -> bool:
    outcomes = [one.outcome for one in verdicts if one.rule == rule]
    return bool(outcomes) and Outcome.SKIPPED not in outcomes


def exit_status(outcome: Outcome) -> int:
    """0 passed (or with warnings), 1 failed, 3 nothing decided."""
    return _EXIT_STATUS.get(outcome, 3)
