"""Read the output of a program of the suite: facts, its title, and a table or several.

Single lines hold start-up times, atomics (osu_oshm_atomics: a row per operation, all on words of
the same size) and facts of the heading.
"""

import re
from collections.abc import Iterable, Mapping

import msgspec

from fabricgauge.logs.readers.interface import FOREIGN, LogLine, Report
from fabricgauge.logs.readers.lines import number_of, remembered
from fabricgauge.logs.readers.osu.tables import (
    NO_SIZE,
    OsuLayout,
    OsuTable,
    column_of,
    layout_of,
    windows_of,
)
from fabricgauge.logs.readers.osu.titles import Title, title_of
from fabricgauge.logs.readers.table import SuiteColumn, SuiteHeading, SuiteTable
from fabricgauge.model.suite import LogEvidence, SuiteCurve

_INIT = re.compile(
    r"nprocs: (?P<ranks>\d{1,9}), min: (?P<minimum>\d+(?:\.\d+)?)(?: ms)?, "
    r"max: (?P<maximum>\d+(?:\.\d+)?)(?: ms)?, avg: (?P<mean>\d+(?:\.\d+)?)(?: ms)?\s*"
)


def start_up(line: LogLine, heading: SuiteHeading) -> Iterable[SuiteCurve] | None:
    """Return the curve of osu_init's only line; None if the line is another."""
    match = _INIT.fullmatch(line.text)
    if match is None:
        return None
    mean, low, high = (float(match[key]) for key in ("mean", "minimum", "maximum"))
    # The unit stands in the line since 5.x at least; without it, it is that of the source.
    column = SuiteColumn("time", "MPI_Init, mean over ranks", "mean", "ms", 1e-3)
    table = SuiteTable(msgspec.structs.replace(heading, ranks=int(match["ranks"])), (column,))
    table.row(line, None, (mean,), ({"minimum": low, "maximum": high},))
    return table.curves()


#: Lines that hold settings, by their names with ``_`` for blanks.
_FACTS = re.compile(
    r"(?:# Datatype: (?P<datatype>\S+?)\.?"
    r"|# Window creation: (?P<window_creation>.{1,120}?)"
    r"|# Synchronization: (?P<synchronization>.{1,120}?)"
    r"|# \[ pairs: (?P<pairs>\d{1,9}) \] \[ window size: (?P<window>\w+) \]"
    r"|# Send Buffer on (?P<send_buffer>.{1,40}?)"
    r" and Receive Buffer on (?P<receive_buffer>.{1,40}?)"
    r"|# Rank 0 Memory on (?P<memory_0>.{1,40}?) and Rank 1 Memory on (?P<memory_1>.{1,40}?)"
    r"|# Number of Sender threads: (?P<sender_threads>\d+)"
    r"|# Number of Receiver threads: (?P<receiver_threads>\d+)"
    r"|# Number of forked processes in sender: (?P<sender_processes>\d+)"
    r"|# Number of forked processes in receiver: (?P<receiver_processes>\d+)"
    r"|Dimensions size = (?P<dimensions>\d[\d ]{0,120}?)"
    r"|Time took to create topology graph:(?P<topology_creation>\S+ us)\.)\s*"
)
#: Facts that are printed above the title.
ABOVE_TITLE = frozenset({"sender threads", "sender processes", "dimensions", "topology creation"})


def facts_in(text: str) -> dict[str, str]:
    """Return the settings in a line of the heading; empty if it has none."""
    match = _FACTS.fullmatch(text)
    groups = match.groupdict().items() if match else ()
    return {key.replace("_", " "): value for key, value in groups if value is not None}


#: Lines without a fact on the figures.
_PROSE = re.compile(
    r"# Overall = Coll\. Init \+ Compute \+ MPI_Test \+ MPI_Wait\s*"
    r"|# Uni-directional Bandwidth \(MB/sec\)\s*|# Message Rate Profile\s*"
    r"|#Using \w?CCL\s*|This is a test with \d+ processes\s*|#\s*"
)
_WRONG_DATA = re.compile(
    r"DATA VALIDATION ERROR: .{0,200}?(?:message size (?P<size>\d{1,18}))?\.?\s*"
)


def operation_row(
    line: LogLine, words: list[str], heading: SuiteHeading, layout: OsuLayout
) -> Iterable[SuiteCurve] | None:
    """Return the curves of one operation; None if the line is no row."""
    values = [*map(number_of, words[1:])]
    if len(values) != len(layout.columns) or None in values:
        return None
    settings = {**heading.settings, "operation": words[0]}
    table = SuiteTable(msgspec.structs.replace(heading, settings=settings), layout.columns)
    table.row(line, None, values)
    return table.curves()


@remembered
def _form_of(text: str) -> tuple[list[str], bool, dict[str, str], bool]:
    """Return the words of a line between rows, if it is a title, its facts, if it is prose."""
    is_title, is_prose = title_of(text) is not None, _PROSE.fullmatch(text) is not None
    return text.split(), is_title, facts_in(text), is_prose


class OsuReader:
    """Keeps one program's facts and its open table, or the lines above its title."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._above: dict[str, str] = {}
        self._title: Title | None = None
        self._table: OsuTable | None = None

    def _begin(self, line: LogLine, title: Title) -> Iterable[SuiteCurve]:
        curves = self.end()
        self._title, self._first_line = title, line.number
        self._settings = self._above | {"device": title.device}
        self._above = {}
        self._operations: OsuLayout | None = None
        self._rates = self._has_result = False
        self._until = NO_SIZE
        return curves

    def line(self, line: LogLine) -> Iterable[SuiteCurve]:
        table = self._table
        if table is not None and line.text[:1] not in ("#", ""):
            if table.take(line):
                return ()
            if table.begins_again(line):
                curves = self._close_table(line)
                self._table = table.anew(line)
                self._table.take(line)
                return curves
        words, is_title, facts, is_prose = _form_of(line.text)
        if not words:
            return ()
        title = title_of(line.text, "topology creation" in self._above) if is_title else None
        if title is not None:
            return self._begin(line, title)
        # Up to 5.7 osu_latency_mp prints its processes below the title.
        if facts and (self._title is None or (self._has_result and ABOVE_TITLE & facts.keys())):
            curves = self.end()
            self._above = {**self._above, **facts}
            return curves
        completed = self._below(self._title, line, words, facts) if self._title else None
        if completed is None and not is_prose:
            self._report(line, "a line of the OSU suite" if self._title else FOREIGN)
        return completed or ()

    def rows(self, number: int, text: str, place: int) -> int:
        return place if self._table is None else self._table.rows(number, text, place)

    def end(self) -> Iterable[SuiteCurve]:
        """Return the last curves; a title that nothing follows gives an empty one."""
        title, self._title = self._title, None
        if title is None or self._has_result:
            return self._close_table()
        name = "Bandwidth" if "Bandwidth" in title.text else "Latency"
        column = column_of(name, title.benchmark, first=True)
        heading = self._heading(title, title.benchmark.name)
        return SuiteTable(heading, (column,)).curves("no result follows the title")

    def _below(
        self, title: Title, line: LogLine, words: list[str], facts: Mapping[str, str]
    ) -> Iterable[SuiteCurve] | None:
        """Return the curves that a line below the title completes; None for a foreign line."""
        if facts:
            # A fact after a table belongs to the next one, of another datatype.
            ended = self._close_table(line)
            self._settings, self._rates = {**self._settings, **facts}, False
            return ended
        if words[0].startswith(("#", "Overall")):
            return self._head(title, line)
        corrupt = _WRONG_DATA.fullmatch(line.text) if words[0] == "DATA" else None
        if corrupt and self._table is not None:
            self._table.corrupt(line, int(corrupt["size"]) if corrupt["size"] else None)
            return ()
        heading = self._heading(title, title.benchmark.name)
        curves: Iterable[SuiteCurve] | None = None
        if self._operations is not None:
            curves = operation_row(line, words, heading, self._operations)
        if curves is None and words[0] == "nprocs:":
            curves = start_up(line, heading)
        if curves is not None or line.text.startswith("This is a test with "):
            self._has_result = True
        return curves

    def _head(self, title: Title, line: LogLine) -> Iterable[SuiteCurve] | None:
        text, benchmark = line.text, title.benchmark
        layout = layout_of(text, benchmark) or windows_of(text, benchmark, self._rates)
        if layout is None and not text.startswith("# Message Rate Profile"):
            return None
        curves = self._close_table(line)
        if layout is None:
            self._rates = True
            return curves
        self._has_result = True
        if layout.unknown:
            self._report(line, f"known columns of the OSU suite; left out: {layout.unknown}")
        if layout.of_operations:
            self._operations = layout
        else:
            heading = self._heading(title, layout.benchmark.name, layout.is_checked)
            self._table = OsuTable(heading, layout, self._until)
        return curves

    def _close_table(self, behind: LogLine | None = None) -> Iterable[SuiteCurve]:
        """Close the open table; it is whole if the program goes on with the line behind it."""
        table, self._table = self._table, None
        if table is None:
            return ()
        if behind is not None:
            self._first_line, self._until = behind.number, table.last_bytes
        return tuple(table.close(ended=behind is not None))

    def _heading(self, title: Title, benchmark: str, checked: bool = False) -> SuiteHeading:
        settings = dict(self._settings)
        pairs = int(settings.get("pairs", "1"))
        if pairs:  # no program of the suite prints 0
            settings.pop("pairs", None)
        return SuiteHeading(
            suite="osu", version=title.version, benchmark=benchmark, title=title.text,
            first_line=self._first_line, pairs=max(1, pairs), settings=settings,
            evidence=LogEvidence(data_checked=checked),
        )  # fmt: skip
