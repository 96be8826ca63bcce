"""Put series over time into documents: figures, changes of level, and what changed then."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec
import numpy as np
from numpy.typing import NDArray

from fabricgauge.features.history import words
from fabricgauge.features.history.changes import ChangePoint, find_changes, name_what_changed
from fabricgauge.features.history.list_content import RUN_LIMIT, outcome_cell
from fabricgauge.features.history.values import Group, History, SeriesKey
from fabricgauge.model.words.figures import percent, signed
from fabricgauge.model.words.sentences import counted, listed
from fabricgauge.report import document as doc
from fabricgauge.report.interface import Kind, Records, Setting, versioned
from fabricgauge.report.picture import Line, Mark, Picture, PlotCurve

#: Columns and rows of a plot of characters.
_PLOT_COLUMNS, _PLOT_ROWS = 72, 12
#: Most series that a document shows one by one.
_MOST_SERIES = 24


class OneSeries(msgspec.Struct, frozen=True, eq=False):
    """A place's figures over time: positions of runs, values, half-widths, and changes."""

    key: SeriesKey
    place: tuple[str, ...]
    runs: tuple[int, ...]
    values: NDArray[np.float64]
    halves: NDArray[np.float64]
    changes: tuple[ChangePoint, ...]

    def levels(self, starts: Sequence[float]) -> Iterator[tuple[float, float, float]]:
        """Yield the first and the last time of each level, and its median."""
        ends = [0, *(change.index for change in self.changes), len(starts)]
        for first, after in pairwise(ends):
            yield starts[first], starts[after - 1], float(np.median(self.values[first:after]))


class SeriesView(msgspec.Struct, frozen=True, eq=False):
    """Series to show; ``plotted`` draws them, else a table has each run."""

    history: History
    series: tuple[OneSeries, ...]
    hidden: int
    plotted: bool


def view_series(history: History, plotted: bool, least: float) -> SeriesView:
    """Return the first series of a history with their changes."""
    columns = [(group, column) for group in history.groups for column in range(len(group.places))]
    shown = tuple(describe_series(history, *column, least) for column in columns[:_MOST_SERIES])
    return SeriesView(history, shown, max(0, len(columns) - _MOST_SERIES), plotted)


def describe_series(history: History, group: Group, column: int, least: float) -> OneSeries:
    """Return one column of a group with its changes and what changed then."""
    rows = np.flatnonzero(np.isfinite(group.values[:, column]))
    values = group.values[rows, column].astype(np.float64)
    runs = tuple(group.runs[row] for row in rows)
    place = group.places[column]
    changes = tuple(
        msgspec.structs.replace(
            change,
            what=name_what_changed(history, runs_around(runs, change.index, -1),
                                   runs_around(runs, change.index, 1), place),
        )
        for change in find_changes(values, least)
    )  # fmt: skip
    halves = group.halves[rows, column].astype(np.float64)
    return OneSeries(group.key, place, runs, values, halves, changes)


#: Runs on either side of a change whose settings are compared.
_COMPARED = 5


def runs_around(runs: Sequence[int], index: int, side: int) -> Sequence[int]:
    return runs[max(0, index - _COMPARED) : index] if side < 0 else runs[index : index + _COMPARED]


def _series_document(view: SeriesView, _setting: Setting) -> doc.Report:
    changed = sum(1 for series in view.series if series.changes)
    runs = len({run for series in view.series for run in series.runs})
    headline = (
        f"{counted(len(view.series), 'series', 'series')} over {counted(runs, 'run')},"
        f" {counted(changed, 'series', 'series')} with a change of level"
        if view.series else "No series fits; see the list of runs with fabricgauge history list"
    )  # fmt: skip
    more = f"{view.hidden:,} more series are not shown: select nodes, a network or a pattern."
    sections = [
        doc.Section(f"series-{place}", f"{words.name_place(series.key, series.place)}:"
                    f" {words.name_series(series.key)}", tuple(_series_blocks(view, series)))
        for place, series in enumerate(view.series)
    ]  # fmt: skip
    under = (doc.Paragraph(more, kind="caution"),) if view.hidden else ()
    return doc.Report(
        "", "", headline, "fabricgauge history", "fabricgauge history", tuple(sections), under
    )


def _series_blocks(view: SeriesView, series: OneSeries) -> Iterator[doc.Block]:
    middle = float(np.median(series.values))
    spread = np.percentile(series.values, [10, 90]) / middle - 1 if middle else (0.0, 0.0)
    yield doc.Paragraph(
        f"median {words.figure(series.key, middle)}, eight of ten runs within"
        f" {signed(float(spread[0]))} to {signed(float(spread[1]))};"
        f" last {words.figure(series.key, float(series.values[-1]))}"
    )
    if view.plotted:
        yield doc.Lines(tuple(draw_series(series, view.history)), on=doc.TEXT)
        yield doc.Plot(picture_series(series, view.history))
    else:
        yield _points_table(view.history, series)
    yield doc.Items(
        tuple(_describe_change(view.history, series, change) for change in series.changes)
    )


def _describe_change(history: History, series: OneSeries, change: ChangePoint) -> str:
    run = history.runs[series.runs[change.index]]
    what = listed(change.what, 5) if change.what else "no recorded setting differs"
    return (
        f"{words.shift_words(change.shift)} from {words.day(run.started_s)} on ({run.name}): {what}"
    )


def _points_table(history: History, series: OneSeries) -> doc.Table:
    changes = {change.index: change for change in series.changes}
    rows = tuple(
        (
            words.day(history.runs[run].started_s), history.runs[run].name,
            words.figure(series.key, float(series.values[place])),
            "–" if np.isnan(half) else f"± {percent(half)}",
            outcome_cell(history.runs[run]),
            words.shift_words(changes[place].shift) if place in changes else "",
        )
        for place, (run, half) in enumerate(zip(series.runs, series.halves, strict=True))
    )[::-1]  # fmt: skip
    columns = doc.heads("=started (UTC)", "=run", ">figure", ">interval", "run's outcome", "change")
    return doc.Table(columns, rows, limit=RUN_LIMIT)


def draw_series(series: OneSeries, history: History) -> Iterator[str]:
    """Yield lines of characters: a point for each run or bin of runs, ``|`` at a change."""
    values = series.values
    low, high = float(values.min()), float(values.max())
    margin = max((high - low) * 0.05, high * 0.005)
    low, high = low - margin, high + margin
    width = min(_PLOT_COLUMNS, len(values))
    column = (np.arange(len(values)) * width // len(values)).astype(int)
    row = ((high - values) / (high - low) * (_PLOT_ROWS - 1)).round().astype(int)
    grid = [[" "] * width for _ in range(_PLOT_ROWS)]
    for change in series.changes:
        for line in grid:
            line[column[change.index]] = "|"
    for place in range(len(values)):
        grid[row[place]][column[place]] = "●"
    labels = {0: words.figure(series.key, high), _PLOT_ROWS - 1: words.figure(series.key, low)}
    pad = max(map(len, labels.values()))
    for number, line in enumerate(grid):
        yield f"{labels.get(number, ''):>{pad}} ┤{''.join(line)}".rstrip()
    first, last = (words.day(history.runs[series.runs[end]].started_s) for end in (0, -1))
    yield f"{'':>{pad}}  {first}{'':>{max(1, width - 2 * len(first))}}{last}"


def picture_series(series: OneSeries, history: History) -> Picture:
    """Return the plot of a series over time, with a line for each level."""
    key, factor = series.key, 1e6 if series.key.is_latency else 1e-6
    starts = [history.runs[run].started_s for run in series.runs]
    marks = [
        Mark(
            start / 86400, value * factor, value * (1 - half) * factor, value * (1 + half) * factor,
            f"{words.day(start)} {history.runs[run].name}", words.figure(key, value),
            f"± {percent(half)}", "", "1 run",
        )
        for run, start, value, half in zip(
            series.runs, starts, map(float, series.values),
            map(float, np.nan_to_num(series.halves)), strict=True,
        )
    ]  # fmt: skip
    levels = tuple(
        Line(f"level {number}", [first / 86400, last / 86400], [median * factor] * 2)
        for number, (first, last, median) in enumerate(series.levels(starts), 1)
    )
    figures = series.values * factor
    margin = max(float(figures.max() - figures.min()) * 0.3, float(figures.max()) * 0.01)
    places = np.linspace(starts[0], starts[-1], 6)
    return Picture(
        f"{words.name_place(key, series.place)}", "µs" if key.is_latency else "MB/s", False,
        (PlotCurve("figure", marks),), levels if len(levels) > 1 else (),
        span=(max(0.0, float(figures.min()) - margin), float(figures.max()) + margin),
        x_label="start of the run (UTC)",
        ticks={float(place) / 86400: words.day(float(place))[:10] for place in places},
    )  # fmt: skip


def _series_data(view: SeriesView, _setting: Setting) -> object:
    return versioned(
        "history-series", "1.0",
        series=[
            {
                "key": series.key, "place": series.place, "unit": series.key.unit,
                "points": [
                    {"run": history_run.name, "started_s": history_run.started_s, "value": value,
                     "half_width": None if np.isnan(half) else half}
                    for history_run, value, half in zip(
                        (view.history.runs[run] for run in series.runs),
                        map(float, series.values), map(float, series.halves), strict=True)
                ],
                "changes": series.changes,
            }
            for series in view.series
        ],
    )  # fmt: skip


def _series_records(view: SeriesView, _setting: Setting) -> Records:
    columns = ("network", "part", "place", "pattern", "message_bytes", "mpi", "run", "started_s",
               "value", "unit", "half_width")  # fmt: skip
    rows = (
        (
            series.key.network, series.key.part, ">".join(series.place), series.key.pattern,
            series.key.message_bytes, series.key.mpi, view.history.runs[run].name,
            view.history.runs[run].started_s, float(value), series.key.unit,
            None if np.isnan(half) else float(half),
        )
        for series in view.series
        for run, value, half in zip(series.runs, series.values, series.halves, strict=True)
    )  # fmt: skip
    return Records(columns, rows)


KIND = Kind("history-series", _series_document, _series_data, _series_records)
