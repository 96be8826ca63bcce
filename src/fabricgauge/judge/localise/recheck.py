"""Plan the recheck: pairs that are measured again, one at a time, with good partners.

In a round many pairs measure at once, so a switch that others filled may slow a good pair. A
suspect node measures with good partners: if it is slow with each of them, it is at fault. Both ends
of a suspect pair also measure with good partners: if only the pair is slow, the link between them
is at fault. Good pairs of the same launch show the usual figure of that day.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import combinations

import msgspec
import numpy as np

from fabricgauge.judge.localise import limits
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Topology
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

_Size = tuple[Quantity, int]
_Meetings = dict[Ends, dict[_Size, None]]


def recheck(analyses: Sequence[PairAnalysis]) -> Recheck | None:
    """Return what decides about the named and suspect parts of one network; None without any."""
    claims = [claim for analysis in analyses for claim in analysis.claims]
    doubtful = [claim for analysis in analyses for claim in analysis.doubtful]
    if not claims and not doubtful:
        return None
    matrix, within = analyses[0].matrix, Topology(analyses[0].groups)
    plan = meetings(matrix.network, claims, doubtful, _best_first(analyses), within, matrix.nodes)
    single_pass = any(
        len(analysis.matrix.repeats) < 2 and (analysis.claims or analysis.doubtful)
        for analysis in analyses
        if analysis.matrix.quantity == "latency"
    )
    return msgspec.structs.replace(plan, launches=limits.LATENCY_LAUNCHES if single_pass else 1)


def streams_alone(matrix: PairMatrix, pairs: Iterable[Ends]) -> Recheck | None:
    """Return streams of these pairs, there and back, while others sleep; ranks as in the matrix.

    Pairs without a figure in the matrix are left out: they may not be able to connect. The result
    is None if no pair remains.
    """
    place = {node: number for number, node in enumerate(matrix.nodes)}
    measured = tuple(
        pair
        for pair in dict.fromkeys((min(pair), max(pair)) for pair in pairs)
        if np.isfinite(matrix.values[place[pair[0]], place[pair[1]]])
    )
    if not measured:
        return None
    sizes = [size for size in limits.RECHECKED if size[0] == "bandwidth"]
    return Recheck(
        network=matrix.network,
        meetings=tuple(Meeting(*pair, *size) for pair in measured for size in sizes),
        nodes=tuple(node for node in matrix.nodes if any(node in pair for pair in measured)),
    )


def meetings(
    network: str,
    claims: Sequence[Claim],
    doubtful: Sequence[Suspect],
    healthy: Sequence[str],
    within: Topology,
    order: Sequence[str] = (),
) -> Recheck:
    """Plan the recheck of ``claims``: named parts first, nodes before pairs, then the worst.

    ``doubtful`` parts are below the threshold for a suspect. Each is measured in its own quantity
    only, and the ends of a doubtful pair only with each other. ``healthy`` are the nodes to take
    partners from, the best first. ``within`` lists each group's nodes. Ranks follow ``order``,
    then the meetings: a launcher may be unable to start them in another order than the
    allocation's.
    """
    good = _good(claims, doubtful, healthy, within)
    worst_first = sorted(
        claims,
        key=lambda claim: (isinstance(claim, Suspect), claim.part in WAYS, -abs(claim.effect)),
    )
    known = [claim for claim in worst_first if nodes_of(claim, within.groups)]
    chosen = known[: limits.MOST_SUSPECTS]
    if not chosen and not doubtful:
        return Recheck(network, Skipped("the nodes of the suspects are unknown"))
    planned: _Meetings = {}
    for pair, sizes in _planned_pairs(chosen, doubtful, good, within):
        planned_pair = pair[::-1] if pair[::-1] in planned else pair
        planned.setdefault(planned_pair, {}).update(dict.fromkeys(sizes))
    if not planned:
        return Recheck(network, Skipped("there is no partner to measure the suspects against"))
    nodes = dict.fromkeys(node for pair in planned for node in pair)
    return Recheck(
        network=network,
        meetings=tuple(Meeting(*pair, *size) for pair, sizes in planned.items() for size in sizes),
        nodes=(
            *(node for node in order if node in nodes),
            *(node for node in nodes if node not in order),
        ),
    )


def _best_first(analyses: Sequence[PairAnalysis]) -> tuple[str, ...]:
    """Return all nodes, those that stand out least first."""
    worst: dict[str, float] = {}
    for analysis in analyses:
        for rank in analysis.ranking:
            effect = max(abs(rank.sending), abs(rank.receiving))
            worst[rank.node] = max(worst.get(rank.node, 0.0), effect)
    return tuple(sorted(worst, key=lambda node: (worst[node], node)))


def _good(
    claims: Sequence[Claim], doubtful: Sequence[Suspect], healthy: Sequence[str], within: Topology
) -> tuple[str, ...]:
    """Return the nodes that are not suspected themselves, the ends of suspect pairs last.

    If that leaves too few to compare with, as in a fabric of four nodes, the least doubtful of
    all fill up: their pairs decide about them as well.
    """
    doubts = dict[str, int]()
    faults = [claim for claim in claims if isinstance(claim, PairFinding)]
    suspects = [claim for claim in claims if not isinstance(claim, PairFinding)]
    for doubt, doubted in ((_DOUBTFUL, doubtful), (_SUSPECT, suspects), (_NAMED, faults)):
        for claim in doubted:
            if claim.part not in WAYS:
                doubts |= dict.fromkeys(nodes_of(claim, within.groups), doubt)
            elif doubt > _DOUBTFUL:
                doubts |= dict.fromkeys([name for name in claim.names if name not in doubts], _END)
    ordered = sorted(dict.fromkeys(healthy), key=lambda node: doubts.get(node, 0))
    sure = [node for node in ordered if doubts.get(node, 0) <= _END]
    if len(sure) < limits.FEWEST_NODES:
        return tuple(ordered[: limits.FEWEST_NODES])
    return _spread(sure, within)


def _spread(nodes: Sequence[str], within: Topology) -> tuple[str, ...]:
    """Put the first of each group before the second of any: good pairs cross groups, too."""
    group = {node: peers.name for peers in within.groups for node in peers.nodes}
    turns, counts = dict[str, int](), Counter[str]()
    for node in nodes:
        name = group.get(node, "")
        counts[name] += 1 if name else 0
        turns[node] = counts[name]
    return tuple(sorted(nodes, key=lambda node: turns[node]))


#: How doubtful a node is.
_END, _DOUBTFUL, _SUSPECT, _NAMED = 1, 2, 3, 4


def _planned_pairs(
    chosen: Sequence[Claim], doubtful: Sequence[Suspect], good: Sequence[str], within: Topology
) -> Iterator[tuple[Ends, tuple[_Size, ...]]]:
    """Yield pairs with their sizes: those of each suspect, and the control pairs.

    Both quantities are measured, since one often explains the other; also at the claim's size.
    """
    controls = tuple(combinations(good[: limits.CONTROLS], 2))
    suspects = {
        name for claim in (*chosen, *doubtful) if claim.part not in WAYS for name in claim.names
    }
    for claim in chosen:
        claimed = ((claim.quantity, claim.message_bytes),) if isinstance(claim, PairFinding) else ()
        for pair in (*_pairs_with_partners(claim, good, within, suspects), *controls):
            yield pair, (*limits.RECHECKED, *claimed)
    for claim in doubtful:
        sizes = tuple(size for size in limits.RECHECKED if size[0] == claim.quantity)
        pairs = (
            combinations(claim.names, 2)
            if claim.part in WAYS
            else _pairs_with_partners(claim, good, within, suspects)
        )
        for pair in (*pairs, *controls):
            yield pair, sizes


def _pairs_with_partners(
    claim: Claim, good: Sequence[str], within: Topology, suspects: Collection[str]
) -> Iterator[Ends]:
    """Yield pairs of the claimed nodes among themselves, then of each with good partners.

    Nodes that are ``suspects`` themselves show their group only if it has no others. One partner
    is of the node's own group if possible, even a suspected one: a pair that is fast clears both.
    """
    nodes = nodes_of(claim, within.groups)
    if claim.part == "group":
        nodes = tuple(sorted(nodes, key=lambda node: node in suspects))[: limits.NODES_OF_GROUP]
    yield from combinations(nodes, 2)
    partners = [node for node in good if node not in nodes]
    for node in nodes:
        group = next((peers.nodes for peers in within.groups if node in peers.nodes), ())
        mates = [partner for partner in group if partner != node and claim.part != "group"]
        near = [*(partner for partner in partners if partner in group), *mates][:1]
        far = [partner for partner in partners if partner not in near]
        yield from ((node, partner) for partner in (*near, *far)[: limits.PARTNERS])
