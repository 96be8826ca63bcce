"""Read the text output of nccl-tests, with the NCCL library's own messages in between."""

import re
from collections.abc import Iterable, Iterator

from fabricgauge.logs.readers.interface import Dialect, LogLine, Report
from fabricgauge.logs.readers.nccl.facts import PROGRAM, NcclFacts
from fabricgauge.logs.readers.nccl.rows import USUAL, NcclLayout, NcclTables, form_of, layout_of
from fabricgauge.logs.readers.nccl.troubles import meaning
from fabricgauge.model.suite import SuiteCurve

_SUM = re.compile(r"#? *(?P<what>Out of bounds values|Avg bus bandwidth) *: *(?P<rest>.*\S)")
#: ``host:pid:thread [device] NCCL INFO``; a figure may stand right before the host's name.
_NOISE = re.compile(
    r"[A-Za-z][\w.-]{0,63}:\d+:\d+ \[\d+\].{0,200}?NCCL (?:INFO|WARN|TRACE|ERROR)"
    r"|NCCL (?:INFO|WARN) "
)
_FAILURE = re.compile(r": Test (?:(?P<timeout>timeout)|(?:NCCL|CUDA|CU|HIP) failure) ?.*")
_ERROR = re.compile(r"# error: \S")
_PROSE = re.compile(
    r"#+ *$|# Using devices|# Parallel Init Enabled|# Per-Iteration Report|# GPU memory usage"
    r"|# Writing JSON output|# skipping json|# Errors with asterisks|# Testing \d+ cycle"
    r"|# NCCL Tests compiled with|# \(B\)|# +\(B\)|# Collective test concluded|\.\.\.$"
    r"| *\.\. \S+ pid \d+: Test failure|# Launch mode"
    r"|(?:HIP version|ROCm version|Hostname|Librccl path) +: "
)
_FRONT = re.compile(r"\s*\d+\s+\d+\s+[a-z]")
_OUTPUT_BEGINS = re.compile(r"# nccl-tests version |# Collective test starting|# nThread ")
_EXPECTED = "a line of nccl-tests"
#: Hydra's -prepend-rank labels each piece that the program writes, also within a row.
_LABEL_WITHIN = re.compile(r"(?<=[\d.aA])\[\d{1,6}\](?= )")
#: NCCL's words for a failure whose cause is in its warnings.
_VAGUE = re.compile(r"unhandled (?:system|cuda|hip) error|internal error|remote process exited")


class NcclReader:
    """Reads one output after the other; each ends with its ``# Avg bus bandwidth``."""

    def __init__(self, report: Report) -> None:
        self._report = report
        #: The meaning of NCCL's first warning that has one.
        self._warned = ""
        self._begin_anew()

    def line(self, line: LogLine) -> Iterable[SuiteCurve]:
        """Take a line; the library's own messages, most of many logs, complete no curve."""
        text = line.text.strip()
        if "[" in text and _FRONT.match(text) and "NCCL " not in text:
            text = _LABEL_WITHIN.sub(" ", text)
            line = LogLine(line.number, text, line.ended)
        message = "] NCCL " in text or "NCCL WARN" in text
        if "NCCL WARN" in text and not self._warned:
            self._warned = meaning(text)
        if message or _FRONT.match(text):
            alone = message and not _FRONT.match(text) and _NOISE.search(text)
            return () if alone else self._row(line, text)
        return self._between_rows(line, text)

    def rows(self, number: int, text: str, place: int) -> int:
        if self._layout is None or self._pending is not None or self._closed:
            return place
        rows = form_of(self._layout).plain(number, text, place)
        return place + len(rows.text) if rows and self._tables.take(self._layout, rows) else place

    def _between_rows(self, line: LogLine, text: str) -> Iterator[SuiteCurve]:
        if self._begins_another(text):
            yield from self.end()
        if not text or self._taken_as_heading(line, text):
            return
        if match := _SUM.match(text):
            yield from self._summed(line, match)
        elif not self._is_trouble(line, text):
            yield from self._row(line, text)

    def _begin_anew(self) -> None:
        self._facts = NcclFacts()
        self._tables = NcclTables(self._facts)
        self._layout: NcclLayout | None = None
        self._banner = ""
        self._pending: LogLine | None = None
        self._closed = False
        self._stopped = ""
        self._announced = ""
        self._warned = ""

    def _begins_another(self, text: str) -> bool:
        if _OUTPUT_BEGINS.match(text):
            return self._facts.started or self._closed
        command = self._facts.started and "_perf" in text and not text.startswith("#")
        if not (command and PROGRAM.search(text)):
            return False
        self._announced = text
        return self._closed

    def end(self) -> Iterator[SuiteCurve]:
        """Close the open tables, with a sign if the last lines are missing."""
        yield from self._drop_pending()
        if not self._closed and self._facts.started:
            most = self._facts.most_bytes
            planned = f", of up to {most}" if most is not None else ""
            why = f"; {self._warned}" if self._warned else ""
            sign = (
                f"ends at {self._tables.last_bytes} bytes{planned},"
                f" and the closing line '# Avg bus bandwidth' is missing{why}"
            )
            sign = sign if self._tables.any else "ends before the first row"
            yield from self._tables.close(self._stopped or sign)
        announced = self._announced
        self._begin_anew()
        self._facts.take(LogLine(0, announced))

    def _taken_as_heading(self, line: LogLine, text: str) -> bool:
        layout = layout_of(text, self._banner) if text.startswith("#") else None
        if layout:
            self._layout = layout
            self._facts.started = True
            self._facts.begin(line)
            return True
        if text.startswith("#") and ("out-of-place" in text or "in-place" in text):
            self._banner = text
            return True
        return bool(text == self._announced) or self._facts.take(line)

    def _summed(self, line: LogLine, match: "re.Match[str]") -> Iterator[SuiteCurve]:
        remainder = match["rest"]
        if match["what"].startswith("Out"):
            if remainder.endswith("FAILED"):
                self._tables.failed(line, "corrupt")
            return
        yield from self._drop_pending()
        note = " (below 90 % of what NCCL_TESTS_MIN_BW asks for)" if "FAILED" in remainder else ""
        words = f"{remainder.split()[0]} GB/s, the mean over all sizes{note}"
        yield from self._tables.close("", {"average bus bandwidth": words})
        self._closed = True

    def _is_trouble(self, line: LogLine, text: str) -> bool:
        match = _FAILURE.search(text) if ": Test " in text else None
        if match:
            self._tables.failed(line, "timeout" if match["timeout"] else "other")
            self._facts.started = True
            why = (_VAGUE.search(text) and self._warned) or meaning(text)
            # The first failure is the nearest to the cause: the others follow from it.
            stopped = f"the program stopped: {text[:200]}" + (f"; {why}" if why else "")
            self._stopped = self._stopped or stopped
            return True
        if _ERROR.match(text):
            if not self._closed:
                self._tables.failed(line, "other")
            return True
        return bool(_PROSE.match(text))

    def _row(self, line: LogLine, text: str) -> Iterator[SuiteCurve]:
        """Take a row, whole or the part that the library's messages left of it."""
        noise = _NOISE.search(text) if "NCCL " in text else None
        if noise is None:
            yield from self._figures(line, text.split())
        elif _FRONT.match(text):
            yield from self._drop_pending()
            self._pending = LogLine(line.number, text[: noise.start()])
            self._facts.begin(line)

    def _figures(self, line: LogLine, tokens: list[str]) -> Iterator[SuiteCurve]:
        layout, row_line = self._layout or USUAL, line
        if layout.begins(tokens):
            yield from self._drop_pending()
        elif self._pending:
            row_line = LogLine(self._pending.number, f"{self._pending.text} {' '.join(tokens)}")
        row = layout.row(row_line.text.split())
        if row is None or self._closed:
            self._report(line, _EXPECTED)
            return
        self._pending = None
        self._facts.started = True
        yield from self._tables.add(row_line, row, layout.milliseconds)

    def _drop_pending(self) -> Iterable[SuiteCurve]:
        """Close a row that never got all its figures; the figures that it had are kept."""
        pending, self._pending = self._pending, None
        if pending is None:
            return ()
        layout = self._layout or USUAL
        row = layout.row(pending.text.split())
        if row is None or self._closed:
            self._report(pending, "the figures of this row")
            return ()
        self._facts.started = True
        return list(self._tables.add(pending, row, layout.milliseconds))


#: The programs' names are in the command line that a script may have echoed above.
DIALECT = Dialect(
    suite="nccl-tests",
    begins={
        "# nccl-tests version ": "# nccl-tests version ",
        "# Collective test starting: ": "# Collective test starting: ",
        "# nThread ": r"# nThread \d+ nGpus \d+ ",
        "algbw": r"# +(?:size +count|bytes +N) +type .*algbw +busbw",
        "rccl-tests: Version ": "rccl-tests: Version ",
        "# Using devices": r"^\s*# Using devices\s*$",
        "# NCCL Tests compiled": r"^\s*# NCCL Tests compiled with NCCL ",
        "_perf": PROGRAM.pattern,
    },
    reader=NcclReader,
    units=("us", "GB/s"),
    unmarked=r"nThread \d+ nGpus \d+ .*|Using devices|Rank\s+\d+ .*\bon\s+\S+\s+device\s.*"
    r"|(?:size\s+count|bytes\s+N)\s+type\s.*algbw\s+busbw.*|\(B\)\s+\(elements\).*"
    r"|(?:out-of-place\s+)?in-place|out-of-place|nccl-tests version \S+.*"
    r"|Collective test (?:starting|concluded): .*|NCCL Tests compiled with NCCL .*"
    r"|Reducing maxBytes to \d+ due to memory limitation",
)
