"""Find the programs that measure: our engine for one MPI, or another suite's."""

from pathlib import Path

import msgspec

from fabricgauge.logs.tools.interface import Effort, Tool
from fabricgauge.model.engine import Engine, Mpi
from fabricgauge.model.errors import UsageError
from fabricgauge.model.progress import Progress
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.nodes.engines.build import build
from fabricgauge.nodes.engines.find import describe_mpi, embedded_mpi, find_mpis, mpi_of
from fabricgauge.nodes.launch.transports import VERBS, known_transport, transport_values


class Suite(msgspec.Struct, frozen=True):
    """The suite that is to measure: its programs, the MPI that starts them, and how much."""

    tool: Tool
    programs: dict[str, Path]
    mpi: Mpi | None
    effort: Effort

    def described(self) -> dict[str, str]:
        """Return facts for the run's environment."""
        facts = {
            name: str(self.programs.get(name, "not found: its part is skipped"))
            for name in program_names(self.tool, self.effort)
        }
        if self.mpi is not None:
            facts["MPI"] = f"{self.mpi.kind} {self.mpi.version} ({self.mpi.mpiexec})"
        return {"suite": self.tool.name, **facts}


def program_names(tool: Tool, effort: Effort) -> tuple[str, ...]:
    """Return the names of the programs that the suite's starts need."""
    return tuple(dict.fromkeys(start.client[0] for start in tool.starts(effort)))


def engine_for(mpi: str | None, progress: Progress, compiler: str = "") -> Engine:
    """Return the engine for an MPI's kind or ``mpicxx``; empty is the embedded MPI.

    ``compiler`` is a C++ compiler to build it with instead of the wrapper's own. If the cache has
    no engine, it is built, which takes up to a minute.

    Raises:
        UsageError: no MPI of that kind was found; the message lists the MPIs that were.
    """
    progress.stage("finding the engine; it is built once if it is missing")
    return build(named_mpi(mpi) if mpi else embedded_mpi(), compiler=compiler)


def named_mpi(mpi: str) -> Mpi:
    """Return the MPI of that kind, or of that compiler wrapper's path.

    Raises:
        UsageError: no such MPI was found; the message lists the MPIs that were.
    """
    if "/" in mpi:
        return describe_mpi(Path(mpi))
    mpis = find_mpis()
    for mpi_found in mpis:
        if mpi_found.kind == mpi:
            return mpi_found
    kinds = ", ".join(f"{mpi_found.kind} ({mpi_found.mpicxx})" for mpi_found in mpis) or "none"
    raise UsageError(f"no MPI {mpi!r} was found; available: {kinds}")


def suite_for(request: MeasurementRequest, progress: Progress) -> Suite:
    """Return the suite that ``--tool`` names, with its programs and the MPI they need.

    Raises:
        UsageError: no such suite, key or value, or no MPI of the requested kind.
        ToolMissing: none of its programs is installed.
        CannotRun: no MPI can start them.
    """
    from fabricgauge.logs.tools.find import find_programs
    from fabricgauge.logs.tools.suite_tests import read_tool
    from fabricgauge.logs.tools.table import EFFORTS, TOOLS

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
