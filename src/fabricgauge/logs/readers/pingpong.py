"""Read the examples of libibverbs: ``ibv_rc_pingpong``, and its uc, ud, srq and xsrq forms.

Formats after libibverbs/examples of rdma-core and recorded outputs of its 44. An iteration is one
message each way: half of its time is half a round trip, and the bytes are those of both ways. Only
ibv_srq_pingpong has messages of several connections under way at once: its time is no latency.
ibv_xsrq_pingpong prints no time. No program prints its name: ud is known by its addresses, srq by
their number, rc and uc look the same. A Mbit is 10^6 bits.
"""

import re
from collections.abc import Iterable, Iterator

from fabricgauge.logs.readers.interface import Dialect, LogLine, Report
from fabricgauge.logs.readers.lines import command_line, figure_of
from fabricgauge.logs.readers.table import SuiteColumn, SuiteHeading, SuiteTable
from fabricgauge.model.pattern import Pattern
from fabricgauge.model.suite import LogEvidence, SuiteCurve, VerbsEnd

_SUITE = "ibv_pingpong"
_COMMAND = re.compile(r"(?<![\w-])ibv_(?P<kind>rc|uc|ud|srq|xsrq)_pingpong(?=[\s'\"`;]|$)")
_ADDRESS = re.compile(
    r"^ *(?P<end>local|remote)(?: address)?: +LID (?P<lid>(?:0x)?[\da-f]{4}), "
    r"QPN (?P<recv>RECV )?(?:0x)?[\da-f]{6}.*, (?:PSN|SRQN) (?:0x)?[\da-f]{6}"
    r"(?P<sign>[,:]) GID (?P<gid>\S+) *$"
)
_BYTES = re.compile(
    r"^(?P<bytes>\d{1,18}) bytes in \d+\.\d+ seconds = (?P<rate>\S+) Mbit/sec(?: .*)?$"
)
_ITERATIONS = re.compile(
    r"^(?P<count>\d{1,9}) iters in \d+\.\d+ seconds = (?P<time>\S+) usec/iter(?: .*)?$"
)
_DONE = re.compile(r"^success *$")
_RULE = "Mbit = 10^6 bits (ibv_pingpong)"
_RC_OR_UC = "ibv_rc_pingpong or ibv_uc_pingpong"
#: Without the addresses it may be ibv_srq_pingpong as well.
_UNNAMED = "one of libibverbs' pingpong programs"
_KNOWN = re.compile(r"^\s*$|^page faults? |^ODP ")
_UNFINISHED = "no line with the time of an iteration follows: the test did not end"


class PingPongTest:
    def __init__(self, first: LogLine) -> None:
        self.first = first
        self.kind = self.command = ""
        self.connections = 0
        self.ends: dict[str, VerbsEnd] = {}
        self.bytes = 0
        self.rate = 0.0

    def connect(self, match: "re.Match[str]") -> None:
        """Take an address; only the first connection's are kept."""
        self.connections += match["end"] == "local"
        self.ends.setdefault(match["end"], VerbsEnd(int(match["lid"], 16), match["gid"]))
        if match["recv"]:
            self.kind = "xsrq"
        elif match["sign"] == ":":
            self.kind = "ud"

    def heading(self) -> SuiteHeading:
        kind = self.kind or ("srq" if self.connections > 1 else "")
        unnamed = _RC_OR_UC if self.connections else _UNNAMED
        name = f"ibv_{kind}_pingpong" if kind else unnamed
        ends = tuple(self.ends[end] for end in ("local", "remote")) if len(self.ends) == 2 else ()
        addresses = tuple(end.gid[7:] for end in ends if end.gid.startswith("::ffff:"))
        addresses = addresses if len(addresses) == 2 else ()
        return SuiteHeading(
            _SUITE, "", name, self.first.text.strip()[:200], self.first.number, transport="rdma",
            settings={"command": self.command}, hosts=addresses,
            evidence=LogEvidence(verbs_ends=ends, addresses=addresses),
        )  # fmt: skip

    def curves(self, line: LogLine, count: int, time: float) -> Iterable[SuiteCurve]:
        """Return the curves from the time of an iteration in µs."""
        heading = self.heading()
        several = heading.benchmark in ("ibv_srq_pingpong", _UNNAMED)
        pattern: Pattern | None = None if several else "latency"
        meaning, total = "half round trip", "ping-pong bandwidth (size / half round trip)"
        if several:
            meaning = "half of an iteration, in which others may be under way"
            total = "both ways, summed"
        columns = (
            SuiteColumn("time", meaning, "mean", "µs per iteration, halved", 0.5e-6, pattern),
            SuiteColumn("bandwidth", total, "mean", _RULE, 1e6 / 8),
        )
        table = SuiteTable(heading, columns)
        is_divisible = count and self.bytes and self.bytes % (2 * count) == 0
        size = self.bytes // (2 * count) if is_divisible else None
        table.row(line, size, (time, self.rate if self.bytes else None), samples=count)
        return table.curves()


class PingPongReader:
    def __init__(self, report: Report) -> None:
        self._report = report
        self._test: PingPongTest | None = None

    def line(self, line: LogLine) -> Iterator[SuiteCurve]:
        text = line.text
        if address := _ADDRESS.match(text):
            self._open(line).connect(address)
        elif command := _COMMAND.search(text):
            yield from self.end()
            test = self._open(line)
            test.kind, test.command = command["kind"], command_line(text)
        elif moved := _BYTES.match(text):
            test = self._open(line)
            test.bytes, test.rate = int(moved["bytes"]), figure_of(moved["rate"])
        elif timed := _ITERATIONS.match(text):
            yield from self._open(line).curves(line, int(timed["count"]), figure_of(timed["time"]))
            self._test = None
        elif _DONE.match(text) and self._test is not None:
            self._report(line, "times; ibv_xsrq_pingpong prints none")
            self._test = None
        elif not _KNOWN.match(text):
            self._report(line, "a line of ibv_rc_pingpong or its like")

    def end(self) -> Iterator[SuiteCurve]:
        test, self._test = self._test, None
        if test is not None and (test.connections or test.bytes):
            column = SuiteColumn("time", "half round trip", "mean", "µs", 0.5e-6)
            yield from SuiteTable(test.heading(), (column,)).curves(_UNFINISHED)

    def _open(self, line: LogLine) -> PingPongTest:
        self._test = self._test or PingPongTest(line)
        return self._test


DIALECT = Dialect(
    suite=_SUITE,
    begins={
        ", QPN ": _ADDRESS.pattern,
        " Mbit/sec": _BYTES.pattern,
        "usec/iter": _ITERATIONS.pattern,
        "_pingpong": _COMMAND.pattern,
    },
    reader=PingPongReader,
)
