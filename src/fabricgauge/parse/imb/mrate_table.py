"""Message rates of IMB side by side, as slides and spreadsheets show them.

A title that names the benchmark (``1ppn IMB-MPI1 Uniband, OpenMPI``), a headline with one
``mrate`` column per provider and perhaps their difference (``opx/psm2 (%)``), then one row
per message size, with tabs or spaces between.
"""

import re
from collections.abc import Iterable, Sequence

import msgspec

from fabricgauge.model.suite import SuiteCurve
from fabricgauge.parse.imb.benchmarks import meaning_of
from fabricgauge.parse.interface import Dialect, LogLine, Report
from fabricgauge.parse.table import SuiteColumn, SuiteHeading, SuiteTable

_BEGINS = {"ppn IMB-MPI1 ": r"^\s*\d{1,6} ?ppn IMB-MPI1 (?:Uniband|Biband)\b"}
_TITLE = re.compile(
    r"\s*(?P<ppn>\d{1,6}) ?ppn IMB-MPI1 (?P<name>Uniband|Biband)\b(?:\s*,\s*(?P<mpi>[^,\t]{1,80}))?"
)
_RATE = re.compile(r"(?P<provider>[\w.+-]{1,40}) mrate")
_DIFFERENCE = re.compile(r"(?P<of>[\w.+-]{1,40})/(?P<to>[\w.+-]{1,40}) \(%\)")
_ROW = re.compile(r"\s*\d{1,18}(?:[ \t]+-?\d{1,18}(?:\.\d{1,9})?%?){1,16}\s*", re.ASCII)
#: No slide shows more columns.
_MOST_COLUMNS = 16
_FOREIGN = "no output of a known suite"


class _Difference(msgspec.Struct, frozen=True):
    """A column that says by how many per cent one provider's rate is above another's."""

    column: int
    of: int
    to: int


class MrateReader:
    """Keeps the title and one table per provider."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._title: SuiteHeading | None = None
        self._tables: list[SuiteTable] = []
        self._providers: list[str] = []
        self._differences: list[_Difference] = []

    def line(self, line: LogLine) -> Iterable[SuiteCurve]:
        if match := _TITLE.match(line.text):
            curves = self.end()
            self._title = _heading(line, match)
            return curves
        if self._tables and _ROW.fullmatch(line.text) and self._row(line, line.text.split()):
            return ()
        if not line.text.strip():
            return self.end() if self._tables else ()
        if not self._open(line):
            self._report(line, _FOREIGN)
        return ()

    def end(self) -> Iterable[SuiteCurve]:
        self._title = None
        tables, self._tables = self._tables, []
        named = zip(tables, self._providers, strict=False)
        return [
            curve
            for table, provider in named
            if provider
            for curve in table.curves("" if table.rows else "no row follows the headline")
        ]

    def _open(self, line: LogLine) -> bool:
        """Whether the line is a headline; columns stand in it in the order of the rows."""
        if self._tables or self._title is None:
            return False
        cells = _cells(line.text)
        found = [_RATE.fullmatch(cell) for cell in cells]
        self._providers = [match["provider"] if match else "" for match in found]
        if not any(self._providers):
            return False
        self._tables = [_table(self._title, provider) for provider in self._providers]
        self._differences = list(_differences(cells, self._providers))
        unknown = [cell for cell in cells if not _RATE.fullmatch(cell) and "%" not in cell]
        if unknown:
            self._report(line, f"columns of message rates, other than {', '.join(unknown)}")
        return True

    def _row(self, line: LogLine, words: Sequence[str]) -> bool:
        values = [float(word.rstrip("%")) for word in words[1:]]
        if len(values) != len(self._tables):
            return False
        for table, provider, value in zip(self._tables, self._providers, values, strict=True):
            if provider:
                table.row(line, int(words[0]), (value,))
        for difference in self._differences:
            self._check(line, difference, words[1 + difference.column], values)
        return True

    def _check(
        self, line: LogLine, difference: _Difference, printed: str, values: Sequence[float]
    ) -> None:
        of, to = values[difference.of], values[difference.to]
        decimals = len(printed.rstrip("%").partition(".")[2])
        told = float(printed.rstrip("%"))
        follows = (of / to - 1) * 100 if to else float("inf")
        # A hair more than half of the last digit: neither number is exact in binary.
        if abs(told - follows) > 0.5 * 0.1**decimals + 1e-9 * (1 + abs(follows)):
            self._report(line, f"{follows:.{decimals}f} %, which follows from its two rates")


def _heading(line: LogLine, match: "re.Match[str]") -> SuiteHeading:
    """The run is taken for one of two nodes: what each rank of one does with one of the other."""
    ranks_per_node = int(match["ppn"])
    settings = {"processes per node": str(ranks_per_node)}
    if mpi := (match["mpi"] or "").strip():
        settings["MPI"] = mpi
    return SuiteHeading(
        "imb", "", match["name"], line.text.strip(), line.number,
        pairs=max(1, ranks_per_node), ranks=2 * ranks_per_node or None, settings=settings,
    )  # fmt: skip


def _table(title: SuiteHeading, provider: str) -> SuiteTable:
    of = meaning_of(title.benchmark, "MPI-1", "")
    column = SuiteColumn(
        "message_rate", of.bandwidth, "mean", "messages/s", 1.0, of.stream, of.directions
    )
    settings = {"provider": provider, **title.settings}
    return SuiteTable(msgspec.structs.replace(title, settings=settings), (column,))


def _cells(text: str) -> list[str]:
    """Cells between tabs or wide gaps, or, where extraction left single spaces, by their form."""
    cells = [cell for cell in re.split(r"\t+| {2,}", text.strip()) if cell]
    if len(cells) == 1:
        cells = [match[0] for match in re.finditer(f"{_RATE.pattern}|{_CELL_OF_DIFFERENCE}", text)]
    return cells[:_MOST_COLUMNS]


_CELL_OF_DIFFERENCE = r"[\w.+-]{1,40}/[\w.+-]{1,40} \(%\)"


def _differences(cells: Sequence[str], providers: Sequence[str]) -> Iterable[_Difference]:
    for column, cell in enumerate(cells):
        match = _DIFFERENCE.fullmatch(cell)
        if match and match["of"] in providers and match["to"] in providers:
            yield _Difference(column, providers.index(match["of"]), providers.index(match["to"]))


DIALECT = Dialect(suite="imb", begins=_BEGINS, reader=MrateReader)
