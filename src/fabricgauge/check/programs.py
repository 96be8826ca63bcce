"""Find the programs that measure: our engine for one MPI, or another suite's."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fabricgauge.model.engine import Engine, Mpi
from fabricgauge.model.errors import CannotRun, UsageError
from fabricgauge.model.progress import Progress
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.nodes.engines.find import (
    describe_launcher,
    describe_mpi,
    embedded_mpi,
    find_library,
    find_mpis,
    find_runtimes,
    mpi_of,
)
from fabricgauge.nodes.engines.ready_made import ready_engine, ready_programs, sha256_of

if TYPE_CHECKING:
    from fabricgauge.logs.tools.table import Effort, Tool


class Suite(msgspec.Struct, frozen=True):
    """The suite that is to measure: its programs, the MPI that starts them, and how much."""

    tool: "Tool"
    programs: dict[str, Path]
    mpi: Mpi | None
    effort: "Effort"

    def described(self) -> dict[str, str]:
        """Return facts for the run's environment."""
        facts = {
            name: str(self.programs.get(name, "not found: its part is skipped"))
            for name in program_names(self.tool, self.effort)
        }
        if self.mpi is not None:
            facts["MPI"] = f"{self.mpi.kind} {self.mpi.version} ({self.mpi.mpiexec})"
        return {"suite": self.tool.name, **facts}


def program_names(tool: "Tool", effort: "Effort") -> tuple[str, ...]:
    """Return the names of the programs that the suite's starts need."""
    return tuple(dict.fromkeys(start.client[0] for start in tool.starts(effort)))


def engine_for(mpi: str | None, progress: Progress, compiler: str = "") -> Engine:
    """Return the engine for an MPI's kind or path; empty is the embedded MPI.

    A ready-made engine is used if this installation has one for the MPI. ``compiler`` is a C++
    compiler to build one with instead.

    Raises:
        UsageError: no MPI of that kind was found; the message lists the MPIs that were.
        CannotRun: no ready-made engine fits the MPI, or it could not be built.
    """
    used_mpi = named_mpi(mpi) if mpi else default_mpi()
    if not compiler and (ready := ready_engine(used_mpi)):
        return ready
    from fabricgauge.nodes.engines.build import build

    notify = partial(progress.stage, "building the engine for this MPI, once")
    return with_library(build(used_mpi, compiler=compiler, notify=notify))


def with_library(engine: Engine) -> Engine:
    """Return the engine with its digest and the MPI's library, if it was found."""
    engine = msgspec.structs.replace(engine, sha256=sha256_of(engine.path))
    try:
        library = find_library(engine.mpi)
    except CannotRun:  # a build knows where its library is
        return engine
    return msgspec.structs.replace(engine, library=str(library.path))


def default_mpi() -> Mpi:
    """Return the embedded MPI; without it, the first MPI for which no compiler is needed.

    Raises:
        CannotRun: there is none.
    """
    try:
        return embedded_mpi()
    except CannotRun:
        runtimes = find_runtimes() if ready_programs() else ()
        if not runtimes:
            raise
        return runtimes[0]


def named_mpi(mpi: str) -> Mpi:
    """Return the MPI of that kind, or of the path of its compiler wrapper or launcher.

    Raises:
        UsageError: no such MPI was found; the message lists the MPIs that were.
    """
    if "/" in mpi:
        is_launcher = Path(mpi).name.startswith(("mpiexec", "mpirun"))
        return describe_launcher(Path(mpi)) if is_launcher else describe_mpi(Path(mpi))
    places: list[str] = []
    for find, program in ((find_mpis, "mpicxx"), (find_runtimes, "mpiexec")):
        for candidate in find():
            if candidate.kind == mpi:
                return candidate
            places.append(f"{candidate.kind} ({getattr(candidate, program)})")
    raise UsageError(f"no MPI {mpi!r} was found; available: {', '.join(places) or 'none'}")


def suite_for(request: MeasurementRequest, progress: Progress) -> Suite:
    """Return the suite that ``--tool`` names, with its programs and the MPI they need.

    Raises:
        UsageError: no such suite, key or value, or no MPI of the requested kind.
        ToolMissing: none of its programs is installed.
        CannotRun: no MPI can start them.
    """
    from fabricgauge.logs.tools.find import find_programs
    from fabricgauge.logs.tools.table import EFFORTS, TOOLS, read_tool
    from fabricgauge.nodes.launch.transports import VERBS, known_transport, transport_values

    progress.stage(f"finding {request.tool}")
    words = read_tool(request.tool)
    name = words.suite
    tool = TOOLS.get(name)
    if tool is None:
        suites = f"{', '.join(TOOLS)}; inside nodes nvbandwidth and rocm-bandwidth-test"
        raise UsageError(f"unknown suite {name!r}; available: {suites}")
    verbs = transport_values(known_transport(f"{VERBS}:{words.keys}")) if words.keys else {}
    if unknown := [key for key in verbs if key not in tool.keys]:
        keys = f"it has {', '.join(tool.keys)}" if tool.keys else "it has no keys"
        raise UsageError(f"--tool {name} has no key {', '.join(unknown)}; {keys}")
    effort = msgspec.structs.replace(EFFORTS[request.profile], verbs=verbs, tests=words.tests)
    if request.parallel:
        effort = msgspec.structs.replace(effort, streams=request.parallel)
    tool_paths = (Path(request.tool_path).resolve(),) if request.tool_path else ()
    tool_programs = find_programs(tool, tool_paths, program_names(tool, effort))
    mpi = None
    if tool.kind == "mpi":
        program = next(iter(tool_programs.values()))
        mpi = named_mpi(request.mpi) if request.mpi else mpi_of(program, find_mpis())
    return Suite(tool, tool_programs, mpi, effort)
