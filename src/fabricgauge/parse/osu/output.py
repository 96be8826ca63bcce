"""What one program of the suite prints, from its title on: facts, and a table or several."""

from collections.abc import Iterable, Mapping

from fabricgauge.model.suite import SuiteCurve
from fabricgauge.parse.interface import Line, Report
from fabricgauge.parse.osu.atomics import operation_row
from fabricgauge.parse.osu.columns import Layout, headless_column, layout_of
from fabricgauge.parse.osu.ending import NO_SIZE
from fabricgauge.parse.osu.single_lines import start_up, wrong_data
from fabricgauge.parse.osu.size_table import SizeTable
from fabricgauge.parse.osu.titles import Title
from fabricgauge.parse.osu.window_matrix import WindowMatrix
from fabricgauge.parse.table import Heading, Table


class Output:
    """Keeps the facts of the heading and the table that is open."""

    def __init__(
        self, line: Line, title: Title, settings: Mapping[str, str], report: Report
    ) -> None:
        self._title = title
        self._first_line = line.number
        self._report = report
        self._settings = {**settings, **({"device": title.device} if title.device else {})}
        self._table: SizeTable | WindowMatrix | None = None
        self._operations: Layout | None = None
        self._rates = False
        self._until = NO_SIZE
        self._given = False

    def takes_row(self, line: Line) -> bool:
        """Give a line to the open table; whether it is a row of it."""
        return self._table is not None and self._table.take(line)

    def line(
        self, line: Line, words: list[str], facts: Mapping[str, str]
    ) -> Iterable[SuiteCurve] | None:
        """The curves that a line completes; None if it is none of the suite's."""
        if facts:
            return self._learn(line, facts)
        if words[0].startswith("#"):
            return self._head(line, words)
        corrupt, size = wrong_data(line.text)
        if corrupt and self._table is not None:
            self._table.corrupt(line, size)
            return ()
        return self._single(line, words)

    def close(self) -> Iterable[SuiteCurve]:
        """The last curves. A title that nothing follows is told of as well."""
        if self._given:
            return self._close_table(ended=False)
        column = headless_column(self._title.benchmark, self._title.text)
        return Table(self._heading(self._title.benchmark.name), (column,)).curves(
            "no result follows the title"
        )

    def _learn(self, line: Line, facts: Mapping[str, str]) -> Iterable[SuiteCurve]:
        """A fact after a table belongs to the next one, of another datatype."""
        curves = self._next_table(line)
        self._settings, self._rates = {**self._settings, **facts}, False
        return curves

    def _head(self, line: Line, words: list[str]) -> Iterable[SuiteCurve] | None:
        layout = layout_of(line.text, self._title.benchmark)
        if layout is not None:
            return self._open(line, layout)
        if len(words) > 1 and all(word.isdecimal() for word in words[1:]):
            return self._open_matrix(line, words[1:])
        if line.text.startswith("# Message Rate Profile"):
            return self._turn_to_rates(line)
        return None

    def _open(self, line: Line, layout: Layout) -> Iterable[SuiteCurve]:
        curves = self._next_table(line)
        if layout.unknown:
            self._report(line, f"known columns of the OSU suite; left out: {layout.unknown}")
        self._given = True
        if layout.slots[0].use == "operation":
            self._operations = layout
        else:
            self._table = SizeTable(self._heading(layout.benchmark.name), layout, self._until)
        return curves

    def _turn_to_rates(self, line: Line) -> Iterable[SuiteCurve]:
        self._rates = True
        return self._next_table(line)

    def _open_matrix(self, line: Line, windows: list[str]) -> Iterable[SuiteCurve]:
        curves = self._next_table(line)
        benchmark = self._title.benchmark
        self._given = True
        self._table = WindowMatrix(
            self._heading(benchmark.name), benchmark, windows, self._rates, self._until
        )
        return curves

    def _single(self, line: Line, words: list[str]) -> Iterable[SuiteCurve] | None:
        heading = self._heading(self._title.benchmark.name)
        found: Iterable[SuiteCurve] | None = None
        if self._operations is not None:
            found = operation_row(line, words, heading, self._operations)
        if found is None and words[0] == "nprocs:":
            found = start_up(line, heading)
        if found is not None or line.text.startswith("This is a test with "):
            self._given = True
        return found

    def _next_table(self, line: Line) -> Iterable[SuiteCurve]:
        """Close the open table: that the program goes on shows that it is whole."""
        if self._table is not None:
            self._first_line, self._until = line.number, self._table.last_bytes
        return self._close_table(ended=True)

    def _close_table(self, ended: bool) -> Iterable[SuiteCurve]:
        table, self._table = self._table, None
        return tuple(table.close(ended)) if table is not None else ()

    def _heading(self, benchmark: str) -> Heading:
        settings = dict(self._settings)
        pairs = max(1, int(settings.pop("pairs", "1")))
        return Heading(
            suite="osu", version=self._title.version, benchmark=benchmark,
            title=self._title.text, first_line=self._first_line, pairs=pairs, settings=settings,
        )  # fmt: skip
