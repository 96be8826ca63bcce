import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.judge.stats.curves import combine_estimates, merge_repeats
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.suite import SuiteCurve, SuitePoint


def bare(value: float) -> Estimate:
    return Estimate(value, value, value, 0.0, 1, 0)


def table(value: float, line: int = 1, **said: object) -> SuiteCurve:
    given = SuiteCurve(
        suite="osu", version="7.4", benchmark="osu_latency", title="", what="half round trip",
        quantity="time", statistic="mean", unit_rule="µs", first_line=line, last_line=line + 1,
        points=(SuitePoint(8, bare(value), line + 1),),
    )  # fmt: skip
    return msgspec.structs.replace(given, **said)


def test_repetitions_become_launches() -> None:
    (one,) = merge_repeats([table(1.0), table(3.0, 10), table(2.0, 20)])
    assert one.points[0].estimate == Estimate(2.0, 1.0, 3.0, 0.75, 3, 0)
    assert (one.first_line, one.last_line) == (1, 21)


def test_what_differs_in_a_setting_is_no_repetition() -> None:
    assert len(merge_repeats([table(1.0), table(1.0, settings={"window": "4"})])) == 2


def test_one_size_twice_in_a_table_is_of_one_launch() -> None:
    twice = table(1.0, points=(SuitePoint(8, bare(1.0), 2), SuitePoint(8, bare(2.0), 3)))
    estimate = merge_repeats([twice])[0].points[0].estimate
    assert (estimate.value, estimate.launches) == (1.5, 1)


def test_intervals_of_their_own_give_their_hull() -> None:
    a, b = Estimate(1.0, 0.9, 1.1, 0.95, 1, 50), Estimate(1.4, 1.3, 1.6, 0.96, 1, 60)
    assert combine_estimates([a, b]) == Estimate(1.2, 0.9, 1.6, 0.95, 2, 110)


def test_sizes_ascend_and_what_has_no_size_comes_first() -> None:
    points = tuple(SuitePoint(size, bare(1.0), 1) for size in (64, None, 8))
    (one,) = merge_repeats([table(1.0, points=points)])
    assert [point.message_bytes for point in one.points] == [None, 8, 64]


@given(st.lists(st.floats(1e-9, 1e9), min_size=2, max_size=12))
def test_the_value_lies_within_the_range_and_five_make_it_an_interval(values: list[float]) -> None:
    estimate = combine_estimates([bare(value) for value in values])
    assert estimate.low == min(values) <= estimate.value <= estimate.high == max(values)
    assert estimate.supported == (len(values) >= 5)
    assert estimate.confidence == pytest.approx(1 - 2 * 0.5 ** len(values))
