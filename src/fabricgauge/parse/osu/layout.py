"""What the words of a table's heading say about its columns."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice

import msgspec

from fabricgauge.model.measurement import LATENCY_PATTERNS, Pattern
from fabricgauge.model.suite import Besides, Quantity
from fabricgauge.parse.osu.titles import FAN, OsuBenchmark
from fabricgauge.parse.rows import RowForm
from fabricgauge.parse.table import ColumnUse, SuiteColumn, Use

#: No program prints half as many; a row's expression is as deep as it has columns.
MOST_COLUMNS = 48
MICROSECOND = "µs"
MEGABYTE = "MB = 10^6 bytes (OSU)"


class OsuLayout(msgspec.Struct, frozen=True):
    """The printed columns from left to right, and the curves that come of them.

    ``of_operations`` tells that each row is another operation; ``unknown`` are the printed names
    of columns that nothing is known of. ``needed`` words a row has up to its last figure.
    """

    form: RowForm
    columns: tuple[SuiteColumn, ...]
    benchmark: OsuBenchmark
    of_operations: bool
    unknown: str

    is_sized: bool
    is_checked: bool
    needed: int


_SPLIT = re.compile(
    r"\s*(?P<name>"
    r"P\d+(?:\.\d+)? Tail (?:Lat ?\(us\)|BW ?\(MB/s\))"
    r"|(?:(?:Avg|Min|Max) )?Latency ?\(us\)|Bandwidth ?\(MB/s\)|MB/s|Messages/s|Million ops/s"
    r"|(?:Overall|Compute|Coll\. Init|MPI_Test|MPI_Wait|Pure Comm\.|Min Comm\.|Max Comm\.) ?\(us\)"
    r"|Overlap ?\(%\)|Transmit Size|Size|Operation|Iterations|Validation"
    r"|\S+(?: \S+)*)"
)
#: osu_ibarrier of 5.x prints its heading without ``#``.
_HEADING = re.compile(
    r"\s*#\s*(?:Size\b|Operation\s|Avg Latency|Overall\s?\(|Bandwidth \(MB/s\)|MB/s)"
    r"|\s+Overall\s?\(us\)\s"
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
    "Size": "size", "Transmit Size": "size", "Iterations": "samples", "Validation": "check",
}  # fmt: skip
_OPERATION = "Operation"


@lru_cache(maxsize=64)
def layout_of(text: str, benchmark: OsuBenchmark) -> OsuLayout | None:
    """The layout that a heading describes; None if the line is no heading of the suite."""
    if _HEADING.match(text) is None:
        return None
    if benchmark.name == "osu_bw" and "Avg Latency" in text:
        text, benchmark = _as_bandwidths(text), FAN
    names = list(islice(_names_in(text), MOST_COLUMNS + 1))
    layout = _laid_out(names, benchmark)
    return layout if layout.columns and len(names) <= MOST_COLUMNS else None


def headless_column(benchmark: OsuBenchmark, title: str) -> SuiteColumn:
    """What the figures would have been, had the table come."""
    return _column("Bandwidth" if "Bandwidth" in title else "Latency", benchmark, first=True)


def _as_bandwidths(text: str) -> str:
    bandwidths = text.replace("Avg Latency(us)", "Bandwidth (MB/s)")
    return bandwidths.replace("Tail Lat(us)", "Tail BW(MB/s)")


def _laid_out(names: list[str], benchmark: OsuBenchmark) -> OsuLayout:
    columns: list[SuiteColumn] = []
    cells: list[ColumnUse] = []
    unknown: list[str] = []
    for text in names:
        name = text.partition("(")[0].rstrip()
        latest = max(0, len(columns) - 1)
        tail = _TAIL.match(text)
        percentile = _PERCENTILES.get(tail["percent"]) if tail else None
        if percentile is not None:
            # The percentiles are those of the first figure (osu_iallreduce.c of 7.4: overall).
            cells.append(ColumnUse("besides", 0, percentile))
        elif name in _EXTREMES:
            cells.append(ColumnUse("besides", latest, _EXTREMES[name]))
        elif name in _CURVES or name in _PARTS:
            cells.append(ColumnUse("figure" if name in _CURVES else "part", len(columns)))
            columns.append(_column(name, benchmark, first=not columns))
        else:
            cells.append(ColumnUse(_OTHERS.get(name, "skipped")))
            unknown += [] if name in (*_OTHERS, _OPERATION) else [text]
    of_operations = names[0].startswith(_OPERATION)
    return _layout(cells, columns, benchmark, of_operations, ", ".join(unknown))


def _layout(
    cells: Sequence[ColumnUse],
    columns: Sequence[SuiteColumn],
    benchmark: OsuBenchmark,
    of_operations: bool = False,
    unknown: str = "",
) -> OsuLayout:
    uses = [cell.use for cell in cells]
    needed = max((n for n, use in enumerate(uses, 1) if use in ("figure", "part")), default=0)
    return OsuLayout(
        RowForm(cells), tuple(columns), benchmark, of_operations, unknown,
        uses[0] == "size", "check" in uses, needed,
    )  # fmt: skip


@lru_cache(maxsize=64)
def windows_of(text: str, benchmark: OsuBenchmark, rates: bool) -> OsuLayout | None:
    """The layout of a matrix of osu_mbw_mr (``-V``): a row per message size, a column per window.

    ``rates`` tells that it is the one of messages per second.
    """
    sign, *windows = text.split()
    if (
        sign[0] != "#"
        or not 0 < len(windows) < MOST_COLUMNS
        or not all(map(str.isdecimal, windows))
    ):
        return None
    column = _column("Messages/s" if rates else "MB/s", benchmark, first=True)
    pattern = None if rates else column.pattern
    columns = [
        msgspec.structs.replace(column, pattern=pattern, settings={"window": window})
        for window in windows
    ]
    cells = [ColumnUse("size"), *(ColumnUse("figure", place) for place in range(len(windows)))]
    return _layout(cells, columns, benchmark)


def _names_in(text: str) -> Iterator[str]:
    text, place = text.lstrip().lstrip("#"), 0
    while match := _SPLIT.match(text, place):
        yield match["name"]
        place = match.end()


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
