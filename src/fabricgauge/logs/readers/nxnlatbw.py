"""Read mpi_nxnlatbw of Intel Fabric Suite: latency and bandwidth of every pair of ranks, in turn.

A row is ``source,target,latency,bandwidth`` (mpi_nxnlatbw.c, PathScale 2005): the mean half round
trip of 10,000 empty messages, and 10 blocking sends of 4 MiB with one answer behind the last. Each
rank prints its own rows, so a launcher may put them, and the heading, in any order.
"""

import math
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from statistics import fmean, median

from fabricgauge.logs.readers.interface import Dialect, LogLine, Report
from fabricgauge.logs.readers.lines import figure_of
from fabricgauge.logs.readers.table import SuiteColumn, SuiteHeading, SuiteTable
from fabricgauge.model.suite import Besides, LogEvidence, RankPairs, SuiteCurve, Trouble

#: Sizes in the source: empty messages for latency, 4 MiB for bandwidth.
LATENCY_BYTES, BANDWIDTH_BYTES = 0, 4 << 20
#: Matrices of more ranks are not kept: the program measures one pair at a time, so these take days.
MOST_RANKS = 1024

#: Seconds of a half round trip. Memory that ranks of a node share takes at most this (0.1 to
#: 0.7 µs), and every network more (the best published latency through a switch is 0.9 µs).
MEMORY_S = 0.7e-6

_COLUMNS = (
    SuiteColumn("time", "half round trip of each pair, one pair at a time, median over all pairs",
                "median", "us (mpi_nxnlatbw)", 1e-6),
    SuiteColumn("bandwidth", "blocking sends from each rank to each other, one pair at a time,"
                " median over all pairs", "median", "Mbytes = 10^6 bytes (mpi_nxnlatbw)", 1e6),
)  # fmt: skip
#: Units may differ only in a patched program or an edited log; a table with others is refused.
BEGINS = {"src,dst,lat(": r"^src,dst,lat\(.{1,40}\),bandwidth\("}
UNITS = ("us", "Mbytes/sec")
_HEADING = re.compile(r"src,dst,lat\(us\),bandwidth\(\(?Mbytes/sec\)\s*")
_ROW = re.compile(
    r"^(?P<source>\d{1,7}),(?P<target>\d{1,7}),(?P<latency>[^,\s]{1,40}),(?P<bandwidth>[^,\s]{1,40})"
    r"(?P<end>\s.*)?$"
)


class NxnReader:
    """Collects the pairs of one output; the curves follow when it ends."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._begin(None)

    def _begin(self, start: LogLine | None) -> None:
        self._start = self._last = start
        #: Figures as printed, by source and target.
        self._pairs: dict[tuple[int, int], tuple[float, float]] = {}
        self._bad: list[tuple[LogLine, Trouble]] = []
        self._is_refused = False

    def line(self, line: LogLine) -> Iterable[SuiteCurve]:
        if line.text.startswith("src,dst,"):
            yield from self.end()
            self._begin(line)
            self._is_refused = not _HEADING.fullmatch(line.text)
            if self._is_refused:
                units = ", ".join(UNITS)
                self._report(
                    line, f"a heading of mpi_nxnlatbw with its units ({units}): the rows below are"
                    " not read",
                )  # fmt: skip
        elif self._is_refused and _ROW.match(line.text):
            pass
        elif row := _ROW.match(line.text):
            self._last = line
            self._take(line, row)
        elif line.text.strip():
            self._report(line, "a row of mpi_nxnlatbw: source,target,latency,bandwidth")

    def _take(self, line: LogLine, row: re.Match[str]) -> None:
        ends = int(row["source"]), int(row["target"])
        figures = figure_of(row["latency"]), figure_of(row["bandwidth"])
        is_sound = all(0 < figure < math.inf for figure in figures)
        # The program ends each row with a blank: a last row without one may have lost digits.
        is_whole = line.ended or bool(row["end"])
        if max(ends) >= MOST_RANKS or ends[0] == ends[1]:
            self._report(line, f"a row with two different ranks below {MOST_RANKS:,}")
        elif not is_sound:
            self._bad.append((line, "not a number"))
        elif not is_whole:
            self._bad.append((line, "cut off"))
        elif ends in self._pairs:
            self._bad.append((line, "repeated"))
        else:
            self._pairs[ends] = figures

    def end(self) -> Iterable[SuiteCurve]:
        start, last = self._start, self._last
        if start is None or last is None or self._is_refused:
            return
        ranks = 1 + max((max(ends) for ends in self._pairs), default=0)
        expected = ranks * (ranks - 1)
        count = len(self._pairs)
        cut_off = "" if count == expected else f"{count} of {expected} pairs have a row"
        cut_off = cut_off if count else "ends before its first row"
        for place, column in enumerate(_COLUMNS):
            yield from self._curves(start, last, place, column, ranks, cut_off)
        self._begin(None)

    def _curves(
        self, start: LogLine, last: LogLine, place: int, column: SuiteColumn, ranks: int,
        cut_off: str,
    ) -> Iterator[SuiteCurve]:  # fmt: skip
        size = (LATENCY_BYTES, BANDWIDTH_BYTES)[place]
        by_pair = {ends: figures[place] for ends, figures in self._pairs.items()}
        late_s = {ends: figures[0] * 1e-6 for ends, figures in self._pairs.items()}
        settings, evidence = dict[str, str](), LogEvidence()
        if by_pair:
            least, most = (choose(by_pair, key=by_pair.__getitem__) for choose in (min, max))
            unit = column.unit_rule.split()[0].replace("Mbytes", "MB/s")
            slowest, fastest = (most, least) if column.quantity == "time" else (least, most)
            for name, (source, target) in (("slowest", slowest), ("fastest", fastest)):
                printed = f"{by_pair[source, target]:.6g} {unit}"
                settings[f"{name} pair"] = f"rank {source} to rank {target}: {printed}"
            # Row by row, in SI units; 0 for pairs without a row.
            values = array("d", bytes(8 * ranks * ranks))
            for (source, target), figure in by_pair.items():
                values[source * ranks + target] = figure * column.factor
            matrix = RankPairs(ranks, tuple(values))
            evidence = LogEvidence(rank_pairs=matrix, rank_nodes=infer_nodes(late_s, ranks))
        heading = SuiteHeading(
            "nxnlatbw", "", "mpi_nxnlatbw", start.text.strip(), start.number,
            ranks=ranks if by_pair else None, settings=settings, evidence=evidence,
        )  # fmt: skip
        table = SuiteTable(heading, [column])
        for line, trouble in self._bad:
            table.failed(line, size, trouble)
        if by_pair:
            figures = [*by_pair.values()]
            besides: dict[Besides, float] = {
                "minimum": min(figures), "maximum": max(figures), "mean": fmean(figures),
            }  # fmt: skip
            table.row(last, size, [median(figures)], [besides], len(figures))
        yield from table.curves(cut_off)


def infer_nodes(late_s: Mapping[tuple[int, int], float], ranks: int) -> tuple[str, ...]:
    """Return the node of each rank if the latencies alone show it; else nothing.

    They do if ranks fall into groups of one size, two or more, within which every pair is as quick
    as memory and between which none is.
    """
    if len(late_s) != ranks * (ranks - 1):
        return ()
    group_of = list(range(ranks))
    for (source, target), time_s in late_s.items():
        joined, kept = group_of[source], group_of[target]
        if time_s <= MEMORY_S and joined != kept:
            group_of = [kept if group == joined else group for group in group_of]
    sizes = Counter(group_of)
    is_equal = len(set(sizes.values())) == 1 and len(sizes) > 1 and sizes[group_of[0]] > 1
    is_clear = all(
        (time_s <= MEMORY_S) == (group_of[source] == group_of[target])
        for (source, target), time_s in late_s.items()
    )
    if not (is_equal and is_clear):
        return ()
    firsts = {group: group_of.index(group) for group in sizes}
    return tuple(f"the node of rank {firsts[group]}" for group in group_of)


DIALECT = Dialect("nxnlatbw", BEGINS, NxnReader)
