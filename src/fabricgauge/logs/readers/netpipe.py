"""Read NetPIPE 3 to 5: its console lines and the files that it writes (``np.out``).

Formats after netpipe.c of 3.7.1 and of 5.x. Version 3 prints the least time of its trials, version
5 the mean; both print half of a round trip. Version 5 prints sizes from 1 MB on with three digits
behind the point only. Size, time and rate of the rows show the unit of ``Mbps``.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from fabricgauge.logs.readers.interface import Dialect, LogLine, Report
from fabricgauge.logs.readers.lines import decimals, figure_of
from fabricgauge.logs.readers.table import MOST_ROWS, SuiteColumn, SuiteHeading, SuiteTable
from fabricgauge.model.pattern import Pattern
from fabricgauge.model.suite import LogEvidence, Statistic, SuiteCurve

_SIZE = r"(?P<size>\d{1,15}(?:\.\d{1,6})?) *(?P<size_unit>bytes|[KMGT]?B)"
_TIMES = r"(?P<repeats>\d{1,12}) times -->"
_FIGURE = (
    r"(?P<rate>[-+.\w]+) *(?P<rate_unit>[KMGT]?bps) +in +"
    r"(?P<time>[-+.\w]+) *(?P<time_unit>[num]?secs?)\b"
)
_CONSOLE = re.compile(rf"^ *(?P<index>\d{{1,6}}): +{_SIZE} +{_TIMES} *(?P<figure>.*)$")
_FIGURES = re.compile(rf"^{_FIGURE}")

#: np.out of version 3: ``%8d %lf %12.8lf``, of version 5: ``%9d`` and four times ``%9.3lf``. Rows
#: that are further to the right may be another program's.
_FILE_3 = r"^(?:(?=.{7}\d ) *)?\d{1,10} \d+\.\d{6} +\d+\.\d{8} *$"
_FILE_5 = r"^(?:(?=.{8}\d ) *)?\d{1,10}(?: +\d+\.\d{3}){3} +\d+\.\d{2} *$"
_IS_FILE_3, _IS_FILE_5 = re.compile(_FILE_3), re.compile(_FILE_5)

BEGINS = {
    " times -->": r"^ *\d{1,6}: +\d[\d.]* *(?:bytes|[KMGT]?B) +\d+ times -->",
    "Now starting the main loop": r"^Now starting the main loop\s*$",
    "ing output to ": r"^(?:Send|Sav)ing output to \S+\s*$",
    "Start testing with ": r"^Start testing with \d+ trials for each message size",
    "Send and receive buffers are ": r"^Send and receive buffers are \d+ and \d+ bytes",
    "Using no perturbations": r"^Using no perturbations\s*$",
    ".": f"{_FILE_3}|{_FILE_5}",
}

_SECONDS = {"sec": 1.0, "secs": 1.0, "msecs": 1e-3, "usec": 1e-6, "usecs": 1e-6, "nsecs": 1e-9}
#: Printed bit rates in units of ``Mbps``, whatever a ``Mbps`` is.
_MEGA = {"bps": 1e-6, "Kbps": 1e-3, "Mbps": 1.0, "Gbps": 1e3, "Tbps": 1e6}
_BYTES = {"bytes": 1, "B": 1, "KB": 1000, "MB": 1000**2, "GB": 1000**3, "TB": 1000**4}


class NetPipeRow(NamedTuple):
    """One message size: ``mbps`` as printed, ``time_s`` in seconds; each None if missing.

    ``rate_step`` and ``time_step_s`` are the worth of the last printed digit. Figures may be any
    float. ``number`` is -1 in files; ``form`` is the version of this form.
    """

    number: int
    message_bytes: int
    repeats: int
    form: str
    mbps: float | None = None
    time_s: float | None = None
    rate_step: float = 0.0
    time_step_s: float = 0.0
    passed: bool = False


def console_row(text: str) -> NetPipeRow | None:
    """Return a row as printed on the console."""
    match = _CONSOLE.match(text) if "times" in text else None
    if match is None:
        return None
    form = "3" if match["size_unit"] == "bytes" else "5"
    size = _size(match["size"], _BYTES[match["size_unit"]])
    bare = NetPipeRow(int(match["index"]), size, int(match["repeats"]), form)
    figures = _FIGURES.match(match["figure"])
    if figures is None or figures["time_unit"] not in _SECONDS:
        checked = "Integrity check passed" in text or re.search(r"\b0 failures", text)
        return bare._replace(passed=bool(checked))
    (rate, time), scale = figures.group("rate", "time"), _MEGA[figures["rate_unit"]]
    seconds = _SECONDS[figures["time_unit"]]
    steps = _step(rate) * scale, _step(time) * seconds
    return NetPipeRow(*bare[:4], figure_of(rate) * scale, figure_of(time) * seconds, *steps)


def file_row(text: str) -> NetPipeRow | None:
    """Return a row of a file that NetPIPE wrote."""
    if _IS_FILE_3.match(text):
        size, mbps, time = text.split()
        return NetPipeRow(-1, int(size), 0, "3", float(mbps), float(time), 1e-6, 1e-8)
    if _IS_FILE_5.match(text):
        size, gbps, _least, _most, time = text.split()
        return NetPipeRow(-1, int(size), 0, "5", float(gbps) * 1e3, float(time) * 1e-6, 1.0, 1e-8)
    return None


def _step(text: str) -> float:
    return 10.0 ** -min(decimals(text), 12)


def _size(text: str, unit: int) -> int:
    """Return the exact size for a rounded one: the power of two, or 3/4 of one, that fits."""
    printed = float(text) * unit
    if "." not in text or unit <= 1000:
        return round(printed)
    half_step, bits = _step(text) * unit / 2, int(printed).bit_length()
    powers = (1 << max(0, bits - 1), 1 << bits)
    sizes = (size for power in powers for size in (power, power * 3 // 4))
    return next((size for size in sizes if abs(size - printed) <= half_step), round(printed))


_RULES = {2**20: "Mbps = 2^20 bit/s", 10**6: "Mbps = 10^6 bit/s"}


def rule_of(rows: Sequence[NetPipeRow], directions: int, form: str) -> tuple[int, str]:
    """Return the bit/s in one ``Mbps`` that most rows agree with, and its description.

    Version 3 counts 2^20, version 5 10^6. A row decides only if its printed digits leave one.
    """
    votes = dict.fromkeys(_RULES, 0)
    for row in rows:
        fits = [bits for bits in _RULES if _fits(row, directions, bits)]
        if len(fits) == 1:
            votes[fits[0]] += 1
    usual, unusual = (2**20, 10**6) if form == "3" else (10**6, 2**20)
    bits = unusual if votes[unusual] > votes[usual] else usual
    reason = "as its source has it; no row is exact enough to decide"
    if total := sum(votes.values()):
        reason = f"size / time agrees in {votes[bits]} of {total} exact rows"
    return bits, f"{_RULES[bits]} (NetPIPE {form}; {reason})"


def _fits(row: NetPipeRow, directions: int, bits: int) -> bool:
    if not row.mbps or not row.time_s or row.time_s <= row.time_step_s:
        return False
    moved = 8.0 * row.message_bytes * directions
    half_time, half_rate = row.time_step_s / 2, row.rate_step / 2
    least = moved / (row.time_s + half_time) / bits - half_rate
    most = moved / (row.time_s - half_time) / bits + half_rate
    return least * (1 - 1e-9) <= row.mbps <= most * (1 + 1e-9)


#: NetPIPE ends when one message takes this long, if no upper size is set (netpipe.h 3.7.1).
STOP_S = 1.0

Mode = Literal["ping-pong", "stream", "both", "either"]

_WHAT: dict[Mode, tuple[str, str]] = {
    "ping-pong": ("half round trip", "ping-pong bandwidth (size / half round trip)"),
    "stream": ("time per message of a one-way stream", "one-way stream of blocking sends"),
    "both": ("message each way at once", "both directions at once (both sizes / time)"),
    "either": (
        "half round trip, or half of the size each way at once: the file's beginning lacks",
        "size / time of a ping-pong, or of both directions at once",
    ),
}


class NetPipeRun:
    """A run that grows row by row. ``mode`` is from the heading; files have no heading."""

    def __init__(self, line: LogLine) -> None:
        self.rows: list[tuple[LogLine, NetPipeRow]] = []
        self.settings: dict[str, str] = {}
        self.hosts: dict[int, str] = {}
        self.mode: Mode = "ping-pong"
        self.pairs = 1
        self.checks = False
        self.completed = False
        self.first = line
        self.left_out = 0

    def follows(self, row: NetPipeRow) -> bool:
        """Check whether a row goes on: numbers grow from 0 or 1, in files sizes grow."""
        if not self.rows:
            return True
        last = self.rows[-1][1]
        grows = row.number > last.number or (
            row.number < 0 and row.message_bytes > last.message_bytes
        )
        return grows and (row.number < 0) == (last.number < 0) and row.form == last.form

    def curves(self) -> tuple[SuiteCurve, ...]:
        """Return time and bandwidth over the sizes."""
        form = self.rows[0][1].form if self.rows else ""
        of_file = bool(self.rows) and self.rows[0][1].number < 0
        if of_file and [row.message_bytes for _, row in self.rows[:3]] == [2, 4, 6]:
            # Files have the sizes of a two-way run doubled: 2, 4, 6 for 1, 2, 3 bytes.
            self.mode = "both"
            self.settings["sizes"] = "half of those in the file, which adds both ways up"
            halves = [row._replace(message_bytes=row.message_bytes // 2) for _, row in self.rows]
            self.rows = [(line, half) for (line, _), half in zip(self.rows, halves, strict=True)]
        elif of_file and not any(row.message_bytes % 2 for _, row in self.rows):
            self.mode = "either"
        directions = 2 if self.mode == "both" else 1
        bits, rule = rule_of([row for _, row in self.rows], directions, form or "3")
        time, bandwidth = _WHAT[self.mode]
        pattern: Pattern | None = "latency" if self.mode == "ping-pong" else None
        kind: Statistic = "mean" if form == "5" else "minimum"
        columns = (
            SuiteColumn("time", time, kind, "µs", 1.0, pattern, directions),
            SuiteColumn("bandwidth", bandwidth, kind, rule, bits / 8, None, directions),
        )
        title = "np.out" if of_file else self.first.text.strip()[:200]
        table = SuiteTable(self._heading(form, title), columns)
        for line, row in self.rows:
            if row.mbps is not None:
                mbps = None if row.mbps == 0 and row.time_s else row.mbps
                table.row(line, row.message_bytes, [row.time_s, mbps], samples=row.repeats)
            elif not row.passed:
                corrupt = self.checks and "fail" in line.text.lower()
                table.failed(line, row.message_bytes, "corrupt" if corrupt else "cut off")
        table.leave_out(self.left_out)
        return table.curves(self._cut_off())

    def _heading(self, form: str, title: str) -> SuiteHeading:
        tcp = "socket buffers" in self.settings
        hosts = tuple(self.hosts[rank] for rank in sorted(self.hosts))
        has_all_ranks = len(hosts) > 1 and sorted(self.hosts) == [*range(len(hosts))]
        return SuiteHeading(
            "netpipe", form, "NPtcp" if tcp else "NetPIPE", title, self.first.number,
            pairs=max(1, self.pairs), ranks=len(hosts) if has_all_ranks else None,
            transport="tcp" if tcp else "", settings=self.settings, hosts=hosts,
            evidence=LogEvidence(
                rank_hosts=hosts if has_all_ranks else (), data_checked=self.checks
            ),
        )  # fmt: skip

    def _cut_off(self) -> str:
        if not self.rows:
            return "" if self.completed else "no row: the output ends before the first one"
        last = self.rows[-1][1]
        if last.mbps is None and not last.passed:
            return f"the row of {last.message_bytes} bytes stops in the middle"
        if self.completed or (last.time_s or 0.0) >= STOP_S or self.checks:
            return ""
        if last.form == "5" and last.number >= 0:
            return f"ends at {last.message_bytes} bytes without the line 'Completed with'"
        return (
            f"ends at {last.message_bytes} bytes, where a message takes {last.time_s or 0.0:.3g} s;"
            f" by itself NetPIPE goes on until one takes {STOP_S:g} s:"
            " cut off, or run with a smaller maximum"
        )


_HOST = re.compile(r"^(?P<rank>\d{1,6}): (?P<host>[A-Za-z][\w.-]*)\s*$")
_HOST_5 = re.compile(r"^Proc (?P<rank>\d{1,6}) is on host (?P<host>\S+)")
_MODES: dict[Mode, str] = {
    "both": r"both directions simultaneously|^Bidirectional mode using \d{1,6} pairs",
    "stream": r"^Streaming.*one direction",
}
_PAIRS = re.compile(r"^Bidirectional mode using (?P<pairs>\d{1,6}) pairs of processes")
_SETTINGS = tuple(
    (name, re.compile(regex))
    for name, regex in (
        ("perturbations", r"^Using (no) perturbations|^Only testing (factors of 2)"),
        ("socket buffers", r"^Send and receive buffers are (\d+ and \d+ bytes)"),
        ("cache", r"(without cache effects|different memory buffer each time)"),
        ("receives", r"^([Pp]reposting (?:asynchronous|all) receives)"),
        ("sends", r"^Using (synchronous sends)"),
        ("send offset", r"^(?:Transmit buffer offset: |Offsetting send buffer by )(\d+)"),
        ("receive offset", r"^(?:Receive buffer offset: |Offsetting recv buffer by )(\d+)"),
        ("trials", r"^Start testing with (\d+) trials"),
    )
)
#: Other lines that both versions print before the first row.
_KNOWN = re.compile(
    r"^\s*$|^Now starting the main loop|^\(A bug in Linux|^Streaming does not provide"
    r"|^measurement of|may get bundled|of the latency since small|MPI implementations do not"
    r"|^You may need to run using -a|^Output is for the combined|The output shows the combined"
    r"|Clock resolution ~|^Starting measurements at|^Test using cache effects"
    r"|data will always come|^Using a constant number|^NOTE: |recommend bidirectional"
    r"|Multiple overlapping"
)
_OUTPUT = re.compile(r"^S(?:end|av)ing output to (?P<file>\S+)")


class NetPipeReader:
    """Reads one run; keeps its rows, because only all of them show the unit ``Mbps``."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._run: NetPipeRun | None = None
        self._has_result = False

    def line(self, line: LogLine) -> Iterable[SuiteCurve]:
        row = console_row(line.text) or file_row(line.text)
        if row is not None:
            if not self._open(line).follows(row):
                yield from self.end()
            run = self._open(line)
            if len(run.rows) < MOST_ROWS:
                run.rows.append((line, row))
            else:
                run.left_out += 1
        elif line.text.startswith("Completed with "):
            self._open(line).completed = True
            yield from self.end()
        elif _OUTPUT.match(line.text):
            if self._run is not None and self._run.rows:
                yield from self.end()
            self._open(line)
        elif not (self._heading(line) or _KNOWN.search(line.text)):
            self._report(line, "a row or a remark of NetPIPE")

    def end(self) -> Iterable[SuiteCurve]:
        """Close the run. A heading without rows is reported, unless it trails behind its rows."""
        run, self._run = self._run, None
        if run is None:
            return
        # Rank 0 alone prints rows.
        is_of_other_rank = run.hosts and 0 not in run.hosts
        if run.rows or not (self._has_result or is_of_other_rank):
            self._has_result = True
            curves = run.curves()
            if not curves:
                self._report(run.first, "figures; an integrity check has none")
            yield from curves

    def _open(self, line: LogLine) -> NetPipeRun:
        self._run = self._run or NetPipeRun(line)
        return self._run

    def _heading(self, line: LogLine) -> bool:
        text = line.text
        host, pairs = _HOST.match(text) or _HOST_5.match(text), _PAIRS.match(text)
        settings = [(name, match) for name, regex in _SETTINGS if (match := regex.search(text))]
        mode = next((mode for mode, regex in _MODES.items() if re.search(regex, text)), None)
        checks = "ntegrity check instead" in text
        if not (host or settings or mode or checks):
            return False
        run = self._open(line)
        if host:
            run.hosts[int(host["rank"])] = host["host"]
        run.settings.update((name, next(filter(None, match.groups()))) for name, match in settings)
        run.pairs = int(pairs["pairs"]) if pairs else run.pairs
        run.mode = mode or run.mode
        run.checks = run.checks or checks
        return True


DIALECT = Dialect("netpipe", BEGINS, NetPipeReader)
