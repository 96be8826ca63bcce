"""Reads outputs of IMB one after the other, and its tables in documents.

Lines of IMB that say nothing of the figures, and those that say that there are none.

From IMB_output.c, IMB_g_info.c, IMB_benchlist.c and IMB.c of 4.0.0 and 2018, and the same,
MT_benchmark.h, MT_suite.cpp and P2P/imb_p2p.c of 2021.11.
"""

import re
from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from fabricgauge.model.suite import SuiteCurve
from fabricgauge.parse.imb.heading import (
    MOST_LISTED,
    NO_BLOCK,
    ImbBlock,
    ImbOutput,
    block_of,
    output_of,
    with_fact,
    with_line,
    with_listed,
)
from fabricgauge.parse.imb.rows import ImbLayout, layout_of
from fabricgauge.parse.imb.table import ImbTable, TableEnd
from fabricgauge.parse.interface import LogLine, Report
from fabricgauge.parse.lines import remembered

_PROSE = re.compile(
    r"\s*(?:"
    r"#[\s#]*$"
    r"|#\s*(?:Date|Machine|System|Release|Version|MPI Version|MPI Thread Environment|MPI_Op)\s*:.*"
    r"|#\s*(?:MPI_Datatype|Minimum (?:message length|io portion) in bytes).*"
    r"|#\s*New default behavior from Version 3\.2 on:.*"
    r"|#\s*(?:the number of iterations|dynamically when|is expected to be|\"SECS_PER_SAMPLE\").*"
    r"|#\s*or through the flag => -time.*"
    r"|#\s*For nonblocking benchmarks:.*|#\s*Function CPU_Exploit obtains.*"
    r"|#\s*performance of\s+[\d.]+ MFlops.*"
    r"|#\s*Remarks on the current Version:.*|#\s*!! Attention: results have been achieved.*"
    r"|#\s*!! IMB_OPTIONAL mode.*|#\s*!! Results may differ.*"
    r"|#\s*of calls to IMB_v_alloc / IMB_v_free match.*"
    r"|!!!!\s+ALL BENCHMARKS SUCCESSFUL !!!!|\S+\s+: Successful"
    r")\s*"
)
_LAST = re.compile(r"\s*# (?:All processes entering MPI_Finalize|IMB has MPI_Finalize-d)\s*")
_COMMAND = re.compile(r"\s*#\s*Calling sequence was:.*")
_LIST = re.compile(r"\s*#\s*List of Benchmarks to run:.*")
_RANKS_REFUSED = "a number of processes that it can run on"
_NO_RANKS = "a table; IMB-MT says that no rank could run"
_COMMAND_REFUSED = "a command that IMB accepts"
#: What a refusal contains, how it reads, and what should have been instead.
_REFUSALS = tuple(
    (literal, re.compile(expression), expected)
    for literal, expression, expected in (
        (" invalid for", r"\s*# !! Benchmark .* invalid for", _RANKS_REFUSED),
        ("NO SUCC", r"\s*# NO SUCCESSFUL EXECUTIONS", _NO_RANKS),
        ("Invalid ", r"Invalid (?:benchmark name|option|data_type) \S", _COMMAND_REFUSED),
        ("Attention", r"\s*#\s*Attention, invalid benchmark name", _COMMAND_REFUSED),
        ("Error ", r"\s*(?:\d+: )?Error .*,\s*size = \d+,\s*sample #\d+", "data without errors"),
        ("FAILED", r".*(?:BENCHMARKS? FAILED|: FAILED !!)", "success"),
        ("unsucc", r".*Benchmark unsuccessful !!!", "success"),
    )
)


@remembered
def is_prose(text: str) -> bool:
    """Whether a line is one of IMB's that tell nothing more of the figures."""
    return _PROSE.fullmatch(text) is not None


def is_last_line(text: str) -> bool:
    """Whether IMB says that it is done."""
    return "MPI_Finalize" in text and _LAST.fullmatch(text) is not None


@remembered
def zone_of(text: str) -> Literal["command", "list"] | None:
    """What the lines after this one are, if it begins the command or the list."""
    if _COMMAND.fullmatch(text):
        return "command"
    return "list" if _LIST.fullmatch(text) else None


@remembered
def refusal_in(text: str) -> str:
    """What should have been where IMB says that it cannot, or that data are wrong."""
    for literal, expression, expected in _REFUSALS:
        if literal in text and expression.match(text):
            return expected
    return ""


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


@remembered
def _taken_apart(text: str) -> tuple[list[str], ImbLayout | None, str]:
    """A line's words, the columns if it is a headline, and the words with one blank between."""
    words = text.split()
    return words, layout_of(words), " ".join(words[:_MOST_WORDS])[:_MOST_CHARACTERS]


@remembered
def _form_of(text: str) -> tuple[Literal["output", "block", "last", "ruler", "refusal", ""], Any]:
    """What a comment is by itself, and what it says; most depend on where they stand."""
    if output := output_of(text):
        return "output", output
    if block := block_of(text, 0):
        return "block", block
    if is_last_line(text):
        return "last", None
    if _RULER.fullmatch(text):
        return "ruler", None
    refusal = refusal_in(text)
    return ("refusal", refusal) if refusal else ("", "")


class ImbReader:
    """Keeps what stands above, and the table that is open."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._output = ImbOutput()
        self._block: ImbBlock = NO_BLOCK
        self._zone: Zone = "head"
        self._table: ImbTable | None = None
        self._measured: set[str] = set()
        self._last: LogLine | None = None

    def line(self, line: LogLine) -> Iterable[SuiteCurve]:
        words, layout, text = _taken_apart(line.text)
        if not words:
            return ()
        self._last = line
        if layout is not None:
            curves = self._close("went on")
            if layout.unknown:
                self._report(line, f"columns of IMB, other than {', '.join(layout.unknown)}")
            self._table = ImbTable(self._output, self._block, layout, line, self._report)
            self._zone = "table"
            return curves
        if words[0][0] != "#" and self._table is not None and self._table.take(line, words):
            return ()
        return self._comment(line, text) if words[0][0] == "#" else self._other(line, text)

    def rows(self, number: int, text: str, place: int) -> int:
        rows = None if self._table is None else self._table.rows(number, text, place)
        if rows is None:
            return place
        self._last = rows.last
        return place + len(rows.text)

    def end(self) -> Iterable[SuiteCurve]:
        return self._end_output()

    def _comment(self, line: LogLine, text: str) -> Iterable[SuiteCurve]:
        form, said = _form_of(text)
        if form == "output":
            return self._begin(said)
        if form == "block":
            curves = self._close("went on")
            self._block, self._zone = msgspec.structs.replace(said, line=line.number), "block"
            if len(self._measured) < MOST_LISTED:
                self._measured.add(said.name.removeprefix("Multi-").lower())
            return curves
        if form == "last":
            curves = self._close("went on")
            self._forget()
            return curves
        if form == "ruler":
            self._zone = "head" if self._zone in ("command", "list") else self._zone
        elif form == "refusal" or not self._fact(text):
            self._report(line, said or self._expected())
        return ()

    def _begin(self, output: ImbOutput) -> Iterable[SuiteCurve]:
        curves = list(self._end_output())
        self._output, self._zone = output, "head"
        return curves

    def _fact(self, text: str) -> bool:
        """Learn what a line says of what follows; whether it is one of IMB's."""
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

    def _other(self, line: LogLine, text: str) -> Iterable[SuiteCurve]:
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

    def _close(self, ending: TableEnd) -> Iterable[SuiteCurve]:
        table, self._table = self._table, None
        return table.close(ending) if table is not None else ()

    def _end_output(self) -> Iterable[SuiteCurve]:
        """The lines are over, or another output begins, without this one's last line."""
        curves = list(self._close("stopped"))
        if self._output.version and self._output.part != "MT" and self._last is not None:
            self._tell_missing(self._last, any(curve.cut_off for curve in curves))
        self._forget()
        return curves

    def _tell_missing(self, last: LogLine, told: bool) -> None:
        names = [name for name in self._output.listed if name.lower() not in self._measured]
        if names:
            self._report(last, f"{_LAST_LINE!r}, and before it a table of {', '.join(names)}")
        elif not told:
            self._report(last, repr(_LAST_LINE))

    def _forget(self) -> None:
        self._output, self._block, self._zone = ImbOutput(), NO_BLOCK, "head"
        self._measured = set()
