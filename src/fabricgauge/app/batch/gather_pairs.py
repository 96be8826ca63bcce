"""From the jobs of single pairs to one run of all their nodes."""

import ipaddress
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from fabricgauge.app.batch.attempts import Attempt
from fabricgauge.app.batch.taking import Taken, pinned_to
from fabricgauge.app.notes import quick_findings
from fabricgauge.app.target import Target
from fabricgauge.discover.interface import fabric_of
from fabricgauge.model.fabric import Fabric, Network
from fabricgauge.model.plan import Plan, PlannedLaunch
from fabricgauge.run.batch.job_state import JobState
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import write_facts, write_found, write_preflight
from fabricgauge.words.networks import is_loopback


def gather_pairs(
    directory: RunDirectory,
    target: Target,
    pairs: Plan,
    found: Sequence[Attempt],
    states: dict[str, JobState],
) -> None:
    """Take what the jobs have left so far.

    The fabric is what all nodes have said by now, so that it grows with every job; a network
    joins those of them that are in it.
    """
    nodes = tuple(dict.fromkeys(node for launch in pairs.launches for node in launch.nodes))
    answers = {node: raw for attempt in found for node, raw in attempt.answers().items()}
    for node, raw in answers.items():
        directory.keep_raw("discover", node, raw)
    fabric = msgspec.structs.replace(
        fabric_of(answers, nodes, target.declared, target.access.virtual), topology=target.topology
    )
    in_order = {frozenset(attempt.nodes): attempt.nodes for attempt in found}
    launches = tuple(
        _named(_ordered(launch, in_order), fabric)
        for launch in (*pairs.launches, *_again(directory))
    )
    write_found(directory, fabric, msgspec.structs.replace(pairs, launches=launches))
    if found:
        write_facts(directory, found[-1].facts())
    write_preflight(directory, quick_findings(fabric))
    by_number = {launch.number: launch for launch in launches}
    taken = Taken(directory)
    for attempt in found:
        why = str(states.get(attempt.job, "its state is not known"))
        for number, folder in attempt.launches():
            launch = by_number.get(number)
            if launch and _is_of(launch, attempt) and pinned_to(folder) == launch.subnet:
                taken.take(launch, attempt.number, folder, why)


def _again(directory: RunDirectory) -> Iterator[PlannedLaunch]:
    """What was added to the plan since: suspects that are measured once more."""
    if (directory.path / "plan.json").exists():
        yield from (
            launch
            for launch in directory.read("plan.json", Plan).launches
            if launch.purpose == "again"
        )


def _is_of(launch: PlannedLaunch, attempt: Attempt) -> bool:
    """Whether the attempt had the nodes of the launch; one on a single node takes the first."""
    return set(launch.nodes) <= set(attempt.nodes)


def _ordered(
    launch: PlannedLaunch, in_order: Mapping[frozenset[str], tuple[str, ...]]
) -> PlannedLaunch:
    """Its nodes in the order that Slurm gave them, once their job has begun."""
    nodes = in_order.get(frozenset(launch.nodes), launch.nodes)
    return msgspec.structs.replace(launch, nodes=nodes)


def _named(launch: PlannedLaunch, fabric: Fabric) -> PlannedLaunch:
    """The launch with the name of its network, as discovery calls it by now."""
    if is_loopback(launch.network) or launch.subnet is None:
        return launch
    subnet = ipaddress.ip_network(launch.subnet, strict=False)
    name = next((n.name for n in fabric.networks if _overlaps(n, subnet)), launch.subnet)
    return msgspec.structs.replace(launch, network=name)


def _overlaps(network: Network, subnet: ipaddress.IPv4Network | ipaddress.IPv6Network) -> bool:
    own = ipaddress.ip_network(network.subnet, strict=False)
    return own.version == subnet.version and own.overlaps(subnet)
