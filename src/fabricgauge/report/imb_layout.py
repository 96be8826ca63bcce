"""Our own curves in the layout of the Intel MPI Benchmarks, for programs that read those.

Source: IMB 2021.11, printed heads and rows of IMB-MPI1 (PingPong, PingPing, Uniband, Biband)
and IMB-RMA (Unidir_put, Unidir_get): fields of 13, MB = 10^6 bytes, sizes in ascending order.
"""

from collections.abc import Iterator, Sequence
from itertools import chain

from fabricgauge.model.curve import Curve, CurvePoint
from fabricgauge.model.measurement import Pattern
from fabricgauge.report.borrowed import NOTHING, of_networks, printed, provenance, where
from fabricgauge.report.interface import Judged, Setting

#: The layout is that of 2021.11; readers take the year for what MB stands for.
_VERSION = "2021.fabricgauge"
_LAST_LINE = "# All processes entering MPI_Finalize"
_WIDTHS = (13, 12, 12, 12)
_RULER = "#" + "-" * 51
_TIMED = ("t[usec]", "Mbytes/sec")
_STREAMED = ("Mbytes/sec", "Msg/sec")

#: Part of the suite, benchmark, its mode, and its columns behind bytes and repetitions.
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


def render(judged: Judged, setting: Setting) -> str:
    """One head per part of the suite, followed by its tables."""
    curves = list(of_networks(judged, _BENCHMARKS, setting.pattern))
    parts = dict.fromkeys(_BENCHMARKS[curve.pattern][0] for curve in curves) or {"MPI-1": None}
    return "\n".join(chain.from_iterable(_part(judged, part, curves) for part in parts)) + "\n"


def _part(judged: Judged, part: str, curves: list[Curve]) -> Iterator[str]:
    yield "#" + "-" * 64
    yield f"#    Intel(R) MPI Benchmarks {_VERSION}, {part} part"
    yield "#" + "-" * 64
    for line in provenance(judged, "the Intel(R) MPI Benchmarks"):
        yield f"# {line}"
    yield "" if curves else f"# {NOTHING}"
    for curve in curves:
        if _BENCHMARKS[curve.pattern][0] == part:
            yield from _table(curve)
    yield from ("", _LAST_LINE, "")


def _table(curve: Curve) -> Iterator[str]:
    _, name, mode, columns = _BENCHMARKS[curve.pattern]
    yield f"# {where(curve)}"
    yield _RULER
    yield f"# Benchmarking {name} "
    yield "# #processes = 2 "
    yield _RULER
    if mode:
        yield from ("#", f"#    MODE: {mode} ", "#")
    yield _line(("#bytes", "#repetitions", *columns))
    yield from _rows(curve)
    yield ""


def _rows(curve: Curve) -> Iterator[str]:
    rows = [
        (point.message_bytes, point.time.samples, *found)
        for point in curve.points
        if (found := _figures(curve.pattern, point)) is not None
    ]
    if not rows:
        return
    sizes, samples, first, second = zip(*rows, strict=True)
    columns = (map(str, sizes), map(str, samples), printed(first), _second(curve.pattern, second))
    for cells in zip(*columns, strict=True):
        yield _line(cells)


def _second(pattern: Pattern, values: Sequence[float]) -> list[str]:
    if _BENCHMARKS[pattern][3] is _STREAMED:
        return [f"{value:.0f}" for value in values]
    return printed(values)


def _line(cells: Sequence[str]) -> str:
    return " ".join(f"{cell:>{width}s}" for cell, width in zip(cells, _WIDTHS, strict=True))


def _figures(pattern: Pattern, point: CurvePoint) -> tuple[float, float] | None:
    """MB/s and messages/s, or µs and MB/s; None for a stream of empty messages."""
    bandwidth = point.bandwidth
    if _BENCHMARKS[pattern][3] is _STREAMED:
        if bandwidth is None or not point.message_bytes:
            return None
        return bandwidth.value / 1e6, bandwidth.value / point.message_bytes
    time_s = point.time.value / point.window
    return time_s * 1e6, point.message_bytes / time_s / 1e6
