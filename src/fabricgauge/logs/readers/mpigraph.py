"""Read mpiGraph (LLNL): bandwidth between all pairs of ranks, one summary for each table.

The output, after mpiGraph.c 1.5: settings, progress, and two tables of all pairs with tabs between.
Of each table's very many figures, order statistics are kept in bounded memory. A row of many ranks
may be handed on in several pieces, since longer lines are cut: the last figure of a piece and the
first of the next are one.
"""

import math
import re
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate

import msgspec

from fabricgauge.logs.readers.interface import Dialect, LogLine, Report
from fabricgauge.logs.readers.lines import LONGEST_BYTES, figure_of
from fabricgauge.logs.readers.table import SuiteColumn, SuiteHeading, SuiteTable
from fabricgauge.model.suite import Besides, LogEvidence, RankPairs, SuiteCurve
from fabricgauge.model.words.figures import percent

#: Up to this many figures are kept as they are: a table of 1024 ranks has that many.
MOST_EXACT = 1 << 20
#: Beyond them a figure counts as the middle of its class, which is this much wide.
RESOLUTION = 0.001


class Spread:
    """Positive figures; quantiles are exact up to ``MOST_EXACT`` of them."""

    def __init__(self) -> None:
        self.count = 0
        self._exact = array("d")
        self._classes = Counter[int]()

    @property
    def is_exact(self) -> bool:
        return self.count == len(self._exact)

    def add(self, figures: Sequence[float]) -> None:
        """Take figures, which must be finite and above zero."""
        exact = max(0, MOST_EXACT - len(self._exact))
        self.count += len(figures)
        self._exact.extend(figures[:exact])
        more = (math.floor(math.log(figure) / RESOLUTION) for figure in figures[exact:])
        self._classes.update(more)

    def quantiles(self, shares: tuple[float, ...]) -> list[float]:
        """Return the value at each share, linear between neighbours as a median is.

        There must be a figure.
        """
        times = Counter(self._exact)
        times.update({math.exp((at + 0.5) * RESOLUTION): n for at, n in self._classes.items()})
        figures = sorted(times)
        ends = [*accumulate(map(times.__getitem__, figures))]
        quantiles: list[float] = []
        for share in shares:
            part, place = math.modf(share * (self.count - 1))
            last = min(place + 1, self.count - 1)
            lower, upper = (figures[bisect_right(ends, position)] for position in (place, last))
            quantiles.append(lower + part * (upper - lower))
        return quantiles


#: Tables of more ranks give their quantiles alone; so do those beyond so many pairs of a file.
MOST_IN_MATRIX, MOST_PAIRS = 1024, 1 << 21

_UNIT_RULE = "MB = 2^20 bytes (mpiGraph)"
_MB = 2.0**20
_BESIDES: tuple[Besides, ...] = ("minimum", "maximum", "p75", "p90", "p95", "p99")
_WHAT = (
    "bandwidth {} each peer while every rank sends to one and receives from another, "
    "median over all pairs"
)


class PairTable:
    """A table ``Send`` or ``Recv`` by ``name``; a row is one rank's figures for all its peers."""

    def __init__(self, name: str, line: LogLine, message_bytes: int | None, ranks: int = 0) -> None:
        self.name = name
        # The table Recv has the same messages, as the receivers time them.
        self._ranks = ranks if ranks <= MOST_IN_MATRIX and name == "Send" else 0
        #: Bytes/s from each rank to each rank, row by row, as far as rows follow each other.
        self._matrix = array("d")
        self.hosts: list[str] = []
        self.rows = 0
        self._line = line
        self._last = line
        self._bytes = message_bytes
        self._spread = Spread()
        self._least = (math.inf, "")
        self._most = (-math.inf, "")
        self._bad: list[tuple[LogLine, str]] = []

    def row(self, line: LogLine, rank: int, peer: int, cells: Sequence[str]) -> None:
        """Add figures for the peers from ``peer`` on.

        Blanks are no figures; a rank has zero for itself.
        """
        self._last = line if any(cells) else self._last
        try:
            values = [*map(float, cells)]
        except ValueError:
            values = [*map(figure_of, cells)]
        figures = [value for value in values if 0 < value < math.inf]
        if rank < self._ranks and rank * self._ranks + peer == len(self._matrix):
            row = values[: self._ranks - peer]
            self._matrix.extend(value * _MB if 0 < value < math.inf else 0.0 for value in row)
        if len(figures) < len(values):
            for at, (cell, value) in enumerate(zip(cells, values, strict=True), peer):
                if cell and not (0 < value < math.inf or (value == 0 and at == rank)):
                    self._bad.append((line, f"{self.pair(rank, at)}: {cell}"))
            del self._bad[10_000:]
        self._spread.add(figures)
        least, most = min(figures, default=math.inf), max(figures, default=-math.inf)
        if least < self._least[0]:
            self._least = least, self.pair(rank, peer + values.index(least))
        if most > self._most[0]:
            self._most = most, self.pair(rank, peer + values.index(most))

    @property
    def pairs(self) -> int:
        """Return how many pairs the matrix has: 0 unless it is whole."""
        is_whole = len(self._matrix) == self._ranks**2 and self.rows == self._ranks
        return len(self._matrix) if is_whole else 0

    def pair(self, rank: int, peer: int) -> str:
        """Return the pair in the direction in which the bytes moved."""
        ends = (peer, rank) if self.name == "Recv" else (rank, peer)
        return " to ".join(
            self.hosts[end] if end < len(self.hosts) else f"rank {end}" for end in ends
        )

    def curves(
        self, heading: SuiteHeading, settings: dict[str, str], cut_off: str, most_pairs: int
    ) -> tuple[SuiteCurve, ...]:
        """Return one curve with one point: the median pair, with quantiles and extremes.

        A whole matrix of at most ``most_pairs`` stands beside it.
        """
        settings, spread = settings | {"part": self.name}, self._spread
        median, besides = math.nan, dict[Besides, float]()
        if spread.count:
            low, median, *high = spread.quantiles((0.01, 0.5, 0.75, 0.9, 0.95, 0.99))
            for extreme, (value, pair) in (("slowest", self._least), ("fastest", self._most)):
                share = f"{percent(value / median)} of the median"
                settings[f"{extreme} pair"] = f"{pair}: {value:.6g} MiB/s ({share})"
            settings["slowest hundredth"] = f"below {low:.6g} MiB/s"
            ends = (self._least[0], self._most[0])
            besides = dict(zip(_BESIDES, (*ends, *high), strict=True))
        if not spread.is_exact:
            settings["quantiles"] = f"within {percent(RESOLUTION)}"
        evidence = heading.evidence
        if 0 < self.pairs <= most_pairs:
            pairs = RankPairs(self._ranks, tuple(self._matrix), at_once=True)
            evidence = msgspec.structs.replace(evidence, rank_pairs=pairs)
        heading = msgspec.structs.replace(
            heading, first_line=self._line.number, settings=settings, evidence=evidence
        )
        meaning = _WHAT.format("to" if self.name == "Send" else "from")
        table = SuiteTable(heading, [SuiteColumn("bandwidth", meaning, "median", _UNIT_RULE, _MB)])
        for line, text in self._bad:
            table.failed(LogLine(line.number, text), self._bytes, "not a number")
        if spread.count:
            table.row(self._last, self._bytes, [median], [besides], spread.count)
        return table.curves(cut_off)


BEGINS = {"START mpiGraph": r"^START mpiGraph\b"}
#: A line as long as this may have been cut into pieces.
_LONG = LONGEST_BYTES // 2
#: Names of more ranks are not kept.
MOST_RANKS = 1 << 17

_START = re.compile(r"^START mpiGraph(?: v(?P<version>\S+))?")
_SETTING = re.compile(r"^(?P<name>MsgSize|Times|Window|Procs)\t(?P<value>\d{1,15})\s*$")
_SUMMARY = re.compile(r"^(?P<name>(?:Send|Recv) (?:max|avg))\t(?P<value>\S+)\s*$")
_HEADER = re.compile(r"^(?P<name>Send|Recv)\t")
_ROW = re.compile(r"^(?P<host>[^\t]*):(?P<rank>\d{1,9}) (?P<way>to|from)\t")
_REMARK = re.compile(r"^\s*$|^\d+ of \d+ \([\d.]+%\)|^Gathering results")


class MpiGraphReader:
    def __init__(self, report: Report) -> None:
        self._report = report
        self._pairs_left = MOST_PAIRS
        self._clear()

    def _clear(self) -> None:
        self._start: LogLine | None = None
        self._version = ""
        self._numbers: dict[str, int] = {}
        self._summaries: dict[str, str] = {}
        self._part: PairTable | None = None
        self._tables = 0
        self._rank = 0
        self._peer = 0
        self._open_cell: str | None = None
        self._in_header = False

    def line(self, line: LogLine) -> Iterable[SuiteCurve]:
        text = line.text
        if start := _START.match(text):
            yield from self.end()
            self._start, self._version = line, start["version"] or ""
        elif header := _HEADER.match(text):
            yield from self._close("")
            numbers = (self._numbers.get("MsgSize"), self._numbers.get("Procs", 0))
            part = self._part = PairTable(header["name"], line, *numbers)
            self._in_header = True
            self._cells(line, text[header.end() :], part)
        elif self._part is not None and (row := _ROW.match(text)):
            self._in_header = False
            self._rank, self._peer = int(row["rank"]), 0
            self._part.rows += 1
            self._cells(line, text[row.end() :], self._part)
        elif text.startswith("END mpiGraph"):
            yield from self._close("")
            if not self._tables:
                self._report(line, "two tables in front of the end of mpiGraph")
            self._clear()
        elif setting := _SETTING.match(text):
            self._numbers[setting["name"]] = int(setting["value"])
        elif summary := _SUMMARY.match(text):
            self._summaries[summary["name"]] = f"{summary['value']} MiB/s"
        elif self._open_cell is not None and self._part is not None and "\t" in text:
            self._cells(line, self._open_cell + text, self._part)
        elif not _REMARK.match(text):
            self._report(line, "a setting or a row of mpiGraph")

    def end(self) -> Iterable[SuiteCurve]:
        if self._start is not None:
            yield from self._close("ends without the line 'END mpiGraph'")
            if not self._tables:
                nothing = PairTable("Send", self._start, self._numbers.get("MsgSize"))
                heading = self._heading(self._start, [])
                yield from nothing.curves(heading, {}, "ends before the first table", 0)
        self._clear()

    def _cells(self, line: LogLine, text: str, part: PairTable) -> None:
        """Take cells. Each ends with a tab; an open last one continues in the next piece."""
        *cells, remainder = text.split("\t")
        if remainder.strip() and line.ended and len(line.text) <= _LONG:
            cells.append(remainder.split()[0])  # an editor took the last tab
        cells = [*map(str.strip, cells)]
        if self._in_header:
            part.hosts += cells[: max(0, MOST_RANKS - len(part.hosts))]
        else:
            part.row(line, self._rank, self._peer, cells)
            self._peer += len(cells)
        self._open_cell = remainder if len(line.text) > _LONG else None

    def _close(self, cut_off: str) -> Iterable[SuiteCurve]:
        part, self._part = self._part, None
        self._open_cell = None
        if part is None or self._start is None:
            return
        self._tables += 1
        ranks = self._numbers.get("Procs", len(part.hosts))
        if part.rows < ranks:
            cut_off = f"the {part.name} table has {part.rows} of {ranks} rows"
        elif part.name == "Recv" and self._peer < ranks:
            cut_off = f"the last row of the {part.name} table has {self._peer} of {ranks} figures"
        counts = (("window", "Window"), ("iterations", "Times"))
        settings = {name: str(self._numbers[key]) for name, key in counts if key in self._numbers}
        summary_names = (name for name in self._summaries if name.startswith(part.name))
        settings |= {f"its own {name[5:]}": self._summaries[name] for name in summary_names}
        heading = self._heading(self._start, part.hosts)
        yield from part.curves(heading, settings, cut_off, self._pairs_left)
        self._pairs_left = max(0, self._pairs_left - part.pairs)

    def _heading(self, line: LogLine, names: list[str]) -> SuiteHeading:
        hosts = tuple(name.rpartition(":")[0] for name in names)
        return SuiteHeading(
            "mpigraph", self._version, "mpiGraph", line.text.strip(), line.number,
            ranks=self._numbers.get("Procs"), hosts=hosts,
            evidence=LogEvidence(rank_hosts=hosts if len(hosts) > 1 else ()),
        )  # fmt: skip


DIALECT = Dialect("mpigraph", BEGINS, MpiGraphReader, tabs=True)
