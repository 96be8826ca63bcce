"""The interval of a median, held against the binomial distribution itself."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.model.absence import Skipped
from fabricgauge.stats.order import coverage, median_interval, median_ranks


def binomial(count: int, k: int) -> float:
    """Exact, by whole numbers; independent of the logarithms under test."""
    return math.comb(count, k) / (1 << count)


@given(st.integers(6, 400), st.sampled_from((0.8, 0.9, 0.95)))
def test_ranks_are_the_innermost_pair_with_enough_coverage(count: int, confidence: float) -> None:
    ranks = median_ranks(count, confidence)
    assert not isinstance(ranks, Skipped)
    low, high = ranks
    assert low + high == count - 1
    below = sum(binomial(count, k) for k in range(low + 1))
    assert 1 - 2 * below >= confidence - 1e-12
    one_further = below + binomial(count, low + 1)
    assert 1 - 2 * one_further < confidence + 1e-12


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_interval_is_skipped_when_observations_are_too_few(count: int) -> None:
    found = median_interval([1.0] * count, 0.95)
    assert isinstance(found, Skipped)
    assert str(count) in found.reason


def test_six_observations_give_their_extremes_at_95_percent() -> None:
    assert median_interval([3.0, 1.0, 2.0, 6.0, 5.0, 4.0], 0.95) == (1.0, 6.0)


@given(st.integers(6, 200))
def test_coverage_agrees_with_whole_numbers(count: int) -> None:
    ranks = median_ranks(count, 0.95)
    assert not isinstance(ranks, Skipped)
    low, high = ranks
    exact = sum(binomial(count, k) for k in range(low + 1, high + 1))
    assert coverage(count, low, high) == pytest.approx(exact)
    assert exact >= 0.95


@given(st.lists(st.floats(-1e9, 1e9), min_size=6, max_size=60), st.randoms())
def test_interval_does_not_depend_on_order(observations: list[float], random: object) -> None:
    shuffled = sorted(observations, key=lambda _value: random.random())  # type: ignore[attr-defined]
    assert median_interval(observations, 0.95) == median_interval(shuffled, 0.95)
