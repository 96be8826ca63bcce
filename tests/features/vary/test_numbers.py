"""Factors whose levels are numbers: words, placement of ranks, figures over the levels."""

import msgspec
import numpy as np
import pytest

from fabricgauge.check.plan.design import make_design, parse_factor
from fabricgauge.features.vary.varying import Column, from_figures, level_figures
from fabricgauge.model.errors import UsageError
from fabricgauge.model.varied import Varied
from fabricgauge.report.content.changes import level_tables, plot_levels


@pytest.mark.parametrize("text", ["ppn=1,two", "ppn=0,1", "ranks=1,2", "parallel=1,400", "ppn=1,²"])
def test_a_level_that_is_no_number_in_range_is_refused(text: str) -> None:
    name = text.partition("=")[0]
    with pytest.raises(UsageError, match=f"--vary {name} takes numbers from"):
        parse_factor(text)


def test_ranks_and_ranks_per_node_exclude_each_other() -> None:
    with pytest.raises(UsageError, match="vary ppn or ranks"):
        make_design((parse_factor("ppn=1,2"), parse_factor("ranks=2,4")), 3, seed=1)


def swept() -> Varied:
    """Streams of 100 MB/s in sum on 1, 2 and 4 connections, and a time."""
    design = make_design((parse_factor("parallel=1,2,4"),), 3, seed=1)
    columns = (Column("stream", "bandwidth", None), Column("half round trip", "time", 8))
    logs = np.log(np.tile([100e6, 1e-6], (3, 3, 1)))
    parts = np.ones((3, 3, 2))
    parts[:, :, 0] = np.array([1, 2, 4])[:, None]
    levels = tuple(level_figures(design, columns, logs, parts))
    return msgspec.structs.replace(from_figures(design, columns, logs, 0.0), levels=levels)


def test_a_rate_has_its_sum_and_the_average_of_one_at_each_level() -> None:
    varied = swept()
    rates = {level.level: level for level in varied.levels if level.quantity == "bandwidth"}
    assert {level: rate.parts for level, rate in rates.items()} == {"1": 1, "2": 2, "4": 4}
    assert all(rate.figure.value == pytest.approx(100e6) for rate in rates.values())
    assert all(level.parts == 1 for level in varied.levels if level.quantity == "time")


def test_the_plots_are_over_the_level() -> None:
    total, average, time = plot_levels(swept())
    assert [mark.y for mark in total.series[0].marks] == pytest.approx([100, 100, 100])
    assert [mark.y for mark in average.series[0].marks] == pytest.approx([100, 50, 25])
    assert [mark.x for mark in total.series[0].marks] == [0, 1, 2]
    assert time.log
    assert dict(total.ticks) == {0.0: "1", 1.0: "2", 2.0: "4"}


def test_times_of_three_sizes_have_a_plot_over_the_sizes_too() -> None:
    design = make_design((parse_factor("ppn=1,2,4"),), 3, seed=1)
    columns = tuple(Column("half round trip", "time", length) for length in (8, 4096, 65536))
    time_s = np.array([[1e-6, 2e-6, 9e-6], [1e-6, 3e-6, 18e-6], [1e-6, 5e-6, 36e-6]])
    logs = np.log(np.tile(time_s[:, None, :], (1, 3, 1)))
    levels = tuple(level_figures(design, columns, logs, np.ones((3, 3, 3))))
    varied = msgspec.structs.replace(from_figures(design, columns, logs, 0.0), levels=levels)
    _, over_sizes = plot_levels(varied)
    assert [line.label for line in over_sizes.series] == ["ppn 1", "ppn 2", "ppn 4"]
    assert [mark.y for mark in over_sizes.series[2].marks] == pytest.approx([1, 5, 36])
    assert over_sizes.log


def test_the_table_has_a_column_for_each_level() -> None:
    (table,) = level_tables(swept())
    heads = [column.head for column in table.columns]
    assert heads == ["curve", "size", "parallel 1", "parallel 2", "parallel 4"]
    assert "100.00 MB/s (25.00 MB/s)" in table.rows[0]
