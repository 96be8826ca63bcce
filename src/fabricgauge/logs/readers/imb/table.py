"""Keep the rows of the open table until its end, when they show their unit."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain

import msgspec

from fabricgauge.logs.readers.imb.benchmarks import ImbBenchmark, meaning_of
from fabricgauge.logs.readers.imb.heading import ImbBlock, ImbOutput, settings_of
from fabricgauge.logs.readers.imb.rows import FailedRow, ImbLayout, Role, begun_row, failed_row
from fabricgauge.logs.readers.imb.units import DECIMAL, Allowed, Megabyte, evidence_in, megabyte_of
from fabricgauge.logs.readers.interface import LogLine, Report
from fabricgauge.logs.readers.lines import decimals
from fabricgauge.logs.readers.rows import Rows
from fabricgauge.logs.readers.table import MOST_ROWS, SuiteColumn, SuiteHeading, SuiteTable
from fabricgauge.model.suite import LogEvidence, SuiteCurve

_TIMES: Mapping[Role, str] = {
    "time": "{}", "mean": "{}", "overlapped": "{} with computation meanwhile",
    "pure": "{} alone", "computation": "computation during {}",
}  # fmt: skip


@lru_cache(maxsize=64)
def columns_of(
    roles: tuple[Role, ...], benchmark: ImbBenchmark, megabyte: Megabyte, company: str
) -> tuple[SuiteColumn, ...]:
    """Return one column per curve. ``company`` describes other busy ranks, empty if none were.

    Patterns are of one pair of ranks that has the network to itself.
    """
    columns = tuple(_column(role, benchmark, megabyte) for role in roles)
    if not company:
        return columns
    return tuple(
        msgspec.structs.replace(column, what=f"{column.what}, {company}", pattern=None)
        for column in columns
    )


def _column(role: Role, benchmark: ImbBenchmark, megabyte: Megabyte) -> SuiteColumn:
    if role in _TIMES:
        meaning = _TIMES[role].format(benchmark.time)
        pattern = benchmark.latency if role in ("time", "mean") else None
        return SuiteColumn("time", meaning, "mean", "µs", 1e-6, pattern)
    if role == "overlap":
        meaning = f"share of {benchmark.time} that computation hid"
        return SuiteColumn("overlap", meaning, "mean", "%", 0.01)
    stream, directions = benchmark.stream, benchmark.directions
    if role == "rate":
        meaning = benchmark.rate or benchmark.bandwidth
        return SuiteColumn("message_rate", meaning, "mean", "messages/s", 1.0, stream, directions)
    rule, factor = megabyte.rule, megabyte.bytes
    return SuiteColumn("bandwidth", benchmark.bandwidth, "mean", rule, factor, stream, directions)


#: The printed decimals of all figures but message rates (IMB_edit_format of IMB_output.c).
_DECIMALS = 2
_EXPECTED = "a row of an IMB table"


class ImbTable:
    """Rows under one headline; with ``-multi 1`` the rows of all groups, in turn."""

    def __init__(
        self,
        output: ImbOutput,
        block: ImbBlock,
        layout: ImbLayout,
        headline: LogLine,
        report: Report,
    ) -> None:
        if not output.part:
            # The part that alone prints such a table (IMB 2019 to 2021.11), if there is one.
            of_p2p = {"time", "bandwidth", "rate"} <= layout.places.keys()
            part = "MT" if block.name.endswith("MT") else "P2P" if of_p2p else ""
            output = msgspec.structs.replace(output, part=part)
        self._output = output
        self._block, self._layout, self._places = block, layout, layout.places
        self._headline, self._report = headline, report
        self._benchmark = meaning_of(block.name.removeprefix("Multi-"), output.part, block.mode)
        self._rows: list[Rows | FailedRow] = []
        #: The evidence of each row on its unit, without failed rows; none without a bandwidth.
        self._evidence: list[Allowed | None] = []
        self._count = self._left_out = 0
        self._torn: FailedRow | None = None

    def rows(self, number: int, text: str, place: int) -> Rows | None:
        """Take the plain rows that begin at ``place``."""
        rows = self._layout.form.plain(number, text, place)
        if rows is not None:
            self._keep(rows)
        return rows

    def take(self, line: LogLine) -> bool:
        """Take a row; return False if the line is neither a row nor the beginning of one."""
        rows = self._layout.form.odd(line)
        if rows is None:
            failed = failed_row(line, self._layout)
            if failed is not None and self._has_room(1):
                self._rows.append(failed)
            return failed is not None
        is_whole = len(rows.columns) == len(self._layout.roles)
        if is_whole and (line.ended or not self._is_short(rows)):
            self._keep(rows)
        elif line.ended:
            self._report(line, _EXPECTED)
        else:
            # The last word may lack digits.
            self._torn = begun_row(line, rows.words[:-1], self._layout.roles)
        return True

    def close(self, stopped: bool) -> Iterator[SuiteCurve]:
        """Yield the curves, by group where there are groups; ``stopped`` if no line follows."""
        megabyte, block = self._megabyte(), self._block
        company = ""
        # The ranks that were busy beside one pair, where the figures do not sum over all.
        if block.groups > 1:
            company = f"{block.groups} groups at once"
        elif block.threads > 1:
            company = f"{block.threads} threads per rank together"
        elif (
            self._output.part == "MT" and not self._benchmark.every_pair and (block.ranks or 0) > 2
        ):
            company = f"{block.ranks} ranks at once"
        for group, rows_of_group in self._groups().items():
            heading, benchmark = self._heading(group), self._benchmark
            if heading.ranks == 2 and benchmark.of_two is not None:
                benchmark = msgspec.structs.replace(benchmark, stream=benchmark.of_two)
            columns = columns_of(self._layout.curves, benchmark, megabyte, company)
            table = SuiteTable(heading, columns)
            table.leave_out(self._left_out)
            for row in rows_of_group:
                self._add(table, row)
            if self._torn is not None and group in (None, self._torn.group):
                self._add(table, self._torn)
            yield from table.curves(self._sign(rows_of_group, stopped))

    def _keep(self, rows: Rows) -> None:
        """Keep rows. A bandwidth of 0.00 is none where rounding removed its digits."""
        if not self._has_room(rows.count):
            return
        changed: dict[int, list[float | None]] = {}
        if (place := self._places.get("bandwidth")) is not None:
            evidence = self._evidence_of(rows)
            self._evidence += evidence
            shown = rows.columns[place]
            if 0 in shown[1:] or (shown[0] == 0 and evidence[0]):
                changed[place] = [
                    None
                    if not figure and evidence_of_row and DECIMAL in evidence_of_row
                    else figure
                    for figure, evidence_of_row in zip(shown, evidence, strict=True)
                ]
        if self._block.threads > 1 and (place := self._places.get("size")) is not None:
            changed[place] = [*map(self._share, rows.columns[place])]
        if changed:
            columns = [changed.get(place, column) for place, column in enumerate(rows.columns)]
            rows = Rows(rows.number, rows.text, rows.words, columns)
        self._rows.append(rows)

    def _has_room(self, count: int) -> bool:
        is_full = self._count >= MOST_ROWS
        self._count, self._left_out = self._count + count, self._left_out + count * is_full
        return not is_full

    def _evidence_of(self, rows: Rows) -> list[Allowed | None]:
        return evidence_in(rows, self._layout.roles, self._benchmark, self._output.part)

    def _is_short(self, rows: Rows) -> bool:
        """Check whether the last number of a row seems to lack digits."""
        role, word = self._layout.roles[-1], rows.words[-1]
        if role == "unknown" or not word.lstrip("+-")[:1].isdecimal():
            return False
        if role != "rate":
            before = [last.words[-1] for last in self._rows[-1:] if isinstance(last, Rows)]
            return decimals(word) < (decimals(before[0]) if before else _DECIMALS)
        (allowed,) = self._evidence_of(rows)
        return allowed is not None and not allowed

    def _groups(self) -> Mapping[int | None, Sequence[Rows | FailedRow]]:
        place, rows_by_group = self._places.get("group"), dict[int | None, list[Rows | FailedRow]]()
        if place is None:
            return {None: self._rows}
        for rows in self._rows:
            if isinstance(rows, FailedRow):
                rows_by_group.setdefault(rows.group, []).append(rows)
                continue
            for row in rows.singles():
                rows_by_group.setdefault(row.columns[place][0], []).append(row)
        return rows_by_group or {None: []}

    def _add(self, table: SuiteTable, rows: Rows | FailedRow) -> None:
        if isinstance(rows, Rows):
            table.printed(self._layout.form.cells, rows.number, rows.text, rows.columns)
        else:
            size = None if rows.size is None else self._share(rows.size)
            table.failed(rows.line, size, rows.trouble)

    def _share(self, size: int) -> int:
        """Return the message size of one thread; IMB-MT prints the bytes of all its threads."""
        threads = self._block.threads
        return size if size % threads else size // threads

    def _sign(self, rows_of_group: Sequence[Rows | FailedRow], stopped: bool) -> str:
        """Return the sign that a table was cut off, empty if there is none."""
        output = self._output
        if self._torn is not None:
            return f"line {self._torn.line.number} ends in the middle of its row"
        if not rows_of_group:
            return "no row follows the headline"
        place = self._places.get("size")
        # IMB goes no further in a benchmark after a time-out or where memory does not suffice.
        if place is None or isinstance(rows_of_group[-1], FailedRow) or self._benchmark.one_size:
            return ""
        if output.own_sizes or output.part == "MT":
            has_last_size = output.own_sizes and stopped
            return "the output ends here, without IMB's last line" if has_last_size else ""
        last = max(
            [
                rows.size or 0 if isinstance(rows, FailedRow) else max(rows.columns[place])
                for rows in rows_of_group
            ]
        )
        last_size = output.last_bytes
        if last >= (output.default_bytes if last_size is None else last_size):
            return ""
        if last_size is not None:
            return f"ends at {last} bytes, where the output's head announces {last_size}"
        return (
            f"ends at {last} bytes, where the suite's default goes on to {output.default_bytes}: "
            "cut off, or run with a smaller maximum"
        )

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
            settings=settings_of(self._output, block, group, "size" in self._places),
            evidence=LogEvidence(data_checked="defects" in self._places),
        )  # fmt: skip

    def _megabyte(self) -> Megabyte:
        version, part = self._output.version, self._output.part
        if "bandwidth" not in self._places:
            return megabyte_of(version, part, ())
        megabyte = megabyte_of(version, part, self._evidence)
        if megabyte.against:
            self._report(self._headline, megabyte.against)
        evidence_of_rows = {*self._evidence} if megabyte.by_rows else set()
        against = [
            row_evidence
            for row_evidence in evidence_of_rows
            if row_evidence is not None and megabyte.bytes not in row_evidence
        ]
        if against:
            single_rows = (rows.singles() for rows in self._rows if isinstance(rows, Rows))
            for row, row_unit in zip(chain.from_iterable(single_rows), self._evidence, strict=True):
                if row_unit in against:
                    line = LogLine(row.number, row.text)
                    self._report(line, "Mbytes/sec that follow from the row's other figures")
        return megabyte
