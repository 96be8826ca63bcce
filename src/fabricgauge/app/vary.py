"""A comparison by measuring: the arms of a design take turns, block by block."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from fabricgauge.app import fabric_job
from fabricgauge.app.check import concluded
from fabricgauge.app.compare import cautions, invalid
from fabricgauge.app.engine import engine_for
from fabricgauge.app.engine_job import EngineJob, prepare
from fabricgauge.app.measure import RunContext, measure
from fabricgauge.app.progress import Progress
from fabricgauge.app.resume import resume
from fabricgauge.app.target import Target
from fabricgauge.compare.varying import varied
from fabricgauge.model.engine import Engine
from fabricgauge.model.errors import CannotRun, StoreError, UsageError
from fabricgauge.model.host_access import HostAccess
from fabricgauge.model.pattern import TOURNAMENT_PATTERNS
from fabricgauge.model.plan import Plan
from fabricgauge.model.run import Run
from fabricgauge.model.varied import Design, Varied
from fabricgauge.plan.design import AS_IT_IS, ENVIRONMENT
from fabricgauge.plan.fabric_plan import ALL_PATTERNS, FabricWanted
from fabricgauge.plan.plan import Wanted
from fabricgauge.run.mpi_impls.interface import is_pinned
from fabricgauge.run.mpi_impls.table import mpi_impl_of
from fabricgauge.store.run_directory import PARTIAL, RunDirectory
from fabricgauge.store.run_files import About, load

#: What people call a suite of compilers, and its C++ compiler.
COMPILERS = {"gcc": "g++", "clang": "clang++", "intel": "icpx", "nvhpc": "nvc++", "aocc": "clang++"}

_DESIGN = "design.json"


def begin(
    design: Design,
    wanted: Wanted | FabricWanted,
    target: Target,
    mpi: str | None,
    directory: RunDirectory,
    progress: Progress,
) -> tuple[Design, tuple[EngineJob, ...]]:
    """A run for each arm, planned on the same nodes; the directory then says which they are."""
    each = _of_blocks(wanted, design.blocks)
    jobs = []
    for arm in design.arms:
        own, engine = _site_of(design, arm, target, mpi, progress)
        run = RunDirectory.create(directory.path)
        job = _prepared(each, own, engine, run, progress)
        _require_heeded(design, engine, job.plan)
        jobs.append(job)
    folders = tuple(job.directory.identity for job in jobs)
    made = msgspec.structs.replace(design, folders=folders)
    directory.write(_DESIGN, made)
    return made, tuple(jobs)


def _require_heeded(design: Design, engine: Engine, plan: Plan) -> None:
    """Raises:
    UsageError: a factor is a variable that pinning sets, so that its levels would be alike.
    """
    pinned = any(is_pinned(launch) for launch in plan.launches)
    for factor in design.factors:
        name = factor.name.removeprefix(ENVIRONMENT)
        if pinned and name in mpi_impl_of(engine.mpi).interface_variables:
            raise UsageError(
                f"--vary {factor.name}: a launch on a network sets {name} itself;"
                " add --unpinned, or vary the network with --network"
            )


def _of_blocks(wanted: Wanted | FabricWanted, blocks: int) -> Wanted | FabricWanted:
    """As many launches as there are blocks, each as long as one of the profile's.

    Raises:
        UsageError: all pairs are asked for, which are a matrix and no curve.
    """
    if isinstance(wanted, Wanted):
        profile = msgspec.structs.replace(wanted.profile, launches=blocks)
        return msgspec.structs.replace(wanted, profile=profile)
    if set(wanted.patterns) & set(TOURNAMENT_PATTERNS):
        raise UsageError("--vary compares curves, and all pairs are a matrix; name other patterns")
    each_s = wanted.profile.budget_s / wanted.profile.launches
    many = msgspec.structs.replace(wanted.profile, launches=blocks, budget_s=each_s * blocks)
    patterns = wanted.patterns or tuple(p for p in ALL_PATTERNS if p not in TOURNAMENT_PATTERNS)
    return msgspec.structs.replace(wanted, profile=many, patterns=patterns)


def _prepared(
    wanted: Wanted | FabricWanted,
    target: Target,
    engine: Engine,
    directory: RunDirectory,
    progress: Progress,
) -> EngineJob:
    if isinstance(wanted, FabricWanted):
        return fabric_job.prepare(wanted, target, engine, directory, progress)
    return prepare(wanted, target, engine, directory, progress)


def take_up(
    target: Target, mpi: str | None, directory: RunDirectory, progress: Progress
) -> tuple[Design, tuple[EngineJob, ...]]:
    """The arms of a comparison that was broken off.

    Raises:
        StoreError: the directory holds none.
        UsageError: it is complete, or was begun with other engines.
        CannotRun: the nodes are not what they were.
    """
    if directory.complete:
        raise UsageError(f"{directory.identity} is complete; there is nothing to resume")
    design = directory.read(_DESIGN, Design)
    jobs = []
    for arm, folder in zip(design.arms, design.folders, strict=True):
        own, engine = _site_of(design, arm, target, mpi, progress)
        run = _arm(directory, folder)
        if run.complete:
            stored = load(run)
            jobs.append(
                EngineJob(RunContext(run, own.access, engine, stored.fabric, stored.plan, 1))
            )
            continue
        _require_same(run, engine)
        rest = resume(own, run, progress)
        context = RunContext(run, own.access, engine, rest.fabric, rest.plan, rest.attempt)
        jobs.append(EngineJob(context))
    return design, tuple(jobs)


def _arm(directory: RunDirectory, folder: str) -> RunDirectory:
    """An arm's run, which may have got its final name before all was over."""
    final = directory.path / folder
    return RunDirectory(final if final.is_dir() else final.with_name(f"{folder}{PARTIAL}"))


def _require_same(run: RunDirectory, engine: Engine) -> None:
    """Raises:
    UsageError: the arm was begun with another engine, that of another MPI or compiler.
    """
    begun = run.read("run.json", About).environment
    if begun.get("engine identity") != engine.identity:
        raise UsageError(
            f"{run.identity} was begun with {begun.get('MPI')} (engine"
            f" {begun.get('engine identity')}), this is {engine.mpi.kind} {engine.mpi.version}"
            f" (engine {engine.identity}): resume it with the options that it was begun with"
        )


def _site_of(
    design: Design, arm: Sequence[str], target: Target, mpi: str | None, progress: Progress
) -> tuple[Target, Engine]:
    said = {one.name: level for one, level in zip(design.factors, arm, strict=True)}
    compiler = said.get("compiler", "")
    engine = engine_for(said.get("mpi", mpi), progress, COMPILERS.get(compiler, compiler))
    access = _access_of(target.access, said)
    return msgspec.structs.replace(target, engine=engine, access=access), engine


def _access_of(access: HostAccess, said: dict[str, str]) -> HostAccess:
    variables = tuple(
        (name.removeprefix(ENVIRONMENT), level)
        for name, level in said.items()
        if name.startswith(ENVIRONMENT) and level != AS_IT_IS
    )
    return msgspec.structs.replace(access, bind=said.get("bind", ""), variables=variables)


def run(
    design: Design,
    jobs: Sequence[EngineJob],
    directory: RunDirectory,
    target: Target,
    tolerance: float,
    progress: Progress,
) -> tuple[Varied, Path, bool]:
    """Measure what is left, block by block, then compare what there is.

    Returns the comparison, where it lies, and whether it was interrupted.
    """
    interrupted = False
    try:
        for block, order in enumerate(design.order):
            progress.stage(f"block {block + 1} of {design.blocks}")
            for arm in order:
                _measure(jobs[arm], block, design.blocks, progress)
    except KeyboardInterrupt:
        interrupted = True
    except (StoreError, CannotRun) as error:
        progress.trouble(str(error))
    complete = not interrupted and not any(job.left() for job in jobs)
    found = _compared(design, jobs, tolerance, complete)
    try:
        directory.write("varied.json", found)
    except StoreError as error:
        progress.trouble(str(error))
    for job in jobs:
        if not job.directory.complete:
            concluded(job.directory, complete and not job.left(), target.thresholds, progress)
    if complete:
        directory.finish()
    return found, directory.path, interrupted


def _compared(
    design: Design, jobs: Sequence[EngineJob], tolerance: float, complete: bool
) -> Varied:
    runs = tuple(load(job.directory) for job in jobs)
    told = (
        f"{', '.join(levels)}: {note}"
        for levels, each in zip(design.arms, runs, strict=True)
        for note in (*cautions(_whole(each, complete)), *_later(each))
    )
    believed = complete and not any(invalid(each) for each in runs)
    return varied(design, runs, tolerance, tuple(dict.fromkeys(told)), believed=believed)


def _whole(run: Run, complete: bool) -> Run:
    return msgspec.structs.replace(run, complete=complete)


def _later(run: Run) -> tuple[str, ...]:
    """A caution about launches that a resumption made: their turn in the block was over."""
    attempts = {one.number for one in run.launches}
    if len(run.launches) == len(attempts):
        return ()
    return ("some launches were made again after an interruption, out of their block's time",)


def _measure(job: EngineJob, block: int, blocks: int, progress: Progress) -> None:
    each = len(job.plan.launches) // blocks
    own = {one.number for one in job.plan.launches[block * each : (block + 1) * each]}
    left = tuple(one for one in job.left() if one.number in own)
    if left:
        measure(job.context, left, progress)
