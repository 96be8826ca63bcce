"""Read IMB's message rates side by side, as slides and spreadsheets show them.

A title names the benchmark (``1ppn IMB-MPI1 Uniband, OpenMPI``). A headline follows with one
``mrate`` column per provider and perhaps their difference (``opx/psm2 (%)``), then one row per
message size, with tabs or spaces between.
"""

import re
from collections.abc import Iterable, Sequence

import msgspec

from fabricgauge.logs.readers.imb.benchmarks import meaning_of
from fabricgauge.logs.readers.interface import FOREIGN, Dialect, LogLine, Report
from fabricgauge.logs.readers.lines import decimals
from fabricgauge.logs.readers.table import SuiteColumn, SuiteHeading, SuiteTable
from fabricgauge.model.suite import SuiteCurve

_BEGINS = {"ppn IMB-MPI1 ": r"^\s*\d{1,6} ?ppn IMB-MPI1 (?:Uniband|Biband)\b"}
_TITLE = re.compile(
    r"\s*(?P<ppn>\d{1,6}) ?ppn IMB-MPI1 (?P<name>Uniband|Biband)\b(?:\s*,\s*(?P<mpi>[^,\t]{1,80}))?"
)
#: A provider's rates, or by how many per cent one's rate is above another's.
_CELL = re.compile(
    r"(?P<provider>[\w.+-]{1,40}) mrate|(?P<of>[\w.+-]{1,40})/(?P<to>[\w.+-]{1,40}) \(%\)"
)
_ROW = re.compile(r"\s*\d{1,18}(?:[ \t]+-?\d{1,18}(?:\.\d{1,9})?%?){1,16}\s*", re.ASCII)
#: No slide shows more columns.
_MOST_COLUMNS = 16


class MrateReader:
    """Keeps the title and the columns: tables of rates, and the places of rates that differ."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._title: SuiteHeading | None = None
        self._columns: list[SuiteTable | tuple[int, ...] | None] = []

    def line(self, line: LogLine) -> Iterable[SuiteCurve]:
        if match := _TITLE.match(line.text):
            curves = self.end()
            self._title = _heading(line, match)
            return curves
        if self._columns and _ROW.fullmatch(line.text) and self._row(line, line.text.split()):
            return ()
        if not line.text.strip():
            return self.end() if self._columns else ()
        if self._columns or self._title is None or not self._open(line, self._title):
            self._report(line, FOREIGN)
        return ()

    def end(self) -> Iterable[SuiteCurve]:
        columns, self._columns, self._title = self._columns, [], None
        tables = [column for column in columns if isinstance(column, SuiteTable)]
        return [
            curve
            for table in tables
            for curve in table.curves("" if table.rows else "no row follows the headline")
        ]

    def _open(self, line: LogLine, title: SuiteHeading) -> bool:
        """Check whether the line is a headline; its columns are in the order of the rows."""
        # Cells end at tabs or wide gaps; where only single spaces are left, their form shows them.
        cells = [cell for cell in re.split(r"\t+| {2,}", line.text.strip()) if cell]
        if len(cells) == 1:
            cells = [match[0] for match in _CELL.finditer(line.text)]
        cells = cells[:_MOST_COLUMNS]
        matches = [_CELL.fullmatch(cell) for cell in cells]
        providers = [match["provider"] if match else None for match in matches]
        if not any(providers):
            return False
        for match in matches:
            if match is None:
                self._columns.append(None)
            elif match["provider"]:
                settings = {"provider": match["provider"], **title.settings}
                heading = msgspec.structs.replace(title, settings=settings)
                self._columns.append(SuiteTable(heading, (_rates(title.benchmark),)))
            else:
                ends = match["of"], match["to"]
                known = set(ends) <= set(providers)
                self._columns.append(tuple(map(providers.index, ends)) if known else None)
        unknown = [
            cell
            for cell, provider in zip(cells, providers, strict=True)
            if not provider and "%" not in cell
        ]
        if unknown:
            self._report(line, f"columns of message rates, other than {', '.join(unknown)}")
        return True

    def _row(self, line: LogLine, words: Sequence[str]) -> bool:
        values = [float(word.rstrip("%")) for word in words[1:]]
        if len(values) != len(self._columns):
            return False
        for column, word, value in zip(self._columns, words[1:], values, strict=True):
            if isinstance(column, SuiteTable):
                column.row(line, int(words[0]), (value,))
            elif column:
                of, to = (values[place] for place in column)
                digits = decimals(word.rstrip("%"))
                follows = (of / to - 1) * 100 if to else float("inf")
                # A hair more than half of the last digit: neither number is exact in binary.
                if abs(value - follows) > 0.5 * 0.1**digits + 1e-9 * (1 + abs(follows)):
                    expected = f"{follows:.{digits}f} %, which follows from its two rates"
                    self._report(line, expected)
        return True


def _rates(benchmark: str) -> SuiteColumn:
    of = meaning_of(benchmark, "MPI-1", "")
    return SuiteColumn(
        "message_rate", of.bandwidth, "mean", "messages/s", 1.0, of.stream, of.directions
    )


def _heading(line: LogLine, match: "re.Match[str]") -> SuiteHeading:
    """Return the heading for a run of two nodes: each rank of one with one of the other."""
    ranks_per_node = int(match["ppn"])
    settings = {
        "processes per node": str(ranks_per_node),
        "MPI": (match["mpi"] or "").strip(),
    }
    return SuiteHeading(
        "imb", "", match["name"], line.text.strip(), line.number,
        pairs=max(1, ranks_per_node), ranks=2 * ranks_per_node or None, settings=settings,
    )  # fmt: skip


DIALECT = Dialect(suite="imb", begins=_BEGINS, reader=MrateReader)
