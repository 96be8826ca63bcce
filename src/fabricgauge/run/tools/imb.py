"""Intel MPI Benchmarks: IMB-P2P and IMB-MPI1.

Options: Intel MPI Benchmarks User Guide 2021.x, "Command-Line Control". ``-iter`` is the most
repetitions of one message size, ``-msglog`` the largest size as a power of two.
"""

from fabricgauge.run.tools.interface import Effort, Start, Tool

#: A window of the streaming benchmarks is 64 messages: larger ones take minutes at 1 Gb/s.
LARGEST_STREAMED_BYTES = 1 << 20


def starts(effort: Effort) -> tuple[Start, ...]:
    streamed = min(effort.largest_bytes, LARGEST_STREAMED_BYTES)
    return (
        _start("IMB-P2P", "PingPong", effort.iterations, effort.largest_bytes),
        _start("IMB-MPI1", "Uniband", max(1, effort.iterations // 2), streamed),
        _start("IMB-MPI1", "Biband", max(1, effort.iterations // 2), streamed),
    )


def _start(program: str, benchmark: str, iterations: int, largest_bytes: int) -> Start:
    largest = str(largest_bytes.bit_length() - 1)
    return Start(
        name=f"{program} {benchmark}",
        client=(program, benchmark, "-iter", str(iterations), "-msglog", largest),
        least_s=1.0,
    )


TOOL = Tool(
    "imb", "mpi", ("IMB-P2P", "IMB-MPI1"),
    ("/opt/intel/oneapi/mpi/latest/bin", "/opt/intel/oneapi/mpi/latest/benchmarks/imb"),
    starts, "intel-oneapi-mpi, or impi-rt from PyPI",
)  # fmt: skip
