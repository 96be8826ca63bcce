"""Programs and libraries that are traced in tests, and what starts them."""

import subprocess
from pathlib import Path

from fabricgauge.features.path.programs import PathPrograms, path_programs
from fabricgauge.features.path.recording import traced_call
from fabricgauge.features.path.values import TracedCall
from fabricgauge.model.host_access import LaunchCommand
from fabricgauge.model.run import Ended
from fabricgauge.nodes.engines.find import embedded_mpi
from fabricgauge.nodes.launch.launch import Running


def programs() -> PathPrograms:
    return path_programs(embedded_mpi())


def preloaded(folder: Path, source: str) -> dict[str, str]:
    """The environment in which a library of ``source`` comes before MPI's own."""
    (folder / "planted.c").write_text(f"#include <mpi.h>\n{source}")
    library = folder / "libplanted.so"
    mpicc = embedded_mpi().mpicxx.with_name("mpicc")
    subprocess.run(
        [mpicc, "-O1", "-shared", "-fPIC", folder / "planted.c", "-o", library], check=True
    )
    return {"LD_PRELOAD": str(library)}


def started(
    folder: Path, programs: PathPrograms, operation: str, *, sizes: str = "4", calls: int = 20,
    limit_s: int = 30, env: dict[str, str] | None = None, before: tuple[str, ...] = (),
    words: tuple[str, ...] = (), ranks: int = 2,
) -> tuple[list[TracedCall], Ended]:  # fmt: skip
    """The calls that a launch of the programs' MPI on this machine traced, and how it ended.

    ``env`` is set for the ranks alone; ``before`` stands before the tracer,
    ``words`` are options of what makes the calls.
    """
    variables = [f"{name}={value}" for name, value in (env or {}).items()]
    argv = (
        programs.mpi.mpiexec, "-launcher", "fork", "-n", ranks, *before, "env", *variables,
        programs.tracer, "--limit", limit_s, "--", programs.calls, operation, sizes, 50, calls,
    )  # fmt: skip
    folder.mkdir(exist_ok=True)
    running = Running(
        LaunchCommand((*map(str, argv), *words), {}), "", folder / "raw" / "launch", silent_s=60.0,
        marker=f"test/{folder}",
    )  # fmt: skip
    traced = [call for line in running if (call := traced_call(line))]
    return traced, running.ended()


def warm(calls: list[TracedCall]) -> list[TracedCall]:
    return [call for call in calls if call.number]


def usual(instructions: list[int]) -> int:
    return max(set(instructions), key=instructions.count)


def sends(call: TracedCall) -> int:
    """System calls that hand a message on; which one depends on how a library has it in memory."""
    return sum(call.system_calls.get(name, 0) for name in ("sendto", "sendmsg", "writev"))
