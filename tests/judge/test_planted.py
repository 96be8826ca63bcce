"""A sound run passes every rule; what the rules quote can be checked."""

from tests.judge import planted

from fabricgauge.judge.judging import overall
from fabricgauge.judge.rules import RULES
from fabricgauge.model.verdict import Outcome, exit_status


def test_sound_run_passes_overall() -> None:
    given = planted.verdicts(planted.run())
    wrong = [one for one in given if one.outcome not in (Outcome.PASS, Outcome.SKIPPED)]
    assert wrong == []
    assert overall(given) is Outcome.PASS
    assert exit_status(overall(given)) == 0


def test_every_rule_speaks_on_a_sound_run() -> None:
    given = planted.verdicts(planted.run())
    # Nobody tried to connect, no launch broke; two nodes have no peers.
    silent = ("concurrent", "connect", "launch", "outliers", "pairs", "lossy")
    of_two_nodes = [rule for rule in RULES if rule not in silent]
    assert of_two_nodes == list(dict.fromkeys(one.rule for one in given))


def test_pass_quotes_figure_size_direction_and_ceiling() -> None:
    verdict = planted.by_rule(planted.verdicts(planted.run()), "fraction")[0]
    assert "MB/s per direction at" in verdict.summary
    assert verdict.summary.endswith("% of 117.69 MB/s")
    assert "c1 → c2" in verdict.subject
    assert verdict.threshold is not None
    assert "built-in" in verdict.threshold.origin
