"""Rows of the page's tables, as text."""

from typing import NamedTuple

from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.curve import Curve, CurvePoint
from fabricgauge.model.verdict import Outcome
from fabricgauge.report import fabric_words
from fabricgauge.report.conclusion import limit_bytes_s, one_way_peaks
from fabricgauge.report.fabric_words import SHOWN
from fabricgauge.report.interface import Judged
from fabricgauge.report.networks import is_reference, named
from fabricgauge.report.quantities import (
    digits,
    half_width,
    megabytes_per_s,
    microseconds,
    of_unit,
    percent,
    size,
)
from fabricgauge.report.sweep import P99_SAMPLES, TITLES, direction, facts, pair_curves
from fabricgauge.report.traffic import traffic


class KeyFigure(NamedTuple):
    """A figure for the head of the page: number, unit, and what exactly it is.

    ``valid`` is false when a rule found that the figures of its network mean something else.
    """

    value: str
    unit: str
    what: str
    valid: bool


class CaseRow(NamedTuple):
    """One message size of one curve; times in µs per sample.

    ``warmup`` is the number of samples over all launches that were thrown away; ``batch``
    how many operations were timed at once.
    """

    size: str
    window: int
    median: str
    interval: str
    p99: str
    p999: str
    minimum: str
    maximum: str
    rate: str
    share: str
    samples: str
    warmup: str
    batch: int
    launches: int
    stops: str


class CaseTable(NamedTuple):
    """A curve in figures."""

    network: str
    title: str
    direction: str
    sample: str
    rows: tuple[CaseRow, ...]


#: In the place of a percentile for which there are too few samples.
TOO_FEW = "–"

SAMPLE = {
    "latency": "half a round trip",
    "put_latency": "one MPI_Put with its flush",
    "bandwidth": "one window with its acknowledgement",
    "bidirectional_bandwidth": "one window in both directions with its acknowledgement",
    "put_bandwidth": "one window of MPI_Put with its flush",
    "ping_ping": "one message in each direction at once",
    "get_latency": "one MPI_Get with its completion",
    "get_bandwidth": "one window of MPI_Get with its completion",
    "accumulate_latency": "one MPI_Accumulate with its completion",
    "fetch_and_op_latency": "one MPI_Fetch_and_op with its completion",
    "compare_and_swap_latency": "one MPI_Compare_and_swap with its completion",
    "persistent_latency": "half a round trip",
    "persistent_bandwidth": "one window with its acknowledgement",
    "threads_latency": "half a round trip of each thread",
    "threads_bandwidth": "one window of all threads with its acknowledgement",
}


def key_figures(judged: Judged) -> tuple[KeyFigure, ...]:
    """Best one-way bandwidth, its share of the ceiling, smallest latency, path share.

    For a fabric of many nodes what is typical over all pairs stands in front.
    """
    return (*_of_pairs(judged), *_bandwidths(judged), *_latencies(judged), *_shares(judged))


def rows_of_sum(ceiling: Ceiling) -> list[tuple[str, str, str]]:
    """The ceiling step by step: what, how, result with its unit."""
    return [(step.label, step.expression, of_unit(step.value, step.unit)) for step in ceiling.steps]


def case_tables(judged: Judged) -> tuple[CaseTable, ...]:
    """All curves in figures."""
    return tuple(_case_table(judged, curve) for curve in pair_curves(judged))


def _of_pairs(judged: Judged) -> list[KeyFigure]:
    found = []
    for one in judged.fabric.analyses:
        unit, factor = SHOWN[one.matrix.quantity]
        what = f"{fabric_words.title(one)}: typical of {fabric_words.coverage(one)}"
        what += f"; {fabric_words.verdict(one)}"
        valid = _valid(judged, one.matrix.network)
        found.append(KeyFigure(digits(one.typical * factor), unit, what, valid))
    return found


def _bandwidths(judged: Judged) -> list[KeyFigure]:
    found = []
    for peak in one_way_peaks(judged):
        share = (
            f", {percent(peak.bandwidth.value / peak.limit_bytes_s)} of the ceiling"
            if peak.limit_bytes_s
            else ""
        )
        what = (
            f"{named(peak.curve.network)}: one direction, {direction(peak.curve)},"
            f" {size(peak.message_bytes)} messages{share}"
        )
        valid = _valid(judged, peak.curve.network)
        found.append(KeyFigure(megabytes_per_s(peak.bandwidth.value), "MB/s", what, valid))
    return found


def _latencies(judged: Judged) -> list[KeyFigure]:
    found = []
    for curve in judged.curves:
        if curve.pattern == "latency" and curve.points and not is_reference(curve.network):
            point = curve.points[0]
            what = (
                f"{named(curve.network)}: half round trip, {direction(curve)},"
                f" {size(point.message_bytes)} message"
            )
            valid = _valid(judged, curve.network)
            found.append(KeyFigure(microseconds(point.time.value), "µs", what, valid))
    return found


def _shares(judged: Judged) -> list[KeyFigure]:
    """The smallest share, over the nodes, that the pinned network's interfaces carried."""
    found = []
    for group in traffic(judged.run):
        shares = []
        for node in group.nodes:
            pinned = [one for one in node.crossings if one.pinned]
            known = [one.share for one in pinned if not isinstance(one.share, Skipped)]
            shares.append(sum(known))
        if group.network is not None and shares and not is_reference(group.network):
            what = f"of what each node sent crossed {group.network} (least over the nodes)"
            found.append(KeyFigure(percent(min(shares)).removesuffix(" %"), "%", what, True))
    return found


def _valid(judged: Judged, network: str | None) -> bool:
    return not any(
        verdict.outcome is Outcome.INVALID and verdict.network == named(network)
        for verdict in judged.verdicts
    )


def _case_table(judged: Judged, curve: Curve) -> CaseTable:
    rows = tuple(_case_row(judged, curve, point) for point in curve.points)
    title = TITLES[curve.pattern]
    return CaseTable(named(curve.network), title, direction(curve), SAMPLE[curve.pattern], rows)


def _case_row(judged: Judged, curve: Curve, point: CurvePoint) -> CaseRow:
    limit = limit_bytes_s(judged, curve.network, curve.pattern)
    known = facts(judged, curve, point.message_bytes)
    rate = point.bandwidth
    return CaseRow(
        size=size(point.message_bytes),
        window=point.window,
        median=microseconds(point.time.value),
        interval=f"{microseconds(point.time.low)} to {microseconds(point.time.high)}",
        p99=microseconds(point.p99_s) if point.time.samples >= P99_SAMPLES else TOO_FEW,
        p999=microseconds(known.p999_s) if known.p999_s is not None else TOO_FEW,
        minimum=microseconds(point.minimum_s),
        maximum=microseconds(point.maximum_s),
        rate=f"{megabytes_per_s(rate.value)} {half_width(rate)}" if rate else "",
        share=percent(rate.value / limit) if rate and limit else "",
        samples=f"{point.time.samples:,}",
        warmup=f"{known.warmup_samples:,}",
        batch=known.batch,
        launches=point.time.launches,
        stops=known.stops,
    )
