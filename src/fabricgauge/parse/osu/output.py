"""What one program of the suite prints, from its title on: facts, and a table or several.

What the suite tells in single lines: start-up times, atomics, and facts of the heading.

The table of osu_oshm_atomics: a row per operation, all on words of the same size.
"""

import re
from collections.abc import Iterable, Mapping

import msgspec

from fabricgauge.model.suite import LogEvidence, SuiteCurve
from fabricgauge.parse.interface import LogLine, Report
from fabricgauge.parse.lines import remembered
from fabricgauge.parse.osu.layout import OsuLayout, headless_column, layout_of
from fabricgauge.parse.osu.tables import NO_SIZE, OsuTable, WindowMatrix
from fabricgauge.parse.osu.titles import Title, title_of
from fabricgauge.parse.table import SuiteColumn, SuiteHeading, SuiteTable

_INIT = re.compile(
    r"nprocs: (?P<ranks>\d{1,9}), min: (?P<minimum>[\d.]+)(?P<unit> ms)?, "
    r"max: (?P<maximum>[\d.]+)(?: ms)?, avg: (?P<mean>[\d.]+)(?: ms)?\s*"
)


def start_up(line: LogLine, heading: SuiteHeading) -> Iterable[SuiteCurve] | None:
    """The curve of osu_init's only line; None if the line is another."""
    match = _INIT.fullmatch(line.text)
    if match is None:
        return None
    try:
        mean, low, high = (float(match[key]) for key in ("mean", "minimum", "maximum"))
    except ValueError:
        return None
    # The unit stands in the line since 5.x at least; without it, it is that of the source.
    column = SuiteColumn("time", "MPI_Init, mean over ranks", "mean", "ms", 1e-3)
    table = SuiteTable(msgspec.structs.replace(heading, ranks=int(match["ranks"])), (column,))
    table.row(line, None, (mean,), ({"minimum": low, "maximum": high},))
    return table.curves()


#: How a fact's line begins, how it goes on, and the settings that it tells.
_FACTS: Mapping[str, tuple["re.Pattern[str]", tuple[str, ...]]] = {
    beginning: (re.compile(rest), keys)
    for beginning, rest, keys in (
        ("# Datatype: ", r"(\S+?)\.?\s*", ("datatype",)),
        ("# Window creation: ", r"(.{1,120}?)\s*", ("window creation",)),
        ("# Synchronization: ", r"(.{1,120}?)\s*", ("synchronization",)),
        ("# [ pairs: ", r"(\d{1,9}) \] \[ window size: (\w+) \]\s*", ("pairs", "window")),
        (
            "# Send Buffer on ", r"(.{1,40}?) and Receive Buffer on (.{1,40}?)\s*",
            ("send buffer", "receive buffer"),
        ),
        (
            "# Rank 0 Memory on ", r"(.{1,40}?) and Rank 1 Memory on (.{1,40}?)\s*",
            ("memory 0", "memory 1"),
        ),
        ("# Number of Sender threads: ", r"(\d+)\s*", ("sender threads",)),
        ("# Number of Receiver threads: ", r"(\d+)\s*", ("receiver threads",)),
        ("# Number of forked processes in sender: ", r"(\d+)\s*", ("sender processes",)),
        ("# Number of forked processes in receiver: ", r"(\d+)\s*", ("receiver processes",)),
        ("Dimensions size = ", r"(\d[\d ]{0,120}?)\s*", ("dimensions",)),
        ("Time took to create topology graph:", r"(\S+ us)\.\s*", ("topology creation",)),
    )
}  # fmt: skip
_BEGINNINGS = tuple(_FACTS)
#: Facts that are printed above the title.
ABOVE_TITLE = frozenset({"sender threads", "sender processes", "dimensions", "topology creation"})


def facts_in(text: str) -> dict[str, str]:
    """Settings that a line of the heading tells; empty if it tells none."""
    if not text.startswith(_BEGINNINGS):
        return {}
    beginning = next(filter(text.startswith, _FACTS))
    rest, keys = _FACTS[beginning]
    match = rest.fullmatch(text, len(beginning))
    return dict(zip(keys, match.groups(), strict=True)) if match else {}


_PROSE = re.compile(
    r"# Overall = Coll\. Init \+ Compute \+ MPI_Test \+ MPI_Wait\s*"
    r"|# Uni-directional Bandwidth \(MB/sec\)\s*|# Message Rate Profile\s*"
    r"|#Using \w?CCL\s*|This is a test with \d+ processes\s*|#\s*"
)


def is_prose(text: str) -> bool:
    """Lines that the suite prints and that say nothing more of the figures."""
    return _PROSE.fullmatch(text) is not None


_WRONG_DATA = re.compile(
    r"DATA VALIDATION ERROR: .{0,200}?(?:message size (?P<size>\d{1,18}))?\.?\s*"
)


def wrong_data(text: str) -> tuple[bool, int | None]:
    """Whether the suite says that it received wrong data, and at which message size."""
    match = _WRONG_DATA.fullmatch(text) if text.startswith("DATA") else None
    size = match["size"] if match else None
    return match is not None, None if size is None else int(size)


def operation_row(
    line: LogLine, words: list[str], heading: SuiteHeading, layout: OsuLayout
) -> Iterable[SuiteCurve] | None:
    """The curves of one operation; None if the line is no row."""
    if len(words) != 1 + len(layout.columns):
        return None
    try:
        values = [float(word) for word in words[1:]]
    except ValueError:
        return None
    settings = {**heading.settings, "operation": words[0]}
    table = SuiteTable(msgspec.structs.replace(heading, settings=settings), layout.columns)
    table.row(line, None, values)
    return table.curves()


class OsuOutput:
    """Keeps the facts of the heading and the table that is open."""

    def __init__(
        self, line: LogLine, title: Title, settings: Mapping[str, str], report: Report
    ) -> None:
        self._title = title
        self._first_line = line.number
        self._report = report
        self._settings = {**settings, **({"device": title.device} if title.device else {})}
        self._table: OsuTable | WindowMatrix | None = None
        self._operations: OsuLayout | None = None
        self._rates = False
        self._until = NO_SIZE
        self._given = False

    @property
    def given(self) -> bool:
        """Whether anything of its results was printed."""
        return self._given

    def rows(self, number: int, text: str, place: int) -> int:
        table = self._table
        return table.rows(number, text, place) if isinstance(table, OsuTable) else place

    def takes_row(self, line: LogLine) -> bool:
        """Give a line to the open table; whether it is a row of it."""
        return self._table is not None and self._table.take(line)

    def line(
        self, line: LogLine, words: list[str], facts: Mapping[str, str]
    ) -> Iterable[SuiteCurve] | None:
        """The curves that a line completes; None if it is none of the suite's."""
        if facts:
            return self._learn(line, facts)
        if words[0].startswith(("#", "Overall")):
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
        return SuiteTable(self._heading(self._title.benchmark.name), (column,)).curves(
            "no result follows the title"
        )

    def _learn(self, line: LogLine, facts: Mapping[str, str]) -> Iterable[SuiteCurve]:
        """A fact after a table belongs to the next one, of another datatype."""
        curves = self._next_table(line)
        self._settings, self._rates = {**self._settings, **facts}, False
        return curves

    def _head(self, line: LogLine, words: list[str]) -> Iterable[SuiteCurve] | None:
        layout = layout_of(line.text, self._title.benchmark)
        if layout is not None:
            return self._open(line, layout)
        if len(words) > 1 and all(word.isdecimal() for word in words[1:]):
            return self._open_matrix(line, words[1:])
        if line.text.startswith("# Message Rate Profile"):
            return self._turn_to_rates(line)
        return None

    def _open(self, line: LogLine, layout: OsuLayout) -> Iterable[SuiteCurve]:
        curves = self._next_table(line)
        if layout.unknown:
            self._report(line, f"known columns of the OSU suite; left out: {layout.unknown}")
        self._given = True
        if layout.of_operations:
            self._operations = layout
        else:
            checked = any(cell.use == "check" for cell in layout.cells)
            heading = self._heading(layout.benchmark.name, checked)
            self._table = OsuTable(heading, layout, self._until)
        return curves

    def _turn_to_rates(self, line: LogLine) -> Iterable[SuiteCurve]:
        self._rates = True
        return self._next_table(line)

    def _open_matrix(self, line: LogLine, windows: list[str]) -> Iterable[SuiteCurve]:
        curves = self._next_table(line)
        benchmark = self._title.benchmark
        self._given = True
        self._table = WindowMatrix(
            self._heading(benchmark.name), benchmark, windows, self._rates, self._until
        )
        return curves

    def _single(self, line: LogLine, words: list[str]) -> Iterable[SuiteCurve] | None:
        heading = self._heading(self._title.benchmark.name)
        found: Iterable[SuiteCurve] | None = None
        if self._operations is not None:
            found = operation_row(line, words, heading, self._operations)
        if found is None and words[0] == "nprocs:":
            found = start_up(line, heading)
        if found is not None or line.text.startswith("This is a test with "):
            self._given = True
        return found

    def _next_table(self, line: LogLine) -> Iterable[SuiteCurve]:
        """Close the open table: that the program goes on shows that it is whole."""
        if self._table is not None:
            self._first_line, self._until = line.number, self._table.last_bytes
        return self._close_table(ended=True)

    def _close_table(self, ended: bool) -> Iterable[SuiteCurve]:
        table, self._table = self._table, None
        return tuple(table.close(ended)) if table is not None else ()

    def _heading(self, benchmark: str, checked: bool = False) -> SuiteHeading:
        settings = dict(self._settings)
        pairs = max(1, int(settings.pop("pairs", "1")))
        return SuiteHeading(
            suite="osu", version=self._title.version, benchmark=benchmark,
            title=self._title.text, first_line=self._first_line, pairs=pairs, settings=settings,
            evidence=LogEvidence(data_checked=checked),
        )  # fmt: skip


_IN_OUTPUT = "a line of the OSU suite"
_BETWEEN_OUTPUTS = "no output of a known suite"


class OsuReader:
    """Keeps one program's output, or what was printed above its title."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._above: dict[str, str] = {}
        self._output: OsuOutput | None = None

    def line(self, line: LogLine) -> Iterable[SuiteCurve]:
        output = self._output
        if output is not None and line.text[:1] != "#" and output.takes_row(line):
            return ()
        form = _form_of(line.text)
        return self._between_rows(line, form) if form.words else ()

    def rows(self, number: int, text: str, place: int) -> int:
        return place if self._output is None else self._output.rows(number, text, place)

    def end(self) -> Iterable[SuiteCurve]:
        output, self._output = self._output, None
        return output.close() if output is not None else ()

    def _between_rows(self, line: LogLine, form: "_Form") -> Iterable[SuiteCurve]:
        title = title_of(line.text, "topology creation" in self._above) if form.is_title else None
        if title is not None:
            curves = self.end()
            self._output, self._above = OsuOutput(line, title, self._above, self._report), {}
            return curves
        facts, output = form.facts, self._output
        # Up to 5.7 osu_latency_mp tells of its processes below the title.
        if facts and (output is None or (output.given and ABOVE_TITLE & facts.keys())):
            curves = self.end()
            self._above = {**self._above, **facts}
            return curves
        found = None if output is None else output.line(line, form.words, facts)
        if found is None and not form.is_prose:
            self._report(line, _IN_OUTPUT if output is not None else _BETWEEN_OUTPUTS)
        return found or ()


class _Form(msgspec.Struct, frozen=True):
    """What a line between rows is by itself."""

    words: list[str]
    is_title: bool
    facts: dict[str, str]
    is_prose: bool


@remembered
def _form_of(text: str) -> _Form:
    return _Form(text.split(), title_of(text) is not None, facts_in(text), is_prose(text))
