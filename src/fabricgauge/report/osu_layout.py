"""Our own curves in the layout of the OSU Micro-Benchmarks, for programs that read those.

Source: OSU 7.4, c/util/osu_util_mpi.c and the ``BENCHMARK`` titles of c/mpi/pt2pt and
c/mpi/one-sided; rows are ``%-10d`` and a field of 20. ReFrame
(hpctestlib/microbenchmarks/mpi/osu.py) searches ``^8`` or ``^4194304`` and takes
``^8\\s+(\\S+)`` in µs, ``^4194304\\s+(\\S+)`` in MB/s.
"""

from collections.abc import Iterator

from fabricgauge.model.curve import Curve
from fabricgauge.model.measurement import LATENCY_PATTERNS, Pattern
from fabricgauge.model.pattern import ONE_SIDED_PATTERNS
from fabricgauge.report.borrowed import NOTHING, of_networks, printed, provenance, where
from fabricgauge.report.interface import Judged, Setting

_TITLES: dict[Pattern, str] = {
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
#: In place of the suite's version: none ever had this one.
_VERSION = "0.fabricgauge"
_WINDOW = ("# Window creation: MPI_Win_allocate", "# Synchronization: MPI_Win_flush")


def render(judged: Judged, setting: Setting) -> str:
    """Blocks with an empty line between: what it is, then one table per curve."""
    head = "\n".join(f"# {line}" for line in provenance(judged, "the OSU Micro-Benchmarks"))
    tables = ["\n".join(_table(curve)) for curve in of_networks(judged, _TITLES, setting.pattern)]
    tables = tables or [f"# {NOTHING}"]
    return "\n\n".join([head, *tables]) + "\n"


def _table(curve: Curve) -> Iterator[str]:
    yield f"# {where(curve)}"
    yield f"# OSU {_TITLES[curve.pattern]} v{_VERSION}"
    if curve.pattern in ONE_SIDED_PATTERNS:
        yield from _WINDOW
    is_time = curve.pattern in LATENCY_PATTERNS
    yield "# Size          Latency (us)" if is_time else "# Size      Bandwidth (MB/s)"
    figures = dict(_figures(curve, is_time))
    for message_bytes, value in zip(figures, printed(list(figures.values())), strict=True):
        yield f"{message_bytes:<10d}{value:>20s}"


def _figures(curve: Curve, is_time: bool) -> Iterator[tuple[int, float]]:
    """Sizes with µs, or with MB/s where payload flowed."""
    for point in curve.points:
        if is_time:
            yield point.message_bytes, point.time.value * 1e6
        elif point.bandwidth:
            yield point.message_bytes, point.bandwidth.value / 1e6
