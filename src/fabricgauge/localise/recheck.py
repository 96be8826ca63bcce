"""Which pairs are measured again, one at a time, with partners that are known to be good.

In a round many pairs measure at once, so a switch that others filled may slow a good pair. A
suspect node measures with good partners: if it is slow with each of them, it is at fault. Both ends
of a suspect pair also measure with good partners: if only the pair is slow, the way between them is
at fault. Good pairs of the same launch show what is usual that day.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import combinations

import msgspec
import numpy as np

from fabricgauge.localise import limits
from fabricgauge.model.absence import Skipped
from fabricgauge.model.pairs import (
    WAYS,
    Claim,
    Ends,
    Meeting,
    PairAnalysis,
    PairFinding,
    PairMatrix,
    Quantity,
    Recheck,
    Suspect,
    nodes_of,
)
from fabricgauge.model.topology import Topology

_Size = tuple[Quantity, int]
_Meetings = dict[Ends, dict[_Size, None]]


def recheck(analyses: Sequence[PairAnalysis]) -> Recheck | None:
    """What decides about the named and suspect parts of one network; None where there are none."""
    claims = [one for each in analyses for one in each.claims]
    doubtful = [one for each in analyses for one in each.doubtful]
    if not claims and not doubtful:
        return None
    matrix, within = analyses[0].matrix, Topology(analyses[0].groups)
    made = meetings(matrix.network, claims, doubtful, _best_first(analyses), within, matrix.nodes)
    late = [one for one in analyses if one.matrix.quantity == "latency"]
    once = any(len(one.matrix.repeats) < 2 and (one.claims or one.doubtful) for one in late)
    return msgspec.structs.replace(made, launches=limits.LATENCY_LAUNCHES if once else 1)


def streams_alone(matrix: PairMatrix, pairs: Iterable[Ends]) -> Recheck | None:
    """Streams of these pairs, there and back, while all others sleep; ranks as in the matrix.

    Pairs without a figure in the matrix are left out: they may not be able to connect. None where
    no pair is left.
    """
    at = {node: place for place, node in enumerate(matrix.nodes)}
    met = tuple(
        pair
        for pair in dict.fromkeys((min(one), max(one)) for one in pairs)
        if np.isfinite(matrix.values[at[pair[0]], at[pair[1]]])
    )
    if not met:
        return None
    sizes = [size for size in limits.RECHECKED if size[0] == "bandwidth"]
    return Recheck(
        network=matrix.network,
        meetings=tuple(Meeting(*pair, *size) for pair in met for size in sizes),
        nodes=tuple(node for node in matrix.nodes if any(node in pair for pair in met)),
    )


def meetings(
    network: str,
    claims: Sequence[Claim],
    doubtful: Sequence[Suspect],
    healthy: Sequence[str],
    within: Topology,
    order: Sequence[str] = (),
) -> Recheck:
    """Each of ``claims`` is measured again: named parts first, nodes before ways, then the worst.

    ``doubtful`` parts are below the threshold for a suspect. Each is measured in its own quantity
    only, and the ends of a doubtful pair only with each other. ``healthy`` are the nodes to take
    partners from, the best first. ``within`` says which nodes a group has. Ranks follow ``order``,
    then the meetings: a launcher may be unable to start them in another order than the
    allocation's.
    """
    good = _good(claims, doubtful, healthy, within)
    worst_first = sorted(
        claims,
        key=lambda one: (isinstance(one, Suspect), one.part in WAYS, -abs(one.effect)),
    )
    chosen = [one for one in worst_first if nodes_of(one, within.groups)][: limits.MOST_SUSPECTS]
    if not chosen and not doubtful:
        return Recheck(network, Skipped("the nodes of the suspects are not known"))
    planned: _Meetings = {}
    for pair, sizes in _asked(chosen, doubtful, good, within):
        known = pair[::-1] if pair[::-1] in planned else pair
        planned.setdefault(known, {}).update(dict.fromkeys(sizes))
    if not planned:
        return Recheck(network, Skipped("there is no partner to measure the suspects against"))
    met = dict.fromkeys(node for pair in planned for node in pair)
    return Recheck(
        network=network,
        meetings=tuple(Meeting(*pair, *size) for pair, sizes in planned.items() for size in sizes),
        nodes=(*(n for n in order if n in met), *(n for n in met if n not in order)),
    )


def _best_first(analyses: Sequence[PairAnalysis]) -> tuple[str, ...]:
    """All nodes, those that stand out least first."""
    worst: dict[str, float] = {}
    for analysis in analyses:
        for one in analysis.ranking:
            effect = max(abs(one.sending), abs(one.receiving))
            worst[one.node] = max(worst.get(one.node, 0.0), effect)
    return tuple(sorted(worst, key=lambda node: (worst[node], node)))


def _good(
    claims: Sequence[Claim], doubtful: Sequence[Suspect], healthy: Sequence[str], within: Topology
) -> tuple[str, ...]:
    """Nodes that are not suspected themselves; the ends of suspect ways come last.

    Where that leaves too few to compare with, as in a fabric of four nodes, the least doubtful of
    all fill up: what they show decides about them as well.
    """
    doubts = dict[str, int]()
    faults = [one for one in claims if isinstance(one, PairFinding)]
    suspects = [one for one in claims if not isinstance(one, PairFinding)]
    for doubt, some in ((_DOUBTFUL, doubtful), (_SUSPECT, suspects), (_NAMED, faults)):
        for one in some:
            if one.part not in WAYS:
                doubts |= dict.fromkeys(nodes_of(one, within.groups), doubt)
            elif doubt > _DOUBTFUL:
                doubts |= dict.fromkeys([name for name in one.names if name not in doubts], _END)
    ordered = sorted(dict.fromkeys(healthy), key=lambda node: doubts.get(node, 0))
    sure = [node for node in ordered if doubts.get(node, 0) <= _END]
    if len(sure) < limits.FEWEST_NODES:
        return tuple(ordered[: limits.FEWEST_NODES])
    return _spread(sure, within)


def _spread(nodes: Sequence[str], within: Topology) -> tuple[str, ...]:
    """The first of each group before the second of any: good pairs cross between groups, too."""
    group = {node: one.name for one in within.groups for node in one.nodes}
    turns, met = dict[str, int](), Counter[str]()
    for node in nodes:
        own = group.get(node, "")
        met[own] += 1 if own else 0
        turns[node] = met[own]
    return tuple(sorted(nodes, key=lambda node: turns[node]))


#: How doubtful a node is.
_END, _DOUBTFUL, _SUSPECT, _NAMED = 1, 2, 3, 4


def _asked(
    chosen: Sequence[Claim], doubtful: Sequence[Suspect], good: Sequence[str], within: Topology
) -> Iterator[tuple[Ends, tuple[_Size, ...]]]:
    """Which pairs are measured with which sizes: those of each suspect, and good pairs.

    Both quantities, since one often explains the other; also at the size of the claim.
    """
    controls = tuple(combinations(good[: limits.CONTROLS], 2))
    accused = {name for one in (*chosen, *doubtful) if one.part not in WAYS for name in one.names}
    for one in chosen:
        claimed = ((one.quantity, one.message_bytes),) if isinstance(one, PairFinding) else ()
        for pair in (*_partnered(one, good, within, accused), *controls):
            yield pair, (*limits.RECHECKED, *claimed)
    for one in doubtful:
        own = tuple(size for size in limits.RECHECKED if size[0] == one.quantity)
        met = (
            combinations(one.names, 2)
            if one.part in WAYS
            else _partnered(one, good, within, accused)
        )
        for pair in (*met, *controls):
            yield pair, own


def _partnered(
    one: Claim, good: Sequence[str], within: Topology, accused: Collection[str]
) -> Iterator[Ends]:
    """The nodes in question among themselves, then each with good partners.

    Nodes that are ``accused`` themselves speak for their group only if there are no others.
    One of these is of the node's own group where there is one, even if it is suspected itself: a
    pair that is fast clears both.
    """
    nodes = nodes_of(one, within.groups)
    if one.part == "group":
        nodes = tuple(sorted(nodes, key=lambda node: node in accused))[: limits.NODES_OF_GROUP]
    yield from combinations(nodes, 2)
    others = [node for node in good if node not in nodes]
    for node in nodes:
        own = next((one.nodes for one in within.groups if node in one.nodes), ())
        mates = [other for other in own if other != node and one.part != "group"]
        near = [*(other for other in others if other in own), *mates][:1]
        far = [other for other in others if other not in near]
        yield from ((node, partner) for partner in (*near, *far)[: limits.PARTNERS])
