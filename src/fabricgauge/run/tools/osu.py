"""OSU micro-benchmarks: point to point and one-sided.

Options: the suite's README 7.4. ``-m`` is the range of sizes, ``-i`` and ``-x`` are
iterations and warm-up for every size.
"""

from fabricgauge.run.tools.interface import Effort, Start, Tool

PROGRAMS = ("osu_latency", "osu_bw", "osu_bibw", "osu_put_latency", "osu_put_bw")


def starts(effort: Effort) -> tuple[Start, ...]:
    return tuple(_start(effort, program) for program in PROGRAMS)


def _start(effort: Effort, program: str) -> Start:
    warm_up = max(1, effort.iterations // 10)
    return Start(
        name=program,
        client=(
            program, "-m", f"1:{effort.largest_bytes}",
            "-i", str(effort.iterations), "-x", str(warm_up),
        ),
        least_s=1.0,
    )  # fmt: skip


TOOL = Tool(
    "osu", "mpi", PROGRAMS,
    ("/usr/libexec/osu-micro-benchmarks", "/usr/local/libexec/osu-micro-benchmarks",
     "/opt/osu-micro-benchmarks", "/opt/ohpc/pub", "~/.osu_benchmarks_openmpi",
     "~/osu-micro-benchmarks"),
    starts, "the OSU micro-benchmarks",
)  # fmt: skip
