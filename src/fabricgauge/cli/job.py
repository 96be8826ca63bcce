"""Which job the options of ``check`` ask for: the engine's, or another suite's."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fabricgauge.model.errors import CannotRun, UsageError

if TYPE_CHECKING:
    from fabricgauge.app.job import Job
    from fabricgauge.app.progress import Progress
    from fabricgauge.app.target import Target
    from fabricgauge.app.tool_job import Suite
    from fabricgauge.model.engine import Mpi
    from fabricgauge.model.suite import SuiteCurve
    from fabricgauge.plan.fabric_plan import FabricWanted
    from fabricgauge.plan.plan import Wanted
    from fabricgauge.run.tools.interface import Tool
    from fabricgauge.store.run_directory import RunDirectory


def job_of(
    options: dict[str, Any],
    wanted: "Wanted | FabricWanted",
    target: "Target",
    directory: "RunDirectory",
    progress: "Progress",
) -> "Job":
    """What is to be measured, planned now or taken up again."""
    from fabricgauge.plan.plan import Wanted

    if options["tool"] and isinstance(wanted, Wanted):
        return _tool_job(options, wanted, target, directory, progress)
    return _engine_job(options, wanted, target, directory, progress)


def _engine_job(
    options: dict[str, Any],
    wanted: "Wanted | FabricWanted",
    target: "Target",
    directory: "RunDirectory",
    progress: "Progress",
) -> "Job":
    from fabricgauge.app import engine_job, fabric_job
    from fabricgauge.app.engine import engine_for, simulated_engine_for
    from fabricgauge.app.measure import RunContext
    from fabricgauge.app.resume import resume
    from fabricgauge.plan.plan import Wanted

    engine = (
        simulated_engine_for(progress)
        if target.simulation
        else engine_for(options["mpi"], progress)
    )
    target = msgspec.structs.replace(target, engine=engine)
    if options["resume"]:
        rest = resume(target, directory, progress)
        bench = RunContext(
            directory,
            target.access,
            engine,
            rest.fabric,
            rest.plan,
            rest.attempt,
            target.simulation,
        )
        return (
            engine_job.EngineJob(bench)
            if isinstance(wanted, Wanted)
            else fabric_job.FabricJob(bench)
        )
    if isinstance(wanted, Wanted):
        return engine_job.prepare(wanted, target, engine, directory, progress)
    return fabric_job.prepare(wanted, target, engine, directory, progress)


def _tool_job(
    options: dict[str, Any],
    wanted: "Wanted",
    target: "Target",
    directory: "RunDirectory",
    progress: "Progress",
) -> "Job":
    from fabricgauge.app.resume import resume
    from fabricgauge.app.tool_job import job, prepare

    progress.stage(f"finding {options['tool']}")
    suite = suite_of(options)
    programs = {
        name: str(suite.programs.get(name, "not found: its part is left out"))
        for name in suite.tool.programs
    }
    if suite.mpi is not None:
        programs["MPI"] = f"{suite.mpi.kind} {suite.mpi.version} ({suite.mpi.mpiexec})"
    target = msgspec.structs.replace(target, programs={"suite": suite.tool.name, **programs})
    if not options["resume"]:
        return prepare(wanted, target, suite, directory, progress)
    return job(target, suite, directory, resume(target, directory, progress))


def suite_of(options: dict[str, Any]) -> "Suite":
    """The suite that ``--tool`` names, with its programs and the MPI they need.

    Raises:
        UsageError: no such suite.
        ToolMissing: none of its programs is there.
        CannotRun: no MPI that could start them.
    """
    from fabricgauge.app.tool_job import Suite
    from fabricgauge.run.tools.find import programs
    from fabricgauge.run.tools.table import EFFORTS, TOOLS

    tool = TOOLS.get(options["tool"])
    if tool is None:
        raise UsageError(f"no suite {options['tool']!r} can be run; there is {', '.join(TOOLS)}")
    places = (Path(options["tool_path"]).resolve(),) if options["tool_path"] else ()
    found = programs(tool, places)
    effort = msgspec.structs.replace(EFFORTS[options["profile"]], streams=options["streams"])
    return Suite(tool, found, _mpi_for(tool, found, options["mpi"]), effort)


def _mpi_for(tool: "Tool", found: dict[str, Path], said: str | None) -> "Mpi | None":
    from fabricgauge.engines.find import describe_mpi, find_mpis
    from fabricgauge.run.tools.find import mpi_of

    if tool.kind != "mpi":
        return None
    if said is not None and "/" in said:
        return describe_mpi(Path(said))
    known = find_mpis()
    if said is None:
        return mpi_of(next(iter(found.values())), known)
    for mpi in known:
        if mpi.kind == said:
            return mpi
    raise CannotRun(f"no MPI called {said!r} was found to start {tool.name} with")


def reference_curves(name: str | None) -> "tuple[SuiteCurve, ...]":
    """The curves of a reference, or none where none was asked for."""
    if name is None:
        return ()
    from fabricgauge.references.interface import reference

    known = reference(name)
    if not known.curves:
        raise UsageError(f"{name} is a table without curves; `fabricgauge compare` cannot use it")
    said = {"from": known.provenance, "caveat": known.caveat}
    return tuple(
        msgspec.structs.replace(one, source=known.name, settings={**one.settings, **said})
        for one in known.curves
    )
