import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.judge.localise.fabric import measured

from fabricgauge.judge.localise.detect import analyse
from fabricgauge.judge.localise.groups import spectrum


def test_every_pair_is_counted_once() -> None:
    assert sum(analyse(measured(20)).spectrum.counts) == 20 * 19
    latency = analyse(measured(20, quantity="latency")).spectrum
    assert sum(latency.counts) == pytest.approx(20 * 19 / 2, abs=256)


def test_latency_counts_are_of_unordered_pairs() -> None:
    values = np.where(np.eye(6, dtype=bool), np.nan, 1.0 + np.add.outer(np.arange(6), np.arange(6)))
    assert sum(spectrum(values, 0.01, twice=True).counts) == 15


def test_two_levels_are_two_peaks() -> None:
    peaks = analyse(measured(32, quantity="latency", noise=0.01)).spectrum.peaks
    assert peaks == pytest.approx((0.93e-6, 1.15e-6), rel=0.02)


def test_noise_alone_is_one_peak() -> None:
    assert len(analyse(measured(32, noise=0.05)).spectrum.peaks) == 1


def test_equal_values_are_one_bin() -> None:
    one = spectrum(np.full((3, 3), 5.0), 0.01, twice=False)
    assert (one.counts, one.peaks) == ((9,), (5.0,))


@settings(deadline=None)
@given(st.lists(st.floats(1e-9, 1e12), min_size=4, max_size=40))
def test_edges_enclose_all_values(values: list[float]) -> None:
    square = np.array([values, values[::-1]])
    one = spectrum(square, 0.02, twice=False)
    assert sum(one.counts) == square.size
    assert one.edges[0] <= min(values)
    assert one.edges[-1] >= max(values) * (1 - 1e-12)
