"""Print curves in the layouts of the OSU Micro-Benchmarks and of the Intel MPI Benchmarks.

Sources: OSU 7.4, c/util/osu_util_mpi.c and the ``BENCHMARK`` titles of c/mpi/pt2pt and
c/mpi/one-sided; rows are ``%-10d`` and a field of 20. ReFrame
(hpctestlib/microbenchmarks/mpi/osu.py) searches ``^8`` or ``^4194304`` and takes ``^8\\s+(\\S+)``
in µs, ``^4194304\\s+(\\S+)`` in MB/s. IMB 2021.11, printed heads and rows of IMB-MPI1 (PingPong,
PingPing, Uniband, Biband) and IMB-RMA (Unidir_put, Unidir_get): fields of 13, MB = 10^6 bytes,
sizes in ascending order.
"""

from collections.abc import Iterator, Sequence
from itertools import chain

from fabricgauge.model.estimate import Curve, CurvePoint
from fabricgauge.model.pattern import LATENCY_PATTERNS, ONE_SIDED_PATTERNS, Pattern
from fabricgauge.report.interface import ConcurrentCase, Layout, Setting
from fabricgauge.report.visible import visible

#: Beginning of each line that is not the suite's, after its ``#``.
_OURS = "fabricgauge: "
#: Decimals of the suites; more if four significant digits of the smallest figure need them.
_DECIMALS = 2
_DIGITS = 4
#: Stands in the place of tables.
NOTHING = "the engine measured nothing for this layout; use the formats csv or json"

_OSU_TITLES: dict[Pattern, str] = {
    "latency": "MPI Latency Test",
    "bandwidth": "MPI Bandwidth Test",
    "bidirectional_bandwidth": "MPI Bi-Directional Bandwidth Test",
    "put_latency": "MPI_Put Latency Test",
    "put_bandwidth": "MPI_Put Bandwidth Test",
    "get_latency": "MPI_Get latency Test",
    "get_bandwidth": "MPI_Get Bandwidth Test",
    "accumulate_latency": "MPI_Accumulate latency Test",
    "fetch_and_op_latency": "MPI_Fetch_and_op latency Test",
    "compare_and_swap_latency": "MPI_Compare_and_swap latency Test",
    "persistent_latency": "MPI Latency Persistent Test",
    "persistent_bandwidth": "MPI Bandwidth Persistent Test",
}
#: Titles of c/mpi/collective: a collective's name, or another pattern of many ranks.
_OSU_CROWD_TITLES = {
    "multi_latency": "MPI Multi Latency Test",
    "multi_bandwidth": "MPI Multiple Bandwidth / Message Rate Test",
}
_OSU_COLLECTIVES = frozenset({
    "barrier", "bcast", "reduce", "allreduce", "reduce_scatter", "allgather", "allgatherv",
    "gather", "gatherv", "scatter", "scatterv", "alltoall", "alltoallv",
})  # fmt: skip
#: In the place of the suite's version; no release has this one.
_OSU_VERSION = "0.fabricgauge"
_OSU_WINDOW = ("# Window creation: MPI_Win_allocate", "# Synchronization: MPI_Win_flush")

#: The layout is that of 2021.11; readers infer the meaning of MB from the year.
_IMB_VERSION = "2021.fabricgauge"
_LAST_LINE = "# All processes entering MPI_Finalize"
_RULER = "#" + "-" * 51
#: IMB's benchmarks of many ranks; those of neighbours have a bandwidth.
_IMB_CROWDS = {
    **{name: name.capitalize() for name in sorted(_OSU_COLLECTIVES)},
    "sendrecv": "Sendrecv", "exchange": "Exchange",
}  # fmt: skip
_IMB_RATED = ("sendrecv", "exchange")
_TIMED = ("t[usec]", "Mbytes/sec")
_STREAMED = ("Mbytes/sec", "Msg/sec")

#: Part of the suite, benchmark, its mode, and its columns after bytes and repetitions.
_BENCHMARKS: dict[Pattern, tuple[str, str, str, tuple[str, str]]] = {
    "latency": ("MPI-1", "PingPong", "", _TIMED),
    "bandwidth": ("MPI-1", "Uniband", "", _STREAMED),
    "bidirectional_bandwidth": ("MPI-1", "Biband", "", _STREAMED),
    "put_latency": ("MPI-RMA", "Unidir_put", "NON-AGGREGATE", _TIMED),
    "put_bandwidth": ("MPI-RMA", "Unidir_put", "AGGREGATE", _TIMED),
    "ping_ping": ("MPI-1", "PingPing", "", _TIMED),
    "get_latency": ("MPI-RMA", "Unidir_get", "NON-AGGREGATE", _TIMED),
    "get_bandwidth": ("MPI-RMA", "Unidir_get", "AGGREGATE", _TIMED),
}


def _remarks(layout: Layout, suite: str) -> Iterator[str]:
    yield f"# {_OURS}measured by fabricgauge {visible(layout.version)}, not by {suite}"
    yield f"# {_OURS}the suite's layout; medians over all launches, MB = 10^6 bytes"
    yield from (f"# {_OURS}{visible(remark)}" for remark in layout.remarks)


def printed(values: Sequence[float]) -> list[str]:
    """Return a column with as many decimals in each figure: a reader takes fewer for a cut row."""
    smallest = min((abs(value) for value in values if value), default=1.0)
    decimals = _DECIMALS
    while decimals < 12 and smallest < 10 ** (_DIGITS - 1 - decimals):
        decimals += 1
    return [f"{value:.{decimals}f}" for value in values]


def osu(layout: Layout, _setting: Setting) -> str:
    """Return one table per curve, with an empty line between."""
    tables = [
        "\n".join(_osu_table(place, curve))
        for place, curve in layout.curves
        if curve.pattern in _OSU_TITLES
    ]
    tables += ["\n".join(table) for crowd in layout.crowds if (table := _osu_crowd(*crowd))]
    head = "\n".join(_remarks(layout, "the OSU Micro-Benchmarks"))
    return "\n\n".join([head, *(tables or [f"# {_OURS}{NOTHING}"])]) + "\n"


def _osu_table(place: str, curve: Curve) -> Iterator[str]:
    yield f"# {_OURS}{visible(place)}"
    yield f"# OSU {_OSU_TITLES[curve.pattern]} v{_OSU_VERSION}"
    if curve.pattern in ONE_SIDED_PATTERNS:
        yield from _OSU_WINDOW
    if curve.pattern in LATENCY_PATTERNS:
        yield "# Size          Latency (us)"
        figures = {point.message_bytes: point.time.value * 1e6 for point in curve.points}
    else:
        yield "# Size      Bandwidth (MB/s)"
        rates = ((point.message_bytes, point.bandwidth) for point in curve.points)
        figures = {length: rate.value / 1e6 for length, rate in rates if rate}
    for message_bytes, value in zip(figures, printed(list(figures.values())), strict=True):
        yield f"{message_bytes:<10d}{value:>20s}"


def _osu_crowd(place: str, cases: tuple[ConcurrentCase, ...]) -> list[str]:
    """Return a table of many ranks; empty if the suite has no such test."""
    pattern, medians = cases[0].pattern, printed([case.median_s * 1e6 for case in cases])
    title = _OSU_CROWD_TITLES.get(pattern)
    if title is None and pattern in _OSU_COLLECTIVES:
        title = f"MPI {pattern.capitalize()} Latency Test"
    if title is None:
        return []
    lines = [f"# {_OURS}{visible(place)}", f"# OSU {title} v{_OSU_VERSION}"]
    if pattern == "multi_bandwidth":
        window = max(case.window for case in cases)
        lines.append(f"# [ pairs: {cases[0].pairs} ] [ window size: {window} ]")
        lines.append(f"# {'Size':<8s}{'MB/s':>20s}{'Messages/s':>20s}")
        rates = printed([(case.throughput_bytes_per_s or 0.0) / 1e6 for case in cases])
        counts = [f"{case.messages_per_s:.2f}" for case in cases]
        columns = [f"{rate:>20s}{count:>20s}" for rate, count in zip(rates, counts, strict=True)]
    elif pattern == "barrier":
        return [*lines, "# Avg Latency(us)", *map("{:>17s}".format, medians)]
    else:
        what = "Latency (us)" if pattern == "multi_latency" else "Avg Latency(us)"
        lines.append(f"# {'Size':<8s}{what:>20s}")
        columns = [f"{figure:>20s}" for figure in medians]
    rows = zip(cases, columns, strict=True)
    return [*lines, *(f"{case.message_bytes:<10d}{column}" for case, column in rows)]


def imb(layout: Layout, _setting: Setting) -> str:
    """Return one head per part of the suite, followed by its tables."""
    curves = [entry for entry in layout.curves if entry[1].pattern in _BENCHMARKS]
    parts = dict.fromkeys(_BENCHMARKS[curve.pattern][0] for _, curve in curves)
    crowds = [crowd for crowd in layout.crowds if crowd[1][0].pattern in _IMB_CROWDS]
    if crowds or not parts:
        parts = {"MPI-1": None, **parts}
    written = (_part(layout, part, curves, crowds if part == "MPI-1" else []) for part in parts)
    return "\n".join(chain.from_iterable(written)) + "\n"


def _part(
    layout: Layout, part: str, curves: Sequence[tuple[str, Curve]],
    crowds: Sequence[tuple[str, tuple[ConcurrentCase, ...]]],
) -> Iterator[str]:  # fmt: skip
    rule = "#" + "-" * 64
    yield from (rule, f"#    Intel(R) MPI Benchmarks {_IMB_VERSION}, {part} part", rule)
    yield from _remarks(layout, "the Intel(R) MPI Benchmarks")
    if crowds:
        yield f"# {_OURS}t_min and t_max are the fastest and the slowest sample, t_avg the median"
    yield "" if curves or crowds else f"# {_OURS}{NOTHING}"
    for place, curve in curves:
        if _BENCHMARKS[curve.pattern][0] == part:
            yield from _imb_table(place, curve)
    for crowd in crowds:
        yield from _imb_crowd(*crowd)
    yield from ("", _LAST_LINE, "")


def _imb_crowd(place: str, cases: tuple[ConcurrentCase, ...]) -> Iterator[str]:
    """Yield a table of many ranks: the times of an operation, and a chain's bandwidth."""
    pattern = cases[0].pattern
    yield f"# {_OURS}{visible(place)}"
    yield from (_RULER, f"# Benchmarking {_IMB_CROWDS[pattern]} ")
    yield from (f"# #processes = {cases[0].ranks} ", _RULER)
    columns: dict[str, list[str]] = {}
    if pattern != "barrier":
        columns["#bytes"] = [str(case.message_bytes) for case in cases]
    columns["#repetitions"] = [str(case.samples) for case in cases]
    columns["t_min[usec]"] = printed([case.minimum_s * 1e6 for case in cases])
    columns["t_max[usec]"] = printed([case.maximum_s * 1e6 for case in cases])
    columns["t_avg[usec]"] = printed([case.median_s * 1e6 for case in cases])
    if pattern in _IMB_RATED:
        rates = [(case.throughput_bytes_per_s or 0.0) / 1e6 for case in cases]
        columns["Mbytes/sec"] = printed(rates)
    yield from map(_imb_row, (tuple(columns), *zip(*columns.values(), strict=True)))
    yield ""


def _imb_row(cells: Sequence[str]) -> str:
    """Return the first cell 13 columns wide, the others 12."""
    return " ".join((f"{cells[0]:>13s}", *(f"{cell:>12s}" for cell in cells[1:])))


def _imb_table(place: str, curve: Curve) -> Iterator[str]:
    _, name, mode, columns = _BENCHMARKS[curve.pattern]
    yield f"# {_OURS}{visible(place)}"
    yield from (_RULER, f"# Benchmarking {name} ", "# #processes = 2 ", _RULER)
    if mode:
        yield from ("#", f"#    MODE: {mode} ", "#")
    points = [
        (point, figures) for point in curve.points if (figures := _figures(curve.pattern, point))
    ]
    first = printed([figure for _, (figure, _) in points])
    rates = [figure for _, (_, figure) in points]
    second = [f"{rate:.0f}" for rate in rates] if columns is _STREAMED else printed(rates)
    yield _imb_row(("#bytes", "#repetitions", *columns))
    for (point, _), *cells in zip(points, first, second, strict=True):
        yield _imb_row((str(point.message_bytes), str(point.time.samples), *cells))
    yield ""


def _figures(pattern: Pattern, point: CurvePoint) -> tuple[float, float] | None:
    """Return MB/s and messages/s, or µs and MB/s; None for a stream of empty messages."""
    bandwidth = point.bandwidth
    if _BENCHMARKS[pattern][3] is _STREAMED:
        if bandwidth is None or not point.message_bytes:
            return None
        return bandwidth.value / 1e6, bandwidth.value / point.message_bytes
    time_s = point.time.value / point.window
    return time_s * 1e6, point.message_bytes / time_s / 1e6
