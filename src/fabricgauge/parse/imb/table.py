"""The table that is open: its rows are kept until its end, when they tell their unit.

The curves that come of a table's columns.

How to tell that a table was cut off.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import compress
from typing import Literal

import msgspec

from fabricgauge.model.suite import Besides, LogEvidence, SuiteCurve
from fabricgauge.parse.imb.benchmarks import ImbBenchmark, meaning_of
from fabricgauge.parse.imb.heading import MOST_GROUPS, ImbBlock, ImbOutput, settings_of
from fabricgauge.parse.imb.rows import (
    ImbLayout,
    ImbRow,
    Role,
    begun_row,
    cells_of,
    finder_of,
    is_begun,
    plain_rows,
    row_of,
)
from fabricgauge.parse.imb.units import (
    DECIMAL,
    Megabyte,
    evidence_in,
    evidence_of,
    megabyte_of,
)
from fabricgauge.parse.interface import LogLine, Report
from fabricgauge.parse.rows import Rows, add_rows
from fabricgauge.parse.table import MOST_ROWS, SuiteColumn, SuiteHeading, SuiteTable

_TIMES: Mapping[Role, str] = {
    "time": "{}", "mean": "{}", "overlapped": "{} with computation meanwhile",
    "pure": "{} alone", "computation": "computation during {}",
}  # fmt: skip


@lru_cache(maxsize=64)
def columns_of(
    layout: ImbLayout, benchmark: ImbBenchmark, megabyte: Megabyte, company: str, ranks: int | None
) -> tuple[SuiteColumn, ...]:
    """One column per curve; ``company`` says who else was busy meanwhile, empty if nobody."""
    if ranks == 2 and benchmark.of_two is not None:
        benchmark = msgspec.structs.replace(benchmark, stream=benchmark.of_two)
    columns = (_column(role, benchmark, megabyte) for role in layout.curves)
    return tuple(_in_company(column, company) if company else column for column in columns)


def _in_company(column: SuiteColumn, company: str) -> SuiteColumn:
    """Patterns are of one pair of ranks that has the network to itself."""
    return msgspec.structs.replace(column, what=f"{column.what}, {company}", pattern=None)


def _column(role: Role, benchmark: ImbBenchmark, megabyte: Megabyte) -> SuiteColumn:
    if role in _TIMES:
        what = _TIMES[role].format(benchmark.time)
        pattern = benchmark.latency if role in ("time", "mean") else None
        return SuiteColumn("time", what, "mean", "µs", 1e-6, pattern)
    if role == "overlap":
        what = f"share of {benchmark.time} that computation hid"
        return SuiteColumn("overlap", what, "mean", "%", 0.01)
    directions = benchmark.directions
    if role == "rate":
        what = benchmark.rate or benchmark.bandwidth
        return SuiteColumn(
            "message_rate", what, "mean", "messages/s", 1.0, benchmark.stream, directions
        )
    rule, factor, pattern = megabyte.rule, megabyte.bytes, benchmark.stream
    return SuiteColumn("bandwidth", benchmark.bandwidth, "mean", rule, factor, pattern, directions)


#: What follows a table: more of the same run; other text, in a document; nothing at all.
TableEnd = Literal["went on", "left", "stopped"]

#: Of all figures but message rates (IMB_edit_format of IMB_output.c).
_DECIMALS = 2


class Ran(msgspec.Struct, frozen=True):
    """The rows that a table, or one group of it, has in the end."""

    sizes: Sequence[int | None]
    last_failed: bool
    torn_line: int | None


def sign_of_end(output: ImbOutput, benchmark: ImbBenchmark, ending: TableEnd, ran: Ran) -> str:
    """The sign that a table was cut off, empty if there is none."""
    if ran.torn_line is not None:
        return f"line {ran.torn_line} ends in the middle of its row"
    if not ran.sizes:
        return "no row follows the headline"
    last = max((size for size in ran.sizes if size is not None), default=None)
    # IMB goes no further in a benchmark after a time-out or where memory does not suffice.
    if last is None or ran.last_failed or benchmark.one_size:
        return ""
    if output.own_sizes or output.part == "MT":
        own = output.own_sizes and ending == "stopped"
        return "the output ends here, without IMB's last line" if own else ""
    return _too_small(last, output)


def _too_small(last: int, output: ImbOutput) -> str:
    wanted = output.default_bytes if output.last_bytes is None else output.last_bytes
    if last >= wanted:
        return ""
    if output.last_bytes is not None:
        return f"ends at {last} bytes, where the output's head announces {wanted}"
    return (
        f"ends at {last} bytes, where the suite's default goes on to {wanted}: "
        "cut off, or run with a smaller maximum"
    )


def is_short(rows: Sequence[ImbRow], benchmark: ImbBenchmark, part: str) -> bool:
    """Whether the last row looks as if its last number lacks digits."""
    if not rows:
        return False
    last = rows[-1]
    role, word = list(last.words.items())[-1] if last.trouble is None else ("unknown", "")
    if role == "unknown" or not word.lstrip("+-")[:1].isdecimal():
        return False
    if role != "rate":
        before = rows[-2].words.get(role, "") if len(rows) > 1 else ""
        return _decimals(word) < (_decimals(before) if before else _DECIMALS)
    found = evidence_of(last, benchmark, part)
    return found is not None and not found


def _decimals(word: str) -> int:
    return len(word.partition(".")[2])


_EXPECTED = "a row of an IMB table"


class ImbTable:
    """Rows under one headline; with ``-multi 1`` those of all groups, in turn."""

    def __init__(
        self,
        output: ImbOutput,
        block: ImbBlock,
        layout: ImbLayout,
        headline: LogLine,
        report: Report,
    ) -> None:
        part = output.part or _part_of(block.name, layout)
        self._output = msgspec.structs.replace(output, part=part)
        self._block, self._layout = block, layout
        self._headline, self._report = headline, report
        self._benchmark = meaning_of(block.name.removeprefix("Multi-"), part, block.mode)
        self._roles = layout.curves
        self._plain: list[Rows] = []
        self._rows: list[ImbRow] = []
        self._torn: ImbRow | None = None

    def rows(self, number: int, text: str, place: int) -> Rows | None:
        """Take the plain rows that begin at ``place``."""
        if self._torn is not None or self._layout.unknown:
            return None
        rows = finder_of(self._layout.roles).at(number, text, place)
        if rows is not None:
            self._plain.append(rows)
            if self._rows or sum(each.count for each in self._plain) > MOST_ROWS:
                self._take_apart()
        return rows

    def _take_apart(self) -> None:
        """Make single rows of those that were taken many at a time: something is odd."""
        for rows in self._plain:
            self._rows += plain_rows(rows, self._layout.roles)[: MOST_ROWS - len(self._rows)]
        self._plain = []

    def take(self, line: LogLine, words: Sequence[str]) -> bool:
        """Take a row; whether the line is one, whole or the beginning of one."""
        self._interrupted()
        self._take_apart()
        row = row_of(line, self._layout)
        if row is not None:
            if len(self._rows) < MOST_ROWS:
                self._rows.append(row)
            return True
        if is_begun(line, len(words), self._layout):
            self._torn = begun_row(line, words, self._layout)
        return self._torn is not None

    def close(self, ending: TableEnd) -> Iterator[SuiteCurve]:
        """The curves, by group where there are groups."""
        if not self._is_plain(ending):
            self._take_apart()
        if ending != "stopped":
            self._interrupted()
        elif self._torn is None and is_short(self._rows, self._benchmark, self._output.part):
            line = self._rows.pop().line
            self._torn = begun_row(line, line.text.split(), self._layout)
        megabyte = self._megabyte()
        for group, rows in self._groups().items():
            yield from self._curves_of(group, rows, megabyte, ending)

    def _interrupted(self) -> None:
        """Lines follow, so what looked like the beginning of a row was something else."""
        if self._torn is not None:
            self._report(self._torn.line, _EXPECTED)
            self._torn = None

    def _is_plain(self, ending: TableEnd) -> bool:
        """Whether the rows can be taken column by column."""
        odd = {"group", "defects"} & set(self._layout.roles)
        return ending != "stopped" and not odd and self._block.threads == 1

    def _groups(self) -> dict[int | None, list[ImbRow]]:
        found: dict[int | None, list[ImbRow]] = {}
        grouped = "group" in self._layout.roles
        for row in self._rows:
            group = row.group if grouped else None
            if group in found or len(found) < MOST_GROUPS:
                found.setdefault(group, []).append(row)
        return found or {None: []}

    def _curves_of(
        self, group: int | None, rows: Sequence[ImbRow], megabyte: Megabyte, ending: TableEnd
    ) -> Iterator[SuiteCurve]:
        heading = self._heading(group)
        company, ranks = self._company(), heading.ranks
        table = SuiteTable(
            heading, columns_of(self._layout, self._benchmark, megabyte, company, ranks)
        )
        sizes = [size for each in self._plain for size in self._fill(table, each)]
        for row in rows:
            self._add(table, row)
        torn = self._torn
        ran = Ran(
            [*sizes, *(row.size for row in rows)], bool(rows) and rows[-1].trouble is not None,
            torn.line.number if torn is not None else None,
        )  # fmt: skip
        if torn is not None and group in (None, torn.group):
            table.failed(torn.line, self._message_bytes(torn), "cut off")
        yield from table.curves(sign_of_end(self._output, self._benchmark, ending, ran))

    def _fill(self, table: SuiteTable, rows: Rows) -> Sequence[int | None]:
        """Add plain rows; their sizes."""
        roles = self._layout.roles
        if not add_rows(table, cells_of(roles), rows):
            for row in plain_rows(rows, roles):
                self._add(table, row)
        if "size" not in roles:
            return [None] * rows.count
        return rows.counts(roles.index("size"))

    def _add(self, table: SuiteTable, row: ImbRow) -> None:
        size = self._message_bytes(row)
        if row.trouble is not None:
            table.failed(row.line, size, row.trouble)
        elif row.figures.get("defects", 0.0) != 0.0:
            table.failed(row.line, size, "corrupt")
        else:
            figures = row.figures
            values: list[float | None] = [figures[role] for role in self._roles]
            if 0.0 in values:
                values = [self._unless_rounded(row, role) for role in self._roles]
            besides = _besides(figures, self._roles)
            table.row(row.line, size, values, besides, int(row.words.get("repetitions", "0")))

    def _unless_rounded(self, row: ImbRow, role: Role) -> float | None:
        """The printed value, or None where 0.00 is all that rounding left of a figure."""
        value = row.figures[role]
        if value != 0.0:
            return value
        if role == "bandwidth":
            found = evidence_of(row, self._benchmark, self._output.part)
            return None if found is not None and DECIMAL in found else value
        # Benchmarks without computation, and empty messages, have none.
        return None if role == "computation" else value

    def _message_bytes(self, row: ImbRow) -> int | None:
        """IMB-MT prints the bytes of all its threads' messages together."""
        size, threads = row.size, self._block.threads
        return size if size is None or size % threads else size // threads

    def _company(self) -> str:
        """Who was busy besides one pair of ranks, as far as the figures do not sum it up."""
        block = self._block
        if block.groups > 1:
            return f"{block.groups} groups at once"
        if block.threads > 1:
            return f"{block.threads} threads per rank together"
        several = self._output.part == "MT" and not self._benchmark.every_pair
        return f"{block.ranks} ranks at once" if several and (block.ranks or 0) > 2 else ""

    def _heading(self, group: int | None) -> SuiteHeading:
        block = self._block
        ranks = block.ranks
        if ranks is not None and group is None:
            ranks *= block.groups
        every_pair = self._benchmark.every_pair and block.ranks is not None
        return SuiteHeading(
            "imb", self._output.version, block.name.removeprefix("Multi-"), block.title,
            block.line or self._headline.number,
            pairs=max(1, (block.ranks or 0) // 2) if every_pair else 1, ranks=ranks,
            settings=settings_of(self._output, block, group, "size" in self._layout.roles),
            evidence=LogEvidence(data_checked="defects" in self._layout.roles),
        )  # fmt: skip

    def _megabyte(self) -> Megabyte:
        version, part = self._output.version, self._output.part
        if "bandwidth" not in self._layout.roles:
            return megabyte_of(version, part, ())
        told = [
            *(one for each in self._plain
              for one in evidence_in(each, self._layout.roles, self._benchmark, part)),
            *(evidence_of(row, self._benchmark, part) for row in self._rows),
        ]  # fmt: skip
        megabyte = megabyte_of(version, part, told)
        if megabyte.against:
            self._report(self._headline, megabyte.against)
        against = [one is not None and megabyte.bytes not in one for one in told]
        if megabyte.by_rows and any(against):
            self._take_apart()
            for row in compress(self._rows, against):
                self._report(row.line, "Mbytes/sec that follow from the row's other figures")
        return megabyte


def _part_of(name: str, layout: ImbLayout) -> str:
    """The part that alone prints such a table (IMB 2019 to 2021.11), empty if several do."""
    if name.endswith("MT"):
        return "MT"
    return "P2P" if {"time", "bandwidth", "rate"} <= set(layout.roles) else ""


def _besides(
    figures: Mapping[Role, float], roles: Sequence[Role]
) -> Sequence[dict[Besides, float]]:
    """The extremes are those over ranks, each of them a mean over the repetitions."""
    if not ("mean" in figures and "least" in figures and "most" in figures):
        return ()
    extremes: dict[Besides, float] = {"minimum": figures["least"], "maximum": figures["most"]}
    return [extremes if role == "mean" else {} for role in roles]
