"""Read perftest's text output, line by line."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from fabricgauge.logs.readers.interface import LogLine, Report
from fabricgauge.logs.readers.lines import remembered
from fabricgauge.logs.readers.perftest.heading import PerftestBlock, settings_of
from fabricgauge.logs.readers.perftest.programs import (
    NAME,
    PerftestLayout,
    PerftestProgram,
    layout_of,
    titled,
)
from fabricgauge.logs.readers.perftest.rows import ResultRows, programs_of, results, summary
from fabricgauge.model.suite import SuiteCurve

#: A table's ruler has 87 dashes, with ``--report-per-port`` 163. Command lines count as well: they
#: may be all that names a table's program.
BEGINS = {
    "--------------------": r"^-{87}\s*$|^-{163}\s*$",
    "********************": r"^\*{36}$",
    "* Waiting for client": r"^\* Waiting for client to connect\.\.\. \*",
    " Test": r"^\s*(?:Send|RDMA_Write|RDMA_Read|Atomic)[\w ]* Test\s*$",
    "#iterations": r"#bytes\s*(?:percentile\[usec\]\s+)?(?:#sl\s*)?#iterations"
    r"\s*(?:BW peak\[|t_min\[|t_avg\[)",
    "ytes": r"^\s*#\s?[Bb]ytes\s+ib_\w+_(?:lat|bw)\b",
    "Correlation coefficient r^2:": r"^Correlation coefficient r\^2:",
    "Unable to ": r"^ ?Unable to (?:find the Infiniband|set up my IB|init the socket)",
    "Did not detect devices": r"^ ?Did not detect devices",
    "ib_": r"ib_(?:send|write|read|atomic)_(?:lat|bw)(?=[\s'\"`]|$)",
    "raw_ethernet_": r"raw_ethernet_(?:bw|lat|burst_lat)(?=[\s'\"`]|$)",
}
_RULER = re.compile(r"-{20,}")
_LISTING = re.compile(r"#, (usec|cycles)")
_SAMPLE = re.compile(r"\d+, (?:[\d.e+]+|inf|-?nan)")
_WAITING = "* Waiting for client to connect"
_SIDE = re.compile(r"(Local|Remote) results:")
_PROSE = re.compile(
    r"\*{20,}$|Device not recognized to implement inline|Waiting for client rdma_cm QP"
    r"|Please run the same command with"
    r"|MultiCast runs on UD!|Client closed connection|Test with events\. Using|[\w/]{1,99}=\d+$"
)
_CLOCK = re.compile(
    r"Correlation coefficient r\^2|Conflicting CPU frequency|Warning: measured time"
)
_FAILED = re.compile(
    r"Couldn't |Could not |Unable to |Failed |Fail |Error|Completion with error|Did not detect"
    r"|Test exited|Can't produce|scnt=|mlx5: "
)
_BAD_CLOCK = "perftest could not calibrate its clock: its figures may be inf, 0.00 or wrong"
_BAD_RUN = "perftest reports a failure"
_OTHER = "a part of perftest's output"
_IN_CYCLES = "times in µs: these are CPU cycles (-C), whose length the output does not state"
_NO_TABLE = (
    "a table after this title: a server of a read or atomic latency test prints none,"
    " else the run failed or was cut off"
)
_NO_CLIENT = "a test after this: no client came, or the run failed or was cut off"


Form = Literal[
    "blank", "ruler", "title", "waiting", "heading", "command", "side", "setting", "other"
]  # fmt: skip


@remembered
def _form_of(line: str) -> tuple[Form, Any]:
    """Return the form of a line and its content; prose counts as a blank line."""
    text = line.strip()
    if text in ("", "#"):
        return "blank", None
    if _RULER.fullmatch(text):
        return "ruler", None
    if titled(text):
        return "title", None
    if text.startswith(_WAITING):
        return "waiting", None
    if text[0] == "#":
        return "heading", (_LISTING.fullmatch(text), layout_of(text), programs_of(text))
    if "_" in text and NAME.search(text):
        return "command", text
    if side := _SIDE.match(text):
        return "side", side[1]
    settings = None if _PROSE.match(text) else settings_of(text)
    if settings is None:
        return "blank" if _PROSE.match(text) else "other", None
    return "setting", settings


class PerftestReader:
    """Reads one or more programs' outputs, client's or server's."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._block = PerftestBlock()
        self._rows: ResultRows | None = None
        self._listing = False

    def line(self, line: LogLine) -> Iterable[SuiteCurve]:
        if line.text.lstrip()[:1].isdecimal():
            is_sample = self._listing and _SAMPLE.fullmatch(line.text.strip())
            if is_sample or (self._rows is not None and self._rows.row(line)):
                return ()
        form, content = _form_of(line.text)
        if self._rows is not None and not self._rows.roles:
            return (*self._close(proper_end=True), *self.line(line))
        block = self._block
        in_heading = self._rows is None and block.title is not None and not block.finished
        if form == "setting" and in_heading:
            block.learn(line.text, content)
        elif form in ("setting", "other"):
            self._report(line, self._expected(line.text.strip()))
        elif form == "ruler":
            return self._close(proper_end=True)
        elif form == "heading":
            return self._table_heading(line, *content)
        elif form == "title":
            return self._begin(self._block.titled(line))
        elif form == "waiting":
            return self._begin(self._block.waiting(line))
        elif form == "command":
            return self._begin(self._block.commanded(content))
        elif form == "side":
            self._block.side = content
        return ()

    def rows(self, number: int, text: str, place: int) -> int:
        rows = None if self._listing else self._rows
        return place if rows is None else rows.take(number, text, place)

    def end(self) -> Iterable[SuiteCurve]:
        yield from self._begin(PerftestBlock())

    def _begin(self, block: PerftestBlock) -> Iterable[SuiteCurve]:
        closed = self._close(proper_end=False)
        old, self._block = self._block, block
        if old.title is not None and old.title is not block.title and not old.shown:
            self._report(old.title, _NO_TABLE)
        if old.waits is not None and old.title is None and old.waits is not block.waits:
            self._report(old.waits, _NO_CLIENT)
        return closed

    def _table_heading(
        self,
        line: LogLine,
        listing: "re.Match[str] | None",
        layout_and_rest: tuple[PerftestLayout, str] | None,
        programs: Sequence[PerftestProgram],
    ) -> Iterable[SuiteCurve]:
        if not layout_and_rest and not programs:
            # All samples (-U, -H): the row that follows sums them up.
            if listing is None:
                self._report(line, self._expected(""))
            else:
                self._listing, self._block.cycles = True, listing[1] == "cycles"
            return ()
        closed = self._close(proper_end=False) if self._rows and self._rows.rows else ()
        if not layout_and_rest:
            self._rows = summary(line, programs)
            return closed
        layout, remainder = layout_and_rest
        if remainder:
            self._report(line, f"perftest's columns, not: {remainder[:80]}")
        block = self._block = self._block.for_table()
        program, cycles = block.program(layout.kind), block.cycles and layout.kind == "lat"
        if cycles:
            self._report(line, _IN_CYCLES)
        self._rows = results(block.heading(program, line), program, layout, cycles)
        return closed

    def _close(self, proper_end: bool) -> tuple[SuiteCurve, ...]:
        rows, self._rows, self._listing = self._rows, None, False
        if rows is None or (proper_end and not rows.rows):
            return ()
        self._block.finished = True
        return tuple(rows.curves(proper_end))

    def _expected(self, text: str) -> str:
        if _CLOCK.match(text):
            return _BAD_CLOCK
        if _FAILED.match(text):
            return _BAD_RUN
        return _OTHER if self._rows is None else self._rows.expected
