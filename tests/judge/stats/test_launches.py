"""Launches to estimates and curves."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.judge import planted

from fabricgauge.judge.stats.curves import curves
from fabricgauge.judge.stats.series import (
    Observation,
    bandwidth_estimate,
    find_usable,
    point,
    series_of,
    time_estimate,
)

WINDOW_BYTES = planted.WINDOW * 65536


def observed(
    median_s: float, launch: int = 1, width: float = 0.01, *, waiting: bool = False
) -> Observation:
    sample = planted.Sample("bandwidth", 65536, 0, median_s, width)
    case = msgspec.structs.replace(planted.measurement(sample), waiting=waiting)
    (found,) = find_usable(launch, [case])
    return found


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


@given(st.lists(st.tuples(st.floats(1e-7, 1e2), st.booleans()), min_size=1, max_size=9))
def test_medians_of_waits_count_only_if_there_are_no_others(
    launches: list[tuple[float, bool]],
) -> None:
    measured = point(
        65536,
        [
            observed(median_s, launch, waiting=waiting)
            for launch, (median_s, waiting) in enumerate(launches)
        ],
    )
    undisturbed = [median_s for median_s, waiting in launches if not waiting]
    assert measured.launch_medians == tuple(undisturbed or [median_s for median_s, _ in launches])
    assert measured.time.supported == bool(undisturbed)
    assert measured.bandwidth.supported == bool(undisturbed)


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), float("inf")])
def test_times_that_cannot_be_are_not_usable(bad: float) -> None:
    sample = planted.Sample("latency", 8, 0, bad)
    assert not [*find_usable(1, [planted.measurement(sample)])]


@pytest.mark.parametrize("status", ["failed", "timeout", "skipped"])
def test_cases_that_did_not_end_well_are_not_usable(status: planted.Status) -> None:
    sample = planted.Sample("latency", 8, 0, 1e-5)
    assert not [*find_usable(1, [planted.measurement(sample, status=status)])]


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


def test_spread_compares_slowest_with_fastest_launch() -> None:
    both = [observed(1.0, 1), observed(1.2, 2)]
    assert point(65536, both).spread == pytest.approx(0.2)
    assert point(65536, both[:1]).spread == 0
    assert time_estimate(both[:1]).half_width == pytest.approx(0.01)
