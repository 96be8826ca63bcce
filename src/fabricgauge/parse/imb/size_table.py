"""The table that is open: its rows are kept until its end, when they tell their unit."""

from collections.abc import Iterator, Sequence

from fabricgauge.model.suite import Besides, SuiteCurve
from fabricgauge.parse.imb.benchmarks import meaning_of
from fabricgauge.parse.imb.columns import Layout, Role, columns_of
from fabricgauge.parse.imb.ending import Ending, Ran, is_short, sign_of_end
from fabricgauge.parse.imb.evidence import evidence_of
from fabricgauge.parse.imb.heading import Block, Output, settings_of
from fabricgauge.parse.imb.megabyte import Megabyte, megabyte_of
from fabricgauge.parse.imb.rows import Row, begun_row, is_begun, row_of
from fabricgauge.parse.interface import Line, Report
from fabricgauge.parse.table import MOST_ROWS, Heading, Table

_EXPECTED = "a row of an IMB table"
_MOST_GROUPS = 1000


class SizeTable:
    """Rows under one headline; with ``-multi 1`` those of all groups, in turn."""

    def __init__(
        self, output: Output, block: Block, layout: Layout, headline: Line, report: Report
    ) -> None:
        self._output, self._block, self._layout = output, block, layout
        self._headline, self._report = headline, report
        self._part = output.part or _part_of(layout)
        self._benchmark = meaning_of(block.name, self._part, block.mode)
        self._rows: list[Row] = []
        self._torn: Row | None = None

    def take(self, line: Line, words: Sequence[str]) -> bool:
        """Take a row; whether the line is one, whole or the beginning of one."""
        self._interrupted()
        row = row_of(line, words, self._layout)
        if row is not None:
            if len(self._rows) < MOST_ROWS:
                self._rows.append(row)
            return True
        if is_begun(words, self._layout):
            self._torn = begun_row(line, words, self._layout)
        return self._torn is not None

    def close(self, ending: Ending) -> Iterator[SuiteCurve]:
        """The curves, by group where there are groups."""
        if ending != "stopped":
            self._interrupted()
        elif self._torn is None and self._rows and self._is_short():
            line = self._rows.pop().line
            self._torn = begun_row(line, line.text.split(), self._layout)
        megabyte = self._megabyte()
        for group in self._groups():
            yield from self._curves_of(group, megabyte, ending)

    def _interrupted(self) -> None:
        """Lines follow, so what looked like the beginning of a row was something else."""
        if self._torn is not None:
            self._report(self._torn.line, _EXPECTED)
            self._torn = None

    def _groups(self) -> Sequence[int | None]:
        if "group" not in self._layout.roles:
            return (None,)
        return sorted({row.group for row in self._rows})[:_MOST_GROUPS] or (None,)

    def _curves_of(
        self, group: int | None, megabyte: Megabyte, ending: Ending
    ) -> Iterator[SuiteCurve]:
        columns = columns_of(self._layout, self._benchmark, megabyte, self._alone())
        table = Table(self._heading(group), columns)
        rows = [row for row in self._rows if group is None or row.group == group]
        for row in rows:
            self._add(table, row)
        torn = self._torn
        ran = Ran(
            [row.size for row in rows], bool(rows) and rows[-1].trouble is not None,
            torn.line.number if torn is not None else None,
        )  # fmt: skip
        if torn is not None and group in (None, torn.group):
            table.failed(torn.line, self._message_bytes(torn), "cut off")
        yield from table.curves(sign_of_end(self._output, self._benchmark, ending, ran))

    def _add(self, table: Table, row: Row) -> None:
        size = self._message_bytes(row)
        if row.trouble is not None:
            table.failed(row.line, size, row.trouble)
        elif (row.number("defects") or 0.0) != 0.0:
            table.failed(row.line, size, "corrupt")
        else:
            values = [_value(row, role) for role in self._layout.curves]
            besides = [_besides(row, role) for role in self._layout.curves]
            table.row(row.line, size, values, besides, int(row.words.get("repetitions", "0")))

    def _message_bytes(self, row: Row) -> int | None:
        """IMB-MT prints the bytes of all its threads' messages together."""
        threads = self._block.threads
        if row.size is None or row.size % threads:
            return row.size
        return row.size // threads

    def _alone(self) -> bool:
        """Whether one pair of ranks was busy at once, wherever that can be known."""
        block = self._block
        several = self._part == "MT" and (block.ranks or 0) > 2
        return block.groups == 1 and block.threads == 1 and not several

    def _is_short(self) -> bool:
        return is_short(self._rows, self._benchmark, self._part)

    def _heading(self, group: int | None) -> Heading:
        block = self._block
        ranks = block.ranks
        if ranks is not None and group is None:
            ranks *= block.groups
        every_pair = self._benchmark.every_pair and block.ranks is not None
        return Heading(
            "imb", self._output.version, block.name.removeprefix("Multi-"), block.title,
            block.line or self._headline.number,
            pairs=max(1, (block.ranks or 0) // 2) if every_pair else 1, ranks=ranks,
            settings=dict(settings_of(self._output, block, group)),
        )  # fmt: skip

    def _megabyte(self) -> Megabyte:
        told = [(row, evidence_of(row, self._benchmark, self._part)) for row in self._rows]
        rows = [(row, found) for row, found in told if found is not None]
        megabyte = megabyte_of(self._output.version, self._part, [found for _, found in rows])
        if "bandwidth" in self._layout.roles and megabyte.against:
            self._report(self._headline, megabyte.against)
        for row, found in rows if megabyte.by_rows else ():
            if not found.allows(megabyte.bytes):
                self._report(row.line, "Mbytes/sec that follow from the row's other figures")
        return megabyte


def _part_of(layout: Layout) -> str:
    """Only IMB-P2P prints a time, a bandwidth and a message rate (IMB 2019 to 2021.11)."""
    return "P2P" if {"time", "bandwidth", "rate"} <= set(layout.roles) else ""


def _value(row: Row, role: Role) -> float | None:
    """Computation is none in a benchmark without, which prints 0.00."""
    value = row.number(role)
    return None if role == "computation" and value == 0.0 else value


def _besides(row: Row, role: Role) -> dict[Besides, float]:
    """The extremes are those over ranks, each of them a mean over the repetitions."""
    least, most = row.number("least"), row.number("most")
    if role != "mean" or least is None or most is None:
        return {}
    return {"minimum": least, "maximum": most}
