from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.compare.simulated import bare, curve, operand

from fabricgauge.compare.comparing import AS_OF_A_RUN, compare
from fabricgauge.model.comparison import Comparison
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.pattern import Pattern
from fabricgauge.model.suite import Failure, Quantity, SuiteCurve, SuitePoint, Trouble
from fabricgauge.model.verdict import exit_status
from fabricgauge.report.content.comparison import headline


def means(
    values: dict[int, float], pattern: Pattern | None = "latency", **said: object
) -> SuiteCurve:
    """A suite's table of bare figures, as they are."""
    points = tuple(SuitePoint(size, bare(value), 9) for size, value in values.items())
    given = {"suite": "osu", "statistic": "mean", **said}
    return msgspec.structs.replace(curve(pattern, [], **given), points=points)


def sure(values: dict[int, tuple[float, float]], pattern: Pattern = "latency") -> SuiteCurve:
    """Figures with half widths as shares, from three launches."""
    points = tuple(
        SuitePoint(size, Estimate(value, value * (1 - half), value * (1 + half), 0.95, 3, 100), 0)
        for size, (value, half) in values.items()
    )
    return msgspec.structs.replace(curve(pattern, []), points=points)


def compared(
    a: Sequence[SuiteCurve], b: Sequence[SuiteCurve], tolerance: float = 0.05
) -> Comparison:
    return compare(operand("a"), a, operand("b"), b, tolerance)


@pytest.mark.parametrize(
    ("quantity", "factor", "outcome"),
    [
        ("time", 1.2, "regression"),
        ("time", 0.8, "no regression"),
        ("bandwidth", 1.2, "no regression"),
        ("bandwidth", 0.8, "regression"),
        ("message_rate", 0.8, "regression"),
        ("bus_bandwidth", 1.2, "no regression"),
        ("overlap", 0.8, "regression"),
    ],
)
def test_more_is_worse_of_times_alone(quantity: Quantity, factor: float, outcome: str) -> None:
    a = means({8: 1.0, 16: 2.0, 32: 3.0}, None, quantity=quantity)
    b = means({8: factor, 16: 2 * factor, 32: 3 * factor}, None, quantity=quantity)
    assert compared([a], [b]).outcome == outcome


def test_means_alarm_by_their_median_and_say_that_they_are_means() -> None:
    a = means({8: 1.0, 16: 1.0, 32: 1.0})
    one_off = compared([a], [means({8: 9.0, 16: 1.0, 32: 1.0})])
    assert one_off.outcome == "undecided"
    assert "1 of 3 sizes" in one_off.pairs[0].doubt
    (pair,) = compared([a], [means({8: 1.2, 16: 1.2, 32: 0.5})]).pairs
    assert "bare figures" in pair.regression
    assert "means only: no interval possible" in pair.notes
    assert all(one.low is None and one.high is None for one in pair.differences)


def test_intervals_on_one_side_alone_are_no_intervals() -> None:
    (pair,) = compared([sure({8: (1.0, 0.01)})], [means({8: 1.0})]).pairs
    assert pair.basis == "means"


def test_sizes_with_too_few_samples_are_judged_by_their_figures_when_they_are_most() -> None:
    few = SuitePoint(1 << 20, Estimate(1.0, 0.99, 1.01, 0.875, 1, 4), 0)
    slow = msgspec.structs.replace(few, estimate=Estimate(10.0, 9.9, 10.1, 0.875, 1, 4))
    a, b = sure({8: (1.0, 0.01)}), sure({8: (1.0, 0.01)})
    more = [msgspec.structs.replace(slow, message_bytes=size) for size in (1 << 20, 1 << 21)]
    less = [msgspec.structs.replace(few, message_bytes=size) for size in (1 << 20, 1 << 21)]
    a = msgspec.structs.replace(a, points=(*a.points, *less))
    b = msgspec.structs.replace(b, points=(*b.points, *more))
    (pair,) = compared([a], [b]).pairs
    assert (pair.basis, bool(pair.regression)) == ("means", True)
    assert "2 of 3 sizes" in pair.notes[0]


def test_a_crossover_lies_between_the_surely_better_and_the_surely_worse_size() -> None:
    a = sure({8: (1.0, 0.01), 16: (1.0, 0.01), 32: (1.0, 0.01), 64: (1.0, 0.01)})
    b = sure({8: (0.8, 0.01), 16: (0.995, 0.05), 32: (1.005, 0.05), 64: (1.3, 0.01)})
    (found,) = compared([a], [b]).pairs[0].crossovers
    assert (found.from_bytes, found.to_bytes, found.becomes) == (8, 64, "worse")
    assert found.significant


def test_a_change_of_sign_within_the_intervals_is_not_significant() -> None:
    a = sure({8: (1.0, 0.05), 16: (1.0, 0.05)}, "bandwidth")
    b = sure({8: (0.99, 0.05), 16: (1.01, 0.05)}, "bandwidth")
    (found,) = compared([a], [b]).pairs[0].crossovers
    assert (found.becomes, found.significant) == ("better", False)


def test_sizes_of_one_side_are_listed_and_not_compared() -> None:
    (pair,) = compared([means({8: 1.0, 16: 1.0})], [means({16: 1.0, 32: 1.0})]).pairs
    assert [one.message_bytes for one in pair.differences] == [16]
    assert (pair.only_a, pair.only_b) == ((8,), (32,))


def test_a_benchmark_without_a_size_is_compared() -> None:
    a = means({}, None, benchmark="osu_barrier", quantity="time")
    with_point = msgspec.structs.replace(a, points=(SuitePoint(None, bare(2e-6), 3),))
    slower = msgspec.structs.replace(a, points=(SuitePoint(None, bare(3e-6), 3),))
    assert compared([with_point], [slower]).outcome == "regression"


def test_a_zero_has_no_ratio_and_counts_as_not_measured() -> None:
    a = means({8: 0.0, 16: 0.5}, None, quantity="overlap")
    b = means({8: 0.5, 16: 0.5}, None, quantity="overlap")
    (pair,) = compared([a], [b]).pairs
    assert (pair.only_b, len(pair.differences)) == ((8,), 1)


def test_nothing_in_common_has_its_own_exit_status() -> None:
    found = compared([means({8: 1.0})], [means({16: 1.0})])
    assert (found.outcome, exit_status(AS_OF_A_RUN[found.outcome])) == ("nothing comparable", 3)
    assert {one.reason for one in found.unmatched} == {"the two have no message size in common"}


def test_a_table_without_figures_is_told_of() -> None:
    empty = msgspec.structs.replace(
        means({}), failures=(Failure(8, 4, "timeout", "8 time-out"),), cut_off="no end"
    )
    found = compared([means({8: 1.0})], [empty])
    assert "B: it has no usable figure" in {f"{one.side}: {one.reason}" for one in found.unmatched}


@pytest.mark.parametrize(
    ("trouble", "outcome", "told"),
    [
        ("timeout", "undecided", "B has no figure at one size where A has one"),
        ("corrupt", "regression", "B has wrong data at one size where A has figures"),
    ],
)
def test_a_row_of_b_without_a_figure_is_no_pass(trouble: Trouble, outcome: str, told: str) -> None:
    whole = means({8: 1.0, 16: 1.0})
    lost = means({8: 1.0}, failures=(Failure(16, 4, trouble, "16 …"),))
    found = compared([whole], [lost])
    assert found.outcome == outcome
    assert told in headline(found)
    assert compared([lost], [whole]).outcome == "no regression"
    assert compared([lost], [lost]).outcome == "no regression"


def test_a_cut_off_table_is_no_pass_where_the_other_goes_on() -> None:
    whole, short = means({8: 1.0, 16: 1.0}), means({8: 1.0}, cut_off="no end")
    assert compared([whole], [short]).outcome == "undecided"
    assert compared([whole], [means({8: 1.0})]).outcome == "no regression"
    assert compared([short], [short]).outcome == "no regression"


def test_what_else_differs_is_said() -> None:
    a = means({8: 1.0}, settings={"window": "64"}, statistic="mean", what="half round trip")
    b = means({8: 1.0}, settings={"window": "32"}, statistic="typical", cut_off="at 8 bytes")
    notes = " | ".join(compared([a], [b]).pairs[0].notes)
    for part in ("window is 64 in A, 32 in B", "typical", "half round trip", "cut off"):
        assert part in notes


def test_five_repetitions_make_an_interval_and_four_do_not() -> None:
    def repeated(times: int, factor: float) -> list[SuiteCurve]:
        return [means({8: factor * (1 + n / 100), 16: factor}, source="x") for n in range(times)]

    (five,) = compared(repeated(5, 1.0), repeated(5, 1.0)).pairs
    (four,) = compared(repeated(4, 1.0), repeated(4, 1.0)).pairs
    assert (five.basis, four.basis) == ("launches", "means")
    assert five.differences[0].a == Estimate(1.02, 1.0, 1.04, 0.9375, 5, 0)


@given(
    st.dictionaries(st.integers(0, 1 << 22), st.floats(1e-7, 1e7), min_size=1, max_size=12),
    st.sampled_from(("time", "bandwidth")),
    st.floats(0, 0.9),
)
def test_a_curve_is_never_worse_than_itself(
    values: dict[int, float], quantity: Quantity, tolerance: float
) -> None:
    one = means(values, None, quantity=quantity)
    found = compared([one], [one], tolerance)
    assert found.outcome == "no regression"
    assert found.pairs[0].summary.median_change == 0
    assert found.pairs[0].crossovers == ()


@given(
    st.dictionaries(st.integers(1, 1 << 22), st.floats(1e-3, 1e3), min_size=1, max_size=12),
    st.floats(0.01, 100.0),
)
def test_exchanging_a_and_b_inverts_the_ratio(values: dict[int, float], factor: float) -> None:
    a, b = means(values), means({size: value * factor for size, value in values.items()})
    there, back = compared([a], [b]).pairs[0], compared([b], [a]).pairs[0]
    assert there.summary.mean_ratio == pytest.approx(1 / back.summary.mean_ratio)
    assert not (there.regression and back.regression)


SIX = (8, 64, 512, 4096, 32768, 262144)


@pytest.mark.parametrize(
    ("times", "outcome"),
    [
        ((1, 1, 1, 1, 1, 100_000), "regression"),
        ((1, 1, 100_000, 1, 1, 1), "regression"),
        ((1, 20, 1, 1, 20, 1), "regression"),
        ((1, 1, 1, 1, 20, 20), "regression"),
        ((1, 1, 20, 1, 1, 1), "undecided"),  # a stall in one size of a suite's table
        ((1, 1, 3, 1, 3, 1), "undecided"),
        ((1, 1, 1.06, 1, 1, 1), "undecided"),
        ((1, 1, 1.04, 1, 1, 1), "no regression"),
    ],
)
def test_bare_figures_that_are_far_worse_at_few_sizes_are_a_regression(
    times: tuple[float, ...], outcome: str
) -> None:
    a = means(dict.fromkeys(SIX, 1e-5))
    b = means({size: 1e-5 * factor for size, factor in zip(SIX, times, strict=True)})
    assert compared([a], [b]).outcome == outcome
    assert compared([b], [a]).outcome == "no regression"


def test_a_size_without_an_interval_counts_if_it_is_many_times_worse() -> None:
    """A slow link leaves large messages too few samples for an interval."""
    a = sure({8: (1e-5, 0.01), 1 << 20: (9e-3, 0.01)})
    slow = SuitePoint(1 << 20, bare(9e-2), 0)
    b = sure({8: (1.3e-5, 0.01)})
    b = msgspec.structs.replace(b, points=(*b.points, slow))
    assert compared([a], [b]).outcome == "regression"
    assert compared([b], [a]).outcome == "no regression"
    assert compared([a], [b], tolerance=0.9).pairs[0].regression.startswith("B is at least 2 times")
