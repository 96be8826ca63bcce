"""Launches to estimates, series to shapes."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.judge import planted

from fabricgauge.judge.rules.asymmetry import asymmetry
from fabricgauge.judge.rules.cache_shape import cache_peak
from fabricgauge.judge.rules.dips import falls
from fabricgauge.stats.curves import curves
from fabricgauge.stats.series import (
    Observed,
    Series,
    bandwidth_estimate,
    point,
    series_of,
    time_estimate,
    usable_of,
)

WINDOW_BYTES = planted.WINDOW * 65536


def observed(median_s: float, launch: int = 1, width: float = 0.01) -> Observed:
    sample = planted.Sample("bandwidth", 65536, 0, median_s, width)
    (found,) = usable_of(launch, [planted.measurement(sample)])
    return found


def series(rates: dict[int, float], width: float = 0.01, *, reverse: bool = False) -> Series:
    ends = ("c2", "c1") if reverse else ("c1", "c2")
    points = []
    for size, rate in rates.items():
        sample = planted.Sample("bandwidth", size, 0, planted.WINDOW * size / rate, width)
        points.append(point(size, [*usable_of(1, [planted.measurement(sample)])]))
    return Series("bandwidth", *ends, tuple(points))


def test_value_is_the_median_of_the_launches_and_the_interval_their_hull() -> None:
    estimate = time_estimate([observed(1.0, 1), observed(2.0, 2), observed(10.0, 3)])
    assert estimate.value == 2.0
    assert (estimate.low, estimate.high) == (0.99, 10.1)
    assert estimate.launches == 3
    assert estimate.samples == 3000


def test_bandwidth_interval_swaps_the_ends_of_the_time() -> None:
    estimate = bandwidth_estimate([observed(1.0)])
    assert estimate.low == pytest.approx(WINDOW_BYTES / 1.01)
    assert estimate.high == pytest.approx(WINDOW_BYTES / 0.99)


@given(st.lists(st.floats(1e-7, 1e2), min_size=1, max_size=9))
def test_interval_holds_the_value_and_every_launch(medians: list[float]) -> None:
    all_of_them = [observed(median_s, launch) for launch, median_s in enumerate(medians)]
    for estimate in (time_estimate(all_of_them), bandwidth_estimate(all_of_them)):
        assert estimate.low <= estimate.value <= estimate.high
    assert len(point(65536, all_of_them).launch_medians) == len(medians)
    assert time_estimate(all_of_them) == time_estimate(all_of_them[::-1])


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), float("inf")])
def test_times_that_cannot_be_are_not_usable(bad: float) -> None:
    sample = planted.Sample("latency", 8, 0, bad)
    assert not [*usable_of(1, [planted.measurement(sample)])]


@pytest.mark.parametrize("status", ["failed", "timeout", "skipped"])
def test_cases_that_did_not_end_well_are_not_usable(status: planted.Status) -> None:
    sample = planted.Sample("latency", 8, 0, 1e-5)
    assert not [*usable_of(1, [planted.measurement(sample, status=status)])]


def test_series_are_per_pattern_and_direction_by_node() -> None:
    found = series_of(planted.sound_launches())
    names = [(one.pattern, one.origin, one.target) for one in found]
    assert ("bandwidth", "c1", "c2") in names
    assert ("bandwidth", "c2", "c1") in names
    assert all(
        [one.message_bytes for one in each.points] == sorted(planted.SIZES) for each in found
    )
    assert all(one.time.launches == 3 for each in found for one in each.points)


def test_curves_add_up_both_directions_only_where_both_are_measured() -> None:
    found = {(one.pattern, one.origin_node): one for one in curves(planted.run())}
    one_way = found["bandwidth", "c1"].points[-1].bandwidth
    both = found["bidirectional_bandwidth", "c1"].points[-1].bandwidth
    assert one_way is not None
    assert both is not None
    assert both.value == pytest.approx(2 * one_way.value)
    assert found["latency", "c1"].points[0].bandwidth is None


def test_percentile_comes_from_the_histograms_of_all_launches() -> None:
    first = planted.measurement(planted.Sample("latency", 8, 0, 1e-5))
    bins = ((1_000_000, 90), (5_000_000, 8), (9_000_000, 2))
    launch = planted.launch([msgspec.structs.replace(first, histogram_ps=bins)])
    (curve,) = curves(planted.run([launch]))
    assert curve.points[0].p99_s == pytest.approx(9e-6)


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


def test_spread_compares_slowest_with_fastest_launch() -> None:
    both = [observed(1.0, 1), observed(1.2, 2)]
    assert point(65536, both).spread == pytest.approx(0.2)
    assert point(65536, both[:1]).spread == 0
    assert time_estimate(both[:1]).half_width == pytest.approx(0.01)
