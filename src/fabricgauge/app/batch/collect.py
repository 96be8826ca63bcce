"""From what jobs left in the run directory to a run like any other."""

import ipaddress
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from fabricgauge.app.batch.attempts import Attempt, attempts, ended
from fabricgauge.app.site import Site
from fabricgauge.app.targets import unjoined
from fabricgauge.discover.interface import fabric_of
from fabricgauge.model.batch import EACH_SUBNET, BatchJob
from fabricgauge.model.errors import CannotRun
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.plan import Plan, PlannedLaunch
from fabricgauge.parse.engine import NotUnderstood, parse_line
from fabricgauge.run.batch.slurm import JobState
from fabricgauge.run.launch import tail
from fabricgauge.run.stacks.interface import is_loopback
from fabricgauge.store.jobs import jobs
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import (
    Entry,
    Started,
    append_launch,
    append_records,
    load,
    write_found,
)


def gather(directory: RunDirectory, site: Site, states: dict[str, JobState]) -> None:
    """Take what the jobs have left so far; what was taken before is not taken again.

    A requeued job may have got other nodes: the last that were known are the run's, and what was
    measured on others stays in ``raw`` only.

    Raises:
        CannotRun: no job has begun, or none could say which nodes it had.
    """
    made = jobs(directory)
    found = [one for one in attempts(directory.path / "raw") if one.nodes]
    if not (directory.path / "plan.json").exists():
        _begin(directory, site, made, found, states)
    run = load(directory)
    nodes = {node.name for node in run.fabric.nodes} | {one.name for one in run.fabric.unreached}
    taken = set(_taken(directory))
    planned = {launch.number: launch for launch in run.plan.launches}
    for attempt in found:
        if not set(attempt.nodes) <= nodes:
            continue
        why = str(states.get(attempt.job, "its state is not known"))
        for number, folder in attempt.launches():
            if number in planned and (number, attempt.number) not in taken:
                _take(directory, planned[number], attempt.number, folder, why)


def _taken(directory: RunDirectory) -> Iterator[tuple[int, int]]:
    started, _ = directory.read_lines("launches.jsonl", msgspec.json.Decoder(Started).decode)
    return ((one.launch, one.attempt) for one in started)


def _begin(
    directory: RunDirectory,
    site: Site,
    made: Sequence[BatchJob],
    found: Sequence[Attempt],
    states: dict[str, JobState],
) -> None:
    by_number = {one.number: one for one in made}
    known = [one for one in found if one.job in by_number]
    if not known:
        raise CannotRun(_nothing(directory, made, states))
    last = known[-1]
    job = by_number[last.job]
    answers = last.answers()
    for node, raw in answers.items():
        directory.keep_raw("discover", node, raw)
    fabric = fabric_of(answers, last.nodes, site.declared, site.reach.virtual)
    if not fabric.nodes:
        reasons = "; ".join(one.reason for one in fabric.unreached[:3])
        raise CannotRun(
            f"job {job.number} did not learn what its nodes are: {reasons}; {last.trouble()}"
        )
    fabric = msgspec.structs.replace(
        fabric, unjoined=unjoined(site, fabric, last.nodes), topology=site.topology
    )
    launches = tuple(_planned(job.launches, last, fabric))
    if all(is_loopback(one) for one in launches):
        raise CannotRun(f"no network joins {', '.join(last.nodes)}: {_seen(last)}")
    plan = Plan(job.profile, job.stopping, job.check_data, launches)
    write_found(directory, fabric, plan)


def _seen(attempt: Attempt) -> str:
    return f"the first of them is in {', '.join(attempt.subnets) or 'no subnet'}"


def _nothing(directory: RunDirectory, made: Sequence[BatchJob], states: dict[str, JobState]) -> str:
    """Why there is nothing, with the last words of the last job."""
    told = ", ".join(f"job {one.number} is {states.get(one.number, 'unknown')}" for one in made)
    said = [
        line
        for one in made
        for line in tail(directory.path / one.folder / f"out-{one.number}.txt")
        if (directory.path / one.folder / f"out-{one.number}.txt").exists()
    ]
    last = f"; it said: {' | '.join(said[-2:])}" if said else ""
    return f"no job of this run has begun to measure: {told or 'none was submitted'}{last}"


def _planned(
    templates: Sequence[PlannedLaunch], attempt: Attempt, fabric: Fabric
) -> Iterator[PlannedLaunch]:
    """The launches with the nodes and networks that the job found, numbered as it did.

    A subnet that does not join all nodes is left out: its launch cannot have measured anything.
    """
    answered = {node.name for node in fabric.nodes}
    names = {
        network.subnet: network.name
        for network in fabric.networks
        if answered <= {member.node for member in network.members}
    }
    number = 0
    for one in templates:
        subnets = attempt.subnets if one.subnet == EACH_SUBNET else (one.subnet,)
        for subnet in subnets:
            number += 1
            network, own = _network(one, subnet, names, attempt.nodes[0])
            if own is None or network is not None:
                nodes = tuple(attempt.nodes[int(place)] for place in one.nodes)
                yield msgspec.structs.replace(
                    one, number=number, network=network, subnet=own, nodes=nodes
                )


def _network(
    one: PlannedLaunch, subnet: str | None, names: dict[str, str], first: str
) -> tuple[str | None, str | None]:
    """A launch's network and subnet, by what discovery calls them."""
    if is_loopback(one):
        return f"loopback:{first}", None
    if subnet is None:
        return None, None
    try:
        own = str(ipaddress.ip_network(subnet, strict=False))
    except ValueError:
        return None, subnet
    return names.get(own), own


def _take(
    directory: RunDirectory, launch: PlannedLaunch, attempt: int, folder: Path, why: str
) -> None:
    records, strange = [], []
    try:
        lines = (folder / "stdout.jsonl").read_text("utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    for line in lines:
        record = parse_line(line)
        if not isinstance(record, NotUnderstood):
            records.append(Entry(launch.number, attempt, record))
        elif record.text:
            strange.append(f"{record.text} ({record.reason})")
    append_records(directory, records)
    end = ended(folder, why)
    append_launch(
        directory,
        Started(launch.number, attempt, launch.network, launch.nodes, end, tuple(strange)),
    )
