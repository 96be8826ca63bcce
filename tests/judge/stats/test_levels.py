"""Levels are found where a rate changes between two, and nowhere else."""

import numpy as np
import pytest

from fabricgauge.judge.stats.levels import find_levels


def noisy(levels: list[float], share: float = 0.01) -> list[float]:
    random = np.random.default_rng(7)
    return [one * (1 + share * float(random.standard_normal())) for one in levels]


def test_a_rate_that_comes_and_goes() -> None:
    found = find_levels(noisy([1.0, 1.0, 0.1, 0.1, 0.1] * 8))
    assert found is not None
    assert (found.low, found.high) == pytest.approx((0.1, 1.0), rel=0.02)
    assert found.toggles
    assert found.changes == 15
    assert found.low_share == pytest.approx(0.6)


def test_a_rate_that_falls_for_good() -> None:
    found = find_levels(noisy([1.0] * 20 + [0.3] * 20))
    assert found is not None
    assert not found.toggles
    assert found.changes == 1


@pytest.mark.parametrize(
    "values",
    [
        noisy([1.0] * 40),
        noisy([1.0, 0.9] * 20),
        list(np.linspace(1.0, 0.2, 40)),
        [1.0] * 39 + [0.1],
        [1.0, 0.1, 1.0, 0.1],
    ],
)
def test_noise_a_drift_and_single_figures_are_no_levels(values: list[float]) -> None:
    assert find_levels(values) is None


def test_waits_of_a_host_are_spread_out() -> None:
    random = np.random.default_rng(3)
    assert find_levels([float(one) for one in random.uniform(0.2, 1.0, 60)]) is None
