"""Search the nodes or pairs that break a launch: try groups, O(log N) of them per culprit.

A node whose launches break without any other node in them is found first: groups are launched at
the same time. Pairs, and nodes that break launches with others only, are found one by one.

A group breaks if it holds a node that breaks launches, or both nodes of such a pair. Every larger
group with the same nodes breaks as well, so that bisection finds the smallest one.
"""

from collections.abc import Callable, Collection, Generator, Iterator, Sequence

import msgspec

from fabricgauge.model.pattern import COLLECTIVE_PATTERNS
from fabricgauge.model.plan import Case, PlannedLaunch

#: A node alone, or the two of a pair; also the nodes of a launch to try.
Group = tuple[str, ...]

#: More culprits mean a fault of a shared part, such as a switch or the MPI.
MAX_CULPRITS = 2

#: Launches of groups that run at the same time; each is a launcher on this machine.
MAX_PARALLEL_LAUNCHES = 16

#: Long enough for some messages of each pair; a launch that hangs takes much longer.
CASE_S, STREAM_BYTES = 0.05, 65_536


def search_cases(of: PlannedLaunch, measured: Collection[str], virtual: bool) -> tuple[Case, ...]:
    """Return every pair with small and larger messages, and the collective in which ``of`` broke.

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


def search_alone(
    nodes: Sequence[str],
) -> Generator[tuple[Group, ...], Sequence[bool], tuple[str, ...]]:
    """Yield groups to launch at the same time, and receive which of them broke.

    Return the nodes that break a launch of their own. A group that breaks is split until its groups
    are single nodes. If every group of all nodes breaks, no node is returned: the fault is in the
    MPI, or in a part that all nodes share.
    """
    alone: list[str] = []
    groups = tuple(_split_group(nodes))
    while groups:
        broke = yield groups
        if all(broke) and sum(map(len, groups)) == len(nodes):
            return ()
        bad = [group for group, breaks in zip(groups, broke, strict=True) if breaks]
        alone += [node for group in bad if len(group) == 1 for node in group]
        groups = tuple(part for group in bad if len(group) > 1 for part in _split_group(group))
    return tuple(alone)


def _split_group(nodes: Sequence[str]) -> Iterator[Group]:
    size = -(-len(nodes) // MAX_PARALLEL_LAUNCHES)
    yield from (tuple(nodes[at : at + size]) for at in range(0, len(nodes), size))


def search_culprits(nodes: Sequence[str]) -> Generator[Group, bool, tuple[Group, ...]]:
    """Yield each group to launch, and receive if it broke; return the culprits.

    A culprit is one node, or two that form a pair; the last may be a larger group whose launch
    breaks although no pair of it does. There is none if the launch of all ``nodes`` does not break.
    All ``nodes`` are the one culprit if there would be more than ``MAX_CULPRITS``. Launches with
    two other nodes show if one node or the pair is the culprit.
    """
    known_culprits: list[Group] = []
    while True:
        for group in exclude_culprits(nodes, known_culprits):
            if len(group) > 1 and (yield group):
                break
        else:
            return tuple(known_culprits)
        if len(known_culprits) == MAX_CULPRITS:
            return (tuple(nodes),)
        known_culprits.append((yield from _search_culprit(group)))
        if len(known_culprits[-1]) > 2:
            return tuple(known_culprits)


def exclude_culprits(nodes: Sequence[str], known_culprits: Collection[Group]) -> Iterator[Group]:
    """Yield the nodes without the culprits: once without the first of each pair, once without the
    second.

    So a node of a known pair is still tried with all other nodes.
    """
    bad = {culprit[0] for culprit in known_culprits if len(culprit) == 1}
    pairs = [culprit for culprit in known_culprits if len(culprit) == 2]
    for place in (0, 1) if pairs else (0,):
        out = bad | {pair[place] for pair in pairs}
        yield tuple(node for node in nodes if node not in out)


def _search_culprit(group: Group) -> Generator[Group, bool, Group]:
    count = yield from _search_smallest(2, len(group), lambda size: group[:size])
    before, last = group[: count - 1], group[count - 1]
    needed = yield from _search_smallest(1, len(before), lambda size: (*before[:size], last))
    first = before[needed - 1]
    if needed > 1:
        both_break = yield first, last
        return (first, last) if both_break else group[:count]
    partners = [node for node in group if node not in (first, last)][:2]
    for suspect in (last, first) if partners else ():
        for other_node in partners:
            if not (yield suspect, other_node):
                break
        else:
            return (suspect,)
    return first, last


def _search_smallest(
    least: int, most: int, group_of: Callable[[int], Group]
) -> Generator[Group, bool, int]:
    """Search the smallest size whose group breaks; the group of size ``most`` is known to break."""
    while least < most:
        middle = (least + most) // 2
        if (yield group_of(middle)):
            most = middle
        else:
            least = middle + 1
    return most
