"""Turn what jobs left in the run directory into a run like any other."""

import ipaddress
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from fabricgauge.check.groups import Culprits, holds_culprit, planned_instead
from fabricgauge.check.networks import (
    describe_unjoined_ports,
    find_lone_interfaces,
    find_partial_networks,
    find_unjoined_networks,
)
from fabricgauge.check.notes import quick_findings
from fabricgauge.check.target import Target
from fabricgauge.doctor.reachability import find_connection_faults
from fabricgauge.features.jobs.attempts import (
    UNKNOWN_SUBNET,
    Attempt,
    ClaimedAttempts,
    find_attempts,
    subnet_of_launch,
)
from fabricgauge.features.jobs.job import plan_of, ports_label
from fabricgauge.features.jobs.numbers import number_by_folder
from fabricgauge.features.jobs.slurm.slurm import JobState
from fabricgauge.model.batch import EACH_PORTS, EACH_SUBNET, BatchJob
from fabricgauge.model.errors import CannotRun
from fabricgauge.model.fabric import Fabric, Unreached
from fabricgauge.model.plan import Plan, PlannedLaunch, renumber
from fabricgauge.model.preflight import Connectivity
from fabricgauge.model.words.networks import is_loopback, loopback_of
from fabricgauge.nodes.connectivity import gather_round
from fabricgauge.nodes.discover.interface import parse_fabric
from fabricgauge.nodes.launch.launch import tail
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import (
    jobs,
    read_batch,
    write_fabric_and_plan,
    write_facts,
    write_preflight,
)

#: States of a job that could not begin.
_BROKEN = ("FAILED", "BOOT_FAIL", "NODE_FAIL")


class GaveUp(CannotRun):
    """The first node of a job could hold nothing; a job of the other nodes may measure."""


def collect_results(directory: RunDirectory, target: Target, states: dict[str, JobState]) -> None:
    """Add the new results of the jobs to the run.

    A requeued job may have got other nodes: the last known nodes are the run's, and results of
    other nodes stay in ``raw`` only. If each pair is a job, the fabric is what all nodes have
    reported so far, so it grows with every job.

    Raises:
        CannotRun: no job has begun, or none knows its nodes.
    """
    jobs_by_folder = {job.folder: job for job in jobs(directory)}
    usable_attempts = [
        attempt for attempt in find_attempts(directory.path / "raw") if attempt.nodes
    ]
    begun_attempts = [attempt for attempt in usable_attempts if attempt.folder in jobs_by_folder]
    pairs, plan_is_there = read_batch(directory).pairs, (directory.path / "plan.json").exists()
    if not begun_attempts and not plan_is_there:
        raise CannotRun(explain_no_results(directory, states))
    if pairs is not None:
        fabric, plan = _write_pairs(directory, target, pairs, begun_attempts)
    elif not plan_is_there:
        fabric, plan = _write_job(
            directory, target, jobs_by_folder[begun_attempts[-1].folder], begun_attempts
        )
    else:
        fabric, plan = directory.read("fabric.json", Fabric), directory.read("plan.json", Plan)
    nodes = {node.name for node in fabric.nodes} | {node.name for node in fabric.unreached}
    planned = {launch.number: launch for launch in plan.launches}
    claims = ClaimedAttempts(directory, plan.memory)
    for attempt in usable_attempts:
        if not set(attempt.nodes) <= nodes:
            continue
        state = states.get(attempt.job)
        why = str(state or "its state is unknown")
        launches = [*attempt.launches()]
        for number, folder in launches:
            launch, subnet = planned.get(number), subnet_of_launch(folder)
            if launch is None:
                continue
            # A requeued job may find other subnets. If each pair is a job, its nodes identify it;
            # a launch on a single node belongs to its first.
            if pairs is not None:
                is_same = set(launch.nodes) <= set(attempt.nodes) and subnet == launch.subnet
            elif is_loopback(launch.network):
                is_same = subnet is None
            else:
                network = _network_at(subnet, attempt.nodes[0], fabric)
                is_same = subnet != UNKNOWN_SUBNET and launch.network == network
            if is_same:
                is_stopped = state is not None and state.stopped and folder == launches[-1][1]
                claims.claim(
                    launch, attempt.number, folder, why, pair=pairs is not None, stopped=is_stopped
                )


def _write_job(
    directory: RunDirectory, target: Target, job: BatchJob, begun_attempts: Sequence[Attempt]
) -> tuple[Fabric, Plan]:
    """Write the fabric of a job's last start, and its launches on the networks that it had."""
    last = begun_attempts[-1]
    given_up = _unable_nodes(attempt for attempt in begun_attempts if attempt.gave_up)
    unable = {**given_up, **last.unable()}
    answers = {node: raw for node, raw in last.answers().items() if node not in unable}
    nodes = tuple(dict.fromkeys((*given_up, *last.nodes)))
    fabric = _name_unable(_fabric(directory, target, answers, nodes), unable)
    places = last.nodes
    last = msgspec.structs.replace(
        last, nodes=tuple(node for node in last.nodes if node not in unable)
    )
    reasons = "; ".join(node.reason for node in fabric.unreached if node.name in unable)
    if unable and len(last.nodes) < 2:
        raise CannotRun(f"job {last.job} measured nothing, which takes two nodes: {reasons}")
    if begun_attempts[-1].gave_up:
        raise GaveUp(f"job {last.job} measured nothing: {reasons}")
    reasons = "; ".join(node.reason for node in fabric.unreached[:3])
    if not fabric.nodes:
        raise CannotRun(f"job {last.job} could not discover its nodes: {reasons}; {last.trouble()}")
    of = (target.request, target.declared, fabric, last.nodes)
    fabric = msgspec.structs.replace(
        fabric,
        unjoined=find_unjoined_networks(*of),
        partial=find_partial_networks(*of),
        lone=find_lone_interfaces(target.request, fabric, last.nodes),
    )
    rounds = tuple(
        gather_round(network, names, outputs)
        for subnet, names, outputs in last.connected()
        if (network := _network_at(subnet, last.nodes[0], fabric)) is not None
    )
    launches = tuple(_launches_of_job(job.launches, last, places, fabric))
    if all(is_loopback(launch.network) for launch in launches):
        ports = describe_unjoined_ports(fabric, target.request.network)
        parts = (_describe_networks(fabric), ports)
        raise CannotRun(f"no requested network joins the nodes: {'; '.join(filter(None, parts))}")
    culprits = {
        connectivity.network: find_connection_faults(connectivity) for connectivity in rounds
    }
    launches = _without_culprits(target, fabric, launches, culprits, remade=bool(unable))
    return _write(directory, fabric, plan_of(job, launches), rounds, last)


def _write_pairs(
    directory: RunDirectory, target: Target, pairs: Plan, begun_attempts: Sequence[Attempt]
) -> tuple[Fabric, Plan]:
    """Write what all pairs' jobs have found so far; a network joins the nodes that are in it."""
    nodes = tuple(dict.fromkeys(node for launch in pairs.launches for node in launch.nodes))
    answers = {node: raw for attempt in begun_attempts for node, raw in attempt.answers().items()}
    fabric = _name_unable(_fabric(directory, target, answers, nodes), _unable_nodes(begun_attempts))
    is_planned = (directory.path / "plan.json").exists()
    added = directory.read("plan.json", Plan).launches if is_planned else ()
    rechecks = (launch for launch in added if launch.purpose == "again")
    in_order = {frozenset(attempt.nodes): attempt.nodes for attempt in begun_attempts}
    launches = tuple(
        msgspec.structs.replace(
            launch,
            nodes=in_order.get(frozenset(launch.nodes), launch.nodes),  # in Slurm's order
            network=launch.network
            if is_loopback(launch.network) or launch.subnet is None
            else _network_name(launch.subnet, fabric),
        )
        for launch in (*pairs.launches, *rechecks)
    )
    tried: dict[str, dict[frozenset[str], Connectivity]] = defaultdict(dict)
    subnets = {launch.subnet for launch in pairs.launches}
    for attempt in begun_attempts:  # a later attempt of the same nodes replaces an earlier one
        for subnet, names, outputs in attempt.connected():
            if subnet in subnets:
                network = _network_name(subnet, fabric)
                tried[network][frozenset(names.values())] = gather_round(network, names, outputs)
    rounds = tuple(
        _join_rounds(network, tuple(pair_rounds.values())) for network, pair_rounds in tried.items()
    )
    plan = msgspec.structs.replace(pairs, launches=launches)
    return _write(directory, fabric, plan, rounds, begun_attempts[-1] if begun_attempts else None)


def _unable_nodes(attempts: Iterable[Attempt]) -> dict[str, str]:
    return {node: reason for attempt in attempts for node, reason in attempt.unable().items()}


def _name_unable(fabric: Fabric, unable: dict[str, str]) -> Fabric:
    unreached = tuple(
        Unreached(node.name, f"{node.name} cannot measure: {unable[node.name]}", answers=True)
        if node.name in unable
        else node
        for node in fabric.unreached
    )
    return msgspec.structs.replace(fabric, unreached=unreached)


def _join_rounds(network: str, rounds: Sequence[Connectivity]) -> Connectivity:
    tried: dict[str, int] = defaultdict(int)
    for pair_round in rounds:
        for node, partners in pair_round.tried.items():
            tried[node] += partners
    failures = tuple(failure for pair_round in rounds for failure in pair_round.failures)
    silent = {node: reason for pair_round in rounds for node, reason in pair_round.silent.items()}
    return Connectivity(network, dict(tried), failures, silent)


def _fabric(
    directory: RunDirectory, target: Target, answers: dict[str, str], nodes: tuple[str, ...]
) -> Fabric:
    for node, raw in answers.items():
        directory.keep_raw("discover", node, raw)
    fabric = parse_fabric(answers, nodes, target.declared, target.access.virtual)
    return msgspec.structs.replace(fabric, topology=target.topology)


def _write(
    directory: RunDirectory,
    fabric: Fabric,
    plan: Plan,
    rounds: tuple[Connectivity, ...],
    last: Attempt | None,
) -> tuple[Fabric, Plan]:
    write_fabric_and_plan(directory, fabric, plan)
    if last is not None:
        write_facts(directory, last.facts())
    write_preflight(directory, quick_findings(fabric, rounds))
    return fabric, plan


def _without_culprits(
    target: Target, fabric: Fabric, launches: tuple[PlannedLaunch, ...], culprits: Culprits,
    *, remade: bool = False,
) -> tuple[PlannedLaunch, ...]:  # fmt: skip
    """Return the launches, with replacements on sound nodes for those that a job did not make.

    With ``remade`` it made none, and the launches are of fewer nodes than it planned for.
    """
    bad = [
        launch
        for launch in launches
        if holds_culprit(launch, culprits) or (remade and not is_loopback(launch.network))
    ]
    plans = planned_instead(target, fabric, bad, culprits)
    instead = [launch for planned in plans for launch in planned.launches]
    last = max(launch.number for launch in launches)
    return (*(launch for launch in launches if launch not in bad), *renumber(instead, last))


def _describe_networks(fabric: Fabric) -> str:
    networks = (
        ", ".join(f"{network.name} ({network.subnet})" for network in fabric.ip_networks)
        or "no network"
    )
    silent = ", ".join(node.name for node in fabric.unreached)
    silent_part = f"; {silent} did not answer" if silent else ""
    return f"{', '.join(node.name for node in fabric.nodes)} have {networks}{silent_part}"


def explain_no_results(directory: RunDirectory, states: dict[str, JobState]) -> str:
    """Explain why there are no results, with the last lines of the last job."""
    numbers = number_by_folder(directory)
    job_states = ", ".join(
        f"job {number} is {states.get(number, 'unknown')}"
        if number
        else f"Slurm has no job {folder}/job.sh"
        for folder, number in numbers.items()
    )
    printed = (directory.path / folder / f"out-{number}.txt" for folder, number in numbers.items())
    lines = [line for file in printed if file.is_file() for line in tail(file, directory.path)]
    last = f"; its last lines: {' | '.join(lines[-2:])}" if lines else ""
    mute = not lines and any(state.state in _BROKEN for state in states.values())
    if mute and not any((directory.path / "raw").glob("attempt-*")):
        last = (
            f"; it printed nothing: check that its nodes see {directory.path} and may write there"
        )
    return f"no job of this run has begun to measure: {job_states or 'no job was submitted'}{last}"


def _launches_of_job(
    templates: Sequence[PlannedLaunch], attempt: Attempt, places: Sequence[str], fabric: Fabric
) -> Iterator[PlannedLaunch]:
    """Yield the launches with the nodes and networks that the job found, numbered as in the job.

    ``places`` are the job's nodes in order, also those that the attempt leaves out. A subnet that
    does not join all nodes is left out: its launch cannot have measured anything.
    """
    needed = 1 + max(
        int(place) for template in templates for place in template.nodes if place.isdecimal()
    )
    if needed > len(places):
        raise CannotRun(f"job {attempt.job} got {len(places)} nodes; the plan needs {needed}")
    number = 0
    for template in templates:
        pins: tuple[str | None, ...] = (template.subnet or ports_label(template),)
        if template.subnet == EACH_SUBNET:
            pins = attempt.subnets
        elif template.ports == (EACH_PORTS,):
            pins = tuple(pin for pin in attempt.ports if pin.split()[0] == template.technology)
        for subnet in pins:
            number += 1
            nodes = tuple(
                node for place in template.nodes if (node := places[int(place)]) in attempt.nodes
            )
            if is_loopback(template.network):
                nodes = attempt.nodes[:1] * len(template.nodes)
                network = loopback_of(attempt.nodes[0])
            else:
                network = _network_at(subnet, attempt.nodes[0], fabric) or ""
            known = next((n for n in fabric.networks if n.name == network), None)
            if network or subnet is None:
                launch = msgspec.structs.replace(
                    template, number=number, network=network or None, subnet=None, nodes=nodes,
                    ports=(), technology="",
                )  # fmt: skip
                yield launch.pinned_to(known) if known else launch


def _network_at(subnet: str | None, first: str, fabric: Fabric) -> str | None:
    """Return the name of the network that ranks were pinned to by ``subnet``.

    It is the network in which the first node has this address, else one in that subnet; None if it
    does not join all nodes that answered, or nothing was pinned.
    """
    if subnet is None:
        return None
    if " " in subnet:
        return _network_of_ports(subnet, first, fabric)
    try:
        pinned = ipaddress.ip_interface(subnet)
    except ValueError:
        return None
    answered = {node.name for node in fabric.nodes}
    joining = [n for n in fabric.ip_networks if answered <= {member.node for member in n.members}]
    candidates = [
        (n, ipaddress.ip_address(m.ip)) for n in joining for m in n.members if m.node == first
    ]
    exact = (network.name for network, ip in candidates if ip == pinned.ip)
    inside = (network.name for network, ip in candidates if ip in pinned.network)
    return next(exact, None) or next(inside, None)


def _network_of_ports(pin: str, first: str, fabric: Fabric) -> str | None:
    """Return the network of RDMA ports that a job measured: the first node's ports decide."""
    technology, _, names = pin.partition(" ")
    used, answered = {*names.split(",")}, {node.name for node in fabric.nodes}
    for network in fabric.networks:
        members = network.members if network.technology == technology else ()
        of_first = {member.interface for member in members if member.node == first}
        of_all = {member.interface for member in members}
        joins = answered <= {member.node for member in members}
        if joins and network.has_rdma_ports and of_first <= used <= of_all:
            return network.name
    return None


def _network_name(subnet: str, fabric: Fabric) -> str:
    """Return the name of a network so far; the subnet itself while no node has reported it."""
    pinned = ipaddress.ip_network(subnet, strict=False)
    for network in fabric.ip_networks:
        known = ipaddress.ip_network(network.subnet, strict=False)
        if known.version == pinned.version and known.overlaps(pinned):
            return network.name
    return subnet
