import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.compare.simulated import bare

from fabricgauge.compare.differences import (
    chance_of_more,
    chance_of_no_loss,
    chance_of_run,
    holm,
    ratio_interval,
    standing,
)
from fabricgauge.model.estimate import Estimate

values = st.floats(1e-9, 1e12)


@st.composite
def estimates(draw: st.DrawFn) -> Estimate:
    value = draw(values)
    low, high = draw(st.floats(0.01, 1.0)), draw(st.floats(1.0, 100.0))
    launches = draw(st.integers(1, 5))
    return Estimate(value, value * low, value * high, 0.95, launches, 100)


@given(estimates(), estimates())
def test_the_ratio_of_any_two_values_within_the_intervals_lies_in_its_interval(
    a: Estimate, b: Estimate
) -> None:
    interval = ratio_interval(a, b)
    assert interval
    for of_a in (a.low, a.value, a.high):
        for of_b in (b.low, b.value, b.high):
            assert interval[0] * (1 - 1e-9) <= of_b / of_a <= interval[1] * (1 + 1e-9)


def test_there_is_no_interval_when_one_side_has_none() -> None:
    sure = Estimate(1.0, 0.9, 1.1, 0.95, 3, 100)
    assert ratio_interval(sure, bare(1.0)) is None
    assert ratio_interval(bare(1.0), sure) is None
    assert ratio_interval(sure, Estimate(1.0, 0.9, 1.1, 0.875, 1, 4)) is None


@pytest.mark.parametrize(
    ("ratio", "interval", "less", "expected"),
    [
        (1.2, (1.1, 1.3), True, "worse"),
        (1.2, (1.1, 1.3), False, "better"),
        (0.8, (0.7, 0.9), False, "worse"),
        (0.8, (0.7, 0.9), True, "better"),
        (1.0, (0.96, 1.04), True, "within"),
        (1.2, (1.04, 1.3), True, "open"),
        (1.0, (0.9, 1.1), False, "open"),
        (1.2, None, True, "worse"),
        (1.03, None, True, "within"),
    ],
)
def test_a_standing_needs_the_whole_interval_on_one_side(
    ratio: float, interval: tuple[float, float] | None, less: bool, expected: str
) -> None:
    assert standing(ratio, interval, 0.05, less) == expected


@given(estimates(), estimates(), st.floats(0, 0.9))
def test_losses_and_gains_are_mirrored_by_the_direction_of_better(
    a: Estimate, b: Estimate, tolerance: float
) -> None:
    as_time = chance_of_no_loss(a, b, 0.0, less_is_better=True)
    as_rate = chance_of_no_loss(a, b, 0.0, less_is_better=False)
    assert as_time + as_rate == pytest.approx(1.0)
    for less in (True, False):
        strict = chance_of_no_loss(a, b, 0.0, less_is_better=less)
        assert strict <= chance_of_no_loss(a, b, tolerance, less_is_better=less) + 1e-12


@given(st.lists(st.floats(0, 1), max_size=40))
def test_holm_rejects_between_bonferroni_and_no_correction(p_values: list[float]) -> None:
    rejected = holm(p_values)
    for p, out in zip(p_values, rejected, strict=True):
        assert out or p > 0.05 / len(p_values)
        assert not out or p <= 0.05


@given(st.integers(0, 60), st.integers(0, 60))
def test_the_sign_tests_two_sides_add_up(worse: int, better: int) -> None:
    at_least = chance_of_more(worse, better)
    assert 0 < at_least <= 1
    if worse:
        fewer = chance_of_more(better + 1, worse - 1)
        assert at_least + fewer == pytest.approx(1.0)


@given(st.integers(1, 14), st.integers(1, 14))
def test_the_chance_of_a_run_is_never_stated_too_low(length: int, tosses: int) -> None:
    if length > tosses:
        return
    runs = sum("1" * length in f"{number:0{tosses}b}" for number in range(2**tosses))
    assert runs / 2**tosses <= chance_of_run(length, tosses)


def test_all_worse_of_seven_is_beyond_five_percent_over_six_pairs() -> None:
    assert chance_of_more(7, 0) == pytest.approx(1 / 128)
    assert math.isclose(chance_of_more(0, 0), 1.0)


def test_thousands_of_sizes_are_no_trouble() -> None:
    assert chance_of_more(5000, 0) == chance_of_run(5000, 5000) == 0.0
    assert chance_of_more(2500, 2500) == pytest.approx(0.5, abs=0.01)
