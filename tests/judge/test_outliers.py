"""Who is at fault, from planted matrices to verdicts; nobody is named without a second look."""

from itertools import combinations

import msgspec
from tests.judge import planted
from tests.judge import planted_fabric as many

from fabricgauge.judge.judging import exit_status, overall
from fabricgauge.model.verdict import Outcome


def everybody(count: int) -> list[tuple[int, int]]:
    return [
        pair
        for one, other in combinations(range(count), 2)
        for pair in ((one, other), (other, one))
    ]


def test_a_sound_fabric_passes_and_names_nobody() -> None:
    given = many.verdicts(many.run(many.launch(8, many.rounds(8))))
    assert planted.outcomes(given, "outliers") == {Outcome.PASS}
    assert overall(given) is Outcome.PASS
    fraction = planted.the(given, "fraction", Outcome.PASS)
    assert "median of 56 pairs" in fraction.subject


def test_a_slow_node_fails_once_it_is_confirmed_and_nobody_else_is_named() -> None:
    first = many.launch(8, many.rounds(8, many.slow(2)))
    second = many.again(8, everybody(8), many.slow(2))
    given = many.verdicts(many.run(first, second))
    (verdict,) = planted.by_rule(given, "outliers")
    assert verdict.outcome is Outcome.FAIL
    assert "c3, in both directions" in verdict.subject
    assert verdict.figure is not None
    assert abs(verdict.figure.value + 0.75) < 0.02
    assert any("measured again alone" in line for line in verdict.evidence)
    assert planted.outcomes(given, "fraction") == {Outcome.PASS}
    assert exit_status(overall(given)) == 1


def test_a_slow_node_is_not_named_without_a_second_measurement() -> None:
    given = many.verdicts(many.run(many.launch(8, many.rounds(8, many.slow(2)))))
    (verdict,) = planted.by_rule(given, "outliers")
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "not confirmed" in verdict.summary
    assert exit_status(overall(given)) == 3


def test_a_node_that_is_fast_alone_was_slowed_by_others() -> None:
    first = many.launch(8, many.rounds(8, many.slow(2)))
    given = many.verdicts(many.run(first, many.again(8, everybody(8), many.sound)))
    (verdict,) = planted.by_rule(given, "outliers")
    assert verdict.outcome is Outcome.WARN
    assert "conspicuous" in verdict.summary
    assert any("not when measured again alone" in line for line in verdict.evidence)


def test_one_slow_direction_is_told_from_the_other() -> None:
    def sending(origin: int, target: int) -> float:
        return many.sound(origin, target) * (0.5 if origin == 5 else 1.0)

    first = many.launch(8, many.rounds(8, sending))
    given = many.verdicts(many.run(first, many.again(8, everybody(8), sending)))
    (verdict,) = planted.by_rule(given, "outliers")
    assert verdict.outcome is Outcome.FAIL
    assert "c6, sending" in verdict.subject


def test_one_of_four_nodes_is_named_although_half_of_the_pairs_are_slow() -> None:
    first = many.launch(4, many.rounds(4, many.slow(0)))
    given = many.verdicts(many.run(first, many.again(4, everybody(4), many.slow(0))))
    (verdict,) = planted.by_rule(given, "outliers")
    assert "c1, in both directions" in verdict.subject
    assert planted.outcomes(given, "fraction") == {Outcome.PASS}


def test_a_slow_fabric_fails_although_nobody_stands_out() -> None:
    def half(origin: int, target: int) -> float:
        return many.sound(origin, target) / 2

    given = many.verdicts(many.run(many.launch(8, many.rounds(8, half))))
    assert planted.outcomes(given, "outliers") == {Outcome.PASS}
    assert planted.outcomes(given, "fraction") == {Outcome.FAIL}


def test_ranks_that_share_a_node_are_invalid_whatever_the_matrices_say() -> None:
    first = many.launch(8, many.rounds(8))
    lonely = tuple(
        msgspec.structs.replace(one, host="c1", boot_id="boot-c1", net_namespace="net:[0]")
        for one in first.placements
    )
    given = many.verdicts(many.run(msgspec.structs.replace(first, placements=lonely)))
    assert planted.outcomes(given, "placement") == {Outcome.INVALID}
    assert overall(given) is Outcome.INVALID
