"""From what jobs left in the run directory to a run like any other."""

import ipaddress
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from fabricgauge.app.batch.attempts import Attempt, attempts
from fabricgauge.app.batch.gather_pairs import gather_pairs
from fabricgauge.app.batch.numbers import by_folder
from fabricgauge.app.batch.taking import UNKNOWN, Taken, pinned_to
from fabricgauge.app.groups import Culprits, holds_culprit, plan_without
from fabricgauge.app.networks import targets, unjoined
from fabricgauge.app.notes import quick_findings
from fabricgauge.app.target import Target
from fabricgauge.connect.rounds import gathered
from fabricgauge.discover.interface import fabric_of
from fabricgauge.doctor.reachability import dead
from fabricgauge.model.batch import EACH_SUBNET, BatchJob
from fabricgauge.model.errors import CannotRun
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.plan import Plan, PlannedLaunch
from fabricgauge.run.batch.job_state import JobState
from fabricgauge.run.launch import tail
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import jobs, read_batch, write_facts, write_found, write_preflight
from fabricgauge.words.networks import is_loopback, loopback_of

#: How a job ends that could not even begin.
_BROKEN = ("FAILED", "BOOT_FAIL", "NODE_FAIL")


def gather(directory: RunDirectory, target: Target, states: dict[str, JobState]) -> None:
    """Take what the jobs have left so far; what was taken before is not taken again.

    A requeued job may have got other nodes: the last that were known are the run's, and what was
    measured on others stays in ``raw`` only.

    Raises:
        CannotRun: no job has begun, or none could say which nodes it had.
    """
    made = jobs(directory)
    found = [one for one in attempts(directory.path / "raw") if one.nodes]
    batch = read_batch(directory)
    if batch.pairs is not None:
        if not found:
            raise CannotRun(nothing(directory, made, states))
        gather_pairs(directory, target, batch.pairs, found, states)
        return
    if not (directory.path / "plan.json").exists():
        _begin(directory, target, made, found, states)
    fabric, plan = directory.read("fabric.json", Fabric), directory.read("plan.json", Plan)
    nodes = {node.name for node in fabric.nodes} | {one.name for one in fabric.unreached}
    taken = Taken(directory)
    planned = {launch.number: launch for launch in plan.launches}
    for attempt in found:
        if not set(attempt.nodes) <= nodes:
            continue
        why = str(states.get(attempt.job, "its state is not known"))
        for number, folder in attempt.launches():
            launch = planned.get(number)
            if launch and _is_of(launch, folder, attempt, fabric):
                taken.take(launch, attempt.number, folder, why)


def _is_of(launch: PlannedLaunch, folder: Path, attempt: Attempt, fabric: Fabric) -> bool:
    """Whether a folder's launch was pinned as planned: a requeued job may find other subnets."""
    subnet = pinned_to(folder)
    if is_loopback(launch.network):
        return subnet is None
    return subnet != UNKNOWN and launch.network == _network_at(subnet, attempt.nodes[0], fabric)


def _begin(
    directory: RunDirectory,
    target: Target,
    made: Sequence[BatchJob],
    found: Sequence[Attempt],
    states: dict[str, JobState],
) -> None:
    by_folder = {one.folder: one for one in made}
    known = [one for one in found if one.folder in by_folder]
    if not known:
        raise CannotRun(nothing(directory, made, states))
    last = known[-1]
    job = by_folder[last.folder]
    answers = last.answers()
    for node, raw in answers.items():
        directory.keep_raw("discover", node, raw)
    fabric = fabric_of(answers, last.nodes, target.declared, target.access.virtual)
    if not fabric.nodes:
        reasons = "; ".join(one.reason for one in fabric.unreached[:3])
        raise CannotRun(
            f"job {last.job} did not learn what its nodes are: {reasons}; {last.trouble()}"
        )
    fabric = msgspec.structs.replace(
        fabric,
        unjoined=unjoined(target.request, target.declared, fabric, last.nodes),
        topology=target.topology,
    )
    rounds = tuple(
        gathered(network, names, said)
        for subnet, names, said in last.connected()
        if (network := _network_at(subnet, last.nodes[0], fabric)) is not None
    )
    launches = tuple(_planned(job.launches, last, fabric))
    if all(is_loopback(one.network) for one in launches):
        raise CannotRun(f"no network that was to be measured joins the nodes: {_seen(fabric)}")
    launches = _without_culprits(
        target, fabric, launches, {one.network: dead(one) for one in rounds}
    )
    plan = Plan(job.profile, job.stopping, job.check_data, launches)
    write_found(directory, fabric, plan)
    write_facts(directory, last.facts())
    write_preflight(directory, quick_findings(fabric, rounds))


def _without_culprits(
    target: Target, fabric: Fabric, launches: tuple[PlannedLaunch, ...], culprits: Culprits
) -> tuple[PlannedLaunch, ...]:
    """The launches, and for each that a job did not make others for the nodes that can connect."""
    bad = [one for one in launches if holds_culprit(one, culprits)]
    number = max(one.number for one in launches)
    instead: list[PlannedLaunch] = []
    for network, ranks in dict.fromkeys((one.network, one.nodes) for one in bad):
        every = targets(target.request, fabric, ranks)
        chosen = tuple(one for one in every if one[0] is not None and one[0].name == network)
        instead += plan_without(target, ranks, chosen, culprits).launches
    return (
        *(one for one in launches if one not in bad),
        *(msgspec.structs.replace(one, number=number + at) for at, one in enumerate(instead, 1)),
    )


def _seen(fabric: Fabric) -> str:
    """Who answered, and the networks that they are in."""
    there = ", ".join(f"{one.name} ({one.subnet})" for one in fabric.networks) or "no network"
    silent = ", ".join(one.name for one in fabric.unreached)
    told = f"; {silent} did not answer" if silent else ""
    return f"{', '.join(one.name for one in fabric.nodes)} have {there}{told}"


def nothing(directory: RunDirectory, made: Sequence[BatchJob], states: dict[str, JobState]) -> str:
    """Why there is nothing, with the last words of the last job."""
    numbers = by_folder(directory)
    told = ", ".join(
        f"job {number} is {states.get(number, 'unknown')}"
        if (number := numbers[one.folder])
        else f"Slurm does not know {one.folder}/job.sh"
        for one in made
    )
    printed = (directory.path / one.folder / f"out-{numbers[one.folder]}.txt" for one in made)
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
            own = next((n.subnet for n in fabric.networks if n.name == network), None)
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
    joining = [n for n in fabric.networks if answered <= {member.node for member in n.members}]
    own = [(n, ipaddress.ip_address(m.ip)) for n in joining for m in n.members if m.node == first]
    exact = (network.name for network, ip in own if ip == said.ip)
    inside = (network.name for network, ip in own if ip in said.network)
    return next(exact, None) or next(inside, None)
