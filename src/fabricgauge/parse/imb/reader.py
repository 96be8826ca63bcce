"""Reads outputs of IMB one after the other, and its tables in documents."""

import re
from collections.abc import Iterable
from typing import Literal

from fabricgauge.model.suite import SuiteCurve
from fabricgauge.parse.imb.ending import Ending
from fabricgauge.parse.imb.heading import (
    MOST_LISTED,
    NO_BLOCK,
    Block,
    Output,
    block_of,
    output_of,
    with_fact,
    with_line,
    with_listed,
)
from fabricgauge.parse.imb.layout import layout_of
from fabricgauge.parse.imb.prose import is_last_line, is_prose, refusal_in, zone_of
from fabricgauge.parse.imb.size_table import SizeTable
from fabricgauge.parse.interface import Line, Report

_EXPECTED = "a line of IMB's output"
_FOREIGN = "no output of a known suite"
_LAST_LINE = "# All processes entering MPI_Finalize"
_RULER = re.compile(r"\s*#-{4,}\s*")

#: Longest line of IMB's: sixteen ranks, or a command, of which nothing is needed.
_MOST_WORDS = 64
_MOST_CHARACTERS = 400

#: Where the lines with # in front belong: the output's head, the command in it, its list of
#: benchmarks, what stands above a table, or nowhere (after a table).
Zone = Literal["head", "command", "list", "block", "table"]


class ImbReader:
    """Keeps what stands above, and the table that is open."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._output = Output()
        self._block: Block = NO_BLOCK
        self._zone: Zone = "head"
        self._table: SizeTable | None = None
        self._measured: set[str] = set()
        self._last: Line | None = None

    def line(self, line: Line) -> Iterable[SuiteCurve]:
        words = line.text.split()
        if not words:
            return ()
        self._last = line
        layout = layout_of(words)
        if layout is not None:
            curves = self._close("went on")
            if layout.unknown:
                self._report(line, f"columns of IMB, other than {', '.join(layout.unknown)}")
            self._table = SizeTable(self._output, self._block, layout, line, self._report)
            self._zone = "table"
            return curves
        if words[0][0] != "#" and self._table is not None and self._table.take(line, words):
            return ()
        text = " ".join(words[:_MOST_WORDS])[:_MOST_CHARACTERS]
        return self._comment(line, text) if words[0][0] == "#" else self._other(line, text)

    def end(self) -> Iterable[SuiteCurve]:
        return self._end_output()

    def _comment(self, line: Line, text: str) -> Iterable[SuiteCurve]:
        output = output_of(text)
        if output is not None:
            return self._begin(output)
        block = block_of(text, line.number)
        if block is not None:
            curves = self._close("went on")
            self._block, self._zone = block, "block"
            if len(self._measured) < MOST_LISTED:
                self._measured.add(block.name.removeprefix("Multi-").lower())
            return curves
        if is_last_line(text):
            curves = self._close("went on")
            self._forget()
            return curves
        if not self._fact(text):
            self._report(line, refusal_in(text) or self._expected())
        return ()

    def _begin(self, output: Output) -> Iterable[SuiteCurve]:
        curves = list(self._end_output())
        self._output, self._zone = output, "head"
        return curves

    def _fact(self, text: str) -> bool:
        """Learn what a line says of what follows; whether it is one of IMB's."""
        if _RULER.fullmatch(text):
            self._zone = "head" if self._zone in ("command", "list") else self._zone
            return True
        if refusal_in(text):
            return False
        if self._zone == "block":
            block = with_line(self._block, text)
            self._block = block or self._block
            return block is not None
        output = with_fact(self._output, text)
        self._output = output or self._output
        self._zone = zone_of(text) or ("head" if output else self._zone)
        if self._zone == "list":
            self._output = with_listed(self._output, text)
        return output is not None or self._zone in ("command", "list") or is_prose(text)

    def _other(self, line: Line, text: str) -> Iterable[SuiteCurve]:
        if text.startswith("```"):
            curves = self._close("left")
            self._block = NO_BLOCK
            return curves
        if not is_prose(text):
            self._report(line, refusal_in(text) or self._expected())
        return ()

    def _expected(self) -> str:
        within = self._output.version or self._table is not None or self._block != NO_BLOCK
        return _EXPECTED if within else _FOREIGN

    def _close(self, ending: Ending) -> Iterable[SuiteCurve]:
        table, self._table = self._table, None
        return table.close(ending) if table is not None else ()

    def _end_output(self) -> Iterable[SuiteCurve]:
        """The lines are over, or another output begins, without this one's last line."""
        curves = list(self._close("stopped"))
        if self._output.version and self._output.part != "MT" and self._last is not None:
            self._tell_missing(self._last, any(curve.cut_off for curve in curves))
        self._forget()
        return curves

    def _tell_missing(self, last: Line, told: bool) -> None:
        names = [name for name in self._output.listed if name.lower() not in self._measured]
        if names:
            self._report(last, f"{_LAST_LINE!r}, and before it a table of {', '.join(names)}")
        elif not told:
            self._report(last, repr(_LAST_LINE))

    def _forget(self) -> None:
        self._output, self._block, self._zone = Output(), NO_BLOCK, "head"
        self._measured = set()
