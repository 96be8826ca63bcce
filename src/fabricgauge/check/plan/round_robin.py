"""Arrange every pair of ranks once, in rounds of disjoint pairs; plan each pair as its own job.

The circle method: of N ranks, N even, the last stays. Two others meet in the round that is the sum
of their numbers, modulo N - 1; an odd number gets an imaginary last rank. See de Werra, Discrete
Applied Mathematics 2 (1980). The engine's round_robin_rounds.hpp has the same formula.
"""

from collections.abc import Iterable, Iterator, Sequence
from math import gcd

import msgspec
import numpy as np
from numpy.typing import NDArray

from fabricgauge.model.plan import Plan, PlannedLaunch, rounds
from fabricgauge.model.words.networks import loopback_of

#: Multiples of the golden section, modulo 1, are spread most evenly, whatever their number
#: (Knuth, The Art of Computer Programming, vol. 3, section 6.4).
_GOLDEN_SECTION = 0.6180339887498949


def pairs_of_round(round_number: int, ranks: int) -> NDArray[np.int64]:
    """Return the pairs of a round, (N // 2, 2): the lower rank first, rows ascending by it."""
    last = ranks - 1 + ranks % 2
    moving = np.arange(last, dtype=np.int64)
    met = (round_number - moving) % last
    met[met == moving] = last
    lower = (moving < met) & (met < ranks)
    return np.column_stack((moving[lower], met[lower]))


def sample_rounds(ranks: int, count: int, part: int = 0) -> tuple[int, ...]:
    """Return ``count`` of the rounds, ascending, so that each rank's partners are evenly spread.

    ``part`` p continues after part p - 1: parts share no round until all are used. Any two
    neighbours in their order join all ranks to one graph, so that two rounds are enough to compare
    every rank with every other.
    """
    round_count = rounds(ranks)
    # The stride is near the golden section, and has no factor in common with the rounds' number.
    stride = max(1, round(round_count * _GOLDEN_SECTION))
    while gcd(stride, round_count) != 1:
        stride += 1
    places = range(part * count, part * count + min(count, round_count))
    return tuple(sorted(place * stride % round_count for place in places))


def pair_plan(template: Plan, nodes: Sequence[str], partners: int = 0) -> Plan:
    """Return the template's launches for every pair of ``nodes``, in rounds of disjoint pairs.

    The template is the plan of two nodes, which it calls "0" and "1". ``partners`` is how many
    other nodes each node meets; 0 means all. Launches on a single node are made for the first pair
    only.
    """
    launches: list[PlannedLaunch] = []
    for pair in meetings(nodes, partners):
        before, loopback = len(launches), loopback_of(pair[0])
        launches += [
            msgspec.structs.replace(
                launch, number=before + place,
                nodes=tuple(pair[int(rank)] for rank in launch.nodes),
                network=launch.network if _joins_two_nodes(launch) else loopback,
            )
            for place, launch in enumerate(template.launches, start=1)
            if not before or _joins_two_nodes(launch)
        ]  # fmt: skip
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


def meetings(nodes: Sequence[str], partners: int, part: int = 0) -> Iterator[tuple[str, str]]:
    """Yield pairs of nodes, round by round; ``partners`` and ``part`` as in ``sample_rounds``."""
    round_count = rounds(len(nodes))
    chosen = range(round_count) if not partners else sample_rounds(len(nodes), partners, part=part)
    for number in chosen:
        for first, second in pairs_of_round(number, len(nodes)):
            yield nodes[int(first)], nodes[int(second)]
