"""Compare by measuring: the arms of a design take turns, block by block."""

import math
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from itertools import product
from typing import Any

import msgspec
from msgspec.structs import replace

from fabricgauge.check.begin import begin as begin_run
from fabricgauge.check.begin import take_up as take_up_run
from fabricgauge.check.measure import measure
from fabricgauge.check.measure_tool import measure_with_tool
from fabricgauge.check.plan.cases import ALL_PATTERNS
from fabricgauge.check.plan.design import ENVIRONMENT, UNCHANGED, require_tool_factors
from fabricgauge.check.plan.plan import is_pair
from fabricgauge.check.plan.profiles import Profile, profile_of
from fabricgauge.check.programs import engine_for, engine_on_nodes, suite_for
from fabricgauge.check.run_context import RunContext
from fabricgauge.check.target import Target
from fabricgauge.compare.sides import find_cautions, invalid_notes
from fabricgauge.features.vary.varying import compare_arms
from fabricgauge.judge.ceiling.technologies import ceilings
from fabricgauge.judge.interface import Context
from fabricgauge.judge.judging import judgement
from fabricgauge.model.errors import CannotRun, StoreError, UsageError
from fabricgauge.model.features import load_role
from fabricgauge.model.memory import parse_memory
from fabricgauge.model.pattern import ROUND_ROBIN_PATTERNS, THREADED_PATTERNS
from fabricgauge.model.request import (
    PLANNED,
    MeasurementRequest,
    asks_for,
    keep_applicable,
    option,
)
from fabricgauge.model.varied import Design, Factor, Varied
from fabricgauge.nodes.launch.mpi_impls import is_pinned, mpi_impl_of
from fabricgauge.nodes.launch.transports import OFI, known_transport
from fabricgauge.store.run_directory import PARTIAL, RunDirectory, find
from fabricgauge.store.run_files import About, load, stored_request

#: The C++ compiler of each suite of compilers.
COMPILERS = {"gcc": "g++", "clang": "clang++", "intel": "icpx", "nvhpc": "nvc++", "aocc": "clang++"}

#: Default patterns if numbers of ranks are compared.
RANK_PATTERNS = ("multi_latency", "multi_bandwidth", "allreduce")
#: Default patterns if layers are compared.
LAYER_PATTERNS = ("latency", "bandwidth", "bidirectional_bandwidth")

DESIGN, VARIED = "design.json", "varied.json"
_REPEATED = "some launches were repeated after an interruption, outside their block's time"
#: Numbers of an effect that JSON has as null if they are unknown or without bound.
_UNKNOWN = ("change", "low", "high", "chance")


def begin(
    design: Design, target: Target, directory: RunDirectory, at_end: ExitStack
) -> tuple[Design, tuple[RunContext, ...]]:
    """Begin a run for each arm, planned on the same nodes, and store their folders.

    A comparison that cannot begin leaves nothing. ``at_end`` removes programs that were carried to
    the nodes.
    """
    require_tool_factors(design.factors, target.request.tool)
    arms: list[RunContext] = []
    try:
        for arm in design.arms:
            arm_target = _with_programs(_target_of(design, arm, target), at_end)
            arm_target, profile = _plan_blocks(arm_target, design.blocks)
            arms.append(begin_run(arm_target, RunDirectory.create(directory.path), profile))
            _require_effect(design, arms[-1])
        folders = tuple(arm_context.directory.identity for arm_context in arms)
        drawn = replace(design, folders=folders)
        directory.write(DESIGN, drawn)
    except BaseException:
        directory.discard(copies=True)
        raise
    return drawn, tuple(arms)


def _with_programs(target: Target, at_end: ExitStack) -> Target:
    """Return the target with an engine that all its nodes have."""
    placed = at_end.enter_context(engine_on_nodes(target))
    for node in placed.left_out:
        raise CannotRun(f"{node.reason}; leave it out with -x {node.name}")
    return placed


def _require_effect(design: Design, arm_context: RunContext) -> None:
    """Refuse a variable that pinning sets: its levels would not differ."""
    if arm_context.target.engine is None or arm_context.target.simulation is not None:
        return  # launches of a suite or a simulator set no variables of the design
    pinned = any(is_pinned(launch) for launch in arm_context.plan.launches)
    for factor in design.factors:
        name = factor.name.removeprefix(ENVIRONMENT)
        if pinned and name in mpi_impl_of(arm_context.engine.mpi).interface_variables:
            raise UsageError(
                f"--vary {factor.name}: a launch on a network sets {name} itself;"
                " add --unpinned, or vary the network with --network"
            )


def _plan_blocks(target: Target, blocks: int) -> tuple[Target, Profile]:
    """Plan one launch for each block, as long as one of the profile's launches."""
    request = target.request
    if target.suite is not None:
        request = replace(request, launches=blocks)
        return replace(target, request=request), profile_of(request)
    profile = profile_of(request)
    each_s = profile.budget_s / profile.launches
    profile = replace(profile, launches=blocks, budget_s=each_s * blocks)
    if is_pair(request, target.ranks):
        return target, profile
    if set(request.patterns) & set(ROUND_ROBIN_PATTERNS):
        raise UsageError("--vary compares curves, but all pairs give a matrix; name other patterns")
    others = (*ROUND_ROBIN_PATTERNS, *THREADED_PATTERNS)
    curves = tuple(pattern for pattern in ALL_PATTERNS if pattern not in others)
    request = replace(request, patterns=request.patterns or curves)
    return replace(target, request=request), profile


def take_up(
    target: Target,
    directory: RunDirectory,
    at_end: ExitStack,
    stated_factors: tuple[Factor, ...] = (),
    seed: int | None = None,
) -> tuple[Design, tuple[RunContext, ...]]:
    """Take up the arms of a comparison that was broken off.

    ``stated_factors`` are the factors of the command line; ``seed`` is None if it has none.
    ``at_end`` removes programs that were carried to the nodes.

    Raises:
        StoreError: the directory holds no comparison.
        UsageError: it is complete, or began with other factors, options or engines.
        CannotRun: the nodes have changed.
    """
    if directory.complete:
        raise UsageError(f"{directory.identity} is complete; nothing to resume")
    design = _design(directory, stated_factors)
    if seed not in (None, design.seed):
        raise UsageError(f"--resume takes --seed from the comparison, which has {design.seed}")
    arms = []
    for arm, folder in zip(design.arms, design.folders, strict=True):
        arm_target = _target_of(design, arm, target)
        run = find(directory.path, f"{directory.path / folder}{PARTIAL}")
        _require_planned(run, arm_target.request)
        if run.complete:
            arms.append(RunContext(arm_target, run, load(run)))
            continue
        _require_same(run, arm_target)
        arms.append(take_up_run(_with_programs(arm_target, at_end), run))
    return design, tuple(arms)


def _design(directory: RunDirectory, stated_factors: tuple[Factor, ...]) -> Design:
    """Return the stored design if it has ``stated_factors``: they name programs and variables."""
    design = directory.read(DESIGN, Design)
    combined = set(product(*(factor.levels for factor in design.factors)))
    if not set(design.arms) <= combined:
        raise StoreError(f"{directory.path / DESIGN} is damaged: an arm has an unknown level")
    names = ", ".join(f"{factor.name}={','.join(factor.levels)}" for factor in design.factors)
    if stated_factors != design.factors:
        raise UsageError(
            f"{directory.path} varies {names}: --resume takes the factors only from the command"
            " line; repeat --vary"
        )
    return design


def _require_planned(run: RunDirectory, request: MeasurementRequest) -> None:
    """Refuse a request that differs from the arm's plan: it would have no effect."""
    stored = stored_request(run)
    for field in PLANNED:
        if asks_for(request, field) and getattr(request, field) != getattr(stored, field):
            raise UsageError(
                f"--resume takes {option(field)} from the comparison; leave it out, or give the"
                " first value"
            )


def _require_same(run: RunDirectory, target: Target) -> None:
    environment, engine = run.read("run.json", About).environment, target.engine
    if engine is not None and environment.get("engine identity") != engine.identity:
        raise UsageError(
            f"{run.identity} began with {environment.get('MPI')} (engine"
            f" {environment.get('engine identity')}), this is {engine.mpi.kind}"
            f" {engine.mpi.version} (engine {engine.identity}): resume it with its first options"
        )


def _target_of(design: Design, arm: Sequence[str], target: Target) -> Target:
    """Return the target with an arm's engine, transport, binding and variables.

    Raises:
        UsageError: there is no such transport, or it does not support the request.
    """
    levels = dict(zip((factor.name for factor in design.factors), arm, strict=True))
    request = _request_of(levels, target)
    if request.tool:
        chosen = {"tool_path": levels.get("tool-path"), "mpi": levels.get("mpi")}
        request = replace(
            request, **{field: level for field, level in chosen.items() if level is not None}
        )
        suite = suite_for(request, target.progress)
        effort = replace(suite.effort, only_streams="parallel" in levels)
        suite = replace(suite, effort=effort)
        return replace(target, request=request, suite=suite)
    compiler = levels.get("compiler", "")
    mpi = levels.get("mpi", request.mpi)
    if target.simulation is not None:
        engine = load_role("simulator").simulated_engine()
    else:
        engine = engine_for(mpi, target.progress, COMPILERS.get(compiler, compiler))
    variables = tuple(
        (name.removeprefix(ENVIRONMENT), level)
        for name, level in levels.items()
        if name.startswith(ENVIRONMENT) and level != UNCHANGED
    )
    access = replace(target.access, bind=levels.get("bind", ""), variables=variables)
    return replace(target, request=request, engine=engine, access=access)


def _request_of(levels: Mapping[str, str], target: Target) -> MeasurementRequest:
    """Return an arm's request; by default with patterns that every transport and memory has.

    Raises:
        UsageError: a factor has no effect on this request, or the nodes cannot have the ranks.
    """
    request, ranks = _with_numbers(levels, target), len(target.ranks)
    changed: dict[str, str] = {}
    if "provider" in levels:
        changed["transport"] = known_transport(f"{OFI}:provider={levels['provider']}")
    if "transport" in levels:
        changed["transport"] = known_transport(levels["transport"])
    if "memory" in levels:
        changed["memory"] = parse_memory(levels["memory"])
    if "buffers" in levels:
        changed["buffers"] = levels["buffers"]
    if not changed:
        return request
    patterns = request.patterns or LAYER_PATTERNS
    return keep_applicable(replace(request, patterns=patterns, **changed), ranks)


def _with_numbers(levels: Mapping[str, str], target: Target) -> MeasurementRequest:
    """Return the request with the numbers of ranks or connections that an arm's levels are."""
    request, nodes = target.request, tuple(dict.fromkeys(target.ranks))
    if "parallel" in levels:
        if request.tool.partition(":")[0] != "iperf3":
            raise UsageError("--vary parallel is for connections of iperf3: add --tool iperf3")
        return replace(request, parallel=int(levels["parallel"]))
    if "ppn" in levels:
        ppn = int(levels["ppn"])
    elif "ranks" in levels:
        count = int(levels["ranks"])
        if count > len(nodes) and count % len(nodes):
            raise UsageError(
                f"--vary ranks={count}: {len(nodes)} nodes have the same number of ranks each; take"
                f" at most {len(nodes)} or a multiple of it"
            )
        nodes, ppn = nodes[:count], max(1, count // len(nodes))
    else:
        return request
    patterns = request.patterns or (() if request.tool else RANK_PATTERNS)
    return replace(request, rank_order=nodes, ppn=ppn, patterns=patterns)


def run(
    design: Design, arms: Sequence[RunContext], directory: RunDirectory, tolerance: float
) -> tuple[Varied, bool]:
    """Measure the rest, block by block, then compare.

    Return the comparison, and if it was interrupted.
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
    complete = not interrupted and not any(arm_context.unmade_launches() for arm_context in arms)
    comparison = _compare_arms(design, arms, tolerance, complete)
    try:
        directory.write(VARIED, comparison)
    except StoreError as error:
        progress.trouble(str(error))
    for arm_context in arms:
        if not arm_context.directory.complete:
            arm_context.conclude(complete and not arm_context.unmade_launches())
    if complete:
        directory.finish()
    return comparison, interrupted


def read_varied(directory: RunDirectory) -> Varied:
    """Return a stored comparison.

    Raises:
        StoreError: its file is missing or damaged.
    """
    try:
        return msgspec.convert(_restore(directory.read(VARIED, dict[str, Any])), Varied)
    except msgspec.ValidationError as error:
        raise StoreError(f"{directory.path / VARIED} is damaged: {error}") from error


def _restore(value: Any) -> Any:
    """Return a decoded value with NaN for the unknown numbers of effects."""
    if isinstance(value, list):
        return [_restore(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: math.nan if item is None and key in _UNKNOWN else _restore(item)
        for key, item in value.items()
    }


def _compare_arms(
    design: Design, arms: Sequence[RunContext], tolerance: float, complete: bool
) -> Varied:
    runs = tuple(replace(arm_context.run, complete=complete) for arm_context in arms)
    contexts = (Context(run, ceilings(run.fabric.networks, run.launches)) for run in runs)
    against = [invalid_notes(judgement(context).verdicts) for context in contexts]
    notes: list[str] = []
    for levels, arm_run, why in zip(design.arms, runs, against, strict=True):
        arm_notes = [*why, *find_cautions(arm_run)]
        if len(arm_run.launches) > len({launch.number for launch in arm_run.launches}):
            arm_notes.append(_REPEATED)  # by a resumed run, whose turn in the block was over
        notes += [f"{', '.join(levels)}: {note}" for note in arm_notes]
    believed = complete and not any(against)
    return compare_arms(design, runs, tolerance, tuple(dict.fromkeys(notes)), believed=believed)


def _measure(context: RunContext, block: int, blocks: int) -> None:
    per_block = len(context.plan.launches) // blocks
    planned = context.plan.launches[block * per_block : (block + 1) * per_block]
    numbers = {launch.number for launch in planned}
    unmade = tuple(launch for launch in context.unmade_launches() if launch.number in numbers)
    if unmade and context.target.suite is not None:
        measure_with_tool(context, unmade)
    elif unmade:
        measure(context, unmade)
