"""mpiGraph's output: settings, progress, and two tables of all pairs with tabs between.

After mpiGraph.c 1.5. A row of many ranks may be handed on in several pieces, since longer
lines are cut: the last figure of a piece and the first of the next are one.
"""

import re
from collections.abc import Iterable

from fabricgauge.model.suite import SuiteCurve
from fabricgauge.parse.interface import Line, Report
from fabricgauge.parse.lines import LONGEST_BYTES
from fabricgauge.parse.mpigraph.part import Part
from fabricgauge.parse.table import Heading

BEGINS = r"^START mpiGraph\b"
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
    """Keeps a summary of the table that is being read, and the ranks' names."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._start: Line | None = None
        self._clear()

    def _clear(self) -> None:
        self._version = ""
        self._numbers: dict[str, int] = {}
        self._summaries: dict[str, str] = {}
        self._part: Part | None = None
        self._told = 0
        self._rank = 0
        self._peer = 0
        self._open_cell: str | None = None
        self._in_header = False

    def line(self, line: Line) -> Iterable[SuiteCurve]:
        text = line.text
        start, header, row = _START.match(text), _HEADER.match(text), _ROW.match(text)
        if start:
            yield from self.end()
            self._start, self._version = line, start["version"] or ""
        elif header:
            yield from self._close("")
            self._begin(line, header)
        elif row and self._part is not None:
            self._begin_row(line, row, self._part)
        elif text.startswith("END mpiGraph"):
            yield from self._close("")
            if not self._told:
                self._report(line, "two tables in front of the end of mpiGraph")
            self._start = None
            self._clear()
        elif self._setting(text):
            return
        elif self._open_cell is not None and self._part is not None and "\t" in text:
            self._cells(line, self._open_cell + text, self._part)
        elif not _REMARK.match(text):
            self._report(line, "a setting or a row of mpiGraph")

    def end(self) -> Iterable[SuiteCurve]:
        if self._start is not None:
            yield from self._close("ends without the line 'END mpiGraph'")
            if not self._told:
                yield from Part("Send", self._start, self._numbers.get("MsgSize")).curves(
                    self._heading(self._start), {}, "ends before the first table"
                )
        self._start = None
        self._clear()

    def _setting(self, text: str) -> bool:
        setting, summary = _SETTING.match(text), _SUMMARY.match(text)
        if setting:
            self._numbers[setting["name"]] = int(setting["value"])
        elif summary:
            self._summaries[summary["name"]] = f"{summary['value']} MiB/s"
        return bool(setting or summary)

    def _begin(self, line: Line, match: "re.Match[str]") -> None:
        part = self._part = Part(match["name"], line, self._numbers.get("MsgSize"))
        self._in_header = True
        self._cells(line, line.text[match.end() :], part)

    def _begin_row(self, line: Line, match: "re.Match[str]", part: Part) -> None:
        self._in_header = False
        self._rank, self._peer = int(match["rank"]), 0
        part.rows += 1
        self._cells(line, line.text[match.end() :], part)

    def _cells(self, line: Line, text: str, part: Part) -> None:
        """Each cell ends with a tab; behind the last one is what the next piece goes on with."""
        *cells, rest = text.split("\t")
        for cell in cells:
            if self._in_header:
                self._named(part, cell)
            elif cell.strip():
                part.row(line, self._rank, self._peer, cell.strip())
            self._peer += not self._in_header
        self._open_cell = rest if len(line.text) > _LONG else None

    def _named(self, part: Part, cell: str) -> None:
        if len(part.hosts) < MOST_RANKS:
            part.hosts.append(cell.strip())

    def _close(self, cut_off: str) -> Iterable[SuiteCurve]:
        part, self._part = self._part, None
        self._open_cell = None
        if part is None or self._start is None:
            return
        self._told += 1
        ranks = self._numbers.get("Procs", len(part.hosts))
        if part.rows < ranks:
            cut_off = f"the {part.name} table has {part.rows} of {ranks} rows"
        elif part.name == "Recv" and self._peer < ranks:
            cut_off = f"the last row of the {part.name} table has {self._peer} of {ranks} figures"
        yield from part.curves(
            self._heading(self._start, part.hosts), self._settings(part), cut_off
        )

    def _settings(self, part: Part) -> dict[str, str]:
        counts = {name: str(self._numbers[key]) for name, key in _COUNTS if key in self._numbers}
        return counts | {
            f"its own {name[5:]}": value
            for name, value in self._summaries.items()
            if name.startswith(part.name)
        }

    def _heading(self, line: Line, names: "list[str] | None" = None) -> Heading:
        hosts = [name.rpartition(":")[0] for name in names or []]
        return Heading(
            "mpigraph", self._version, "mpiGraph", line.text.strip(), line.number,
            ranks=self._numbers.get("Procs"), hosts=tuple(hosts),
        )  # fmt: skip


_COUNTS = (("window", "Window"), ("iterations", "Times"))
