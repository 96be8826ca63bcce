"""Which programs measure: our engine built against one MPI, or another suite's."""

from pathlib import Path

import msgspec

from fabricgauge.app.progress import Progress
from fabricgauge.engines.build import build
from fabricgauge.engines.find import describe_mpi, embedded_mpi, find_mpis, mpi_of
from fabricgauge.model.engine import Engine, Mpi
from fabricgauge.model.errors import UsageError
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.run.tools.find import programs
from fabricgauge.run.tools.interface import Effort, Tool
from fabricgauge.run.tools.table import EFFORTS, TOOLS
from fabricgauge.run.transports import VERBS, known_transport, values_of


class Suite(msgspec.Struct, frozen=True):
    """The suite that is to measure: its programs, the MPI that starts them, how much."""

    tool: Tool
    programs: dict[str, Path]
    mpi: Mpi | None
    effort: Effort

    def described(self) -> dict[str, str]:
        """Facts for the run's environment."""
        facts = {
            name: str(self.programs.get(name, "not found: its part is left out"))
            for name in self.tool.programs
        }
        if self.mpi is not None:
            facts["MPI"] = f"{self.mpi.kind} {self.mpi.version} ({self.mpi.mpiexec})"
        return {"suite": self.tool.name, **facts}


def engine_for(mpi: str | None, progress: Progress, compiler: str = "") -> Engine:
    """The engine for ``mpi``: a kind, the path of an ``mpicxx``, or nothing for the embedded one.

    ``compiler`` is a C++ compiler to build it with instead of the wrapper's own.

    It is built when the cache has none, which takes the better part of a minute.

    Raises:
        UsageError: no MPI of that kind was found; the message lists those that were.
    """
    progress.stage("finding the engine; where there is none yet it is built, once")
    return build(named_mpi(mpi) if mpi else embedded_mpi(), compiler=compiler)


def named_mpi(mpi: str) -> Mpi:
    """The MPI of that kind, or of that compiler wrapper's path.

    Raises:
        UsageError: no such MPI was found; the message lists those that were.
    """
    if "/" in mpi:
        return describe_mpi(Path(mpi))
    found = find_mpis()
    for one in found:
        if one.kind == mpi:
            return one
    kinds = ", ".join(f"{each.kind} ({each.mpicxx})" for each in found) or "none"
    raise UsageError(f"no MPI called {mpi!r} was found; there is: {kinds}")


def suite_for(request: MeasurementRequest, progress: Progress) -> Suite:
    """The suite that ``--tool`` names, with its programs and the MPI they need.

    Raises:
        UsageError: no such suite, key or value, or no MPI of the kind that was asked for.
        ToolMissing: none of its programs is there.
        CannotRun: no MPI that could start them.
    """
    progress.stage(f"finding {request.tool}")
    name, colon, said = request.tool.partition(":")
    tool = TOOLS.get(name)
    if tool is None:
        there = f"{', '.join(TOOLS)}; inside nodes nvbandwidth and rocm-bandwidth-test"
        raise UsageError(f"no suite {name!r} can be run; there is {there}")
    verbs = values_of(known_transport(f"{VERBS}:{said}")) if colon else {}
    if unknown := [key for key in verbs if key not in tool.keys]:
        there = f"there is {', '.join(tool.keys)}" if tool.keys else "it has no keys"
        raise UsageError(f"--tool {name} does not heed {', '.join(unknown)}; {there}")
    found = programs(tool, (Path(request.tool_path).resolve(),) if request.tool_path else ())
    effort = msgspec.structs.replace(EFFORTS[request.profile], verbs=verbs)
    if request.parallel:
        effort = msgspec.structs.replace(effort, streams=request.parallel)
    mpi = None
    if tool.kind == "mpi":
        said = request.mpi
        mpi = named_mpi(said) if said else mpi_of(next(iter(found.values())), find_mpis())
    return Suite(tool, found, mpi, effort)
