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

from fabricgauge.model.curve import Curve, CurvePoint
from fabricgauge.model.pattern import LATENCY_PATTERNS, ONE_SIDED_PATTERNS, Pattern
from fabricgauge.report.interface import Layout, Setting
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
#: In the place of the suite's version; no release has this one.
_OSU_VERSION = "0.fabricgauge"
_OSU_WINDOW = ("# Window creation: MPI_Win_allocate", "# Synchronization: MPI_Win_flush")

#: The layout is that of 2021.11; readers infer the meaning of MB from the year.
_IMB_VERSION = "2021.fabricgauge"
_LAST_LINE = "# All processes entering MPI_Finalize"
_WIDTHS = (13, 12, 12, 12)
_RULER = "#" + "-" * 51
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
    """Yield comment lines with the program that measured and the verdict."""
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
    head = "\n".join(_remarks(layout, "the OSU Micro-Benchmarks"))
    return "\n\n".join([head, *(tables or [f"# {_OURS}{NOTHING}"])]) + "\n"


def _osu_table(place: str, curve: Curve) -> Iterator[str]:
    """Yield sizes with µs, or with MB/s for a stream."""
    yield f"# {_OURS}{visible(place)}"
    yield f"# OSU {_OSU_TITLES[curve.pattern]} v{_OSU_VERSION}"
    if curve.pattern in ONE_SIDED_PATTERNS:
        yield from _OSU_WINDOW
    if curve.pattern in LATENCY_PATTERNS:
        yield "# Size          Latency (us)"
        figures = {point.message_bytes: point.time.value * 1e6 for point in curve.points}
    else:
        yield "# Size      Bandwidth (MB/s)"
        figures = {
            point.message_bytes: point.bandwidth.value / 1e6
            for point in curve.points
            if point.bandwidth
        }
    for message_bytes, value in zip(figures, printed(list(figures.values())), strict=True):
        yield f"{message_bytes:<10d}{value:>20s}"


def imb(layout: Layout, _setting: Setting) -> str:
    """Return one head per part of the suite, followed by its tables."""
    curves = [entry for entry in layout.curves if entry[1].pattern in _BENCHMARKS]
    parts = dict.fromkeys(_BENCHMARKS[curve.pattern][0] for _, curve in curves) or {"MPI-1": None}
    return "\n".join(chain.from_iterable(_part(layout, part, curves) for part in parts)) + "\n"


def _part(layout: Layout, part: str, curves: list[tuple[str, Curve]]) -> Iterator[str]:
    rule = "#" + "-" * 64
    yield from (rule, f"#    Intel(R) MPI Benchmarks {_IMB_VERSION}, {part} part", rule)
    yield from _remarks(layout, "the Intel(R) MPI Benchmarks")
    yield "" if curves else f"# {_OURS}{NOTHING}"
    for place, curve in curves:
        if _BENCHMARKS[curve.pattern][0] == part:
            yield from _imb_table(place, curve)
    yield from ("", _LAST_LINE, "")


def _imb_table(place: str, curve: Curve) -> Iterator[str]:
    _, name, mode, columns = _BENCHMARKS[curve.pattern]
    yield f"# {_OURS}{visible(place)}"
    yield from (_RULER, f"# Benchmarking {name} ", "# #processes = 2 ", _RULER)
    if mode:
        yield from ("#", f"#    MODE: {mode} ", "#")
    points = [
        (point, figures) for point in curve.points if (figures := _figures(curve.pattern, point))
    ]
    first, second = (
        printed([figure for _, (figure, _) in points]),
        [figure for _, (_, figure) in points],
    )
    second_column = (
        [f"{figure:.0f}" for figure in second] if columns is _STREAMED else printed(second)
    )
    rows = (
        (str(point.message_bytes), str(point.time.samples), *figures)
        for (point, _), *figures in zip(points, first, second_column, strict=True)
    )
    for cells in (("#bytes", "#repetitions", *columns), *rows):
        yield " ".join(f"{cell:>{width}s}" for cell, width in zip(cells, _WIDTHS, strict=True))
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
