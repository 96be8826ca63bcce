"""Which nodes or pairs break a launch: groups of nodes are tried, O(log N) of them per culprit.

A node whose launches break without any other node in them is found first: groups are launched at
the same time. Pairs, and nodes that break launches with others only, are found one by one.

A group breaks if it holds a node that breaks launches, or both nodes of such a pair. Every larger
group with the same nodes breaks as well, so that the smallest one is found by bisection.
"""

from collections.abc import Callable, Collection, Generator, Iterator, Sequence

import msgspec

from fabricgauge.model.pattern import COLLECTIVE_PATTERNS
from fabricgauge.model.plan import Case, PlannedLaunch

#: A node alone, or the two of a pair; also the nodes of a launch to try.
Group = tuple[str, ...]

#: More culprits than that are a fault of what they share, such as a switch or the MPI.
MOST_CULPRITS = 2

#: Launches of groups that are made at the same time; each is a launcher on one machine.
AT_ONCE = 16

#: Long enough for some messages of each pair; a launch that hangs takes much longer.
CASE_S, STREAM_BYTES = 0.05, 65_536


def search_cases(of: PlannedLaunch, measured: Collection[str], virtual: bool) -> tuple[Case, ...]:
    """Every pair with small and with larger messages, and the collective in which ``of`` broke.

    Pairs of a ``virtual`` cluster meet one after the other.
    """
    alone = int(virtual)
    pairs = (
        Case("all_pairs_latency/8", "all_pairs_latency", 8, 1, 0, 1, CASE_S, concurrent=alone),
        Case(
            f"all_pairs_bandwidth/{STREAM_BYTES}", "all_pairs_bandwidth", STREAM_BYTES, 8, 0, 1,
            CASE_S, concurrent=alone,
        ),
    )  # fmt: skip
    broke = next((case for case in of.cases if case.name not in measured), None)
    if broke is None or broke.pattern not in COLLECTIVE_PATTERNS:
        return pairs
    return (*pairs, msgspec.structs.replace(broke, ranks=0, budget_s=CASE_S))


def broken_alone(
    nodes: Sequence[str],
) -> Generator[tuple[Group, ...], Sequence[bool], tuple[str, ...]]:
    """Yields groups to be launched at the same time, and is sent which of them broke.

    Returns the nodes that break a launch of their own. A group that breaks is parted until its
    groups are single nodes. Where every group of all nodes breaks, no node is returned: the MPI is
    at fault, or what all nodes share.
    """
    alone: list[str] = []
    groups = tuple(_parts(nodes))
    while groups:
        broke = yield groups
        if all(broke) and sum(map(len, groups)) == len(nodes):
            return ()
        bad = [group for group, breaks in zip(groups, broke, strict=True) if breaks]
        alone += [node for group in bad if len(group) == 1 for node in group]
        groups = tuple(part for group in bad if len(group) > 1 for part in _parts(group))
    return tuple(alone)


def _parts(nodes: Sequence[str]) -> Iterator[Group]:
    size = -(-len(nodes) // AT_ONCE)
    yield from (tuple(nodes[at : at + size]) for at in range(0, len(nodes), size))


def culprits(nodes: Sequence[str]) -> Generator[Group, bool, tuple[Group, ...]]:
    """Yields each group to be launched, and is sent whether it broke; returns the culprits.

    A culprit is one node, or two that form a pair; the last may be a larger group whose launch
    breaks although no pair of it does. There is none where the launch of all ``nodes`` does not
    break. All ``nodes`` are the one culprit if there would be more than ``MOST_CULPRITS``.
    Launches with two other nodes tell whether one node or the pair is the culprit.
    """
    found: list[Group] = []
    while True:
        for group in without(nodes, found):
            if len(group) > 1 and (yield group):
                break
        else:
            return tuple(found)
        if len(found) == MOST_CULPRITS:
            return (tuple(nodes),)
        found.append((yield from _culprit(group)))
        if len(found[-1]) > 2:
            return tuple(found)


def without(nodes: Sequence[str], found: Collection[Group]) -> Iterator[Group]:
    """The nodes without the culprits: of pairs once without the first ones, once the second.

    So a node of a known pair is still tried with everybody else.
    """
    bad = {one[0] for one in found if len(one) == 1}
    pairs = [one for one in found if len(one) == 2]
    for place in (0, 1) if pairs else (0,):
        out = bad | {pair[place] for pair in pairs}
        yield tuple(node for node in nodes if node not in out)


def _culprit(group: Group) -> Generator[Group, bool, Group]:
    """One culprit of a group that breaks."""
    count = yield from _smallest(2, len(group), lambda size: group[:size])
    before, last = group[: count - 1], group[count - 1]
    needed = yield from _smallest(1, len(before), lambda size: (*before[:size], last))
    first = before[needed - 1]
    if needed > 1:
        both_break = yield first, last
        return (first, last) if both_break else group[:count]
    others = [node for node in group if node not in (first, last)][:2]
    for suspect in (last, first) if others else ():
        for other in others:
            if not (yield suspect, other):
                break
        else:
            return (suspect,)
    return first, last


def _smallest(
    least: int, most: int, group_of: Callable[[int], Group]
) -> Generator[Group, bool, int]:
    """The smallest size whose group breaks; the group of size ``most`` is known to break."""
    while least < most:
        middle = (least + most) // 2
        if (yield group_of(middle)):
            most = middle
        else:
            least = middle + 1
    return most
