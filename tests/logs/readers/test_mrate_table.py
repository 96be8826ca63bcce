"""Message rates side by side: one curve per provider, percentages held against them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.logs.readers.suites import read
from fabricgauge.model.suite import SuiteCurve, UnparsedLine

SLIDE = (
    (Path(__file__).parents[2] / "fixtures" / "imb" / "document--opx-mrate.out")
    .read_text()
    .splitlines()
)


def of_lines(lines: list[str]) -> tuple[list[SuiteCurve], list[UnparsedLine]]:
    everything = list(read([line.encode() for line in lines]))
    curves = [one for one in everything if isinstance(one, SuiteCurve)]
    return curves, [one for one in everything if isinstance(one, UnparsedLine)]


def test_the_slide_gives_one_curve_per_provider_and_its_percentages_follow() -> None:
    (opx, psm2), strange = of_lines(SLIDE)
    assert strange == []
    assert [one.settings["provider"] for one in (opx, psm2)] == ["opx", "psm2"]
    assert {(one.suite, one.benchmark, one.quantity) for one in (opx, psm2)} == {
        ("imb", "Uniband", "message_rate")
    }
    assert (opx.pattern, opx.pairs, opx.ranks, opx.settings["MPI"]) == (
        "bandwidth", 1, 2, "OpenMPI",
    )  # fmt: skip
    assert len(opx.points) == len(psm2.points) == 20
    assert opx.points[0].estimate.value == 7864593
    assert psm2.points[-1].message_bytes == 262144


@pytest.mark.parametrize("separator", [" ", "   ", "\t\t"])
def test_other_gaps_between_columns_are_read_alike(separator: str) -> None:
    lines = [line.replace("\t", separator) for line in SLIDE]
    assert [one.points for one in of_lines(lines)[0]] == [one.points for one in of_lines(SLIDE)[0]]


def test_a_percentage_that_does_not_follow_is_told_of_with_what_would() -> None:
    lines = [line.replace("\t84%", "\t48%") for line in SLIDE]
    (strange,) = of_lines(lines)[1]
    assert strange.text.startswith("8192")
    assert strange.reason == "84 %, which follows from its two rates"


def test_the_table_ends_with_its_rows() -> None:
    curves, strange = of_lines([*SLIDE, "", "1\t2\t3\t50%", "Thank you"])
    assert len(curves[0].points) == 20
    assert [one.count for one in strange] == [2]


def test_a_headline_without_rows_is_told_of() -> None:
    curves, _ = of_lines(SLIDE[:2])
    assert [one.cut_off for one in curves] == ["no row follows the headline"] * 2


def test_a_difference_of_columns_that_are_not_there_is_not_checked() -> None:
    lines = [SLIDE[0], "\topx mrate\topx/verbs (%)", "1\t100\t7%"]
    curves, strange = of_lines(lines)
    assert ([one.settings["provider"] for one in curves], strange) == (["opx"], [])


rates = st.integers(min_value=1, max_value=10**9)


@given(st.lists(st.tuples(rates, rates), min_size=1, max_size=20), st.integers(0, 3))
def test_rounded_percentages_always_follow(pairs: list[tuple[int, int]], decimals: int) -> None:
    rows = [
        f"{place}\t{a}\t{b}\t{(a / b - 1) * 100:.{decimals}f}%"
        for place, (a, b) in enumerate(pairs)
    ]
    curves, strange = of_lines([*SLIDE[:2], *rows])
    assert strange == []
    assert {len(one.points) for one in curves} == {len(pairs)}


@given(st.lists(st.one_of(st.sampled_from(SLIDE), st.text(max_size=60)), max_size=40))
def test_any_mix_of_lines_is_read_without_raising(lines: list[str]) -> None:
    of_lines([SLIDE[0], SLIDE[1], *lines])
