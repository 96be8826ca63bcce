"""Refuse tables whose heading has other units than their suite prints.

Someone who edits a log, or a patched program, may print KB/s where the suite prints MB/s. Readers
that take a column's unit from its name would be wrong by a thousand.
"""

import re
from collections.abc import Iterable, Sequence

from fabricgauge.logs.readers.interface import LogLine
from fabricgauge.logs.readers.lines import remembered
from fabricgauge.logs.readers.table import SHOWN_CHARACTERS
from fabricgauge.model.suite import SuiteCurve, UnparsedLine

#: Rates of bytes, bits, messages and operations, and times; a number in front is a setting.
_UNIT = re.compile(
    r"[kKMGT]i?B|[kKMGT]?i?(?:B|b|[Bb]ytes?|[Bb]its?)(?:/s|/sec|ps)"
    r"|[kKMG]?(?:[Mm]essages|[Mm]sgs?|ops|[Pp]ackets|pkts)(?:/s|/sec|ps)"
    r"|[numkµ]?s(?:ec)?|(?:nano|micro|milli)?seconds|10\^\d+ ?bits/s(?:ec)?|cycles|ticks"
)
_IN_BRACKETS = re.compile(r"[(\[]([^()\[\]]{1,16})[)\]]")
_BARE = re.compile(r"(?<![\w.(\[/])([A-Za-z]{1,9}/s(?:ec)?|[kKMGT][Bb]ps)(?![\w/])")
_HEADING = re.compile(r"Size|size|[Ll]atency|[Bb]andwidth|overhead|Overall|\(B\)|BW\b|\brate\b")
_SETTING = re.compile(r"(?<![\w.^])\d+(?:\.\d+)?\s*(?=[A-Za-z\[(])")


@remembered
def units_in(text: str) -> tuple[str, ...]:
    """Return the units in a table's heading; empty for a line that is no heading."""
    if text.lstrip(" #|")[:1].isdecimal() or not _HEADING.search(text):
        return ()
    if _SETTING.search(re.sub(r"\bP\d+(?:\.\d+)? ", "", text)):
        return ()
    bracketed, rest = _IN_BRACKETS.findall(text), _IN_BRACKETS.sub(" ", text)
    names = (*(name.strip() for name in bracketed), *_BARE.findall(rest))
    return tuple(name for name in names if _UNIT.fullmatch(name))


class UnitWatch:
    """Watches the headings of one suite's output, and withholds curves under foreign units."""

    def __init__(self, suite: str, usual: Sequence[str]) -> None:
        self._suite, self._usual = suite, usual
        self._heading: LogLine | None = None
        self._foreign = ""
        #: First line of each such table, and the first line behind it.
        self._spans: list[tuple[LogLine, str, int]] = []

    def take(self, line: LogLine) -> None:
        units = units_in(line.text)
        if not units:
            return
        if self._heading is not None:
            self._spans.append((self._heading, self._foreign, line.number))
        self._heading = None
        foreign = [unit for unit in units if unit not in self._usual]
        if foreign:
            self._heading, self._foreign = line, foreign[0]

    def split(
        self, curves: Iterable[SuiteCurve]
    ) -> tuple[tuple[SuiteCurve, ...], tuple[UnparsedLine, ...]]:
        """Return the curves under usual units, and the heading of each other table."""
        spans = list(self._spans)
        if self._heading is not None:
            spans.append((self._heading, self._foreign, 1 << 62))
        if not spans:
            return tuple(curves), ()
        kept, refused = list[SuiteCurve](), dict[int, UnparsedLine]()
        for curve in curves:
            at = [point.line for point in curve.points]
            span = next(
                (span for span in spans if any(span[0].number < n < span[2] for n in at)), None
            )
            if span is None:
                kept.append(curve)
            else:
                heading, unit, _ = span
                usual = ", ".join(self._usual)
                refused[heading.number] = UnparsedLine(
                    heading.number, heading.text.strip()[:SHOWN_CHARACTERS],
                    f"a heading of {self._suite} with its units ({usual}), not {unit}:"
                    " the rows below are not read", 1,
                )  # fmt: skip
        return tuple(kept), tuple(refused.values())
