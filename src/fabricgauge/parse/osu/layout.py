"""What the words of a table's heading say about its columns."""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Literal

import msgspec

from fabricgauge.model.measurement import LATENCY_PATTERNS, Pattern
from fabricgauge.model.suite import Besides, Quantity
from fabricgauge.parse.osu.titles import FAN, OsuBenchmark
from fabricgauge.parse.table import SuiteColumn

#: No program prints half as many; a row's expression is as deep as it has columns.
MOST_COLUMNS = 48
MICROSECOND = "µs"
MEGABYTE = "MB = 10^6 bytes (OSU)"

#: What a printed column is for: its own curve, one more figure of the curve before it, …
Use = Literal[
    "size", "sent", "curve", "part", "besides", "samples", "check", "operation", "unknown"
]  # fmt: skip


class OsuColumn(msgspec.Struct, frozen=True):
    """One printed column. ``curve`` is the place of the curve that it adds to."""

    use: Use
    text: str
    curve: int = -1
    besides: Besides | None = None


class OsuLayout(msgspec.Struct, frozen=True):
    """The printed columns from left to right, and the curves that come of them."""

    slots: tuple[OsuColumn, ...]
    columns: tuple[SuiteColumn, ...]
    benchmark: OsuBenchmark

    @property
    def unknown(self) -> str:
        return ", ".join(slot.text for slot in self.slots if slot.use == "unknown")


_SPLIT = re.compile(
    r"\s*(?P<name>"
    r"P\d+(?:\.\d+)? Tail (?:Lat ?\(us\)|BW ?\(MB/s\))"
    r"|(?:(?:Avg|Min|Max) )?Latency ?\(us\)|Bandwidth ?\(MB/s\)|MB/s|Messages/s|Million ops/s"
    r"|(?:Overall|Compute|Coll\. Init|MPI_Test|MPI_Wait|Pure Comm\.|Min Comm\.|Max Comm\.) ?\(us\)"
    r"|Overlap ?\(%\)|Transmit Size|Size|Operation|Iterations|Validation"
    r"|\S+(?: \S+)*)"
)
_HEADING = re.compile(
    r"\s*#\s*(?:Size\b|Operation\s|Avg Latency|Overall\s?\(|Bandwidth \(MB/s\)|MB/s)"
)
_TAIL = re.compile(r"P(?P<percent>[\d.]+) Tail")
_PERCENTILES: dict[str, Besides] = {
    "50": "p50", "75": "p75", "90": "p90", "95": "p95", "99": "p99", "99.9": "p99.9",
    "99.99": "p99.99",
}  # fmt: skip

#: Columns that stand for themselves, with what is said of the operation.
_CURVES: dict[str, tuple[Quantity, str, float, str]] = {
    "Avg Latency": ("time", MICROSECOND, 1e-6, "{}"),
    "Latency": ("time", MICROSECOND, 1e-6, "{}"),
    "Overall": ("time", MICROSECOND, 1e-6, "{} with computation meanwhile"),
    "Pure Comm.": ("time", MICROSECOND, 1e-6, "{} alone"),
    "Bandwidth": ("bandwidth", MEGABYTE, 1e6, "{}"),
    "MB/s": ("bandwidth", MEGABYTE, 1e6, "{}"),
    "Messages/s": ("message_rate", "messages/s", 1.0, "{}"),
    "Million ops/s": ("message_rate", "10^6 operations/s", 1e6, "{}"),
    "Overlap": ("overlap", "%", 0.01, "share of {} that computation hid"),
}
#: Parts of the overall time; 0.00 is a usual value (no MPI_Test was called).
_PARTS: dict[str, str] = {
    "Compute": "computation during {}",
    "Coll. Init": "start of {}",
    "MPI_Test": "MPI_Test during {}",
    "MPI_Wait": "MPI_Wait at the end of {}",
}
_EXTREMES: dict[str, Besides] = {
    "Min Latency": "minimum", "Max Latency": "maximum",
    "Min Comm.": "minimum", "Max Comm.": "maximum",
}  # fmt: skip
_OTHERS: dict[str, Use] = {
    "Size": "size", "Transmit Size": "sent", "Operation": "operation",
    "Iterations": "samples", "Validation": "check",
}  # fmt: skip


@lru_cache(maxsize=64)
def layout_of(text: str, benchmark: OsuBenchmark) -> OsuLayout | None:
    """The layout that a heading describes; None if the line is no heading of the suite."""
    if _HEADING.match(text) is None:
        return None
    if benchmark.name == "osu_bw" and "Avg Latency" in text:
        text, benchmark = _as_bandwidths(text), FAN
    slots = list(islice(_slots_of(text), MOST_COLUMNS + 1))
    layout = _laid_out(slots, benchmark)
    return layout if layout.columns and len(slots) <= MOST_COLUMNS else None


def headless_column(benchmark: OsuBenchmark, title: str) -> SuiteColumn:
    """What the figures would have been, had the table come."""
    return _column("Bandwidth" if "Bandwidth" in title else "Latency", benchmark, first=True)


def _as_bandwidths(text: str) -> str:
    bandwidths = text.replace("Avg Latency(us)", "Bandwidth (MB/s)")
    return bandwidths.replace("Tail Lat(us)", "Tail BW(MB/s)")


def _laid_out(slots: list[OsuColumn], benchmark: OsuBenchmark) -> OsuLayout:
    columns: list[SuiteColumn] = []
    placed: list[OsuColumn] = []
    latest = 0
    for slot in slots:
        if slot.use in ("curve", "part"):
            columns.append(_column(slot.text, benchmark, first=not columns))
            latest = len(columns) - 1
        # The percentiles are those of the first figure (osu_iallreduce.c of 7.4: overall).
        of_first = _TAIL.match(slot.text) is not None
        placed.append(msgspec.structs.replace(slot, curve=0 if of_first else latest))
    return OsuLayout(tuple(placed), tuple(columns), benchmark)


def _slots_of(text: str) -> Iterator[OsuColumn]:
    return (_slot(match["name"]) for match in _split(text.lstrip().lstrip("#")))


def _split(text: str) -> Iterator["re.Match[str]"]:
    place = 0
    while match := _SPLIT.match(text, place):
        yield match
        place = match.end()


def _slot(text: str) -> OsuColumn:
    name = text.partition("(")[0].rstrip()
    if tail := _TAIL.match(text):
        percentile = _PERCENTILES.get(tail["percent"])
        return OsuColumn("besides" if percentile else "unknown", text, besides=percentile)
    if name in _EXTREMES:
        return OsuColumn("besides", text, besides=_EXTREMES[name])
    if name in _CURVES or name in _PARTS:
        return OsuColumn("curve" if name in _CURVES else "part", name)
    return OsuColumn(_OTHERS.get(name, "unknown"), text)


def _column(name: str, benchmark: OsuBenchmark, first: bool) -> SuiteColumn:
    if name in _PARTS:
        what = _PARTS[name].format(benchmark.what)
        return SuiteColumn("time", what, "mean", MICROSECOND, 1e-6)
    quantity, rule, factor, what = _CURVES[name]
    return SuiteColumn(
        quantity, what.format(benchmark.what), "mean", rule, factor,
        pattern=_pattern(quantity, benchmark) if first or quantity == "message_rate" else None,
        directions=benchmark.directions,
    )  # fmt: skip


def _pattern(quantity: Quantity, benchmark: OsuBenchmark) -> Pattern | None:
    """A latency is a pattern's of times only, a stream one's of bandwidths and rates."""
    is_time = benchmark.pattern in LATENCY_PATTERNS
    fits = quantity == "time" if is_time else quantity in ("bandwidth", "message_rate")
    return benchmark.pattern if fits else None
