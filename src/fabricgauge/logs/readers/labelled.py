"""Read suites that print named values: each suite declares its lines and its figures.

A block is the output of one test: from the line that begins it to the next such line. Its lines
give values by name. Its figures state which value becomes which curve, in which unit, at which
size.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from fabricgauge.logs.readers.interface import Dialect, LogLine, Report
from fabricgauge.logs.readers.lines import figure_of, split_csv
from fabricgauge.logs.readers.table import SuiteColumn, SuiteHeading, SuiteTable
from fabricgauge.model.pattern import Pattern
from fabricgauge.model.suite import Besides, LogEvidence, LogLosses, Quantity, SuiteCurve

#: No test prints as many names; further ones are dropped.
_MOST_VALUES = 512
#: No message is larger.
_MOST_BYTES = 1e15

Values = Mapping[str, str]
Transport = Literal["tcp", "rdma"]


class NamedValue(msgspec.Struct, frozen=True):
    """One value of a block that becomes a point of a curve of its own.

    ``key`` is the value's name; ``test`` must match the block's test whole. The printed unit is in
    ``key`` with ``_unit`` behind it, or missing; ``units`` converts it to SI units (1 without
    them), ``rule`` describes it. ``size`` is a message size, or the name of a value with one. If a
    block with its opening line lacks that value, the size is ``else_bytes``; otherwise it is
    unknown. ``half_of_rate`` turns whole round trips per second into half of one in seconds. The
    other fields are those of ``SuiteColumn``.
    """

    key: str
    quantity: Quantity
    rule: str
    what: str
    test: str = ".*"
    pattern: Pattern | None = None
    size: int | str | None = None
    else_bytes: int | None = None
    units: Mapping[str, float] = {}
    besides: Mapping[Besides, str] = {}
    samples: str = ""
    half_of_rate: bool = False
    directions: int = 1
    origin: int = 0

    @property
    def column(self) -> SuiteColumn:
        return SuiteColumn(
            self.quantity, self.what, "mean", self.rule, 1.0, self.pattern, self.directions,
            self.origin, 1 - self.origin,
        )  # fmt: skip


class Labelled(msgspec.Struct, frozen=True):
    """A suite. ``begins`` are as a dialect's; each line that ``opens`` matches begins a block.

    The groups of ``opens`` and ``values`` are values; the first expression that matches a line
    counts. Groups ``key`` and ``value`` hold a value's name and the value. ``columns`` are the CSV
    names of values, which the next line gives. ``known`` lines have no values. A repeated
    ``single`` value begins another block, without a line that opens it. A block that lacks all of
    ``whole`` is cut off, and ``sign`` is the reason. ``settings`` are values that are kept as
    settings, by their words; ``transports`` are the transports of tests; ``named`` makes the test's
    name. Values ``local`` and ``remote`` are the ends' addresses, ``version`` and ``ranks`` are the
    curves'; ``protocol`` is the transport where it is TCP; ``dropped``, ``received`` and
    ``repeated`` are numbers of messages. If the suite ``sweeps``, blocks
    of one test that follow each other may have any sizes.
    """

    suite: str
    begins: Mapping[str, str]
    opens: str
    values: tuple[str, ...]
    known: str
    figures: tuple[NamedValue, ...]
    whole: tuple[str, ...]
    sign: str
    columns: Mapping[str, str] = {}
    single: frozenset[str] = frozenset()
    settings: Mapping[str, str] = {}
    transports: Mapping[Transport, str] = {}
    sweeps: bool = False
    named: Callable[[Values], str] = lambda values: values.get("test", "")

    @property
    def dialect(self) -> Dialect:
        return Dialect(self.suite, self.begins, lambda report: LabelledReader(self, report))


class Block:
    """The values of one test, each with its line.

    ``has_default``: its first line is present, so that a size that it lacks is the default.
    """

    def __init__(self, first: LogLine, values: Values, has_default: bool) -> None:
        self.first = first
        self.has_default = has_default
        self.values = dict(values)
        self.lines: dict[str, LogLine] = dict.fromkeys(values, first)

    def learn(self, line: LogLine, values: Values) -> None:
        if len(self.values) + len(values) <= _MOST_VALUES:
            self.values.update(values)
            self.lines.update(dict.fromkeys(values, line))

    def factor(self, figure: NamedValue) -> float | None:
        """Return the factor from the printed unit to SI units; None if value or unit is missing."""
        unit = "".join(self.values.get(f"{figure.key}_unit", "").split())
        units = figure.units or {"": 1.0}
        return units.get(unit) if figure.key in self.values else None

    def number(self, key: str) -> float:
        return figure_of(self.values.get(key, "").replace(",", ""))

    def size(self, figure: NamedValue) -> int | None:
        """Return the message size in bytes; None where the log has none."""
        if not isinstance(figure.size, str):
            return figure.size
        size = self.number(figure.size)
        if 0 <= size < _MOST_BYTES:
            return int(size)
        return figure.else_bytes if self.has_default else None


class LabelledReader:
    def __init__(self, suite: Labelled, report: Report) -> None:
        self._suite = suite
        self._report = report
        self._opens, self._skips = (
            re.compile(pattern).match for pattern in (suite.opens, suite.known)
        )
        self._values = [re.compile(pattern).match for pattern in suite.values]
        self._block: Block | None = None
        self._names: Sequence[str] = ()

    def line(self, line: LogLine) -> Iterable[SuiteCurve]:
        text = line.text
        if opened := self._opens(text):
            first = _values_of(opened)
            before = self._block if self._suite.sweeps else None
            is_swept = before is not None and before.values.get("test") == first.get("test")
            if before is not None and is_swept:
                before.has_default = False
            over = tuple(self.end())
            self._block = Block(line, first, has_default=not is_swept)
            return over
        match = next((match for matches in self._values if (match := matches(text))), None)
        values = self._cells(text) if match is None else _values_of(match)
        if values is None:
            if not self._skips(text):
                self._report(line, f"a line of {self._suite.suite}")
            return ()
        over = ()
        if self._block and not self._suite.single.isdisjoint(values.keys() & self._block.values):
            over = tuple(self.end())
        self._block = self._block or Block(line, {}, has_default=False)
        self._block.learn(line, values)
        return over

    def _cells(self, text: str) -> Values | None:
        """Return the values of a line of CSV by the names above it; none for the line of names."""
        if "," not in text or not self._suite.columns:
            return None
        cells = [cell.strip() for cell in split_csv(text)]
        if not self._suite.columns.keys().isdisjoint(cells):
            self._names = [self._suite.columns.get(cell, "") for cell in cells]
            return {}
        names, self._names = self._names, ()
        if len(cells) != len(names):
            return None
        return {name: cell for name, cell in zip(names, cells, strict=True) if name}

    def end(self) -> Iterator[SuiteCurve]:
        block, self._block = self._block, None
        if block is None:
            return
        suite, test = self._suite, self._suite.named(block.values)
        heading = self._heading(block, test)
        cut_off = "" if any(key in block.values for key in suite.whole) else suite.sign
        figures = [figure for figure in suite.figures if re.fullmatch(figure.test, test)]
        factors = [block.factor(figure) for figure in figures]
        if figures and not any(factors):
            yield from SuiteTable(heading, (figures[0].column,)).curves(suite.sign)
        for figure, factor in zip(figures, factors, strict=True):
            if factor is None:
                continue
            value, samples = block.number(figure.key), block.number(figure.samples)
            if figure.half_of_rate and value > 0:
                value = 0.5 / value
            besides = {key: block.number(name) * factor for key, name in figure.besides.items()}
            count = int(samples) if samples < _MOST_BYTES else 0
            table = SuiteTable(heading, (figure.column,))
            line, size = block.lines[figure.key], block.size(figure)
            table.row(line, size, (value * factor,), (besides,), count)
            yield from table.curves(cut_off)

    def _heading(self, block: Block, test: str) -> SuiteHeading:
        suite, values = self._suite, block.values
        settings = {word: values.get(key, "") for key, word in suite.settings.items()}
        ranks, ends = values.get("ranks", ""), _ends(values)
        over = (
            transport for transport, tests in suite.transports.items() if re.fullmatch(tests, test)
        )
        is_tcp = values.get("protocol", "").upper() == "TCP"
        counts = (block.number(name) for name in ("dropped", "received", "repeated"))
        dropped, received, repeated = (int(min(n, _MOST_BYTES)) if n > 0 else 0 for n in counts)
        is_counted = "dropped" in values and received
        losses = LogLosses(dropped, dropped + received, 0.0, repeated) if is_counted else None
        return SuiteHeading(
            suite.suite, values.get("version", ""), test or suite.suite,
            block.first.text.strip()[:200], block.first.number,
            ranks=int(ranks) if ranks.isdecimal() and len(ranks) < 9 else None,
            transport="tcp" if is_tcp else next(over, ""),
            settings=settings, hosts=ends,
            evidence=LogEvidence(addresses=ends, losses=losses),
        )  # fmt: skip


def _ends(values: Values) -> tuple[str, ...]:
    """Return both ends' addresses if they are known; a loopback address is both ends'."""
    local, remote = values.get("local", ""), values.get("remote", "")
    if remote.startswith("127.") or remote in ("::1", "localhost"):
        return (remote, remote)
    specified = local.strip("0.:") not in ("", "(null)")
    return (local, remote) if specified and remote else ()


def _values_of(match: "re.Match[str]") -> dict[str, str]:
    """Return the groups that matched, by name; ``key`` and ``value`` are one named value."""
    values = {name: text.strip() for name, text in match.groupdict().items() if text is not None}
    if "key" not in values:
        return values
    key, value = values.pop("key"), values.pop("value", "")
    return {key: value, **{f"{key}_{name}": text for name, text in values.items()}}
