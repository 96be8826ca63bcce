"""The beginning of a run: discover and plan, or take up what an earlier program left."""

import shlex
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from fabricgauge.app.connectivity import tried
from fabricgauge.app.groups import Culprits, joint_ranks
from fabricgauge.app.networks import absent, lone, partial, targets, unjoined
from fabricgauge.app.notes import note_preflight
from fabricgauge.app.programs import Suite, engine_for, suite_for
from fabricgauge.app.progress import Progress
from fabricgauge.app.run_context import RunContext
from fabricgauge.app.target import Target, about, discovered, located
from fabricgauge.discover.port_ends import ends_of
from fabricgauge.doctor.reachability import ConnectionFault, find_connection_faults
from fabricgauge.engines.simgrid import simulated_engine
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import CannotRun, ToolMissing, UsageError
from fabricgauge.model.fabric import Fabric, Network
from fabricgauge.model.plan import Plan
from fabricgauge.model.request import MeasurementRequest, place_words, without
from fabricgauge.model.run import Run
from fabricgauge.plan.plan import Targets, plan_groups, tool_plan
from fabricgauge.plan.profiles import Profile
from fabricgauge.process import end_marked
from fabricgauge.run.tools.interface import Tool
from fabricgauge.settings import Settings
from fabricgauge.store.holding import held
from fabricgauge.store.run_directory import RunDirectory, find
from fabricgauge.store.run_files import jobs, load, stored_request, write_beginning
from fabricgauge.words.figures import link_rate

#: The folder of the nodes' first answers: a resumption keeps what the run was begun on.
FIRST = "discover"


@contextmanager
def opened(
    said: MeasurementRequest,
    settings: Settings,
    from_files: Collection[str],
    root: Path,
    progress: Progress,
    dry_run: bool = False,
) -> Iterator[RunContext]:
    """A run that is planned now, or taken up again; its directory is ours meanwhile.

    Nothing is left of one that cannot begin, or of a ``dry_run``.

    Raises:
        UsageError: options that contradict each other or have no effect, or no such nodes; what
            is asked for cannot be measured there; another program works on the run.
        ToolMissing: a program is not installed.
        CannotRun: no network joins the nodes, or a stored run's nodes have changed.
        StoreError: there is no run of that name, or no place for one.
    """
    alone = without(said, from_files)
    old, stored = stored_run(root, alone) if said.resume else (None, None)
    with located(said, settings, from_files, stored, progress) as target:
        directory = old or RunDirectory.create(root)
        with held(directory):
            try:
                ready = with_programs(target)
                started = take_up(ready, old) if old else begin(ready, directory, dry_run=dry_run)
            except BaseException as error:
                in_vain = isinstance(error, KeyboardInterrupt | UsageError | ToolMissing)
                if not old and (dry_run or in_vain or directory.empty):
                    directory.discard()
                raise
            try:
                yield started
            finally:
                if dry_run and not old:
                    directory.discard()


def with_programs(target: Target) -> Target:
    """The target with what measures there: the engine, or the suite that was asked for.

    Raises:
        UsageError: no such suite or MPI.
        ToolMissing: a program is not installed.
        CannotRun: the engine cannot be built, or no MPI starts the suite's programs.
    """
    request, progress = target.request, target.progress
    if request.tool:
        return msgspec.structs.replace(target, suite=suite_for(request, progress))
    if target.simulation:
        progress.stage("finding the engine for simulated clusters; it is built once")
        return msgspec.structs.replace(target, engine=simulated_engine())
    return msgspec.structs.replace(target, engine=engine_for(request.mpi, progress))


def begin(
    target: Target, directory: RunDirectory, profile: Profile | None = None, dry_run: bool = False
) -> RunContext:
    """Discover and plan; the run directory then holds all that a resumption needs.

    ``profile`` replaces the one that was asked for. With ``dry_run`` nodes do not connect to each
    other, and all of them are planned with.

    Raises:
        CannotRun: no network joins the nodes.
        UsageError: what is asked for cannot be measured there.
    """
    request = target.request
    found = discovered(target, directory, FIRST)
    ranks = _read_ranks(target.ranks, found)
    chosen = targets(request, found, ranks, partly=True)
    networks = [one for one, _ in chosen if one is not None and not (one.of_ports or dry_run)]
    made = tried(target, networks, directory)
    preflight = () if target.simulation else note_preflight(directory, found, made, target.progress)
    culprits = {one.network: list(find_connection_faults(one)) for one in made}
    for network, _ in chosen:
        if network is not None:
            own = culprits.setdefault(network.name, [])
            own += [
                ConnectionFault("node", (node,), "is not in it") for node in absent(network, ranks)
            ]
    fabric = msgspec.structs.replace(
        found,
        unjoined=unjoined(request, target.declared, found, ranks),
        partial=partial(request, target.declared, found, ranks),
        lone=lone(request, found, ranks),
        topology=target.topology,
        networks=as_used(found, target.suite.tool) if target.suite else found.networks,
    )
    what, planned = about(target), _planned(target, ranks, chosen, culprits, profile)
    write_beginning(directory, what, fabric, planned)
    run = Run(
        directory.identity, what.started_utc, what.command, what.environment, fabric, planned, (),
        complete=False, preflight=preflight,
    )  # fmt: skip
    return RunContext(target, directory, run, culprits=culprits)


def _read_ranks(ranks: tuple[str, ...], fabric: Fabric) -> tuple[str, ...]:
    """Those of nodes that were read, unless fewer than two of several nodes are left."""
    lost = {one.name for one in fabric.unreached}
    read = tuple(node for node in ranks if node not in lost)
    return read if len(set(read)) > 1 else ranks


def _planned(
    target: Target, ranks: tuple[str, ...], chosen: Targets, culprits: Culprits,
    profile: Profile | None,
) -> Plan:  # fmt: skip
    """Where a pair that a suite is to measure is dead, nothing is planned."""
    request = target.request
    groups = joint_ranks(ranks, chosen, culprits)
    if target.suite is None:
        virtual = target.access.virtual
        return plan_groups(request, ranks, groups, virtual=virtual, profile=profile)
    of_pairs = target.suite.tool.of_pairs
    whole = [one for one in groups if one.ranks == ranks or (of_pairs and not one.beside)]
    return tool_plan(request, whole, _starts(target.suite, target.progress), of_pairs)


def _starts(suite: Suite, progress: Progress) -> tuple[str, ...]:
    """The starts of the suite whose programs are there."""
    for name in sorted(set(suite.tool.programs) - set(suite.programs)):
        progress.trouble(f"{name} of {suite.tool.name} was not found: its part is left out")
    starts = suite.tool.starts(suite.effort)
    return tuple(one.name for one in starts if one.client[0] in suite.programs)


def as_used(fabric: Fabric, tool: Tool) -> tuple[Network, ...]:
    """Networks as the suite uses them: RDMA has other headers than TCP over the same links."""
    if tool.technology == "ethernet":
        return fabric.networks
    used = {"ethernet": _as_rdma, "ipoib": _as_ports} if tool.if_device else {"ethernet": _as_rdma}
    return tuple(
        used[one.technology](fabric, tool, one) if one.technology in used else one
        for one in fabric.networks
    )


def _as_ports(fabric: Fabric, tool: Tool, network: Network) -> Network:
    """IPoIB's addresses with the links of the RDMA ports below, where discovery found them."""
    member = network.members[0]
    node = fabric.node(member.node)
    ends = () if isinstance(node, Skipped) else ends_of(member.node, node)
    ports = {(member.node, end.port.name) for end in ends if member.interface in end.over}
    single = (one for one in fabric.networks if one.rails == 1)
    joins = (one for one in single if ports & {(to.node, to.interface) for to in one.members})
    below = next(joins, None)
    if below is None:
        return network
    return msgspec.structs.replace(
        below, name=network.name, subnet=network.subnet, members=network.members,
        stated_mtu_bytes=below.mtu_bytes,
        rate_origin=f"{below.rate_origin}; {tool.name} is taken to use the ports below IPoIB",
    )  # fmt: skip


def _as_rdma(fabric: Fabric, tool: Tool, network: Network) -> Network:
    """As the device on its interfaces uses it; where none is known, as the suite commonly does.

    One that takes TCP where there is no device leaves an Ethernet as it is.
    """
    member = network.members[0]
    node = fabric.node(member.node)
    port = node if isinstance(node, Skipped) else node.port_of(member.interface)
    if isinstance(port, Skipped) and tool.if_device:
        return network
    is_iwarp = not isinstance(port, Skipped) and port.protocol == "iwarp"
    technology = "iwarp" if is_iwarp else tool.technology
    origin = f"{network.rate_origin}; {tool.name} is taken to use it as {technology}"
    return msgspec.structs.replace(network, technology=technology, rate_origin=origin)


def stored_run(root: Path, said: MeasurementRequest) -> tuple[RunDirectory, MeasurementRequest]:
    """The run that ``said`` resumes, and what it was asked to measure.

    Raises:
        StoreError: there is none.
        UsageError: Slurm's jobs make that run; or others can have written what it says of
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
            f"{directory.path} is not provably yours ({why}): say nodes and programs yourself. It"
            f" names {shlex.join(words)}"
        )
    return directory, stored


def take_up(target: Target, directory: RunDirectory) -> RunContext:
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
        end_marked(directory.identity)  # what a killed check may have left running
    attempt = 1 + sum(1 for folder in (directory.path / "raw").glob("discover*"))
    now = discovered(target, directory, f"discover-{attempt}")
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
    facts = {network.name: _facts(network) for network in now.networks}
    changed = [
        f"{network.name} is {facts.get(network.name, 'gone')}, it was {_facts(network)}"
        for network in then.networks
        if network.name in planned and _facts(network) != facts.get(network.name)
    ]
    return (*lost, *(changed if not lost else ()))


def _facts(network: Network) -> str:
    """All that a ceiling and a path proof depend on."""
    rate = network.rate_bit_s
    said = "of unknown rate" if isinstance(rate, Skipped) else link_rate(rate)
    members = ", ".join(
        f"{member.node}:{member.interface} {member.ip} MTU {member.mtu_bytes}"
        for member in network.members
    )
    return f"{network.subnet} {said} ({members})"
