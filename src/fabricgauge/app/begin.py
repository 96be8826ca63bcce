"""The beginning of a run: discover and plan, or take up what an earlier program left."""

import shlex
from pathlib import Path

import msgspec

from fabricgauge.app.connectivity import tried
from fabricgauge.app.groups import culprits_among, plan_without
from fabricgauge.app.networks import targets, unjoined
from fabricgauge.app.notes import note_preflight
from fabricgauge.app.programs import Suite, engine_for, simulated_engine_for, suite_for
from fabricgauge.app.progress import Progress
from fabricgauge.app.run_context import RunContext
from fabricgauge.app.target import Target, about, discovered
from fabricgauge.doctor.reachability import dead
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import CannotRun, UsageError
from fabricgauge.model.fabric import Fabric, Network
from fabricgauge.model.plan import Plan
from fabricgauge.model.request import MeasurementRequest, place_words
from fabricgauge.model.run import Run
from fabricgauge.plan.plan import tool_plan
from fabricgauge.plan.profiles import Profile
from fabricgauge.process import end_marked_prefix
from fabricgauge.run.tools.interface import Tool
from fabricgauge.store.run_directory import RunDirectory, find
from fabricgauge.store.run_files import jobs, load, stored_request, write_beginning
from fabricgauge.words.figures import link_rate

#: The folder of the nodes' first answers: a resumption keeps what the run was begun on.
FIRST = "discover"


def with_programs(target: Target, progress: Progress) -> Target:
    """The target with what measures there: the engine, or the suite that was asked for.

    Raises:
        UsageError: no such suite or MPI.
        ToolMissing: a program is not installed.
        CannotRun: the engine cannot be built, or no MPI starts the suite's programs.
    """
    request = target.request
    if request.tool:
        return msgspec.structs.replace(target, suite=suite_for(request, progress))
    engine = simulated_engine_for(progress) if request.sim else engine_for(request.mpi, progress)
    return msgspec.structs.replace(target, engine=engine)


def begin(
    target: Target,
    directory: RunDirectory,
    progress: Progress,
    profile: Profile | None = None,
    dry_run: bool = False,
) -> RunContext:
    """Discover and plan; the run directory then holds all that a resumption needs.

    ``profile`` replaces the one that was asked for. With ``dry_run`` nodes do not connect to each
    other, and all of them are planned with.

    Raises:
        CannotRun: no network joins the nodes.
        UsageError: what is asked for cannot be measured there.
    """
    request, ranks = target.request, target.ranks
    found = discovered(target, directory, progress, FIRST)
    chosen = targets(request, found, ranks)
    networks = [one for one, _ in chosen if one is not None and not dry_run]
    made = tried(target, networks, directory, progress)
    preflight = () if target.simulation else note_preflight(directory, found, made, progress)
    left = unjoined(request, target.declared, found, ranks)
    fabric = msgspec.structs.replace(found, unjoined=left, topology=target.topology)
    culprits = {one.network: list(dead(one)) for one in made}
    if target.suite is None:
        planned = plan_without(target, ranks, chosen, culprits, profile)
    else:
        fabric = _as_used(fabric, target.suite.tool)
        whole = [one for one, _ in chosen if not one or not culprits_among(ranks, culprits, one)]
        planned = tool_plan(request, ranks, _starts(target.suite, progress), whole)
    what = about(target)
    write_beginning(directory, what, fabric, planned)
    run = Run(
        directory.identity, what.started_utc, what.command, what.environment, fabric, planned, (),
        complete=False, preflight=preflight,
    )  # fmt: skip
    context = RunContext(target, directory, run)
    context.culprits = culprits
    return context


def _starts(suite: Suite, progress: Progress) -> tuple[str, ...]:
    """The starts of the suite whose programs are there."""
    for name in sorted(set(suite.tool.programs) - set(suite.programs)):
        progress.trouble(f"{name} of {suite.tool.name} was not found: its part is left out")
    starts = suite.tool.starts(suite.effort)
    return tuple(one.name for one in starts if one.client[0] in suite.programs)


def _as_used(fabric: Fabric, tool: Tool) -> Fabric:
    """Ethernets as the suite uses them: RDMA over them has other headers than TCP."""
    networks = tuple(
        msgspec.structs.replace(
            one,
            technology=tool.technology,
            rate_origin=f"{one.rate_origin}; {tool.name} is taken to use it as {tool.technology}",
        )
        if one.technology == "ethernet" != tool.technology
        else one
        for one in fabric.networks
    )
    return msgspec.structs.replace(fabric, networks=networks)


def stored_run(root: Path, said: MeasurementRequest) -> tuple[RunDirectory, MeasurementRequest]:
    """The run that ``said`` resumes, and what it was asked to measure.

    Raises:
        StoreError: there is none.
        UsageError: Slurm's jobs make that run; or others can have changed what it says of
            programs and nodes, and ``said`` says nothing of them.
    """
    directory = find(root, said.resume)
    if jobs(directory):
        raise UsageError(
            f"{directory.identity} was submitted to Slurm: measure what it has left with"
            f" fabricgauge submit --resume {directory.path}"
        )
    stored = stored_request(directory)
    words = place_words(stored)
    if words and not place_words(said) and (why := directory.foreign):
        raise UsageError(
            f"{directory.path} may have been changed by others ({why}): say nodes and programs"
            f" yourself. It names {shlex.join(words)}"
        )
    return directory, stored


def take_up(target: Target, directory: RunDirectory, progress: Progress) -> RunContext:
    """A broken-off run, on nodes that are still the same.

    The run keeps the fabric that it was begun on: its figures are judged by that one's
    ceilings, so what is added must be measured on the same.

    Raises:
        UsageError: the run is complete.
        CannotRun: nodes or networks are gone or have changed; the message says which.
    """
    if directory.complete:
        raise UsageError(f"{directory.identity} is complete; there is nothing to resume")
    run = load(directory)
    if not directory.foreign:
        end_marked_prefix(directory.identity)  # what a killed check may have left running
    attempt = 1 + sum(1 for folder in (directory.path / "raw").glob("discover*"))
    now = discovered(target, directory, progress, f"discover-{attempt}")
    changes = differences(run.plan, run.fabric, now)
    if changes:
        raise CannotRun(
            f"{directory.identity} cannot be resumed, its nodes are not what they were:"
            f" {'; '.join(changes)}. Mend that, or start a new check"
        )
    return RunContext(target, directory, run, attempt)


def differences(plan: Plan, then: Fabric, now: Fabric) -> tuple[str, ...]:
    """What of the planned nodes and networks is no longer as it was, a sentence each."""
    nodes = dict.fromkeys(node for launch in plan.launches for node in launch.nodes)
    reasons = {node.name: node.reason for node in now.unreached}
    lost = [
        f"{node} was not reached ({reasons.get(node, 'it is not among the nodes')})"
        for node in nodes
        if isinstance(now.node(node), Skipped)
    ]
    planned = {launch.network for launch in plan.launches}
    changed = [
        f"{network.name} is {_told(now, network.name)}, it was {_facts(network)}"
        for network in then.networks
        if network.name in planned and _facts(network) != _told(now, network.name)
    ]
    return (*lost, *(changed if not lost else ()))


def _told(fabric: Fabric, name: str) -> str:
    found = [network for network in fabric.networks if network.name == name]
    return _facts(found[0]) if found else "gone"


def _facts(network: Network) -> str:
    """All that a ceiling and a path proof depend on."""
    rate = network.rate_bit_s
    said = "of unknown rate" if isinstance(rate, Skipped) else link_rate(rate)
    members = ", ".join(
        f"{member.node}:{member.interface} {member.ip} MTU {member.mtu_bytes}"
        for member in network.members
    )
    return f"{network.subnet} {said} ({members})"
