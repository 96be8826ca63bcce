"""Ranks: exact chances, and intervals of a shift."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.features.history.changes import (
    chance_of_lower,
    estimate_persistence,
    estimate_shift,
    least_chance,
)


@pytest.mark.parametrize(("recent", "reference"), [(1, 1), (2, 3), (3, 5), (4, 4)])
def test_chance_is_the_share_of_all_orders(recent: int, reference: int) -> None:
    """Every choice of ranks is made: as many have the chance as the chance states."""
    ranks = np.arange(recent + reference, dtype=float)
    chances = []
    for chosen in combinations(range(len(ranks)), recent):
        rest = np.delete(ranks, chosen)
        chances.append(chance_of_lower(ranks[list(chosen)], rest))
    for chance in set(chances):
        assert sum(c <= chance for c in chances) / len(chances) == pytest.approx(chance)
    assert min(chances) == pytest.approx(least_chance(recent, reference))


@given(
    st.lists(st.floats(0.5, 2.0), min_size=1, max_size=8),
    st.lists(st.floats(0.5, 2.0), min_size=1, max_size=12),
    st.floats(0.1, 10.0),
)
def test_chance_and_shift_do_not_depend_on_the_unit(
    recent: list[float], reference: list[float], factor: float
) -> None:
    new, old = np.array(recent), np.array(reference)
    chance, shift = chance_of_lower(new, old), estimate_shift(new, old)
    assert 0 < chance <= 1
    assert shift.low <= shift.share <= shift.high
    # Division may make two equal numbers unequal: a power of two does not.
    power = 2.0 ** round(np.log2(factor))
    assert chance_of_lower(new * power, old * power) == chance
    assert estimate_shift(new * power, old * power).share == pytest.approx(shift.share)


def test_ties_count_against_a_difference() -> None:
    equal = np.ones(4)
    assert chance_of_lower(equal, equal) == 1.0
    assert chance_of_lower(np.array([]), equal) == 1.0


def test_the_interval_covers_the_shift() -> None:
    """Of 400 intervals at 95 % about 20 may miss; 40 would have a chance below 1e-4."""
    random = np.random.default_rng(7)
    missed = 0
    for _ in range(400):
        old = np.exp(random.normal(0, 0.02, 30))
        new = 0.95 * np.exp(random.normal(0, 0.02, 6))
        shift = estimate_shift(new, old)
        missed += not shift.low <= -0.05 <= shift.high
        assert shift.confidence >= 0.9
    assert missed < 40


@pytest.mark.parametrize("kept", [0.0, 0.5])
def test_persistence_is_that_of_the_noise(kept: float) -> None:
    random = np.random.default_rng(3)
    estimates = []
    for _ in range(200):
        noise = random.normal(0, 1, 40)
        for run in range(1, 40):
            noise[run] += kept * noise[run - 1]
        estimates.append(estimate_persistence(noise))
    assert np.mean(estimates) == pytest.approx(kept, abs=0.05)


@pytest.mark.parametrize("runs", [8, 40])
def test_equal_figures_have_no_persistence(runs: int) -> None:
    assert estimate_persistence(np.full(runs, 11900.0)) == 0.0


def test_rounding_adds_no_persistence() -> None:
    """Most figures of two decimals are one of three numbers."""
    random = np.random.default_rng(5)
    estimates = [
        estimate_persistence(np.round(random.normal(1.2, 0.004, 40), 2)) for _ in range(200)
    ]
    assert np.mean(estimates) == pytest.approx(0.0, abs=0.05)


@given(st.lists(st.integers(0, 3), min_size=8, max_size=40))
def test_persistence_is_that_of_reversed_time_and_order(figures: list[int]) -> None:
    series = np.array(figures, dtype=float)
    assert estimate_persistence(series[::-1]) == pytest.approx(estimate_persistence(series))
    assert estimate_persistence(-series) == pytest.approx(estimate_persistence(series))


@given(st.lists(st.floats(0.1, 10.0), min_size=8, max_size=40))
def test_persistence_is_a_correlation_for_any_figures(figures: list[float]) -> None:
    assert -1.1 < estimate_persistence(np.array(figures)) < 1.6
