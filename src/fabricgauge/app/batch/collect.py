"""From what jobs left in the run directory to a run like any other."""

import ipaddress
from collections import defaultdict
from collections.abc import Iterator, Sequence

import msgspec

from fabricgauge.app.batch.attempts import UNKNOWN, Attempt, Taken, attempts, pinned_to
from fabricgauge.app.batch.job import plan_of
from fabricgauge.app.batch.numbers import by_folder
from fabricgauge.app.groups import Culprits, holds_culprit, planned_instead
from fabricgauge.app.networks import lone, partial, unjoined
from fabricgauge.app.notes import quick_findings
from fabricgauge.app.target import Target
from fabricgauge.connect.rounds import gather_round
from fabricgauge.discover.interface import parse_fabric
from fabricgauge.doctor.reachability import find_connection_faults
from fabricgauge.model.batch import EACH_SUBNET, BatchJob
from fabricgauge.model.connectivity import Connectivity
from fabricgauge.model.errors import CannotRun
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.plan import Plan, PlannedLaunch, numbered
from fabricgauge.run.batch.job_state import JobState
from fabricgauge.run.launch import tail
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import (
    jobs,
    read_batch,
    write_fabric_and_plan,
    write_facts,
    write_preflight,
)
from fabricgauge.words.networks import is_loopback, loopback_of

#: How a job ends that could not even begin.
_BROKEN = ("FAILED", "BOOT_FAIL", "NODE_FAIL")


def gather(directory: RunDirectory, target: Target, states: dict[str, JobState]) -> None:
    """Take what the jobs have left so far; what was taken before is not taken again.

    A requeued job may have got other nodes: the last that were known are the run's, and what was
    measured on others stays in ``raw`` only. Where each pair is a job, the fabric is what all nodes
    have said by now, so that it grows with every job.

    Raises:
        CannotRun: no job has begun, or none could say which nodes it had.
    """
    made = {one.folder: one for one in jobs(directory)}
    found = [one for one in attempts(directory.path / "raw") if one.nodes]
    begun = [one for one in found if one.folder in made]
    pairs, plan_is_there = read_batch(directory).pairs, (directory.path / "plan.json").exists()
    if not begun and not plan_is_there:
        raise CannotRun(nothing(directory, states))
    if pairs is not None:
        fabric, plan = _write_pairs(directory, target, pairs, begun)
    elif not plan_is_there:
        fabric, plan = _write_job(directory, target, made[begun[-1].folder], begun[-1])
    else:
        fabric, plan = directory.read("fabric.json", Fabric), directory.read("plan.json", Plan)
    nodes = {node.name for node in fabric.nodes} | {one.name for one in fabric.unreached}
    planned = {launch.number: launch for launch in plan.launches}
    taken = Taken(directory)
    for attempt in found:
        if not set(attempt.nodes) <= nodes:
            continue
        why = str(states.get(attempt.job, "its state is not known"))
        for number, folder in attempt.launches():
            launch, subnet = planned.get(number), pinned_to(folder)
            if launch and _is_of(launch, subnet, attempt, fabric, each=pairs is not None):
                taken.take(launch, attempt.number, folder, why, pair=pairs is not None)


def _is_of(
    launch: PlannedLaunch, subnet: str | None, attempt: Attempt, fabric: Fabric, *, each: bool
) -> bool:
    """Whether what was pinned to ``subnet`` is the launch: a requeued job may find other subnets.

    A job of ``each`` pair is told by its nodes; a launch on a single node takes its first.
    """
    if each:
        return set(launch.nodes) <= set(attempt.nodes) and subnet == launch.subnet
    if is_loopback(launch.network):
        return subnet is None
    return subnet != UNKNOWN and launch.network == _network_at(subnet, attempt.nodes[0], fabric)


def _write_job(
    directory: RunDirectory, target: Target, job: BatchJob, last: Attempt
) -> tuple[Fabric, Plan]:
    """What a job's last start found, and its launches on the nodes and networks that it had."""
    fabric = _fabric(directory, target, last.answers(), last.nodes)
    if not fabric.nodes:
        reasons = "; ".join(one.reason for one in fabric.unreached[:3])
        raise CannotRun(
            f"job {last.job} did not learn what its nodes are: {reasons}; {last.trouble()}"
        )
    of = (target.request, target.declared, fabric, last.nodes)
    fabric = msgspec.structs.replace(
        fabric,
        unjoined=unjoined(*of),
        partial=partial(*of),
        lone=lone(target.request, fabric, last.nodes),
    )
    rounds = tuple(
        gather_round(network, names, said)
        for subnet, names, said in last.connected()
        if (network := _network_at(subnet, last.nodes[0], fabric)) is not None
    )
    launches = tuple(_planned(job.launches, last, fabric))
    if all(is_loopback(one.network) for one in launches):
        raise CannotRun(f"no network that was to be measured joins the nodes: {_seen(fabric)}")
    culprits = {one.network: find_connection_faults(one) for one in rounds}
    launches = _without_culprits(target, fabric, launches, culprits)
    return _write(directory, fabric, plan_of(job, launches), rounds, last)


def _write_pairs(
    directory: RunDirectory, target: Target, pairs: Plan, begun: Sequence[Attempt]
) -> tuple[Fabric, Plan]:
    """What all pairs' jobs have found by now; a network joins those nodes that are in it."""
    nodes = tuple(dict.fromkeys(node for launch in pairs.launches for node in launch.nodes))
    answers = {node: raw for attempt in begun for node, raw in attempt.answers().items()}
    fabric = _fabric(directory, target, answers, nodes)
    in_order = {frozenset(attempt.nodes): attempt.nodes for attempt in begun}
    launches = tuple(
        msgspec.structs.replace(
            launch,
            nodes=in_order.get(frozenset(launch.nodes), launch.nodes),  # in Slurm's order
            network=launch.network
            if is_loopback(launch.network) or launch.subnet is None
            else _called(launch.subnet, fabric),
        )
        for launch in (*pairs.launches, *_again(directory))
    )
    tried: dict[str, dict[frozenset[str], Connectivity]] = defaultdict(dict)
    subnets = {launch.subnet for launch in pairs.launches}
    for attempt in begun:  # a later one of the same nodes outranks one before
        for subnet, names, said in attempt.connected():
            if subnet in subnets:
                network = _called(subnet, fabric)
                tried[network][frozenset(names.values())] = gather_round(network, names, said)
    rounds = tuple(_joined(network, tuple(each.values())) for network, each in tried.items())
    plan = msgspec.structs.replace(pairs, launches=launches)
    return _write(directory, fabric, plan, rounds, begun[-1] if begun else None)


def _joined(network: str, rounds: Sequence[Connectivity]) -> Connectivity:
    """What single pairs tried, as one round of all of them."""
    tried: dict[str, int] = defaultdict(int)
    for one in rounds:
        for node, partners in one.tried.items():
            tried[node] += partners
    failures = tuple(failure for one in rounds for failure in one.failures)
    silent = {node: reason for one in rounds for node, reason in one.silent.items()}
    return Connectivity(network, dict(tried), failures, silent)


def _fabric(
    directory: RunDirectory, target: Target, answers: dict[str, str], nodes: tuple[str, ...]
) -> Fabric:
    for node, raw in answers.items():
        directory.keep_raw("discover", node, raw)
    found = parse_fabric(answers, nodes, target.declared, target.access.virtual)
    return msgspec.structs.replace(found, topology=target.topology)


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


def _again(directory: RunDirectory) -> Iterator[PlannedLaunch]:
    """What was added to the plan since: suspects that are measured once more."""
    if (directory.path / "plan.json").exists():
        launches = directory.read("plan.json", Plan).launches
        yield from (launch for launch in launches if launch.purpose == "again")


def _without_culprits(
    target: Target, fabric: Fabric, launches: tuple[PlannedLaunch, ...], culprits: Culprits
) -> tuple[PlannedLaunch, ...]:
    """The launches, and for each that a job did not make others for the nodes that can connect."""
    bad = [one for one in launches if holds_culprit(one, culprits)]
    plans = planned_instead(target, fabric, bad, culprits)
    instead = [one for planned in plans for one in planned.launches]
    last = max(one.number for one in launches)
    return (*(one for one in launches if one not in bad), *numbered(instead, last))


def _seen(fabric: Fabric) -> str:
    """Who answered, and the networks that they are in."""
    there = ", ".join(f"{one.name} ({one.subnet})" for one in fabric.ip_networks) or "no network"
    silent = ", ".join(one.name for one in fabric.unreached)
    told = f"; {silent} did not answer" if silent else ""
    return f"{', '.join(one.name for one in fabric.nodes)} have {there}{told}"


def nothing(directory: RunDirectory, states: dict[str, JobState]) -> str:
    """Why there is nothing, with the last words of the last job."""
    numbers = by_folder(directory)
    told = ", ".join(
        f"job {number} is {states.get(number, 'unknown')}"
        if number
        else f"Slurm does not know {folder}/job.sh"
        for folder, number in numbers.items()
    )
    printed = (directory.path / folder / f"out-{number}.txt" for folder, number in numbers.items())
    said = [line for file in printed if file.is_file() for line in tail(file, directory.path)]
    last = f"; it said: {' | '.join(said[-2:])}" if said else ""
    mute = not said and any(one.state in _BROKEN for one in states.values())
    if mute and not any((directory.path / "raw").glob("attempt-*")):
        last = f"; it said nothing: do its nodes see {directory.path}, and may they write there?"
    return f"no job of this run has begun to measure: {told or 'none was submitted'}{last}"


def _planned(
    templates: Sequence[PlannedLaunch], attempt: Attempt, fabric: Fabric
) -> Iterator[PlannedLaunch]:
    """The launches with the nodes and networks that the job found, numbered as it did.

    A subnet that does not join all nodes is left out: its launch cannot have measured anything.
    """
    places = max(int(place) for one in templates for place in one.nodes if place.isdecimal())
    if places >= len(attempt.nodes):
        raise CannotRun(
            f"job {attempt.job} got {len(attempt.nodes)} nodes, {places + 1} were planned with"
        )
    number = 0
    for one in templates:
        subnets = attempt.subnets if one.subnet == EACH_SUBNET else (one.subnet,)
        for subnet in subnets:
            number += 1
            nodes = tuple(attempt.nodes[int(place)] for place in one.nodes)
            if is_loopback(one.network):
                network = loopback_of(attempt.nodes[0])
            else:
                network = _network_at(subnet, attempt.nodes[0], fabric) or ""
            own = next((n.subnet for n in fabric.ip_networks if n.name == network), None)
            if network or subnet is None:
                yield msgspec.structs.replace(
                    one, number=number, network=network or None, subnet=own, nodes=nodes
                )


def _network_at(subnet: str | None, first: str, fabric: Fabric) -> str | None:
    """What discovery calls the network that ranks were pinned to by ``subnet``.

    That is the one in which the first node has just this address, else one in that subnet; None
    where it does not join all nodes that answered, or nothing was pinned.
    """
    if subnet is None:
        return None
    try:
        said = ipaddress.ip_interface(subnet)
    except ValueError:
        return None
    answered = {node.name for node in fabric.nodes}
    joining = [n for n in fabric.ip_networks if answered <= {member.node for member in n.members}]
    own = [(n, ipaddress.ip_address(m.ip)) for n in joining for m in n.members if m.node == first]
    exact = (network.name for network, ip in own if ip == said.ip)
    inside = (network.name for network, ip in own if ip in said.network)
    return next(exact, None) or next(inside, None)


def _called(subnet: str, fabric: Fabric) -> str:
    """What discovery calls a network by now; the subnet itself while no node has said it."""
    own = ipaddress.ip_network(subnet, strict=False)
    here = fabric.ip_networks
    known = ((one.name, ipaddress.ip_network(one.subnet, strict=False)) for one in here)
    return next((n for n, one in known if one.version == own.version and one.overlaps(own)), subnet)
