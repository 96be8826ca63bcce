"""Begin a run: discover the nodes and plan, or take up a run that an earlier program began."""

import shlex
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fabricgauge.check.groups import Culprits, joint_ranks
from fabricgauge.check.networks import (
    choose_targets,
    find_absent_nodes,
    find_lone_interfaces,
    find_partial_networks,
    find_unjoined_networks,
)
from fabricgauge.check.notes import note_preflight
from fabricgauge.check.plan.plan import Targets, plan_groups, tool_plan
from fabricgauge.check.plan.profiles import Profile
from fabricgauge.check.programs import engine_for, engine_on_nodes, program_names, suite_for
from fabricgauge.check.run_context import RunContext
from fabricgauge.check.target import (
    StatedRequest,
    Target,
    describe_run,
    discover_nodes,
    locate_target,
    try_connections,
)
from fabricgauge.doctor.reachability import ConnectionFault, find_connection_faults
from fabricgauge.lab.host_access import head_name
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import CannotRun, ToolMissing, UsageError
from fabricgauge.model.fabric import Fabric, Network
from fabricgauge.model.features import load_role
from fabricgauge.model.finding import Finding
from fabricgauge.model.plan import Plan
from fabricgauge.model.request import MeasurementRequest, missing_place_words
from fabricgauge.model.run import Run
from fabricgauge.model.words.figures import link_rate
from fabricgauge.nodes.discover.interface import discover_head
from fabricgauge.nodes.discover.ports import list_port_endpoints
from fabricgauge.nodes.process import end_marked
from fabricgauge.store.run_directory import RunDirectory, find, run_lock
from fabricgauge.store.run_files import jobs, load, stored_request, write_beginning

if TYPE_CHECKING:
    from fabricgauge.logs.tools.table import Tool

#: The folder of the nodes' first answers. A resumed run keeps the fabric that it began on.
FIRST_DISCOVERY = "discover"


@contextmanager
def open_run(stated: StatedRequest, root: Path, dry_run: bool = False) -> Iterator[RunContext]:
    """Plan a run, or take one up again, and hold its directory meanwhile.

    A run that cannot begin, and a ``dry_run``, leave no directory.

    Raises:
        UsageError: options contradict each other or have no effect; no such nodes; the request
            cannot be measured there; another program works on the run.
        ToolMissing: a program is not installed.
        CannotRun: no network joins the nodes, or a stored run's nodes have changed.
        StoreError: there is no run of that name, or no place for one.
    """
    old, stored = None, None
    if stated.request.resume:
        old, stored = find_stored_run(root, stated.request, stated.from_files)
    with locate_target(stated, stored) as target:
        directory = old or RunDirectory.create(root)
        with run_lock(directory), ExitStack() as at_end:
            try:
                ready = with_programs(target)
                if not dry_run:
                    ready = at_end.enter_context(engine_on_nodes(ready))
                started = take_up(ready, old) if old else begin(ready, directory, dry_run=dry_run)
            except BaseException as error:
                in_vain = isinstance(error, KeyboardInterrupt | UsageError | ToolMissing)
                if not old and (dry_run or in_vain or directory.empty):
                    directory.discard()
                raise
            if dry_run and not old:
                at_end.callback(directory.discard)
            yield started


def with_programs(target: Target) -> Target:
    """Return the target with the engine, or with the suite that was asked for.

    Raises:
        UsageError: no such suite or MPI.
        ToolMissing: a program is not installed.
        CannotRun: the engine cannot be built, or no MPI starts the suite's programs.
    """
    request, progress = target.request, target.progress
    if request.tool:
        return msgspec.structs.replace(target, suite=suite_for(request, progress))
    if target.simulation:
        notify = partial(progress.stage, "building the engine for simulated clusters, once")
        engine = load_role("simulator").simulated_engine(notify)
        return msgspec.structs.replace(target, engine=engine)
    return msgspec.structs.replace(target, engine=engine_for(request.mpi, progress))


def begin(
    target: Target, directory: RunDirectory, profile: Profile | None = None, dry_run: bool = False
) -> RunContext:
    """Discover and plan; the run directory then holds all that a resumption needs.

    ``profile`` replaces the profile of the request. With ``dry_run`` the nodes do not connect to
    each other, and the plan uses all of them.

    Raises:
        CannotRun: no network joins the nodes.
        UsageError: the request cannot be measured there.
    """
    request, access, suite = target.request, target.access, target.suite
    fabric_found = discover_nodes(target, directory, FIRST_DISCOVERY)
    ranks = _read_ranks(target.ranks, fabric_found)
    chosen = choose_targets(request, fabric_found, ranks, partly=True)
    networks = [network for network, _ in chosen if network is not None]
    on_ip = [network for network in networks if not (network.has_rdma_ports or dry_run)]
    connectivities = try_connections(target, on_ip, directory)
    preflight: tuple[Finding, ...] = ()
    if not target.simulation:
        # Nodes that answered and cannot run the engine are no finding.
        lost = tuple(node for node in fabric_found.unreached if node not in target.left_out)
        reached = msgspec.structs.replace(fabric_found, unreached=lost)
        keep = partial(directory.keep_raw, "head")
        head = None if dry_run else discover_head(access, head_name(access), fabric_found, keep)
        preflight = note_preflight(directory, reached, connectivities, target.progress, head)
    culprits = {
        connectivity.network: list(find_connection_faults(connectivity))
        for connectivity in connectivities
    }
    for network in networks:
        culprits.setdefault(network.name, []).extend(
            ConnectionFault("node", (node,), "is not in it")
            for node in find_absent_nodes(network, ranks)
        )
    fabric = msgspec.structs.replace(
        fabric_found,
        unjoined=find_unjoined_networks(request, target.declared, fabric_found, ranks),
        partial=find_partial_networks(request, target.declared, fabric_found, ranks),
        lone=find_lone_interfaces(request, fabric_found, ranks),
        topology=target.topology,
        networks=networks_for_tool(fabric_found, suite.tool) if suite else fabric_found.networks,
    )
    about_run, planned = describe_run(target), _planned(target, ranks, chosen, culprits, profile)
    write_beginning(directory, about_run, fabric, planned)
    run = Run(
        directory.identity, about_run.started_utc, about_run.command, about_run.environment, fabric,
        planned, (),
        complete=False, preflight=preflight,
    )  # fmt: skip
    return RunContext(target, directory, run, culprits=culprits)


def _read_ranks(ranks: tuple[str, ...], fabric: Fabric) -> tuple[str, ...]:
    """Return the ranks on nodes that were read; all ranks if fewer than two nodes are left."""
    lost = {node.name for node in fabric.unreached}
    read = tuple(node for node in ranks if node not in lost)
    return read if len(set(read)) > 1 else ranks


def _planned(
    target: Target, ranks: tuple[str, ...], chosen: Targets, culprits: Culprits,
    profile: Profile | None,
) -> Plan:  # fmt: skip
    """Plan the launches. A suite gets none for a pair whose connection failed."""
    request, suite = target.request, target.suite
    groups = joint_ranks(ranks, chosen, culprits)
    if suite is None:
        virtual = target.access.virtual
        return plan_groups(request, ranks, groups, virtual=virtual, profile=profile)
    tool, of_pairs = suite.tool, suite.tool.of_pairs
    for name in sorted(set(program_names(tool, suite.effort)) - set(suite.programs)):
        target.progress.trouble(f"{tool.name}: program {name} was not found; its part is skipped")
    starts = [start for start in tool.starts(suite.effort) if start.client[0] in suite.programs]
    usable_groups = [
        group for group in groups if group.ranks == ranks or (of_pairs and not group.separate)
    ]
    return tool_plan(request, usable_groups, [start.name for start in starts], of_pairs)


def networks_for_tool(fabric: Fabric, tool: "Tool") -> tuple[Network, ...]:
    """Return the networks as the suite uses them: RDMA and TCP have different headers."""
    if tool.technology == "ethernet":
        return fabric.networks
    used = {"ethernet": _as_rdma, "ipoib": _as_ports} if tool.if_device else {"ethernet": _as_rdma}
    return tuple(
        used[network.technology](fabric, tool, network) if network.technology in used else network
        for network in fabric.networks
    )


def _as_ports(fabric: Fabric, tool: "Tool", network: Network) -> Network:
    """Return an IPoIB network with the links of the RDMA ports below it, if they are known."""
    member = network.members[0]
    node = fabric.node(member.node)
    ends = () if isinstance(node, Skipped) else list_port_endpoints(member.node, node)
    ports = {
        (member.node, end.port.name) for end in ends if member.interface in end.upper_interfaces
    }
    for below in fabric.networks:
        if below.rails == 1 and ports & {(to.node, to.interface) for to in below.members}:
            return msgspec.structs.replace(
                below, name=network.name, subnet=network.subnet, members=network.members,
                stated_mtu_bytes=below.mtu_bytes,
                rate_origin=f"{below.rate_origin}; assumption: {tool.name} uses the ports below"
                " IPoIB",
            )  # fmt: skip
    return network


def _as_rdma(fabric: Fabric, tool: "Tool", network: Network) -> Network:
    """Return an Ethernet network with the protocol of its RDMA device, or the suite's usual
    protocol.

    A suite that falls back to TCP leaves an Ethernet without a device as it is.
    """
    member = network.members[0]
    node = fabric.node(member.node)
    port = node if isinstance(node, Skipped) else node.port_of(member.interface)
    if isinstance(port, Skipped) and tool.if_device:
        return network
    is_iwarp = not isinstance(port, Skipped) and port.protocol == "iwarp"
    technology = "iwarp" if is_iwarp else tool.technology
    origin = f"{network.rate_origin}; assumption: {tool.name} uses it as {technology}"
    return msgspec.structs.replace(network, technology=technology, rate_origin=origin)


def find_stored_run(
    root: Path, stated: MeasurementRequest, from_files: Collection[str] = ()
) -> tuple[RunDirectory, MeasurementRequest]:
    """Find the run to resume; return its directory and its stored request.

    ``from_files`` are fields of ``stated`` that configuration files set.

    Raises:
        StoreError: there is none.
        UsageError: Slurm jobs make that run, or ``stated`` lacks nodes or programs.
    """
    directory = find(root, stated.resume)
    if jobs(directory):
        raise UsageError(
            f"{directory.identity} runs as Slurm jobs. To measure the rest:"
            f" fabricgauge submit --resume {directory.path}"
        )
    stored = stored_request(directory)
    if words := missing_place_words(stated, stored, from_files):
        raise UsageError(
            "--resume takes nodes and programs only from the command line and configuration:"
            f" repeat them. {directory.path} began with {shlex.join(words)}"
        )
    return directory, stored


def take_up(target: Target, directory: RunDirectory) -> RunContext:
    """Take up a run that broke off, on nodes that have not changed.

    The run keeps its first fabric: that fabric's ceilings judge its figures, so the new figures
    must come from the same nodes and networks.

    Raises:
        UsageError: the run is complete.
        CannotRun: nodes or networks are gone or have changed; the message names them.
    """
    if directory.complete:
        raise UsageError(f"{directory.identity} is complete; there is nothing to resume")
    run = load(directory)
    if not directory.foreign:
        end_marked(directory.identity)  # processes of a killed check
    attempt = 1 + sum(1 for folder in (directory.path / "raw").glob("discover*"))
    now = discover_nodes(target, directory, f"discover-{attempt}")
    changes = find_changes(run.plan, run.fabric, now)
    if changes:
        raise CannotRun(
            f"{directory.identity} cannot be resumed: {'; '.join(changes)}. Undo the change, or"
            " start a new check"
        )
    return RunContext(target, directory, run, attempt)


def find_changes(plan: Plan, then: Fabric, now: Fabric) -> tuple[str, ...]:
    """Return a sentence for each planned node or network that is gone or has changed."""
    nodes = dict.fromkeys(node for launch in plan.launches for node in launch.nodes)
    reasons = {node.name: node.reason for node in now.unreached}
    lost = [
        f"{node} was not reached ({reasons.get(node, 'not among the nodes')})"
        for node in nodes
        if isinstance(now.node(node), Skipped)
    ]
    if lost:
        return tuple(lost)
    planned = {launch.network for launch in plan.launches}
    facts = {network.name: _facts(network) for network in now.networks}
    return tuple(
        f"{network.name} is now {facts.get(network.name, 'gone')}; it was {_facts(network)}"
        for network in then.networks
        if network.name in planned and _facts(network) != facts.get(network.name)
    )


def _facts(network: Network) -> str:
    """Describe all that a ceiling and a path proof depend on."""
    rate = network.rate_bit_s
    rate_words = "of unknown rate" if isinstance(rate, Skipped) else link_rate(rate)
    members = ", ".join(
        f"{member.node}:{member.interface} {member.ip} MTU {member.mtu_bytes}"
        for member in network.members
    )
    return f"{network.subnet} {rate_words} ({members})"
