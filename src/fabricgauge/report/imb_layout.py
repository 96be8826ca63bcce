"""Our own curves in the layout of the Intel MPI Benchmarks, for programs that read those.

Source: IMB 2021.11, printed heads and rows of IMB-MPI1 (PingPong, Uniband, Biband) and
IMB-RMA (Unidir_put): fields of 13, MB = 10^6 bytes, sizes in ascending order.
"""

from collections.abc import Iterator
from itertools import chain

from fabricgauge.model.curve import Curve, CurvePoint
from fabricgauge.model.measurement import Pattern
from fabricgauge.report.borrowed import VERSION, figure, of_networks, provenance, where
from fabricgauge.report.interface import Judged, Setting

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
}


def render(judged: Judged, _setting: Setting) -> str:
    """One head per part of the suite, followed by its tables."""
    curves = list(of_networks(judged))
    parts = dict.fromkeys(_BENCHMARKS[curve.pattern][0] for curve in curves) or {"MPI-1": None}
    return "\n".join(chain.from_iterable(_part(judged, part, curves) for part in parts)) + "\n"


def _part(judged: Judged, part: str, curves: list[Curve]) -> Iterator[str]:
    yield "#" + "-" * 64
    yield f"#    Intel(R) MPI Benchmarks {VERSION}, {part} part"
    yield "#" + "-" * 64
    for line in provenance(judged, "the Intel(R) MPI Benchmarks"):
        yield f"# {line}"
    yield ""
    for curve in curves:
        if _BENCHMARKS[curve.pattern][0] == part:
            yield from _table(curve)


def _table(curve: Curve) -> Iterator[str]:
    _, name, mode, columns = _BENCHMARKS[curve.pattern]
    yield f"# {where(curve)}"
    yield _RULER
    yield f"# Benchmarking {name} "
    yield "# #processes = 2 "
    yield _RULER
    if mode:
        yield from ("#", f"#    MODE: {mode} ", "#")
    yield " ".join(f"{head:>12s}" for head in (" #bytes", "#repetitions", *columns))
    for point in curve.points:
        yield from _row(curve, point)
    yield ""


def _row(curve: Curve, point: CurvePoint) -> Iterator[str]:
    cells = _cells(curve.pattern, point)
    if cells is not None:
        numbers = (str(point.message_bytes), str(point.time.samples), *cells)
        yield " ".join(
            f"{number:>{width}s}" for number, width in zip(numbers, _WIDTHS, strict=True)
        )


_WIDTHS = (13, 12, 12, 12)


def _cells(pattern: Pattern, point: CurvePoint) -> tuple[str, str] | None:
    """The figures behind bytes and repetitions; None for a stream of empty messages."""
    bandwidth = point.bandwidth
    if _BENCHMARKS[pattern][3] is _STREAMED:
        if bandwidth is None or not point.message_bytes:
            return None
        rate = bandwidth.value / point.message_bytes
        return figure(bandwidth.value / 1e6), f"{rate:.0f}"
    time_s = point.time.value / point.window
    return figure(time_s * 1e6), figure(point.message_bytes / time_s / 1e6)
