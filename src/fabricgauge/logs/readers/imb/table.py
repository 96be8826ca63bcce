"""Read the lines above IMB's tables, and keep a table's rows until its end shows their unit.

The lines are on the whole output, or on one benchmark, with one blank between their words.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import msgspec

from fabricgauge.logs.readers.imb.benchmarks import (
    LAST_BYTES,
    LAST_IO_BYTES,
    ImbBenchmark,
    is_reduction,
    meaning_of,
)
from fabricgauge.logs.readers.imb.rows import FailedRow, ImbLayout, Role, begun_row, failed_row
from fabricgauge.logs.readers.imb.units import DECIMAL, Allowed, Megabyte, evidence_in, megabyte_of
from fabricgauge.logs.readers.interface import LogLine, Report
from fabricgauge.logs.readers.lines import decimals, remembered
from fabricgauge.logs.readers.rows import Rows
from fabricgauge.logs.readers.table import MOST_ROWS, SuiteColumn, SuiteHeading, SuiteTable
from fabricgauge.model.suite import LogEvidence, SuiteCurve

#: Ranks of a group are shown in the settings up to this many characters.
_SHOWN_CHARACTERS = 200
#: The suite has about a hundred benchmarks.
MOST_LISTED = 1000
#: Further groups are dropped.
_MOST_GROUPS = 1000


class ImbOutput(msgspec.Struct, frozen=True):
    """Facts of an output's head. Empty for a table that was copied out of an output.

    ``last_bytes`` is the announced maximum, None if there is none; ``own_sizes`` is true if the
    user gave a list of sizes; ``listed`` are the benchmarks that the run will reach.
    """

    version: str = ""
    part: str = ""
    last_bytes: int | None = None
    own_sizes: bool = False
    settings: dict[str, str] = {}
    listed: tuple[str, ...] = ()

    @property
    def default_bytes(self) -> int:
        return LAST_IO_BYTES if self.part == "IO" else LAST_BYTES


class ImbBlock(msgspec.Struct):
    """The lines above one table, as far as read. ``ranks`` are those of one group."""

    name: str
    title: str
    line: int
    ranks: int | None = None
    groups: int = 1
    threads: int = 1
    mode: str = ""
    settings: dict[str, str] = {}
    group_ranks: dict[int, str] = {}

    def learn(self, text: str) -> bool:
        """Take a line above the table; return False for another line."""
        facts = _facts_in(text)
        if facts is None:
            return False
        if "members" in facts:
            # Ranks are printed sixteen to a line.
            group = facts.get("group", max(self.group_ranks, default=0))
            ranks = " ".join([self.group_ranks.get(group, ""), *facts["members"]]).strip()
            full = len(self.group_ranks) >= _MOST_GROUPS and group not in self.group_ranks
            if ranks and len(ranks) <= _SHOWN_CHARACTERS and not full:
                self.group_ranks[group] = ranks
        elif "settings" in facts:
            self.settings |= facts["settings"]
        else:
            for name, value in facts.items():
                setattr(self, name, value)
        return True


NO_BLOCK = ImbBlock("unnamed", "", 0)

_TITLE = re.compile(
    r"# ?(?:Intel ?(?:\(R\)|®)|PALLAS) MPI Benchmarks?(?: Suite)? "
    r"V?(?P<version>\d[^,]{0,60}?)(?: modified by[^,]{0,120})? ?, ?"
    r"(?:MPI-|IMB-)?(?P<part>[A-Za-z0-9]+) part"
)
#: The title of IMB-MPI1 says MPI-1, that of IMB-EXT MPI-2, that of IMB-MT MT.
_PARTS = {"1": "MPI-1", "2": "EXT", "4": "MPI-4"}
_BENCHMARK = re.compile(
    r"# ?(?P<title>Benchmarking (?:Multi-)?(?P<name>\S+)(?: \((?P<grid>[\d x]*)\))?)"
)
_IN_BLOCK = re.compile(
    r"# ?(?:"
    r"(?:#processes =|\( ?(?P<groups>\d{1,9}) groups of) (?P<ranks>\d{1,9})(?:"
    r" processes each running simultaneous ?\)"
    r"| ?\(threads: (?P<threads>\d{1,9})\)| ?; rank order \(rowwise\):)?"
    r"|MODE: (?P<mode>NON-AGGREGATE|AGGREGATE)"
    r"|\( ?(?P<waiting>\d{1,9}) additional process(?:es)? waiting in MPI_Barrier ?\)"
    r"|window_size = (?P<window>\d{1,9})"
    r"|(?:Group (?P<group>\d{1,9}):)?(?P<members>[ \d.]*))"
)
_SETTINGS = {"waiting": "waiting processes", "window": "window"}

_IN_HEAD = re.compile(
    r"# ?(?:Maximum (?:message length|io portion) in bytes: ?(?P<last_bytes>\d{1,18})"
    r"|(?P<own_sizes>(?:Message|IO) lengths were user defined)"
    r"|MPI_Datatype(?P<reductions> for reductions)? ?: ?(?P<type>\S+))"
)
_LISTED = re.compile(r"# ?(?:\(Multi-\))?(?P<name>[A-Za-z]\w*)")


def output_of(text: str) -> ImbOutput | None:
    """Return the output that a title begins; None if the line is no title."""
    match = _TITLE.match(text) if " MPI Benchmark" in text else None
    if match is None:
        return None
    part = match["part"].upper()
    return ImbOutput(version=match["version"].strip(), part=_PARTS.get(part, part))


def with_fact(output: ImbOutput, text: str) -> ImbOutput | None:
    """Return the output with the facts of a line of its head; None if the line has none."""
    match = _in_head(text)
    if match is None:
        return None
    if match["last_bytes"]:
        return msgspec.structs.replace(output, last_bytes=int(match["last_bytes"]))
    if match["own_sizes"]:
        return msgspec.structs.replace(output, own_sizes=True)
    key = "reduction datatype" if match["reductions"] else "datatype"
    return msgspec.structs.replace(output, settings={**output.settings, key: match["type"]})


_in_head = remembered(_IN_HEAD.fullmatch)


def with_listed(output: ImbOutput, text: str) -> ImbOutput:
    """Return the output with a line of its list of benchmarks; comments add nothing."""
    match = _LISTED.fullmatch(text)
    if match is None or len(output.listed) >= MOST_LISTED:
        return output
    return msgspec.structs.replace(output, listed=(*output.listed, match["name"]))


def block_of(text: str) -> tuple[str, str, dict[str, str]] | None:
    """Return name, title and settings of the block that a line begins; else None."""
    match = _BENCHMARK.fullmatch(text) if "Benchmarking " in text else None
    if match is None:
        return None
    return match["name"], match["title"], {"grid": match["grid"]} if match["grid"] else {}


@remembered
def _facts_in(text: str) -> dict[str, Any] | None:
    """Return the facts of a block's line, by the names of ``ImbBlock``'s fields."""
    match = _IN_BLOCK.fullmatch(text)
    groups = match.groupdict().items() if match else ()
    facts = {
        key: int(word) if word.isdecimal() else word for key, word in groups if word is not None
    }
    if "members" in facts:
        facts["members"] = str(facts["members"]).split()
    if "threads" in facts:
        facts["threads"] = max(1, facts["threads"])
    settings = {_SETTINGS[key]: str(value) for key, value in facts.items() if key in _SETTINGS}
    facts = {"settings": settings} if settings else facts
    return facts if match else None


def settings_of(
    output: ImbOutput, block: ImbBlock, group: int | None, sized: bool
) -> dict[str, str]:
    """Return the settings of one table, or of one group's rows of it."""
    key = "reduction datatype" if is_reduction(block.name) else "datatype"
    several, has_ranks = block.groups > 1, group is not None or block.groups == 1
    return {
        "part": output.part,
        "datatype": output.settings.get(key, "") if sized else "",
        "mode": block.mode.lower(),
        "threads": str(block.threads) if block.threads > 1 else "",
        "groups": f"{block.groups} of {block.ranks} processes" if several else "",
        "group": str(group) if group is not None and several else "",
        "ranks": block.group_ranks.get(group or 0, "") if has_ranks else "",
        **block.settings,
    }


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
        is_of_pair = self._output.part != "MT" or self._benchmark.every_pair
        if block.groups > 1:
            company = f"{block.groups} groups at once"
        elif block.threads > 1:
            company = f"{block.threads} threads per rank together"
        elif not is_of_pair and (block.ranks or 0) > 2:
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
            rows.size or 0 if isinstance(rows, FailedRow) else max(rows.columns[place])
            for rows in rows_of_group
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
        against = [
            allowed
            for allowed in {*self._evidence}
            if allowed is not None and megabyte.bytes not in allowed
        ]
        if against and megabyte.by_rows:
            single_rows = (rows.singles() for rows in self._rows if isinstance(rows, Rows))
            for row, row_unit in zip(chain.from_iterable(single_rows), self._evidence, strict=True):
                if row_unit in against:
                    line = LogLine(row.number, row.text)
                    self._report(line, "Mbytes/sec that follow from the row's other figures")
        return megabyte
