"""Plan each pair of nodes as a job, or a start, of its own."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from fabricgauge.check.plan.round_robin import pairs_of_round, sample_rounds
from fabricgauge.model.plan import Plan, PlannedLaunch, rounds
from fabricgauge.model.words.networks import loopback_of


def pair_plan(template: Plan, nodes: Sequence[str], partners: int = 0) -> Plan:
    """Return the template's launches for every pair of ``nodes``, in rounds of disjoint pairs.

    The template is the plan of two nodes, which it calls "0" and "1". ``partners`` is how many
    other nodes each node meets; 0 means all. Launches on a single node are made for the first pair
    only.
    """
    launches: list[PlannedLaunch] = []
    for first, second in meetings(nodes, partners):
        launches += [
            _launch_of_pair(launch, len(launches) + place, (first, second))
            for place, launch in enumerate(template.launches, start=1)
            if not launches or _joins_two_nodes(launch)
        ]
    return msgspec.structs.replace(template, launches=tuple(launches))


def group_by_pair(launches: Sequence[PlannedLaunch]) -> dict[tuple[str, str], list[PlannedLaunch]]:
    """Return the launches of each pair, in the plan's order; one on a single node goes to its first
    pair.
    """
    pairs_found: dict[tuple[str, str], list[PlannedLaunch]] = {}
    for launch in launches:
        if _joins_two_nodes(launch):
            pairs_found.setdefault((launch.nodes[0], launch.nodes[1]), []).append(launch)
    for launch in launches:
        if not _joins_two_nodes(launch):
            home = next((pair for pair in pairs_found if launch.nodes[0] in pair), None)
            if home:
                pairs_found[home].append(launch)
    return pairs_found


def group_disjoint(
    launches: Iterable[PlannedLaunch], limit: int
) -> Iterator[tuple[PlannedLaunch, ...]]:
    """Yield successive launches in groups that share no node, at most ``limit`` in a group."""
    group: tuple[PlannedLaunch, ...] = ()
    for launch in launches:
        busy_nodes = {node for launch_in_group in group for node in launch_in_group.nodes}
        if group and (len(group) == limit or busy_nodes.intersection(launch.nodes)):
            yield group
            group = ()
        group += (launch,)
    if group:
        yield group


def _joins_two_nodes(launch: PlannedLaunch) -> bool:
    return len(set(launch.nodes)) > 1


def _launch_of_pair(launch: PlannedLaunch, number: int, pair: tuple[str, str]) -> PlannedLaunch:
    network = launch.network if _joins_two_nodes(launch) else loopback_of(pair[0])
    nodes = tuple(pair[int(place)] for place in launch.nodes)
    return msgspec.structs.replace(launch, number=number, nodes=nodes, network=network)


def meetings(nodes: Sequence[str], partners: int, part: int = 0) -> Iterator[tuple[str, str]]:
    """Yield pairs of nodes, round by round; ``partners`` and ``part`` as in ``sampled``."""
    round_count = rounds(len(nodes))
    chosen = range(round_count) if not partners else sample_rounds(len(nodes), partners, part=part)
    for number in chosen:
        for first, second in pairs_of_round(number, len(nodes)):
            yield nodes[int(first)], nodes[int(second)]
