"""The fastest quarter of launches shows the ratio that waiting hides."""

import numpy as np
from benchmarks.prediction_truth import fastest


def test_the_fastest_quarter_finds_the_ratio_that_waiting_hides() -> None:
    rng = np.random.default_rng(5)
    waiting = rng.exponential(3.0, (64, 2)) * (rng.random((64, 2)) < 0.6)
    times = np.array([1.0, 2.0]) + waiting
    found = fastest(times)
    assert found.low <= found.value <= found.high
    assert abs(found.value - 2.0) < 0.02
    assert np.median(times[:, 1]) / np.median(times[:, 0]) < 1.9
