"""Read outputs of IMB one after the other, and its tables in documents.

Lines without figures, and lines that report missing ones, are from IMB_output.c, IMB_g_info.c,
IMB_benchlist.c and IMB.c of 4.0.0 and 2018, and the same, MT_benchmark.h, MT_suite.cpp and
P2P/imb_p2p.c of 2021.11.
"""

import re
from collections.abc import Iterable
from typing import Any, Literal

from fabricgauge.logs.readers.imb.rows import layout_of
from fabricgauge.logs.readers.imb.table import (
    MOST_LISTED,
    NO_BLOCK,
    ImbBlock,
    ImbOutput,
    ImbTable,
    block_of,
    output_of,
    with_fact,
    with_listed,
)
from fabricgauge.logs.readers.interface import FOREIGN, LogLine, Report
from fabricgauge.logs.readers.lines import remembered
from fabricgauge.logs.readers.rows import Rows
from fabricgauge.model.suite import SuiteCurve

#: The place of lines with #: the output's head, the command in it, its list of benchmarks, the
#: lines above a table, or none (after a table).
Zone = Literal["head", "command", "list", "block", "table"]
_PROSE = re.compile(
    r"[# ]*|# ?(?:(?:Date|Machine|System|Release|Version|MPI Version|MPI Thread Environment|MPI_Op)"
    r" ?:|MPI_Datatype|Minimum (?:message length|io portion) in bytes"
    r"|New default behavior from Version 3\.2 on:"
    r"|the number of iterations|dynamically when|is expected to be|\"SECS_PER_SAMPLE\""
    r"|or through the flag => -time|For nonblocking benchmarks:|Function CPU_Exploit obtains"
    r"|performance of [\d.]+ MFlops|Remarks on the current Version:"
    r"|!! (?:Attention: results have been achieved|IMB_OPTIONAL mode|Results may differ)"
    r"|of calls to IMB_v_alloc / IMB_v_free match).*"
    r"|!!!! ALL BENCHMARKS SUCCESSFUL !!!!|\S+ ?: Successful"
)
_LAST = re.compile(r"# (?:All processes entering MPI_Finalize|IMB has MPI_Finalize-d)")
_ZONES: tuple[tuple[Zone, str], ...] = (
    ("command", "# Calling sequence was:"), ("list", "# List of Benchmarks to run:"),
)  # fmt: skip
#: The expected lines, where IMB reports that it cannot run, or that data are wrong.
_REFUSALS = (
    ("a number of processes that it can run on", re.compile(r"# !! Benchmark .* invalid for")),
    ("a table; IMB-MT says that no rank could run", re.compile(r"# NO SUCCESSFUL EXECUTIONS")),
    (
        "a command that IMB accepts",
        re.compile(
            r"Invalid (?:benchmark name|option|data_type) \S|# ?Attention, invalid benchmark name"
        ),
    ),
    ("data without errors", re.compile(r"(?:\d+: )?Error .*, ?size = \d+, ?sample #\d+")),
    ("success", re.compile(r".*(?:BENCHMARKS? FAILED|: FAILED !!|Benchmark unsuccessful !!!)")),
)

#: The rest of a line is not read. The longest lists sixteen ranks; a command is not needed.
_MOST_WORDS = 64
_MOST_CHARACTERS = 400
_EXPECTED = "a line of IMB's output"
_LAST_LINE = "# All processes entering MPI_Finalize"
_RULER = re.compile(r"# ?-{4,}")

#: The form of a line by itself; the meaning of most comments depends on their place.
Form = Literal[
    "blank", "headline", "output", "block", "last", "zone", "refusal", "comment", "other"
]  # fmt: skip


@remembered
def _form_of(text: str) -> tuple[Form, Any, str]:
    """Return the form of a line, its content, and its words with one blank between."""
    words = text.split()
    if layout := layout_of(words):
        return "headline", layout, ""
    text = " ".join(words[:_MOST_WORDS])[:_MOST_CHARACTERS]
    if not words:
        return "blank", None, ""
    is_prose = _PROSE.fullmatch(text) is not None
    if text[0] == "#" and (output := output_of(text)):
        return "output", output, ""
    if text[0] == "#" and (block := block_of(text)):
        return "block", block, ""
    if _LAST.fullmatch(text):
        return "last", None, ""
    zone: Zone | None = "head" if _RULER.fullmatch(text) else None
    if zone := next((name for name, begin in _ZONES if text.startswith(begin)), zone):
        return "zone", zone, ""
    expected = next((problem for problem, refusal in _REFUSALS if refusal.match(text)), "")
    if expected and not is_prose:
        return "refusal", expected, ""
    return "comment" if text[0] == "#" else "other", is_prose, text


class ImbReader:
    def __init__(self, report: Report) -> None:
        self._report = report
        self._table: ImbTable | None = None
        self._last: LogLine | Rows | None = None
        self._forget()

    def _forget(self) -> None:
        self._output, self._block = ImbOutput(), NO_BLOCK
        self._zone: Zone = "head"
        self._measured: set[str] = set()

    def line(self, line: LogLine) -> Iterable[SuiteCurve]:
        table = self._table
        if table is not None and line.text[:1] not in ("#", "") and table.take(line):
            self._last = line
            return ()
        form, content, text = _form_of(line.text)
        if form == "blank":
            return ()
        self._last = line
        if form in ("headline", "output", "block", "last"):
            return self._begin(line, form, content)
        if form == "zone":
            in_head = content != "head" or self._zone in ("command", "list")
            self._zone = content if in_head else self._zone
        elif text.startswith("```"):
            return self._close(stopped=False)
        elif form == "refusal":
            self._report(line, content)
        elif not ((form == "comment" and self._is_fact(text)) or content):
            within = self._output.version or self._table is not None or self._block != NO_BLOCK
            self._report(line, _EXPECTED if within else FOREIGN)
        return ()

    def rows(self, number: int, text: str, place: int) -> int:
        rows = None if self._table is None else self._table.rows(number, text, place)
        if rows is None:
            return place
        self._last = rows
        return place + len(rows.text)

    def end(self) -> Iterable[SuiteCurve]:
        """Close the output: the lines are over, or another output begins before the last line."""
        curves = list(self._close(stopped=True))
        if self._output.version and self._output.part != "MT" and self._last is not None:
            last = self._last.last if isinstance(self._last, Rows) else self._last
            names = [name for name in self._output.listed if name.lower() not in self._measured]
            if names:
                self._report(last, f"{_LAST_LINE!r}, and before it a table of {', '.join(names)}")
            elif not any(curve.cut_off for curve in curves):
                self._report(last, repr(_LAST_LINE))
        self._forget()
        return curves

    def _begin(self, line: LogLine, form: Form, content: Any) -> Iterable[SuiteCurve]:
        """Begin a table, a benchmark or an output, or end the output."""
        if form == "output":
            curves = self.end()
            self._output = content
            return curves
        curves = self._close(stopped=False)
        if form == "headline":
            if content.unknown:
                self._report(line, f"columns of IMB, other than {', '.join(content.unknown)}")
            self._table = ImbTable(self._output, self._block, content, line, self._report)
            self._zone = "table"
        elif form == "block":
            name, title, settings = content
            self._block = ImbBlock(name, title, line.number, settings={**settings})
            self._zone = "block"
            if len(self._measured) < MOST_LISTED:
                self._measured.add(name.removeprefix("Multi-").lower())
        else:
            self._forget()
        return curves

    def _is_fact(self, text: str) -> bool:
        """Learn a fact about the following table; return False for a line that is not IMB's."""
        if self._zone == "block":
            return self._block.learn(text)
        if self._zone == "list":
            self._output = with_listed(self._output, text)
        output = with_fact(self._output, text)
        if output is not None:
            self._output, self._zone = output, "head"
        return output is not None or self._zone in ("command", "list")

    def _close(self, stopped: bool) -> Iterable[SuiteCurve]:
        table, self._table = self._table, None
        return table.close(stopped) if table is not None else ()
