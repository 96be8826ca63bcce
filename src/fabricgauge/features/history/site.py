"""Write a static site: an overview, a heat map over time, and a page for each node.

Pages open from a file, fetch nothing and run one script, whose hash the content security policy
names. Each page has the figures that it draws; colours and style are those of the reports.
"""

import base64
import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import numpy as np
from numpy.typing import NDArray

from fabricgauge import __version__
from fabricgauge.features.history import words
from fabricgauge.features.history.drift import (
    Alarm,
    ChooseReference,
    Coverage,
    Policy,
    Watched,
    find_drift,
)
from fabricgauge.features.history.drift_content import (
    explain_alarms,
    state_coverage,
)
from fabricgauge.features.history.list_content import outcome_cell
from fabricgauge.features.history.series import split_common
from fabricgauge.features.history.series_content import OneSeries, describe_series
from fabricgauge.features.history.values import Group, History
from fabricgauge.model.errors import UsageError
from fabricgauge.model.verdict import Outcome
from fabricgauge.model.words.figures import percent
from fabricgauge.model.words.sentences import counted, listed
from fabricgauge.report.content.verdicts import TONES
from fabricgauge.report.render.plots import HEAT, UNMEASURED
from fabricgauge.report.visible import visible
from fabricgauge.store.bundle import folder_name
from fabricgauge.store.files.writing import make_folder, reporting
from fabricgauge.store.run_directory import PARTIAL, write_whole

#: Columns of the heat map, and runs in the list of the last ones.
MOST_COLUMNS, MOST_RUNS = 240, 200
#: Shares of the usual figure at both ends of the scale of colours.
GOOD, BAD = 1.0, 0.8
#: Points of a small curve.
SPARK_POINTS = 120
#: A file that only a site has: a folder without it that is not empty is left alone.
MARK = ".fabricgauge-history-site"
_NODES = "nodes"


class _Site:
    """Hold the parts of all pages: the history, links to reports, and templates."""

    def __init__(self, history: History, folder: Path, least: float) -> None:
        self.history, self.folder, self.least = history, folder, least
        root = Path(history.root).resolve()
        paths = (root / f"{run.name}{'' if run.complete else PARTIAL}" for run in history.runs)
        reports = (path / "report.html" for path in paths)
        self.reports = [str(report) if report.exists() else "" for report in reports]
        self.columns = []
        for group in history.groups:
            columns: dict[str, list[int]] = {}
            for column, place in enumerate(group.places):
                for node in place:
                    columns.setdefault(node, []).append(column)
            self.columns.append(columns)
        self.templates = _environment()
        source = self.templates.loader.get_source
        self._style = source(self.templates, "style.css")[0]
        self._more = source(self.templates, "site.css")[0]
        self._script = source(self.templates, "site.js")[0]
        digest = hashlib.sha256(self._script.encode()).digest()
        self._hash = f"sha256-{base64.b64encode(digest).decode()}"

    def link(self, run: int, below: str = "") -> str:
        """Return the link to a run's report from a page; empty if the run has none."""
        if not self.reports[run]:
            return ""
        start = self.folder.resolve() / below
        return quote(os.path.relpath(self.reports[run], start))

    def write(self, name: str, template: str, data: object, **fields: object) -> None:
        text = json.dumps(data, separators=(",", ":"))
        for sign in "<>&":  # no character of the data can end its block or begin a tag
            text = text.replace(sign, f"\\u{ord(sign):04x}")
        page = self.templates.get_template(template).render(
            style=self._style, more_style=self._more, script=self._script,
            script_hash=self._hash, data=text, **fields,
        )  # fmt: skip
        write_whole(self.folder / name, page.encode(), self.folder, sync=False)


def write_pages(history: History, folder: Path, policy: Policy, choose: ChooseReference) -> int:
    """Write the site; return the number of pages.

    Raises:
        UsageError: the folder holds other files.
        StoreError: a page cannot be written.
    """
    _prepare(folder)
    site = _Site(history, folder, policy.least)
    watched = find_drift(history.groups, policy, choose, history.runs)
    nodes = tuple(dict.fromkeys(node for run in history.runs for node in run.nodes))
    alarms = Counter(node for alarm in watched.alarms for node in alarm.place)
    measured = {node for columns in site.columns for node in columns}
    shown = [node for node in nodes if node in measured]
    for node in shown:
        _write_node(site, node, alarms.get(node, 0), watched.by_node.get(node, Coverage()))
    _write_index(site, watched, nodes, frozenset(shown), alarms)
    return 1 + len(shown)


def _prepare(folder: Path) -> None:
    with reporting("create", folder):
        make_folder(folder)
        others = any(entry.name != MARK for entry in folder.iterdir())
        if others and not (folder / MARK).exists():
            raise UsageError(f"{folder} holds other files; name a new folder")
        (folder / MARK).touch()
        make_folder(folder / _NODES, folder)


def _environment() -> Any:
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    loaders = (
        PackageLoader("fabricgauge.features.history", "pages"),
        PackageLoader("fabricgauge.report.render"),
    )
    return Environment(
        loader=ChoiceLoader(loaders), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )  # fmt: skip


def node_page(node: str) -> str:
    """Return the path of a node's page below the site; a name from a host is data."""
    return f"{_NODES}/{folder_name(node)}.html"


# The page of a node.

#: Ways and pairs of a node with a plot each: a node of a sweep has hundreds of partners.
_MOST_PLACES = 12


def _write_node(site: _Site, node: str, alarms: int, coverage: Coverage) -> None:
    history = site.history
    columns = [
        (group, column)
        for group, by_node in zip(history.groups, site.columns, strict=True)
        for column in by_node.get(node, [])[:_MOST_PLACES]
    ]
    all_series = [describe_series(history, *column, site.least) for column in columns]
    used = sorted({run for series in all_series for run in series.runs})
    position = {run: place for place, run in enumerate(used)}
    rows = [
        (history.runs[run].name, history.runs[run].started_s,
         words.day(history.runs[run].started_s), history.runs[run].outcome, site.link(run, _NODES))
        for run in used
    ]  # fmt: skip
    shown = [
        {
            "place": words.name_place(series.key, series.place),
            "name": words.name_series(series.key), "runs": counted(len(series.runs), "run"),
            "median": words.figure(series.key, float(np.median(series.values))),
            "last": words.figure(series.key, float(series.values[-1])),
            "changes": [_change_words(history, series, index)
                        for index in range(len(series.changes))],
        }
        for series in all_series
    ]  # fmt: skip
    data = {"runs": rows, "series": [_plot_data(site, series, position) for series in all_series]}
    outcome = coverage.judge(alarms)
    changed = sum(len(series.changes) for series in all_series)
    site.write(
        node_page(node), "node.html.j2", data, title=f"{node}: history", tone=TONES[outcome],
        word=_word(outcome, coverage),
        about=_about(history), headline=f"{node}: {counted(len(used), 'run')},"
        f" {counted(changed, 'change')} of level",
        under=f"{counted(alarms, 'alarm')}. {state_coverage(coverage)}.",
        links=[("../index.html", "Overview")], shown=shown,
    )  # fmt: skip


def _word(outcome: Outcome, coverage: Coverage) -> str:
    if outcome is Outcome.INCONCLUSIVE:
        return "FIGURES MISSING" if coverage.silent else "TOO FEW RUNS"
    return "DRIFT" if outcome is Outcome.FAIL else "STEADY"


def _about(history: History) -> str:
    return f"fabricgauge {__version__} · history of {history.root} · {words.describe_days(history)}"


def _change_words(history: History, series: OneSeries, index: int) -> str:
    change = series.changes[index]
    run = history.runs[series.runs[change.index]]
    what = listed(change.what, 4) if change.what else "no recorded setting differs"
    return f"{words.day(run.started_s)}: {words.shift_words(change.shift)}; {what}"


def _plot_data(site: _Site, series: OneSeries, position: Mapping[int, int]) -> dict[str, object]:
    history = site.history
    times = [history.runs[run].started_s for run in series.runs]
    low, high = float(series.values.min()), float(series.values.max())
    margin = max(0.15 * (high - low), 0.01 * high)
    span = (max(0.0, low - margin), high + margin)
    halves = np.nan_to_num(series.halves)
    return {
        "times": (times[0], times[-1]), "span": span,
        "y_ticks": [(value, words.figure(series.key, value)) for value in np.linspace(*span, 4)],
        "x_ticks": [(time, words.day(time)[:10]) for time in np.linspace(times[0], times[-1], 6)]
        if times[-1] > times[0] else [(times[0], words.day(times[0])[:10])],
        "levels": list(series.levels(times)),
        "changes": [
            (times[change.index], _change_words(history, series, index))
            for index, change in enumerate(series.changes)
        ],
        "points": [
            (position[run], _short(value), _short(half), words.figure(series.key, value))
            for run, value, half in zip(
                series.runs, map(float, series.values), map(float, halves), strict=True
            )
        ],
    }  # fmt: skip


def _short(value: float) -> float:
    """Return a figure with the digits that a plot needs."""
    return float(f"{value:.5g}")


# The overview.


def _write_index(
    site: _Site, watched: Watched, nodes: Sequence[str], shown: frozenset[str],
    alarms: Mapping[str, int],
) -> None:  # fmt: skip
    history = site.history
    outcome = watched.outcome
    heats = [heat for group in history.groups for heat in _heat_maps(site, group, alarms)]
    colours = [_rgb(UNMEASURED), *map(_rgb, HEAT)]
    causes = explain_alarms(history, watched.alarms)
    last = history.runs[::-1][:MOST_RUNS]
    word = _word(outcome, watched.coverage)
    heads, cells = _node_cells(history)
    counts = _count_runs(history)
    site.write(
        "index.html", "index.html.j2", {"heats": [data for data, _ in heats], "colours": colours},
        title="History of the network", tone=TONES[outcome], word=word, about=_about(history),
        headline=f"{counted(len(history.runs), 'run')} of {counted(len(nodes), 'node')},"
        f" {counted(len(watched.alarms), 'alarm')}",
        under=f"{state_coverage(watched.coverage)}.",
        links=[(f"#{name}", name.capitalize()) for name in ("alarms", "networks", "nodes", "runs")],
        alarms=[_alarm_row(history, alarm, cause, shown)
                for alarm, cause in zip(watched.alarms, causes, strict=True)],
        networks=[_network_row(history, group, site.least) for group in history.groups
                  if group.key.part != "pair" or len(group.places) <= _MOST_PLACES],
        heats=[text for _, text in heats], node_heads=heads,
        nodes=[
            {
                "name": node, "href": quote(node_page(node)), "alarms": alarms.get(node, 0),
                **counts[node], "cells": cells.get(node, [""] * len(heads)),
            }
            for node in nodes if node in shown
        ],
        runs=[
            {
                "day": words.day(run.started_s), "name": run.name,
                "href": site.link(len(history.runs) - 1 - place),
                "outcome": cell if isinstance(cell, str) else cell.text,
                "tone": "skipped" if isinstance(cell, str) else cell.tone,
                "nodes": f"{len(run.nodes):,}", "headline": run.trouble or run.headline,
            }
            for place, (run, cell) in enumerate(zip(last, map(outcome_cell, last), strict=True))
        ],
    )  # fmt: skip


def _rgb(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[place : place + 2], 16) for place in (1, 3, 5))


def _alarm_row(
    history: History, alarm: Alarm, causes: tuple[str, ...], shown: frozenset[str]
) -> dict[str, str]:
    node = next((node for node in alarm.place if node in shown), "")
    return {
        "place": words.name_place(alarm.key, alarm.place), "series": words.name_series(alarm.key),
        "href": quote(node_page(node)) if node else "",
        "reference": words.level_figure(alarm, alarm.reference_level),
        "level": words.level_figure(alarm, alarm.level), "shift": words.shift_words(alarm.shift),
        "since": words.day(history.runs[alarm.since].started_s),
        "causes": listed(causes, 3) or "no recorded setting",
    }  # fmt: skip


def _network_row(history: History, group: Group, least: float) -> dict[str, object]:
    """Return a group's level over time: the median over its places in each run."""
    with np.errstate(all="ignore"):
        level = np.nanmedian(group.values, axis=1)[:, None]
    common = msgspec.structs.replace(
        group, places=((),), values=level.astype(np.float32), halves=np.full_like(level, np.nan)
    )
    series = describe_series(history, common, 0, least)
    values = series.values
    step = max(1, -(-len(values) // SPARK_POINTS))
    bins = [float(np.median(values[place : place + step])) for place in range(0, len(values), step)]
    low, high = min(bins), max(bins)
    reach = max(high - low, 0.02 * high)
    points = [
        f"{240 * place / max(1, len(bins) - 1):.1f},{33 - 30 * (value - low) / reach:.1f}"
        for place, value in enumerate(bins)
    ]
    part = {"sender": ", sending", "receiver": ", receiving"}.get(group.key.part, "")
    return {
        "name": f"{words.name_series(group.key)}{part}", "runs": f"{len(values):,}",
        "median": words.figure(group.key, float(np.median(values))),
        "last": words.figure(group.key, float(values[-1])),
        "change": _change_words(history, series, -1) if series.changes else "",
        "spark": " ".join(points) if len(points) > 1 else "",
        "marks": [f"{240 * change.index / max(1, len(values) - 1):.1f}"
                  for change in series.changes],
    }  # fmt: skip


def _heat_maps(
    site: _Site, group: Group, alarms: Mapping[str, int]
) -> Iterator[tuple[dict[str, object], dict[str, str]]]:
    """Yield the map of a group of nodes over time: data for the script, and words."""
    if group.key.part not in ("sender", "receiver", "node") or len(group.places) < 3:
        return
    shares = _usual_shares(group)
    cells, columns = bin_over_time(shares, [site.history.runs[run].started_s for run in group.runs])
    steps = len(HEAT) - 1
    code = 1 + np.clip(np.round((GOOD - cells) / (GOOD - BAD) * steps), 0, steps)
    coded = np.where(np.isfinite(cells), code, 0).astype(np.uint8)
    names = [place[0] for place in group.places]
    order = sorted(range(len(names)), key=lambda column: names[column])
    data = {
        "cells": base64.b64encode(coded[order].tobytes()).decode(), "good": GOOD, "bad": BAD,
        "nodes": [names[column] for column in order], "columns": columns,
        "hrefs": [quote(node_page(names[column])) for column in order],
        "alarmed": [row for row, column in enumerate(order) if names[column] in alarms],
    }  # fmt: skip
    place = words.name_place(group.key, ())
    text = {
        "title": f"{words.name_series(group.key)}: {place}",
        "note": "A row for each node, time from left to right. A cell is the worst figure of its"
        " time as a share of the usual one: that of all nodes in the same run, if it measured"
        " enough of them, else the node's own median. Names in red have an alarm, or a cell in the"
        " worse half of the scale. Click a row for the node's page.",
        "good": f"{percent(GOOD)} and better", "bad": f"{percent(BAD)} and worse",
    }  # fmt: skip
    yield data, text


def _usual_shares(group: Group) -> NDArray[np.float64]:
    """Return each figure as a share of the usual one, above 1 if it is better."""
    split = split_common(group)
    with np.errstate(all="ignore"):
        medians = np.nanmedian(group.values, axis=0)[None, :]
        shares = (split[1].values if split else group.values / medians).astype(np.float64)
        return 1 / shares if group.key.is_latency else shares


def bin_over_time(
    shares: NDArray[np.float64], starts: Sequence[float]
) -> tuple[NDArray[np.float64], list[str]]:
    """Return the worst share of each place and stretch of time, (places, columns), and the days.

    Columns are equally long; each run has its own if there are few of them.
    """
    runs, places = shares.shape
    count = min(MOST_COLUMNS, runs)
    if runs <= MOST_COLUMNS:
        column = np.arange(runs)
    else:
        span = max(1e-9, starts[-1] - starts[0])
        column = np.minimum(((np.array(starts) - starts[0]) / span * count).astype(int), count - 1)
    cells = np.full((count, places), np.inf)
    np.minimum.at(cells, column, np.where(np.isfinite(shares), shares, np.inf))
    first = {int(place): words.day(start) for place, start in
             reversed(list(zip(column, starts, strict=True)))}  # fmt: skip
    return np.where(np.isfinite(cells), cells, np.nan).T, [first.get(c, "") for c in range(count)]


def _node_cells(history: History) -> tuple[list[str], dict[str, list[str]]]:
    groups = [group for group in history.groups if group.key.part in ("sender", "receiver", "node")]
    groups = groups[:6]
    heads = [
        f"{words.name_series(group.key)}{words.name_place(group.key, ()).removeprefix('all nodes')}"
        for group in groups
    ]
    cells: dict[str, list[str]] = {}
    for place, group in enumerate(groups):
        for column, (node, *_) in enumerate(group.places):
            rows = np.flatnonzero(np.isfinite(group.values[:, column]))
            row = cells.setdefault(node, [""] * len(groups))
            if len(rows):
                row[place] = words.figure(group.key, float(group.values[rows[-1], column]))
    return heads, cells


def _count_runs(history: History) -> dict[str, dict[str, str]]:
    counts: dict[str, tuple[int, float]] = {}
    for run in history.runs:
        for node in run.nodes:
            counts[node] = counts.get(node, (0, 0.0))[0] + 1, run.started_s
    return {
        node: {"runs": f"{count:,}", "last": words.day(last_s)}
        for node, (count, last_s) in counts.items()
    }
