"""Read a table of OSU: the columns that its heading names, and its rows.

Rows are a message size and its figures, or figures alone. The suite prints nothing at a table's
end: only sizes, or a last line without its end, show that a table was cut off.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice
from operator import lt

import msgspec

from fabricgauge.logs.readers.interface import LogLine
from fabricgauge.logs.readers.lines import decimals
from fabricgauge.logs.readers.osu.titles import FAN, OsuBenchmark
from fabricgauge.logs.readers.rows import RowForm, Rows
from fabricgauge.logs.readers.table import ColumnUse, SuiteColumn, SuiteHeading, SuiteTable, Use
from fabricgauge.model.pattern import LATENCY_PATTERNS
from fabricgauge.model.suite import Besides, Quantity, SuiteCurve

#: No program prints half as many; a row's expression is as deep as it has columns.
MOST_COLUMNS = 48
MICROSECOND = "µs"
MEGABYTE = "MB = 10^6 bytes (OSU)"


class OsuLayout(msgspec.Struct, frozen=True):
    """The printed columns from left to right, and their curves.

    If ``of_operations``, each row is another operation; ``unknown`` are the printed names of
    unknown columns. A row has ``needed`` words up to its last figure.
    """

    form: RowForm
    columns: tuple[SuiteColumn, ...]
    benchmark: OsuBenchmark
    of_operations: bool = False
    unknown: str = ""

    @property
    def is_sized(self) -> bool:
        return self.form.cells[0].use == "size"

    @property
    def is_checked(self) -> bool:
        return any(cell.use == "check" for cell in self.form.cells)

    @property
    def needed(self) -> int:
        places = (n for n, cell in enumerate(self.form.cells, 1) if cell.use in ("figure", "part"))
        return max(places, default=0)


_SPLIT = re.compile(
    r"\s*(?P<name>"
    r"P\d+(?:\.\d+)? Tail (?:Lat ?\(us\)|BW ?\(MB/s\))"
    r"|(?:(?:Avg|Min|Max) )?Latency ?\(us\)|(?:Bi-)?Bandwidth ?\(MB/s\)|MB/s|Messages/s"
    r"|Million ops/s"
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

#: Columns with a curve of their own, and the wording for their operation.
_CURVES: dict[str, tuple[Quantity, str, float, str]] = {
    "Avg Latency": ("time", MICROSECOND, 1e-6, "{}"),
    "Latency": ("time", MICROSECOND, 1e-6, "{}"),
    "Overall": ("time", MICROSECOND, 1e-6, "{} with computation meanwhile"),
    "Pure Comm.": ("time", MICROSECOND, 1e-6, "{} alone"),
    "Bandwidth": ("bandwidth", MEGABYTE, 1e6, "{}"),
    "Bi-Bandwidth": ("bandwidth", MEGABYTE, 1e6, "{}"),
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
    """Return the layout that a heading describes; None if the line is no heading of the suite."""
    if _HEADING.match(text) is None:
        return None
    if benchmark.name == "osu_bw" and "Avg Latency" in text:
        text, benchmark = text.replace("Avg Latency(us)", "Bandwidth (MB/s)"), FAN
        text = text.replace("Tail Lat(us)", "Tail BW(MB/s)")
    matches = islice(_SPLIT.finditer(text.lstrip().lstrip("#")), MOST_COLUMNS + 1)
    names = [match["name"] for match in matches]
    columns: list[SuiteColumn] = []
    cells: list[ColumnUse] = []
    unknown: list[str] = []
    for text in names:
        name = text.partition("(")[0].rstrip()
        tail = _TAIL.match(text)
        percentile = _PERCENTILES.get(tail["percent"]) if tail else None
        if percentile is not None:
            # The percentiles are those of the first figure (osu_iallreduce.c of 7.4: overall).
            cells.append(ColumnUse("besides", 0, percentile))
        elif name in _EXTREMES:
            cells.append(ColumnUse("besides", max(0, len(columns) - 1), _EXTREMES[name]))
        elif name in _CURVES or name in _PARTS:
            cells.append(ColumnUse("figure" if name in _CURVES else "part", len(columns)))
            columns.append(column_of(name, benchmark, first=not columns))
        else:
            cells.append(ColumnUse(_OTHERS.get(name, "skipped")))
            unknown += [] if name in (*_OTHERS, _OPERATION) else [text]
    if not columns or len(names) > MOST_COLUMNS:
        return None
    of_operations = names[0].startswith(_OPERATION)
    form = RowForm(cells)
    return OsuLayout(form, tuple(columns), benchmark, of_operations, ", ".join(unknown))


@lru_cache(maxsize=64)
def windows_of(text: str, benchmark: OsuBenchmark, rates: bool) -> OsuLayout | None:
    """Return the layout of osu_mbw_mr's matrix (``-V``): a row per size, a column per window.

    ``rates`` is true for the matrix of messages per second.
    """
    sign, *windows = text.split()
    is_matrix = sign[0] == "#" and 0 < len(windows) < MOST_COLUMNS
    if not (is_matrix and all(map(str.isdecimal, windows))):
        return None
    column = column_of("Messages/s" if rates else "MB/s", benchmark, first=True)
    column = msgspec.structs.replace(column, pattern=None if rates else column.pattern)
    columns = [msgspec.structs.replace(column, settings={"window": window}) for window in windows]
    cells = [ColumnUse("size"), *(ColumnUse("figure", place) for place in range(len(windows)))]
    return OsuLayout(RowForm(cells), tuple(columns), benchmark)


def column_of(name: str, benchmark: OsuBenchmark, first: bool) -> SuiteColumn:
    """Return a printed column; latencies have a pattern of times, streams of other quantities."""
    if name in _PARTS:
        meaning = _PARTS[name].format(benchmark.what)
        return SuiteColumn("time", meaning, "mean", MICROSECOND, 1e-6)
    quantity, rule, factor, meaning = _CURVES[name]
    of_times = benchmark.pattern in LATENCY_PATTERNS
    fits = quantity == "time" if of_times else quantity in ("bandwidth", "message_rate")
    return SuiteColumn(
        quantity, meaning.format(benchmark.what), "mean", rule, factor,
        pattern=benchmark.pattern if fits and (first or quantity == "message_rate") else None,
        directions=benchmark.directions,
    )  # fmt: skip


#: Instead of a message size: there is none, or none yet.
NO_SIZE = -1


class OsuTable:
    """Rows under one heading. ``until`` is the last size of the table before it in the same run.

    A row may be shorter than the heading: some programs announce columns that they do not print.
    Only a line without its end can be cut off, even in the middle of a number.
    """

    def __init__(self, heading: SuiteHeading, layout: OsuLayout, until: int) -> None:
        self._table = SuiteTable(heading, layout.columns)
        self._layout = layout
        self._until = until
        self._first: Sequence[str] = ()
        self._sign = ""
        self._wrong = False
        self.last_bytes = NO_SIZE

    def rows(self, number: int, text: str, place: int) -> int:
        form = self._layout.form
        rows = form.plain(number, text, place)
        count = self._belonging(rows) if rows else 0
        if rows is not None and 0 < count < rows.count:
            rows = form.plain(number, "".join(rows.text.splitlines(keepends=True)[:count]))
        if rows is None or not count:
            return place
        self._table.printed(form.cells, number, rows.text, rows.columns)
        return place + len(rows.text)

    def take(self, line: LogLine) -> bool:
        """Take any row; return False for another line. A row that lacks words keeps its figures."""
        row = self._layout.form.odd(line)
        # A matrix's heading may go on in a second line, which has numbers, but no figure.
        is_heading_end = row and 1 < len(row.words) < self._layout.needed and "." not in line.text
        if row is None or (is_heading_end and line.ended) or not self._belonging(row):
            return False
        words, columns = row.words, row.columns
        cut = not line.ended and self._is_cut(words)
        if cut:
            self._sign = f"line {line.number} ends in the middle of its row"
            columns = columns[:-1]
        if cut or len(words) < self._layout.needed:
            has_size = self._layout.is_sized and (line.ended or len(words) > 1)
            size = int(words[0]) if has_size else None
            self._table.failed(line, size, "cut off" if cut else "other")
        if columns:
            self._table.printed(self._layout.form.cells, line.number, line.text, columns)
        return True

    def begins_again(self, line: LogLine) -> bool:
        """Check for a whole row of a size that the table has passed: another run's row."""
        row = self._layout.form.odd(line) if self._layout.is_sized else None
        if row is None or not (line.ended or self._first) or len(row.words) < self._layout.needed:
            return False
        is_whole = line.ended or not self._is_cut(row.words)
        return bool(is_whole and row.columns[0][0] <= self.last_bytes)

    def anew(self, line: LogLine) -> "OsuTable":
        """Return a table of the same heading, from this line on."""
        heading = msgspec.structs.replace(self._table.heading, first_line=line.number)
        return OsuTable(heading, self._layout, NO_SIZE)

    def corrupt(self, line: LogLine, message_bytes: int | None) -> None:
        """Take the suite's report of wrong data, after which it stops.

        The row itself has at most Fail; one failure per size is enough.
        """
        if not self._wrong or message_bytes not in (None, self.last_bytes):
            self._table.failed(line, message_bytes, "corrupt")
        self._sign = "the suite stopped because it found wrong data"

    def close(self, ended: bool = False) -> Iterable[SuiteCurve]:
        """Return the curves; if ``ended``, the same program went on to its next table."""
        return self._table.curves(self._sign or ("" if ended else self._sign_of_end()))

    def _belonging(self, rows: Rows) -> int:
        """Count this table's rows: up to one that does not grow; without sizes the first one."""
        count = 0 if self._first else 1
        if self._layout.is_sized:
            sizes = [self.last_bytes, *rows.columns[0]]
            grows = [*map(lt, sizes, rows.columns[0])]
            count = grows.index(False) if False in grows else rows.count
            self.last_bytes = sizes[count]
        if count:
            width = len(rows.columns)
            self._first = self._first or rows.words[:width]
            self._wrong = "Fail" in rows.words[-width:]
        return count

    def _is_cut(self, words: Sequence[str]) -> bool:
        """Check whether a row has less than the first one, in words or behind the point.

        Each row has the same number of digits there.
        """
        same_column = self._first[min(len(self._first), len(words)) - 1]
        has_all_words = len(words) >= max(self._layout.needed, len(self._first))
        return not has_all_words or decimals(words[-1]) < decimals(same_column)

    def _sign_of_end(self) -> str:
        """Return the sign that the table was cut off, empty if there is none.

        All tables of a run reach the last size of the first, which is compared with a default
        run's. A run with fewer sizes looks the same as one that was cut off: the sign states both.
        """
        if not self._first:
            return "no row follows the heading"
        last, until = self.last_bytes, self._until
        expected_bytes = self._layout.benchmark.last_bytes if until == NO_SIZE else until
        if expected_bytes is None or last == NO_SIZE or last >= expected_bytes:
            return ""
        end = f"ends at {last} bytes, where"
        if until != NO_SIZE:
            return f"{end} the table before it goes on to {until}"
        default = f"the suite's default goes on to {expected_bytes}"
        return f"{end} {default}: cut off, or run with a smaller maximum"
