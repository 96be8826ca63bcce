"""The beginning of a run: discover and plan, or take up what an earlier program left."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from fabricgauge.app.connectivity import connectivity
from fabricgauge.app.networks import targets, unjoined
from fabricgauge.app.notes import note_preflight
from fabricgauge.app.programs import Suite, engine_for, simulated_engine_for, suite_for
from fabricgauge.app.progress import Progress
from fabricgauge.app.run_context import RunContext
from fabricgauge.app.target import Target, about, discovered
from fabricgauge.doctor.reachability import dead, left_out, partner
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.connectivity import Connectivity
from fabricgauge.model.errors import CannotRun, UsageError
from fabricgauge.model.fabric import Fabric, Network
from fabricgauge.model.plan import Plan
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.model.run import Run
from fabricgauge.plan.plan import Targets, plan, tool_plan
from fabricgauge.plan.profiles import Profile
from fabricgauge.process import end_marked_prefix
from fabricgauge.run.tools.interface import Tool
from fabricgauge.store.run_directory import RunDirectory, find
from fabricgauge.store.run_files import jobs, load, stored_request, write_beginning
from fabricgauge.words.figures import link_rate

#: The folder of the nodes' first answers: a resumption keeps what the run was begun on.
FIRST = "discover"
#: The folder of what the nodes said of their connections.
CONNECTIONS = "connect"


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
    target: Target, directory: RunDirectory, progress: Progress, profile: Profile | None = None
) -> RunContext:
    """Discover and plan; the run directory then holds all that a resumption needs.

    ``profile`` replaces the one that was asked for.

    Raises:
        CannotRun: no network joins the nodes.
        UsageError: what is asked for cannot be measured there.
    """
    request, ranks = target.request, target.ranks
    found = discovered(target, directory, progress, FIRST)
    chosen = targets(request, found, ranks)
    tried = _tried(target, chosen, directory, progress)
    preflight = () if target.simulation else note_preflight(directory, found, tried, progress)
    fabric = msgspec.structs.replace(
        found,
        unjoined=unjoined(request, target.declared, found, ranks),
        topology=target.topology,
    )
    if target.suite is None:
        made = _planned(target, chosen, tried, profile)
    else:
        fabric = _as_used(fabric, target.suite.tool)
        dead_networks = {one.network for one in tried if one.failures}
        networks = tuple(
            network for network, _ in chosen if network is None or network.name not in dead_networks
        )
        made = tool_plan(request, ranks, _starts(target.suite, progress), networks)
    what = about(target)
    write_beginning(directory, what, fabric, made)
    run = Run(
        directory.identity, what.started_utc, what.command, what.environment, fabric, made, (),
        complete=False, preflight=preflight,
    )  # fmt: skip
    return RunContext(target, directory, run)


def _tried(
    target: Target, chosen: Targets, directory: RunDirectory, progress: Progress
) -> tuple[Connectivity, ...]:
    """Who can connect to whom over the networks to be measured; nothing where nobody can try."""
    networks = [one for one, _ in chosen if one is not None]
    if target.simulation or len(target.access.hosts) < 2 or not networks:
        return ()
    progress.stage("letting every node connect to every other")

    rounds: Counter[str] = Counter()

    def keep(node: str, raw: str) -> None:
        rounds[node] += 1
        number = rounds[node]
        directory.keep_raw(CONNECTIONS if number == 1 else f"{CONNECTIONS}-{number}", node, raw)

    made = connectivity(target.access, networks, keep)
    if isinstance(made, Skipped):
        progress.stage(f"connections were not tried: {made.reason}")
        return ()
    return made


def _planned(
    target: Target, chosen: Targets, tried: Sequence[Connectivity], profile: Profile | None
) -> Plan:
    """The plan of those that can connect, and of the others with one good partner each.

    A dead pair would stop a launch in which both of its nodes are.
    """
    request, virtual = target.request, target.access.virtual
    plans = []
    for ranks, networks in _measurable(target.ranks, chosen, tried):
        plans.append(plan(request, ranks, networks, virtual=virtual, profile=profile))
    if not plans:
        empty = plan(request, target.ranks, chosen, virtual=virtual, profile=profile)
        return msgspec.structs.replace(empty, launches=())
    launches = [launch for one in plans for launch in one.launches]
    numbered = (
        msgspec.structs.replace(launch, number=number) for number, launch in enumerate(launches, 1)
    )
    return msgspec.structs.replace(plans[0], launches=tuple(numbered))


def _measurable(
    ranks: tuple[str, ...], chosen: Targets, tried: Sequence[Connectivity]
) -> Iterator[tuple[tuple[str, ...], Targets]]:
    """Ranks that can be measured together, with the networks on which they can.

    First most of them; then each that was left out for a dead pair, with a partner of its own.
    """
    found = {one.network: dead(one) for one in tried}
    nodes = tuple(dict.fromkeys(ranks))
    together: dict[tuple[str, ...], list[tuple[Network | None, Ceiling | Skipped]]] = {}
    for network, ceiling in chosen:
        culprits = found.get(network.name, ()) if network else ()
        out = left_out(nodes, culprits)
        groups = [tuple(one for one in ranks if one not in out)]
        groups += [(one, mate) for one in out if (mate := partner(one, nodes, culprits))]
        for group in groups:
            if len(set(group)) > 1 or len(nodes) == 1:
                together.setdefault(group, []).append((network, ceiling))
    yield from ((group, tuple(networks)) for group, networks in together.items())


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


def stored_run(root: Path, name: str) -> tuple[RunDirectory, MeasurementRequest]:
    """The run that ``name`` means, and what it was asked to measure.

    Raises:
        StoreError: there is none.
        UsageError: Slurm's jobs make that run.
    """
    directory = find(root, name)
    if jobs(directory):
        raise UsageError(
            f"{directory.identity} was submitted to Slurm: measure what it has left with"
            f" fabricgauge submit --resume {directory.path}"
        )
    return directory, stored_request(directory)


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
