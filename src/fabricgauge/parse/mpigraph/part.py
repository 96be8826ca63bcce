"""One of mpiGraph's two tables, taken figure by figure and kept as a summary."""

import math

from fabricgauge.model.suite import Besides, SuiteCurve
from fabricgauge.parse.interface import Line
from fabricgauge.parse.mpigraph.spread import RESOLUTION, Spread
from fabricgauge.parse.table import Column, Heading, Table

_UNIT_RULE = "MB = 2^20 bytes (mpiGraph)"
_MB = 2.0**20
_WHAT = {
    "Send": "bandwidth to each peer while every rank sends to one and receives from another, "
    "median over all pairs",
    "Recv": "bandwidth from each peer while every rank sends to one and receives from another, "
    "median over all pairs",
}


class Part:
    """``name`` is ``Send`` or ``Recv``; a row is one rank's figures for all its peers."""

    def __init__(self, name: str, line: Line, message_bytes: int | None) -> None:
        self.name = name
        self.hosts: list[str] = []
        self.rows = 0
        self._line = line
        self._last = line
        self._bytes = message_bytes
        self._spread = Spread()
        self._least = (math.inf, "")
        self._most = (-math.inf, "")
        self._bad: list[tuple[Line, str]] = []

    def row(self, line: Line, rank: int, peer: int, printed: str) -> None:
        """One figure; a rank's own place holds zero."""
        self._last = line
        value = _number(printed)
        if value == 0 and peer == rank:
            return
        if not (math.isfinite(value) and value > 0):
            self._bad.append((line, f"{self.pair(rank, peer)}: {printed}"))
            del self._bad[10_000:]
            return
        self._spread.add(value)
        if value < self._least[0]:
            self._least = value, self.pair(rank, peer)
        if value > self._most[0]:
            self._most = value, self.pair(rank, peer)

    def pair(self, rank: int, peer: int) -> str:
        """The pair in the direction that the bytes took."""
        here, there = self._name(rank), self._name(peer)
        return f"{there} to {here}" if self.name == "Recv" else f"{here} to {there}"

    def _name(self, rank: int) -> str:
        return self.hosts[rank] if rank < len(self.hosts) else f"rank {rank}"

    def curves(self, heading: Heading, settings: dict[str, str], cut_off: str) -> list[SuiteCurve]:
        """One curve with one point: the median pair, and what lies around it."""
        column = Column("bandwidth", _WHAT[self.name], "median", _UNIT_RULE, _MB)
        table = Table(_with(heading, self._line, settings | self._settings()), [column])
        for line, text in self._bad:
            table.failed(Line(line.number, text), self._bytes, "not a number")
        if self._spread.count:
            median, besides = self._quantiles()
            table.row(self._last, self._bytes, [median], [besides], self._spread.count)
        return list(table.curves(cut_off))

    def _quantiles(self) -> tuple[float, dict[Besides, float]]:
        median, p75, p90, p95, p99 = self._spread.quantiles((0.5, 0.75, 0.9, 0.95, 0.99))
        ends: dict[Besides, float] = {"minimum": self._least[0], "maximum": self._most[0]}
        return median, {**ends, "p75": p75, "p90": p90, "p95": p95, "p99": p99}

    def _settings(self) -> dict[str, str]:
        told = {"part": self.name}
        if self._spread.count:
            low, median = self._spread.quantiles((0.01, 0.5))
            told["slowest pair"] = _shown(self._least[1], self._least[0], median)
            told["fastest pair"] = _shown(self._most[1], self._most[0], median)
            told["slowest hundredth"] = f"below {low:.6g} MiB/s"
        if not self._spread.is_exact:
            told["quantiles"] = f"within {RESOLUTION:.1%}"
        return told


def _shown(pair: str, value: float, median: float) -> str:
    return f"{pair}: {value:.6g} MiB/s ({value / median:.0%} of the median)"


def _with(heading: Heading, line: Line, settings: dict[str, str]) -> Heading:
    return Heading(
        heading.suite, heading.version, heading.benchmark, heading.title, line.number,
        ranks=heading.ranks, settings=settings, hosts=heading.hosts,
    )  # fmt: skip


def _number(printed: str) -> float:
    try:
        return float(printed)
    except ValueError:
        return math.nan
