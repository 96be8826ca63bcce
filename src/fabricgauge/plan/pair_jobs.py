"""A plan in which each pair of nodes can be a job, or a start, of its own."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from fabricgauge.model.plan import Plan, PlannedLaunch, rounds
from fabricgauge.plan.round_robin import pairs, sampled
from fabricgauge.words.networks import loopback_of


def pair_plan(template: Plan, nodes: Sequence[str], partners: int = 0) -> Plan:
    """The template's launches for every pair of ``nodes``, in rounds of disjoint pairs.

    The template is that of two nodes, which it names by their places, "0" and "1". ``partners``
    is how many others each node meets, 0 for all. What the template measures on one node alone is
    made for the first pair only.
    """
    launches: list[PlannedLaunch] = []
    for first, second in meetings(nodes, partners):
        launches += [
            _of_pair(launch, len(launches) + place, (first, second))
            for place, launch in enumerate(template.launches, start=1)
            if not launches or _is_between(launch)
        ]
    return msgspec.structs.replace(template, launches=tuple(launches))


def by_pair(launches: Sequence[PlannedLaunch]) -> dict[tuple[str, str], list[PlannedLaunch]]:
    """The launches of each pair, in the plan's order; one on a single node is its first pair's."""
    found: dict[tuple[str, str], list[PlannedLaunch]] = {}
    for launch in launches:
        if _is_between(launch):
            found.setdefault((launch.nodes[0], launch.nodes[1]), []).append(launch)
    for launch in launches:
        if not _is_between(launch):
            home = next((pair for pair in found if launch.nodes[0] in pair), None)
            if home:
                found[home].append(launch)
    return found


def apart(launches: Iterable[PlannedLaunch], most: int) -> Iterator[tuple[PlannedLaunch, ...]]:
    """The launches in their order, neighbours that share no node together, at most ``most``."""
    group: tuple[PlannedLaunch, ...] = ()
    for launch in launches:
        taken = {node for one in group for node in one.nodes}
        if group and (len(group) == most or taken.intersection(launch.nodes)):
            yield group
            group = ()
        group += (launch,)
    if group:
        yield group


def _is_between(launch: PlannedLaunch) -> bool:
    return len(set(launch.nodes)) > 1


def _of_pair(launch: PlannedLaunch, number: int, pair: tuple[str, str]) -> PlannedLaunch:
    network = launch.network if _is_between(launch) else loopback_of(pair[0])
    nodes = tuple(pair[int(place)] for place in launch.nodes)
    return msgspec.structs.replace(launch, number=number, nodes=nodes, network=network)


def meetings(nodes: Sequence[str], partners: int, part: int = 0) -> Iterator[tuple[str, str]]:
    """Pairs of nodes in rounds of disjoint ones; ``partners`` and ``part`` as in ``sampled``."""
    there = rounds(len(nodes))
    chosen = range(there) if not partners else sampled(len(nodes), partners, part=part)
    for number in chosen:
        for first, second in pairs(number, len(nodes)):
            yield nodes[int(first)], nodes[int(second)]
