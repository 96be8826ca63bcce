"""All figures of a comparison in one plot: signs, means, ranges, names that are unlike."""

import math
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fabricgauge.compare.sides import compare_operands, find_side
from fabricgauge.report import document as doc
from fabricgauge.report.content.changes import (
    FEWEST_METRICS,
    MOST_TICKS,
    Metric,
    metric,
    metric_blocks,
)
from fabricgauge.report.content.comparison import _describe_curve, document
from fabricgauge.report.interface import Setting
from fabricgauge.report.picture import Picture

SUITE = Path(__file__).parents[1] / "fixtures" / "imb" / "2021.11--mpi1-4-ranks.out"


def metrics(*shares: float) -> list[Metric]:
    """Times of which B takes so much more, then rates of which it has so much more."""
    times = [metric("t", 8, "time", share, math.nan, math.nan) for share in shares]
    rates = [metric("r", 8, "bandwidth", share, share - 0.01, share + 0.02) for share in shares]
    return [*times, *rates]


def test_a_longer_time_is_worse_and_a_higher_rate_is_better() -> None:
    slower, more = metrics(0.05)
    assert (slower.better, slower.low, slower.high) == (-0.05, -0.05, -0.05)
    assert (more.better, more.low, more.high) == pytest.approx((0.05, 0.04, 0.07))
    shorter = metric("t", 8, "time", -0.1, -0.12, -0.09)
    assert (shorter.better, shorter.low, shorter.high) == pytest.approx((0.1, 0.09, 0.12))


def test_the_plot_has_latency_and_bandwidth_apart_with_mean_and_range() -> None:
    plots, table, _ = metric_blocks(metrics(0.068, -0.031, 0.0, 0.02), "gcc", "icc")
    assert isinstance(plots, doc.Plots)
    assert isinstance(table, doc.Table)
    picture = plots.plots[0].picture
    assert isinstance(picture, Picture)
    assert not picture.joined
    assert [curve.label.partition(":")[0] for curve in picture.series] == ["latency", "bandwidth"]
    numbers = [mark.x for curve in picture.series for mark in curve.marks]
    assert numbers == list(range(1, 9))
    assert table.rows[0] == ("latency", "4", "−1.4 %", "−1.0 %", "−6.8 % to +3.1 %")
    assert table.rows[1] == ("bandwidth", "4", "+1.4 %", "+1.0 %", "−3.1 % to +6.8 %")
    assert table.rows[2][:3] == ("all", "8", "0 %")
    assert picture.span is not None
    assert picture.span[1] > 100 * 0.068


def test_few_figures_have_no_plot_of_their_own() -> None:
    assert metric_blocks(metrics(0.1)[: FEWEST_METRICS - 1], "a", "b") == ()


def test_each_curve_of_a_suite_has_a_name_of_its_own() -> None:
    curves = find_side(str(SUITE), SUITE.parent).curves
    names = [_describe_curve(curve) for curve in curves]
    assert len(curves) == 32
    assert len(set(names)) == len(names)
    assert "imb Bcast (Bcast, 4 processes)" in names


def test_a_pair_of_ranks_needs_no_number_of_processes() -> None:
    first = find_side(str(SUITE), SUITE.parent).curves[0]

    def processes(**changes: Any) -> str:
        return msgspec.structs.replace(first, **changes).processes

    assert processes(pattern="latency", ranks=2) == ""
    assert processes(pattern=None, ranks=2) == "2 processes"
    assert processes(pattern="bandwidth", ranks=4, pairs=2) == ""
    assert processes(pattern=None, ranks=None) == ""


def test_two_suites_of_one_machine_have_one_plot_of_all_their_figures() -> None:
    compared = compare_operands(str(SUITE), str(SUITE), SUITE.parent, 0.05, "")
    report = document(compared, Setting())
    section = next(section for section in report.sections if section.ident == "metrics")
    table = section.blocks[1]
    assert isinstance(table, doc.Table)
    assert [row[0] for row in table.rows] == ["latency", "bandwidth", "all"]
    assert all(row[2:] == ("0 %", "0 %", "0 % to 0 %") for row in table.rows)


@pytest.mark.parametrize("number", [8, 13, 14, 69, 70, 3_499, 13_999, 14_000, 40_000])
def test_any_number_of_figures_has_a_plot_with_few_ticks(number: int) -> None:
    plots, table, _ = metric_blocks(metrics(0.01)[:1] * number, "gcc", "icc")
    assert isinstance(plots, doc.Plots)
    assert isinstance(table, doc.Table)
    picture = plots.plots[0].picture
    assert isinstance(picture, Picture)
    assert table.rows[-1][1] == f"{number:,}"
    assert picture.ticks is not None
    assert 2 < len(picture.ticks) <= MOST_TICKS
    assert 0.5 * number < max(picture.ticks) <= number
