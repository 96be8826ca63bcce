"""Every figure of a judged run as comma-separated values: one row per point of each curve,
per case of many ranks, and per node of each matrix of pairs.

Times in s, rates in bytes/s; docs/reference/report.md describes the columns. A cell is
empty where there is nothing to say, never 0.
"""

import csv
import io
from collections.abc import Iterator, Mapping
from itertools import chain

from fabricgauge.model.curve import Curve, CurvePoint
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.suite import Quantity, SuitePoint
from fabricgauge.report import fabric_csv, suites
from fabricgauge.report.conclusion import is_simulated, limit_bytes_s
from fabricgauge.report.interface import Judged, Setting
from fabricgauge.report.suites import Told
from fabricgauge.report.sweep import P99_SAMPLES, pair_curves
from fabricgauge.report.visible import visible

COLUMNS = (
    "run", "outcome", "suite", "benchmark", "source", "network", "pattern", "origin", "target",
    "message_bytes", "window", "directions", "time_s", "time_low_s", "time_high_s",
    "bandwidth_bytes_per_s", "bandwidth_low_bytes_per_s", "bandwidth_high_bytes_per_s",
    "share_of_ceiling", "confidence", "launches", "samples", "p99_s", "minimum_s", "maximum_s",
    "bus_bandwidth_bytes_per_s", "message_rate_per_s", "overlap_share", "simulated",
    *fabric_csv.COLUMNS,
)  # fmt: skip

#: A spreadsheet takes a cell that begins so for a formula and would work it out.
_FORMULA = ("=", "+", "-", "@")

_OTHERS: dict[Quantity, str] = {
    "bus_bandwidth": "bus_bandwidth_bytes_per_s",
    "message_rate": "message_rate_per_s",
    "overlap": "overlap_share",
}

Cell = str | int | float | None


def render(judged: Judged, _setting: Setting) -> str:
    """A heading and one row per point; RFC 4180 but for the line ends, which are LF."""
    page = io.StringIO()
    writer = csv.writer(page, lineterminator="\n")
    writer.writerow(COLUMNS)
    run: Mapping[str, Cell] = {
        "run": judged.run.identity, "outcome": judged.overall.value,
        "simulated": int(is_simulated(judged)),
    }  # fmt: skip
    for cells in chain(_own(judged), fabric_csv.rows(judged), _of_suites(judged)):
        row = {**run, **cells}
        writer.writerow([cell(row.get(column)) for column in COLUMNS])
    return page.getvalue()


def _own(judged: Judged) -> Iterator[Mapping[str, Cell]]:
    for curve in pair_curves(judged):
        limit = limit_bytes_s(judged, curve.network, curve.pattern)
        for point in curve.points:
            yield {**_of_curve(curve), **_of_point(point, limit)}


def _of_curve(curve: Curve) -> Mapping[str, Cell]:
    return {
        "suite": "fabricgauge",
        "network": curve.network,
        "pattern": curve.word,
        "origin": curve.origin_node,
        "target": curve.target_node,
        "directions": 2 if curve.pattern == "bidirectional_bandwidth" else 1,
    }


def _of_point(point: CurvePoint, limit: float | None) -> Mapping[str, Cell]:
    bandwidth = point.bandwidth
    return {
        "message_bytes": point.message_bytes,
        "window": point.window,
        **_interval("time", "s", point.time),
        **(_interval("bandwidth", "bytes_per_s", bandwidth) if bandwidth else {}),
        "share_of_ceiling": bandwidth.value / limit if bandwidth and limit else None,
        **_counts(point.time),
        "p99_s": point.p99_s if point.time.samples >= P99_SAMPLES else None,
        "minimum_s": point.minimum_s,
        "maximum_s": point.maximum_s,
    }


def _of_suites(judged: Judged) -> Iterator[Mapping[str, Cell]]:
    for told in suites.told(judged):
        limit = suites.ceiling_of(judged, told)
        for point in told.curve.points:
            yield {**_of_told(told), **_of_suite_point(told, point, limit)}


def _of_told(told: Told) -> Mapping[str, Cell]:
    curve = told.curve
    origin, target = curve.hosts if len(curve.hosts) == 2 else (None, None)
    return {
        "suite": f"{curve.suite} {curve.version}".strip(),
        "benchmark": curve.benchmark,
        "source": f"{curve.source}:{curve.first_line}" if curve.source else None,
        "network": told.launch.network,
        "pattern": curve.pattern,
        "origin": origin,
        "target": target,
        "directions": curve.directions,
    }


def _of_suite_point(told: Told, point: SuitePoint, limit: float | None) -> Mapping[str, Cell]:
    figure, quantity = point.estimate, told.curve.quantity
    cells: dict[str, Cell] = {"message_bytes": point.message_bytes, **_counts(figure)}
    if quantity in _OTHERS:
        cells[_OTHERS[quantity]] = figure.value
    elif quantity == "time":
        of = point.besides
        cells |= {**_interval("time", "s", figure), "p99_s": of.get("p99")}
        cells |= {"minimum_s": of.get("minimum"), "maximum_s": of.get("maximum")}
    else:
        cells |= _interval("bandwidth", "bytes_per_s", figure)
        cells["share_of_ceiling"] = figure.value / limit if limit else None
    return cells


def _interval(name: str, unit: str, estimate: Estimate) -> Mapping[str, Cell]:
    """The value, and its interval where there were samples enough for one."""
    given = estimate.confidence > 0
    return {
        f"{name}_{unit}": estimate.value,
        f"{name}_low_{unit}": estimate.low if given else None,
        f"{name}_high_{unit}": estimate.high if given else None,
    }


def _counts(estimate: Estimate) -> Mapping[str, Cell]:
    return {
        "confidence": estimate.confidence or None,
        "launches": estimate.launches,
        "samples": estimate.samples or None,
    }


def cell(value: Cell) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return repr(float(value))  # also numpy's, whose own repr is not a number
    if not isinstance(value, str):
        return str(value)
    text = visible(value)
    return f"'{text}" if text.startswith(_FORMULA) else text
