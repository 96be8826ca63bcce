"""perftest: RDMA verbs between two processes, no MPI.

Options: the README and man pages of perftest 4.5. ``-R`` connects through the RDMA
connection manager, so that the address of the measured network chooses the device;
``-F`` goes on although the processor's clock is governed.
"""

from fabricgauge.run.tools.interface import SERVER, Effort, Start, Tool

PORT = 18515
PROGRAMS = ("ib_send_lat", "ib_send_bw", "ib_write_lat", "ib_write_bw")


def starts(effort: Effort) -> tuple[Start, ...]:
    both = _start(effort, "ib_send_bw", "-b", name="ib_send_bw, both directions")
    return (*(_start(effort, program) for program in PROGRAMS), both)


def _start(effort: Effort, program: str, *options: str, name: str = "") -> Start:
    iterations = max(effort.iterations, 5)  # fewer are refused
    said = (program, "-a", "-R", "-F", "-n", str(iterations), "-p", str(PORT), *options)
    return Start(name or program, (*said, SERVER), said, PORT, least_s=1.0)


TOOL = Tool("perftest", "pair", PROGRAMS, (), starts, "perftest", technology="roce-v2")
