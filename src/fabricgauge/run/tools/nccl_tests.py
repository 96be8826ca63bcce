"""nccl-tests between two nodes with one GPU each, started by MPI.

Options: the README of nccl-tests 2.13. ``-f 2`` doubles the size, ``-g 1`` is one GPU for
each rank, ``-c 1`` checks the data.
"""

from fabricgauge.run.tools.interface import Effort, Start, Tool

PROGRAMS = ("sendrecv_perf", "all_reduce_perf")
LARGEST_BYTES = 128 << 20


def starts(effort: Effort) -> tuple[Start, ...]:
    return tuple(_start(effort, program) for program in PROGRAMS)


def _start(effort: Effort, program: str) -> Start:
    sweep = ("-b", "8", "-e", str(LARGEST_BYTES), "-f", "2", "-g", "1", "-c", "1")
    return Start(program, (program, *sweep, "-n", str(effort.iterations)), least_s=1.0)


TOOL = Tool(
    "nccl-tests", "mpi", PROGRAMS,
    ("/opt/nccl-tests/build", "/usr/local/nccl-tests/build", "~/nccl-tests/build"),
    starts, "nccl-tests, built with MPI=1",
)  # fmt: skip
