"""A comparison by measuring: the arms of a design take turns, block by block."""

from collections.abc import Mapping, Sequence
from itertools import product

import msgspec

from fabricgauge.app.begin import begin as begin_run
from fabricgauge.app.begin import take_up as take_up_run
from fabricgauge.app.compare import cautions, invalid
from fabricgauge.app.measure import measure
from fabricgauge.app.programs import engine_for
from fabricgauge.app.run_context import RunContext
from fabricgauge.app.target import Target
from fabricgauge.ceiling.technologies import ceilings
from fabricgauge.compare.varying import compare_arms
from fabricgauge.judge.interface import Context
from fabricgauge.judge.judging import judgement
from fabricgauge.model.errors import CannotRun, StoreError, UsageError
from fabricgauge.model.memory import known_memory
from fabricgauge.model.pattern import ROUND_ROBIN_PATTERNS, THREADED_PATTERNS
from fabricgauge.model.request import (
    PLANNED,
    MeasurementRequest,
    applicable,
    asks_for,
    option,
)
from fabricgauge.model.run import Run
from fabricgauge.model.varied import Design, Factor, Varied
from fabricgauge.model.verdict import Verdict
from fabricgauge.plan.asked import ALL_PATTERNS
from fabricgauge.plan.design import AS_IT_IS, ENVIRONMENT
from fabricgauge.plan.plan import is_pair
from fabricgauge.plan.profiles import Profile, profile_of
from fabricgauge.run.mpi_impls.interface import is_pinned
from fabricgauge.run.mpi_impls.table import mpi_impl_of
from fabricgauge.run.transports import OFI, known_transport
from fabricgauge.store.run_directory import PARTIAL, RunDirectory, find
from fabricgauge.store.run_files import About, load, stored_request

#: What people call a suite of compilers, and its C++ compiler.
COMPILERS = {"gcc": "g++", "clang": "clang++", "intel": "icpx", "nvhpc": "nvc++", "aocc": "clang++"}

#: The usual ones where layers are held against each other.
LAYERED_PATTERNS = ("latency", "bandwidth", "bidirectional_bandwidth")

_DESIGN = "design.json"


def begin(
    design: Design, target: Target, directory: RunDirectory
) -> tuple[Design, tuple[RunContext, ...]]:
    """A run for each arm, planned on the same nodes; the directory then says which they are.

    Nothing is left of a comparison that cannot begin.
    """
    arms: list[RunContext] = []
    try:
        each, profile = _of_blocks(target, design.blocks)
        for arm in design.arms:
            own = _target_of(design, arm, each)
            arms.append(begin_run(own, RunDirectory.create(directory.path), profile))
            _require_heeded(design, arms[-1])
        folders = tuple(one.directory.identity for one in arms)
        drawn = msgspec.structs.replace(design, folders=folders)
        directory.write(_DESIGN, drawn)
    except BaseException:
        directory.discard(copies=True)
        raise
    return drawn, tuple(arms)


def _require_heeded(design: Design, made: RunContext) -> None:
    """Refuse a factor that is a variable which pinning sets: its levels would be alike."""
    pinned = any(is_pinned(launch) for launch in made.plan.launches)
    for factor in design.factors:
        name = factor.name.removeprefix(ENVIRONMENT)
        if pinned and name in mpi_impl_of(made.engine.mpi).interface_variables:
            raise UsageError(
                f"--vary {factor.name}: a launch on a network sets {name} itself;"
                " add --unpinned, or vary the network with --network"
            )


def _of_blocks(target: Target, blocks: int) -> tuple[Target, Profile]:
    """One launch for each block, as long as one of the profile's launches.

    Raises:
        UsageError: all pairs are asked for, which are a matrix and no curve.
    """
    request, profile = target.request, profile_of(target.request)
    each_s = profile.budget_s / profile.launches
    profile = msgspec.structs.replace(profile, launches=blocks, budget_s=each_s * blocks)
    if is_pair(request, target.ranks):
        return target, profile
    if set(request.patterns) & set(ROUND_ROBIN_PATTERNS):
        raise UsageError("--vary compares curves, and all pairs are a matrix; name other patterns")
    curves = tuple(
        one for one in ALL_PATTERNS if one not in (*ROUND_ROBIN_PATTERNS, *THREADED_PATTERNS)
    )
    request = msgspec.structs.replace(request, patterns=request.patterns or curves)
    return msgspec.structs.replace(target, request=request), profile


def take_up(
    target: Target, directory: RunDirectory, said: tuple[Factor, ...] = (), seed: int | None = None
) -> tuple[Design, tuple[RunContext, ...]]:
    """The arms of a comparison that was broken off.

    ``said`` are the factors of the command line; ``seed`` is None if it has none.

    Raises:
        StoreError: the directory holds none.
        UsageError: it is complete, or was begun with other factors, options or engines.
        CannotRun: the nodes are not what they were.
    """
    if directory.complete:
        raise UsageError(f"{directory.identity} is complete; there is nothing to resume")
    design = _design(directory, said)
    if seed not in (None, design.seed):
        raise UsageError(f"--resume takes --seed from the comparison, which has {design.seed}")
    arms = []
    for arm, folder in zip(design.arms, design.folders, strict=True):
        own = _target_of(design, arm, target)
        run = find(directory.path, f"{directory.path / folder}{PARTIAL}")
        _require_planned(run, own.request)
        if run.complete:
            arms.append(RunContext(own, run, load(run)))
            continue
        _require_same(run, own)
        arms.append(take_up_run(own, run))
    return design, tuple(arms)


def _design(directory: RunDirectory, said: tuple[Factor, ...]) -> Design:
    """Return the stored design if ``said``, which names programs and variables, has its factors."""
    design = directory.read(_DESIGN, Design)
    combined = set(product(*(one.levels for one in design.factors)))
    if not set(design.arms) <= combined:
        raise StoreError(f"{directory.path / _DESIGN} is damaged: an arm has an unknown level")
    names = ", ".join(f"{one.name}={','.join(one.levels)}" for one in design.factors)
    if said != design.factors:
        raise UsageError(
            f"{directory.path} varies {names}: --resume takes that from the command line alone;"
            " repeat --vary as it was"
        )
    return design


def _require_planned(run: RunDirectory, said: MeasurementRequest) -> None:
    """Refuse what is said otherwise than when the arm was planned: it would have no effect."""
    stored = stored_request(run)
    for field in PLANNED:
        if asks_for(said, field) and getattr(said, field) != getattr(stored, field):
            raise UsageError(
                f"--resume takes {option(field)} from the comparison; leave it out, or say it as"
                " when it was begun"
            )


def _require_same(run: RunDirectory, target: Target) -> None:
    """Refuse an arm that was begun with another engine, that of another MPI or compiler."""
    begun, engine = run.read("run.json", About).environment, target.engine
    if engine is not None and begun.get("engine identity") != engine.identity:
        raise UsageError(
            f"{run.identity} was begun with {begun.get('MPI')} (engine"
            f" {begun.get('engine identity')}), this is {engine.mpi.kind} {engine.mpi.version}"
            f" (engine {engine.identity}): resume it with the options that it was begun with"
        )


def _target_of(design: Design, arm: Sequence[str], target: Target) -> Target:
    """The target with the engine, the transport, the binding and the variables of an arm.

    Raises:
        UsageError: there is no such transport, or it cannot have what is asked for.
    """
    said = {one.name: level for one, level in zip(design.factors, arm, strict=True)}
    request = _request_of(said, target.request, len(target.ranks))
    compiler = said.get("compiler", "")
    mpi = said.get("mpi", request.mpi)
    engine = engine_for(mpi, target.progress, COMPILERS.get(compiler, compiler))
    variables = tuple(
        (name.removeprefix(ENVIRONMENT), level)
        for name, level in said.items()
        if name.startswith(ENVIRONMENT) and level != AS_IT_IS
    )
    access = msgspec.structs.replace(target.access, bind=said.get("bind", ""), variables=variables)
    return msgspec.structs.replace(target, request=request, engine=engine, access=access)


def _request_of(
    said: Mapping[str, str], request: MeasurementRequest, ranks: int
) -> MeasurementRequest:
    """What an arm measures: patterns that every transport and memory has unless it names some."""
    changed: dict[str, str] = {}
    if "provider" in said:
        changed["transport"] = known_transport(f"{OFI}:provider={said['provider']}")
    if "transport" in said:
        changed["transport"] = known_transport(said["transport"])
    if "memory" in said:
        changed["memory"] = known_memory(said["memory"])
    if not changed:
        return request
    patterns = request.patterns or LAYERED_PATTERNS
    return applicable(msgspec.structs.replace(request, patterns=patterns, **changed), ranks)


def run(
    design: Design, arms: Sequence[RunContext], directory: RunDirectory, tolerance: float
) -> tuple[Varied, bool]:
    """Measure what is left, block by block, then compare what there is.

    Returns the comparison, and whether it was interrupted.
    """
    interrupted, progress = False, arms[0].progress
    try:
        for block, order in enumerate(design.order):
            progress.stage(f"block {block + 1} of {design.blocks}")
            for arm in order:
                _measure(arms[arm], block, design.blocks)
    except KeyboardInterrupt:
        interrupted = True
    except (StoreError, CannotRun) as error:
        progress.trouble(str(error))
    complete = not interrupted and not any(one.left() for one in arms)
    found = _compared(design, arms, tolerance, complete)
    try:
        directory.write("varied.json", found)
    except StoreError as error:
        progress.trouble(str(error))
    for one in arms:
        if not one.directory.complete:
            one.concluded(complete and not one.left())
    if complete:
        directory.finish()
    return found, interrupted


def _compared(
    design: Design, arms: Sequence[RunContext], tolerance: float, complete: bool
) -> Varied:
    runs = tuple(msgspec.structs.replace(one.run, complete=complete) for one in arms)
    against = [invalid(_verdicts(each)) for each in runs]
    told = (
        f"{', '.join(levels)}: {note}"
        for levels, each, why in zip(design.arms, runs, against, strict=True)
        for note in (*why, *cautions(each), *_later(each))
    )
    believed = complete and not any(against)
    return compare_arms(design, runs, tolerance, tuple(dict.fromkeys(told)), believed=believed)


def _verdicts(run: Run) -> tuple[Verdict, ...]:
    return judgement(Context(run, ceilings(run.fabric.networks, run.launches))).verdicts


def _later(run: Run) -> tuple[str, ...]:
    """A caution about launches that a resumption made: their turn in the block was over."""
    if len(run.launches) == len({one.number for one in run.launches}):
        return ()
    return ("some launches were made again after an interruption, out of their block's time",)


def _measure(context: RunContext, block: int, blocks: int) -> None:
    each = len(context.plan.launches) // blocks
    own = {one.number for one in context.plan.launches[block * each : (block + 1) * each]}
    left = tuple(one for one in context.left() if one.number in own)
    if left:
        measure(context, left)
