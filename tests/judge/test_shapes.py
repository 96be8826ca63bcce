"""Falls, peaks and asymmetries of a few points: what the rules make of them stands elsewhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.judge import planted

from fabricgauge.judge.rules.asymmetry import asymmetry
from fabricgauge.judge.rules.cache_shape import cache_peak
from fabricgauge.judge.rules.dips import falls
from fabricgauge.judge.stats.series import Series, find_usable, point


def series(rates: dict[int, float], width: float = 0.01, *, reverse: bool = False) -> Series:
    ends = ("c2", "c1") if reverse else ("c1", "c2")
    points = []
    for size, rate in rates.items():
        sample = planted.Sample("bandwidth", size, 0, planted.WINDOW * size / rate, width)
        points.append(point(size, [*find_usable(1, [planted.measurement(sample)])]))
    return Series("bandwidth", *ends, tuple(points))


def test_fall_is_seen_beyond_the_intervals_only() -> None:
    rates = {4096: 100e6, 8192: 90e6, 16384: 120e6}
    (fall,) = falls(series(rates).points, 0.05, 1e12)
    assert (fall.smaller_bytes, fall.larger_bytes) == (4096, 8192)
    assert falls(series(rates, width=0.06).points, 0.05, 1e12) == ()


def test_time_fall_needs_a_larger_message_that_takes_less() -> None:
    assert falls(series({4096: 1e6, 8192: 1e6}).points, 0.05, times=True) == ()
    (fall,) = falls(series({4096: 1e6, 8192: 4e6}).points, 0.05, times=True)
    assert fall.larger_bytes == 8192


@given(st.lists(st.floats(1e6, 1e9), min_size=2, max_size=12))
def test_saturating_curve_has_neither_fall_nor_cache_peak(rates: list[float]) -> None:
    rising = {2**power: rate for power, rate in enumerate(sorted(rates))}
    assert falls(series(rising).points, 0.0, 1e12) == ()
    assert cache_peak(series(rising).points, 0.0, 1e12) is None


def test_cache_peak_names_the_peak_and_the_deepest_loss() -> None:
    rates = {65536: 9863e6, 131072: 9203e6, 1048576: 9357e6, 4194304: 5567e6}
    peak = cache_peak(series(rates, width=0.001).points, 0.2, 1e12)
    assert peak is not None
    assert (peak.message_bytes, peak.lowest_bytes) == (65536, 4194304)
    assert peak.share == pytest.approx(0.435, abs=0.01)


def test_asymmetry_names_the_slower_direction() -> None:
    fast, slow = series({65536: 100e6}), series({65536: 80e6}, reverse=True)
    for (result,) in (asymmetry(fast, slow, 0), asymmetry(slow, fast, 0)):
        assert result.slower.ends == ("c2", "c1")
        assert result.value == pytest.approx(0.2)
        assert result.beyond_intervals < result.value


def test_asymmetry_is_none_without_a_common_size() -> None:
    assert not [*asymmetry(series({8: 1e6}), series({16: 1e6}, reverse=True), 0)]
