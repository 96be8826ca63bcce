"""Suites that print named values, not tables: each is a declaration of lines and of figures.

A block is what one test prints: from the line that begins it to the next one. Its lines give
values by name; its figures say which value is which curve, in which unit, at which size.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal

import msgspec

from fabricgauge.model.suite import Besides, LogEvidence, SuiteCurve
from fabricgauge.parse.interface import Dialect, LogLine, Report
from fabricgauge.parse.lines import number_of
from fabricgauge.parse.table import SuiteColumn, SuiteHeading, SuiteTable

#: No test prints as many names; what exceeds them is not kept.
_MOST_VALUES = 512
#: No message is larger.
_MOST_BYTES = 1e15

Values = Mapping[str, str]
Transport = Literal["tcp", "rdma"]


class Figure(msgspec.Struct, frozen=True):
    """One value of a block that becomes a point of a curve of its own.

    ``key`` is the value's name. The printed unit is in ``key`` with ``_unit`` behind it, and
    ``units`` says what it is in SI units; without ``units`` it is the column's own. ``test`` is
    what the block's test must match whole. ``size`` is a message size, or the name of one;
    where the log does not say that, it is ``else_bytes``, or not known: then the figure is no
    pattern's. ``half_of_rate`` turns whole round trips per second into half of one in seconds.
    """

    key: str
    column: SuiteColumn
    test: str = ".*"
    size: int | str | None = None
    else_bytes: int | None = None
    units: Mapping[str, float] = {}
    besides: Mapping[Besides, str] = {}
    samples: str = ""
    half_of_rate: bool = False


class Labelled(msgspec.Struct, frozen=True):
    """A suite. ``begins`` are as a dialect's; each line that ``opens`` matches begins a block.

    Its groups are values, and so are those of ``values``: the first that matches a line counts;
    groups ``key`` and ``value`` name a value themselves. ``known`` lines say nothing. A block
    that lacks all of ``whole`` is cut off: ``sign`` says so. ``settings`` are names of values
    that are kept as settings, by their words; ``transports`` are what tests by name went over;
    ``named`` makes the test's name, ``evidence`` hosts and the like of the values.
    """

    suite: str
    begins: Mapping[str, str]
    opens: "re.Pattern[str]"
    values: "tuple[re.Pattern[str], ...]"
    known: "re.Pattern[str]"
    figures: tuple[Figure, ...]
    whole: tuple[str, ...]
    sign: str
    settings: Mapping[str, str] = {}
    transports: Mapping[Transport, str] = {}
    named: Callable[[Values], str] = lambda values: values.get("test", "")
    evidence: Callable[[Values], LogEvidence] = lambda _: LogEvidence()

    @property
    def dialect(self) -> Dialect:
        return Dialect(self.suite, self.begins, lambda report: LabelledReader(self, report))


class Block:
    """The values of one test, each with its line."""

    def __init__(self, first: LogLine, values: Values) -> None:
        self.first = self.last = first
        self.values = dict(values)
        self.lines: dict[str, LogLine] = dict.fromkeys(values, first)

    def learn(self, line: LogLine, values: Values) -> None:
        self.last = line
        if len(self.values) + len(values) <= _MOST_VALUES:
            self.values.update(values)
            self.lines.update(dict.fromkeys(values, line))

    def unit(self, figure: Figure) -> str:
        return "".join(self.values.get(f"{figure.key}_unit", "").split())

    def has(self, figure: Figure) -> bool:
        """Whether the figure was printed, in a unit that is its own."""
        known = not figure.units or self.unit(figure) in figure.units
        return figure.key in self.values and known

    def number(self, key: str) -> float | None:
        return number_of(self.values.get(key, "").replace(",", ""))

    def size(self, figure: Figure) -> int | None:
        """The message size, in bytes; None where the log does not say it."""
        if not isinstance(figure.size, str):
            return figure.size
        size = self.number(figure.size)
        return int(size) if size is not None and 0 <= size < _MOST_BYTES else figure.else_bytes


class LabelledReader:
    """One block after the other; nothing but the open one is kept."""

    def __init__(self, suite: Labelled, report: Report) -> None:
        self._suite = suite
        self._report = report
        self._block: Block | None = None

    def line(self, line: LogLine) -> Iterable[SuiteCurve]:
        text = line.text
        if opened := self._suite.opens.match(text):
            over = tuple(self.end())
            self._block = Block(line, _said(opened))
            return over
        said = next(
            (_said(found) for one in self._suite.values if (found := one.match(text))), None
        )
        if said is None:
            if not self._suite.known.match(text):
                self._report(line, f"a line of {self._suite.suite}")
        else:
            self._block = self._block or Block(line, {})
            self._block.learn(line, said)
        return ()

    def end(self) -> Iterable[SuiteCurve]:
        block, self._block = self._block, None
        return () if block is None else tuple(self._curves(block))

    def _curves(self, block: Block) -> Iterator[SuiteCurve]:
        suite, test = self._suite, self._suite.named(block.values)
        whole = any(key in block.values for key in suite.whole)
        figures = [one for one in suite.figures if re.fullmatch(one.test, test)]
        given = [one for one in figures if block.has(one)]
        if figures and not given:
            table = SuiteTable(self._heading(block, test), (figures[0].column,))
            yield from table.curves(suite.sign)
        for figure in given:
            yield from self._curve(block, test, figure, "" if whole else suite.sign)

    def _curve(self, block: Block, test: str, figure: Figure, cut_off: str) -> Iterable[SuiteCurve]:
        column, line, size = figure.column, block.lines[figure.key], block.size(figure)
        if size is None:
            column = msgspec.structs.replace(column, pattern=None)
        factor = figure.units.get(block.unit(figure), 1.0)
        value = block.number(figure.key)
        if value is not None and figure.half_of_rate and value > 0:
            value = 0.5 / value
        table = SuiteTable(self._heading(block, test), (column,))
        if value is None:
            table.failed(line, size, "not a number")
            return table.curves(cut_off)
        besides: dict[Besides, float] = {
            key: more * factor
            for key, name in figure.besides.items()
            if (more := block.number(name)) is not None
        }
        samples = block.number(figure.samples) or 0.0
        count = int(samples) if samples < _MOST_BYTES else 0
        table.row(line, size, (value * factor,), (besides,), count)
        return table.curves(cut_off)

    def _heading(self, block: Block, test: str) -> SuiteHeading:
        suite, values = self._suite, block.values
        evidence = suite.evidence(values)
        settings = {word: values[key] for key, word in suite.settings.items() if values.get(key)}
        ranks = values.get("ranks", "")
        return SuiteHeading(
            suite.suite, values.get("version", ""), test or suite.suite,
            block.first.text.strip()[:200], block.first.number,
            ranks=int(ranks) if ranks.isdecimal() and len(ranks) < 9 else None,
            transport=self._transport(test, values),
            settings=settings, hosts=evidence.addresses, evidence=evidence,
        )  # fmt: skip

    def _transport(self, test: str, values: Values) -> "Transport | Literal['']":
        """By the test's name, or by the protocol that the log names."""
        if values.get("protocol", "").upper() == "TCP":
            return "tcp"
        named = (one for one, tests in self._suite.transports.items() if re.fullmatch(tests, test))
        return next(named, "")


def ends_of(local: str, remote: str) -> tuple[str, ...]:
    """Both ends' addresses where they are known; a loopback address is both ends'."""
    if remote.startswith("127.") or remote in ("::1", "localhost"):
        return (remote, remote)
    specified = local.strip("0.:") not in ("", "(null)")
    return (local, remote) if specified and remote else ()


def _said(match: "re.Match[str]") -> dict[str, str]:
    """The groups that matched, by name; ``key`` and ``value`` are one named value."""
    said = {name: text.strip() for name, text in match.groupdict().items() if text is not None}
    if "key" in said:
        key = said.pop("key")
        said = {
            key: said.pop("value", ""),
            **{f"{key}_{name}": text for name, text in said.items()},
        }
    return said
