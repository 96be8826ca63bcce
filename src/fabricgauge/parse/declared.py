"""A suite whose output is a title, settings and tables of known columns: declared, not written.

``dialect_of`` makes a dialect of a declaration. What is odd about a suite goes into a subclass of
``DeclaredReader``: other columns from run to run (``layout_of``), lines of another kind (``odd``).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import msgspec

from fabricgauge.model.suite import SuiteCurve
from fabricgauge.parse.interface import Dialect, LogLine, Report
from fabricgauge.parse.lines import number_of
from fabricgauge.parse.rows import Cell, add_row, add_rows, finder_of
from fabricgauge.parse.table import SuiteColumn, SuiteHeading, SuiteTable

#: No output has more settings; what follows is not kept, so that memory stays bounded.
_MOST_SETTINGS = 64
#: More digits are no size.
_WHOLE = re.compile(r"[0-9]{1,15}")


class SuiteLayout(msgspec.Struct, frozen=True):
    """A table's printed columns from left to right, and the curves that come of them."""

    cells: tuple[Cell, ...]
    columns: tuple[SuiteColumn, ...]


class SuiteDeclaration(msgspec.Struct, frozen=True, kw_only=True):
    """What a suite prints, as regular expressions that match whole lines without their blanks.

    ``title`` begins an output; its groups ``version`` and ``benchmark`` are what they say, all
    other groups are settings (``message_rate`` is the setting ``message rate``), as those of
    ``facts`` are. ``headline`` stands above the rows of ``layout``. ``last`` ends an output
    properly, empty if nothing does; ``prose`` says nothing of the figures.
    """

    suite: str
    begins: Mapping[str, str]
    title: str
    headline: str
    layout: SuiteLayout
    facts: tuple[str, ...] = ()
    last: str = ""
    prose: str = ""


class DeclaredReader:
    """One output after the other; keeps its settings and the table that is open."""

    def __init__(self, declared: SuiteDeclaration, report: Report) -> None:
        self._declared, self._report = declared, report
        self._first: LogLine | None = None
        self._said: dict[str, str] = {}
        self._table: SuiteTable | None = None
        self._cells: tuple[Cell, ...] = ()
        self._shown = False

    def layout_of(self, text: str) -> SuiteLayout | None:
        """The layout under a headline; None if the line is none."""
        return self._declared.layout if re.fullmatch(self._declared.headline, text) else None

    def odd(self, line: LogLine) -> bool:
        """Whether a line that nothing declares is understood all the same."""
        del line
        return False

    def line(self, line: LogLine) -> Iterable[SuiteCurve]:
        declared, text = self._declared, line.text.strip()
        if not text or (self._table is not None and self._is_row(self._table, line)):
            return ()
        if match := re.fullmatch(declared.title, text):
            curves = self.end()
            self._first, self._said = line, _named(match)
            return curves
        if declared.last and re.fullmatch(declared.last, text):
            return self._close("")
        if layout := self.layout_of(text):
            curves = self._close("")
            self._table, self._cells = SuiteTable(self._heading(line), layout.columns), layout.cells
            self._shown = True
            return curves
        facts = (re.fullmatch(fact, text) for fact in declared.facts)
        if (fact := next(filter(None, facts), None)) and len(self._said) < _MOST_SETTINGS:
            self._said = {**self._said, **_named(fact)}
        elif not (fact or re.fullmatch(declared.prose, text) or self.odd(line)):
            self._report(line, f"a line of {declared.suite}")
        return ()

    def rows(self, number: int, text: str, place: int) -> int:
        rows = finder_of(self._cells).at(number, text, place) if self._table else None
        if rows is None or self._table is None:
            return place
        if not add_rows(self._table, self._cells, rows):
            for line, _ in rows.single():
                self._is_row(self._table, line)
        return place + len(rows.text)

    def end(self) -> Iterable[SuiteCurve]:
        """The last curves. A title without a table is told of by a curve without points."""
        first, shown = self._first, self._shown
        curves = self._close("ends without its last line" if self._declared.last else "")
        self._first, self._said, self._shown = None, {}, False
        if first is None or shown:
            return curves
        table = SuiteTable(self._heading(first), self._declared.layout.columns)
        return table.curves("no table follows the title")

    def _is_row(self, table: SuiteTable, line: LogLine) -> bool:
        """Take a line if it is a row, or what is left of one."""
        words = line.text.split(None, len(self._cells))
        figures = [number for word in words if (number := number_of(word)) is not None]
        sized = self._cells[0].use == "size"
        if not figures or len(figures) < len(words) or len(words) > len(self._cells):
            return False
        if sized and not _WHOLE.fullmatch(words[0]):
            return False
        if len(words) < len(self._cells):
            table.failed(line, int(words[0]) if sized else None, "cut off")
        else:
            add_row(table, self._cells, line, figures)
        return True

    def _close(self, cut_off: str) -> Sequence[SuiteCurve]:
        table, self._table = self._table, None
        if table is None:
            return ()
        return table.curves(cut_off or ("" if table.rows else "no row follows the headline"))

    def _heading(self, line: LogLine) -> SuiteHeading:
        settings, first = dict(self._said), self._first or line
        version = settings.pop("version", "")
        benchmark = settings.pop("benchmark", self._declared.suite)
        return SuiteHeading(
            self._declared.suite, version, benchmark, first.text.strip(), first.number,
            settings=settings,
        )  # fmt: skip


def _named(match: "re.Match[str]") -> dict[str, str]:
    return {key.replace("_", " "): said for key, said in match.groupdict().items() if said}


def dialect_of(
    declared: SuiteDeclaration, reader: type[DeclaredReader] = DeclaredReader
) -> Dialect:
    return Dialect(declared.suite, declared.begins, partial(reader, declared))
