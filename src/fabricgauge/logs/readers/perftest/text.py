"""Read perftest's text output, line by line: headings, settings, command lines, tables."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from fabricgauge.logs.readers.interface import LogLine, Report
from fabricgauge.logs.readers.lines import command_line, remembered
from fabricgauge.logs.readers.perftest.programs import (
    NAME,
    PerftestLayout,
    PerftestProgram,
    layout_of,
    named,
    titled,
    with_settings,
)
from fabricgauge.logs.readers.perftest.rows import ResultRows, programs_of, results, summary
from fabricgauge.logs.readers.table import SuiteHeading
from fabricgauge.model.suite import LogEvidence, SuiteCurve, VerbsEnd

_NAME = re.compile(r"[A-Za-z][\w .*/-]{0,48}")
_ADDRESS = re.compile(r"(?P<end>local|remote) address: LID (?P<lid>0x[\da-fA-F]{1,8}|\d{1,9})\b")
_GID = re.compile(r"GID: (?P<gid>[\da-fA-F:]{3,64})\s*$")
_OTHER_ADDRESS = re.compile(r"(?:local|remote) address:|GID:")


def setting_name(printed: str) -> str:
    """Return one name for text's and JSON's spellings (``ibv_wr* API``, ``ibv_wr_API``)."""
    words = printed.replace("*", "").replace(".", "").replace("_", " ").split()
    return " ".join(words).lower()


def setting_value(printed: str) -> str:
    return printed.removesuffix("[B]")


def settings_of(text: str) -> dict[str, str] | None:
    """Return the settings of a line such as `` Number of qps   : 1  Transport type : IB``.

    None if the line is none; addresses have no settings, but are perftest's.
    """
    text = text.strip()
    if _OTHER_ADDRESS.match(text):
        return {}
    parts = text.split(": ")
    if not 2 <= len(parts) <= 4:
        return None
    settings: dict[str, str] = {}
    name = parts[0]
    for part in parts[1:]:
        words = part.split(None, 1)
        if not words or not _NAME.fullmatch(name.strip()):
            return None
        settings[setting_name(name)] = setting_value(words[0])
        name = words[1] if len(words) > 1 else ""
    return settings if not name else None


def evidence_in(settings: Mapping[str, str], ends: Sequence[VerbsEnd] = ()) -> LogEvidence:
    """Return perftest's facts on device, link and MTU, from text or JSON."""
    mtu, device = settings.get("mtu", ""), settings.get("device", "")
    return LogEvidence(
        verbs_ends=tuple(ends) if len(ends) == 2 else (),
        link_type=settings.get("link type", ""),
        mtu_bytes=int(mtu) if mtu.isdecimal() and len(mtu) < 7 else None,
        # With -O the figures are sums over both ports.
        devices=(device,) * (2 if settings.get("dual-port") == "ON" else 1) if device else (),
    )


#: perftest has fewer than thirty settings; further ones are dropped.
_MOST_SETTINGS = 64
_CYCLES = re.compile(r"\s(?:-\w*C\w*|--report-cycles)(?=\s|$)")


class PerftestBlock(msgspec.Struct):
    """One program's heading as far as it was read.

    ``waits`` is the line in which a server waits for its client. ``side`` is Local or Remote where
    both directions' shares of a two-way stream follow. ``shown`` is true once a table came,
    ``finished`` once its rows are over, ``cycles`` if its figures are CPU cycles.
    """

    title: LogLine | None = None
    settings: dict[str, str] = {}
    ends: tuple[VerbsEnd, ...] = ()
    command: str = ""
    waits: LogLine | None = None
    side: str = ""
    shown: bool = False
    finished: bool = False
    cycles: bool = False

    def titled(self, title: LogLine) -> "PerftestBlock":
        """Return the block of a title, for which alone a command or a server's waiting counts."""
        if self.title is not None or self.finished:
            return PerftestBlock(title)
        return msgspec.structs.replace(self, title=title, settings={}, ends=(), shown=False)

    def waiting(self, line: LogLine) -> "PerftestBlock":
        command = "" if self.title is not None or self.finished else self.command
        return msgspec.structs.replace(commanded(command), waits=line)

    def learn(self, text: str, settings: Mapping[str, str]) -> None:
        """Take the facts of a line; addresses are no settings."""
        if not settings:
            self._connect(text.strip())
        elif len(self.settings) < _MOST_SETTINGS:
            self.settings.update(settings)

    def _connect(self, text: str) -> None:
        """Take the facts of an end; for several connections only the first one's are kept."""
        address, gid = _ADDRESS.match(text), _GID.match(text)
        if address and len(self.ends) == ("local", "remote").index(address["end"]):
            self.ends += (VerbsEnd(int(address["lid"], 16)),)
        elif gid and self.ends and not self.ends[-1].gid:
            self.ends = (*self.ends[:-1], VerbsEnd(self.ends[-1].lid, gid["gid"]))

    def program(self, kind: str) -> PerftestProgram:
        """Return the program whose table has columns of a ``kind``, by title or else by command."""
        program = titled(self.title.text) if self.title else named(self.command)
        if program is None or not program.kind.endswith(kind):
            return PerftestProgram("", kind)
        program = with_settings(program, self.settings)
        if not program.both or not self.side:
            return program
        backward = (self.side == "Remote") is not (self.waits is not None)
        return msgspec.structs.replace(program, half=True, backward=backward)

    def heading(self, program: PerftestProgram, line: LogLine) -> SuiteHeading:
        side = "server" if self.waits else ""
        facts = {"command": self.command, "side": side, "results": self.side.lower()}
        title, first = "", line.number
        if self.title is not None:
            title, first = self.title.text.strip(), self.title.number
        return SuiteHeading(
            suite="perftest", version="", benchmark=program.name, title=title, first_line=first,
            transport="" if program.raw else "rdma", settings=self.settings | facts,
            evidence=evidence_in(self.settings, self.ends),
        )  # fmt: skip


def commanded(command: str) -> PerftestBlock:
    command = command_line(command)
    return PerftestBlock(command=command, cycles=_CYCLES.search(command) is not None)


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
            return self._begin(commanded(content))
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
        if self._block.finished and not self._block.side:
            # Only the two shares of a two-way stream follow their sum under the same title.
            self._block = PerftestBlock()
        block = self._block
        block.shown = True
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
