"""Read the lines above a table of nccl-tests: program, ranks, iterations, largest size.

Sources: nccl-tests v1.0.0, v2.9.0, v2.13.10, v2.19.6 (src/common.cu, src/util.cu) and rccl-tests
(src/common.cu): the printf formats of the report's head.
"""

import re
import statistics
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from fabricgauge.logs.readers.interface import LogLine
from fabricgauge.logs.readers.table import SuiteHeading
from fabricgauge.model.suite import LogEvidence, SuiteCurve

COLLECTIVES = (
    "all_gather", "all_reduce", "all_reduce_group", "alltoall", "alltoallv", "broadcast",
    "gather", "hypercube", "reduce", "reduce_scatter", "scatter", "sendrecv",
)  # fmt: skip
#: The name of a program, also in a command line that a script echoed.
PROGRAM = re.compile(rf"(?<![\w-])(?:{'|'.join(COLLECTIVES)})_perf(?![a-z])")
#: The names of more are not kept.
MOST_RANKS = 1 << 16
UNNAMED = "unnamed collective"
_UNNAMED_WHAT = "collective"
#: From this bandwidth in bytes/s on, two decimals of GB/s are enough for a ratio, and ratios within
#: this share are equal.
_TELLING, _SAME_RATIO = 1e9, 0.02

_RANK = re.compile(
    r"#\s+Rank\s+(?P<rank>\d+)\s+(?:Group\s+(?P<group>\d+)\s+)?(?:Pid\s+\d+\s+)?"
    r"on\s+(?P<host>\S+)\s+device\s+\d+\s+\[[^\]]*\]\s*(?P<device>.*)"
)
_VERSION = re.compile(r"# nccl-tests version (?P<version>\S+)(?: .*nccl-library=(?P<code>\d+))?")
_THREADS = re.compile(r"# nThread \d+ nGpus \d+ minBytes (?P<least>\d+) maxBytes (?P<most>\d+) ")
_COUNTED = re.compile(r"(warmup iters|agg iters|iters|validation|graph|unalign): (\d+)")
_LIBRARY = re.compile(r"\b(?P<name>[NR]CCL) version ?:? (?P<version>[\w.+-]+)")
_REST = re.compile(
    r"# Reducing maxBytes to (?P<most>\d+) due to memory limitation"
    r"|rccl-tests: Version (?P<version>\S+)|# Blocking Enabled: (?P<how>.*\S)"
)


class _Sign(NamedTuple):
    """The signs of a program in its table; ``factor`` is that of n ranks, times n."""

    program: str
    factor: Callable[[int], int]
    operation: bool
    root: bool
    in_place: bool


#: Factors by nccl-tests' doc/PERFORMANCE.md; columns and places by its sources, v2.13 to v2.19:
#: sendrecv prints an operation, and neither it nor alltoall is made in place. Gather and scatter
#: have the same signs.
_SIGNS = (
    _Sign("all_reduce_perf", lambda ranks: 2 * (ranks - 1), True, False, True),
    _Sign("reduce_scatter_perf", lambda ranks: ranks - 1, True, False, True),
    _Sign("all_gather_perf", lambda ranks: ranks - 1, False, False, True),
    _Sign("alltoall_perf", lambda ranks: ranks - 1, False, False, False),
    _Sign("broadcast_perf", lambda ranks: ranks, False, True, True),
    _Sign("reduce_perf", lambda ranks: ranks, True, True, True),
    _Sign("sendrecv_perf", lambda ranks: ranks, True, False, False),
)


def collective_of(
    ranks: int,
    settings: Mapping[str, str],
    algorithm: SuiteCurve,
    bus: SuiteCurve,
    compared: Set[str],
) -> str:
    """Return the program with this ratio of bus to algorithm bandwidth; empty if several fit.

    ``compared`` are the placements whose data were compared. What is not made in place is compared
    out of place alone.
    """
    rates = {point.message_bytes: point.estimate.value for point in algorithm.points}
    ratios = [
        point.estimate.value / rates[point.message_bytes]
        for point in bus.points
        if rates.get(point.message_bytes, 0.0) >= _TELLING
    ]
    if ranks < 2 or not ratios:
        return ""
    ratio = statistics.median(ratios) * ranks
    columns = bool(settings.get("operation")), bool(settings.get("root"))
    fitting = [
        sign.program
        for sign in _SIGNS
        if (sign.operation, sign.root) == columns
        and abs(ratio / sign.factor(ranks) - 1.0) < _SAME_RATIO
        and (not compared or sign.in_place == ("in-place" in compared))
    ]
    return fitting[0] if len(fitting) == 1 else ""


def renamed(curve: SuiteCurve, program: str) -> SuiteCurve:
    """Return the curve under its program's name: it had none, or was named by its rates."""
    unnamed = curve.benchmark == UNNAMED
    collective = _UNNAMED_WHAT if unnamed else curve.benchmark.removesuffix("_perf")
    meaning = program.removesuffix("_perf") + curve.what.removeprefix(collective)
    return msgspec.structs.replace(curve, benchmark=program, what=meaning)


@dataclass
class NcclFacts:
    """All known facts of one output; ``started`` once a line announced a measurement."""

    suite: str = "nccl-tests"
    version: str = ""
    program: str = ""
    title: str = ""
    started: bool = False
    first_line: int = 0
    most_bytes: int | None = None
    iterations: int = 0
    ranks: int = 0
    groups: set[str] = field(default_factory=set)
    rank_hosts: list[str] = field(default_factory=list)
    devices: dict[str, None] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)

    def begin(self, line: LogLine) -> None:
        self.first_line = self.first_line or line.number

    def take(self, line: LogLine) -> bool:
        """Keep the facts of a line above the table; return False for another line."""
        is_fact = self._learn(line.text.strip())
        if is_fact:
            self.begin(line)
        return is_fact

    def _learn(self, text: str) -> bool:
        hashed, words = text.startswith("#"), text.lstrip("# ")
        if hashed and (match := _RANK.match(text)):
            self.add_rank(match["host"], match["device"].strip(), match["group"])
        elif hashed and (match := _THREADS.match(text)):
            self.title, self.most_bytes = self.title or words, int(match["most"][:18])
            for name, digits in _COUNTED.findall(text):
                number = int(digits[:9])
                if name == "iters":
                    self.iterations = number
                elif name == "validation":
                    self.settings["validation"] = "on" if number else "off"
                elif number or name == "warmup iters":
                    self.settings[name] = str(number)
        elif hashed and (match := _VERSION.match(text)):
            self.version = match["version"]
            if match["code"]:
                self.settings["nccl"] = library_version(int(match["code"][:9]))
            return True
        elif match := PROGRAM.search(text):
            self.program = match[0]
            self.title = words if text.startswith("# Collective test starting") else self.title
            return True
        elif not hashed and (match := _LIBRARY.search(text)):
            self.settings.setdefault(match["name"].lower(), match["version"])
            return True
        elif match := _REST.match(text):
            if match["most"]:
                self.most_bytes = int(match["most"][:18])
            elif match["version"]:
                self.suite, self.version = "rccl-tests", match["version"]
            else:
                self.settings["blocking"] = match["how"]
            return True
        else:
            return False
        self.started = True
        return True

    def heading(self, more: dict[str, str]) -> SuiteHeading:
        """Return the heading of a table, with ``more`` settings than the output's own."""
        library = next((name for name in ("nccl", "rccl") if name in self.settings), "")
        groups = len(self.groups)
        settings = {
            "device": ", ".join(self.devices),
            "groups": f"{groups}, each figure is one group's" if groups > 1 else "",
        }
        evidence = LogEvidence(
            rank_hosts=tuple(self.rank_hosts) if 1 < self.ranks <= MOST_RANKS else (),
            devices=tuple(self.devices),
            library=f"{library.upper()} {self.settings[library]}" if library else "",
            data_checked=self.settings.get("validation") == "on",
        )
        return SuiteHeading(
            suite=self.suite, version=self.version, benchmark=self.program or UNNAMED,
            title=self.title or f"output of {self.suite}", first_line=self.first_line,
            ranks=self.ranks or None,
            settings={**self.settings, **settings, **more},
            hosts=tuple(dict.fromkeys(self.rank_hosts)), evidence=evidence,
        )  # fmt: skip

    def add_rank(self, host: str, device: str, group: str | None) -> None:
        self.ranks += 1
        if self.ranks > MOST_RANKS:
            return
        self.rank_hosts.append(host)
        if device:
            self.devices.setdefault(device)
        if group is not None:
            self.groups.add(group)


def library_version(code: int) -> str:
    """Return NCCL's version from its number; up to 2.8 the minor version had two digits.

    Source: nccl.h, NCCL_VERSION(X,Y,Z).
    """
    if code < 10_000:
        return f"{code // 1000}.{code // 100 % 10}.{code % 100}"
    return f"{code // 10000}.{code // 100 % 100}.{code % 100}"
