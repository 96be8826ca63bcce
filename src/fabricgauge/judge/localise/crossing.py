"""Name a group by what all its crossing pairs carry together, at the same time.

A single pair cannot fill an uplink of several links, as between the groups of a dragonfly. So a
second measurement of single pairs cannot show that such an uplink has lost rate. Each round of the
matrix is one measurement of what the pairs of two groups carry at once.
"""

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from fabricgauge.judge.localise import limits
from fabricgauge.judge.localise.confirm import (
    PairRecheck,
    compare_pairs,
    finding_of,
    is_explained,
    recheck_figures,
)
from fabricgauge.judge.localise.matrices import node_of_rank
from fabricgauge.judge.localise.slowness import F64, I64
from fabricgauge.model.pairs import ENDS, PairAnalysis, PairFinding, Suspect
from fabricgauge.model.passes import passes_of
from fabricgauge.model.plan import CLOSING
from fabricgauge.model.run import Launch

#: A group's pairs are tested outwards and inwards.
_DIRECTIONS = 2
_TOGETHER = "the pairs that cross at once carry less together than those of other groups"


def name_slow_crossings(analysis: PairAnalysis, launches: Sequence[Launch]) -> PairAnalysis:
    """Return the analysis with each suspect group named whose crossing pairs carry less together.

    ``launches`` are those that the matrix is made of.
    """
    if analysis.matrix.quantity == "latency":  # ways between groups differ in length
        return analysis
    named = {fault.names for fault in analysis.faults if fault.part == "group"}
    claims = {
        claim.names[0]: claim
        for claim in (*analysis.doubtful, *analysis.suspects)
        if claim.part == "group" and claim.names not in named
    }
    rates = _crossing_rates(analysis, launches, tuple(claims)) if claims else {}
    findings: list[PairFinding] = []
    worst_first = sorted(claims.values(), key=lambda claim: -abs(claim.effect))
    for claim in worst_first:
        # A slow group makes the others' crossing pairs slower, but not the other way round. Tests
        # in sequence need no correction for their number: the first that fails ends it.
        least = limits.SHOWN * abs(claim.effect)
        doubted = frozenset(other.names[0] for other in worst_first if abs(other.effect) >= least)
        slow = list(_slow_crossing(analysis, claim, rates, doubted))
        if not slow:
            break
        findings += slow
    suspects = tuple(
        suspect
        for suspect in analysis.suspects
        if not any(suspect.names == finding.names for finding in findings)
        and not is_explained(analysis, findings, suspect)
    )
    return msgspec.structs.replace(
        analysis, findings=(*analysis.findings, *findings), suspects=suspects
    )


def _slow_crossing(
    analysis: PairAnalysis,
    claim: Suspect,
    rates: dict[tuple[str, str], list[float]],
    doubted: frozenset[str],
) -> Iterator[PairFinding]:
    """Yield the group as a fault if its pairs to, or from, every other group carry less.

    Pairs with the groups in ``doubted``, which look about as slow, show nothing of this one. If
    only two groups are sound, their single rounds are compared with.
    """
    (group,) = claim.names
    size = analysis.matrix.message_bytes
    rechecks = [PairRecheck(ends, size, float(np.median(sums))) for ends, sums in rates.items()]
    good = [pair for pair in rechecks if not doubted & {*pair.ends}]
    if len(good) < limits.FEWEST_GOOD:
        good = [PairRecheck(pair.ends, size, rate) for pair in good for rate in rates[pair.ends]]
    slow = []
    for side in (0, 1):
        outward = [
            pair
            for pair in rechecks
            if pair.ends[side] == group and pair.ends[1 - side] not in doubted
        ]
        compared = compare_pairs(outward, good, "bandwidth")
        partners = len(outward) >= limits.FEWEST_GROUPS - 1
        if partners and compared.slower >= limits.CROSSING_LOSS and compared.shows(_DIRECTIONS):
            slow.append(compared)
    if not slow:
        return
    worst = max(slow, key=lambda compared: compared.slower)
    finding = finding_of(claim, "group", worst, _DIRECTIONS)
    yield msgspec.structs.replace(
        finding,
        affected=len(analysis.nodes_of(claim)),
        evidence=(f"among all pairs: {claim.reason}; {_TOGETHER}",),
        rechecked=msgspec.structs.replace(
            recheck_figures(worst, {group}), own_pairs=(), good_pairs=()
        ),
    )


def _crossing_rates(
    analysis: PairAnalysis, launches: Sequence[Launch], doubted: Sequence[str]
) -> dict[tuple[str, str], list[float]]:
    """Return bytes/s that two groups' pairs carry at once, from one to the other, by round.

    Only rounds count in which at least half of the smaller group's nodes cross.
    Pairs with a node that is named or suspected are left out. A few sound groups stand for all.
    """
    matrix = analysis.matrix
    sound = [group.name for group in analysis.groups if group.name not in doubted]
    names = [*doubted, *sound[: limits.CROSSING_GROUPS]]
    members = {group.name: group.nodes for group in analysis.groups}
    slow_nodes = {name for claim in analysis.claims if claim.part in ENDS for name in claim.names}
    group_of = np.full(len(matrix.nodes) + 1, -1, dtype=np.int64)  # the last: an unknown node
    place = {node: number for number, node in enumerate(matrix.nodes)}
    for number, name in enumerate(names):
        group_of[[place[node] for node in members[name] if node not in slow_nodes]] = number
    sizes = np.array([len(members[name]) for name in names])
    enough = np.maximum(2, np.minimum.outer(sizes, sizes) / 2)
    sums = [
        np.where(counts >= enough, rates, np.nan)
        for rates, counts in _round_sums(analysis, launches, group_of, len(names))
    ]
    if not sums:
        return {}
    stacked = np.stack(sums)
    return {
        (names[origin], names[target]): [
            float(rate) for rate in stacked[:, origin, target] if np.isfinite(rate)
        ]
        for origin, target in np.argwhere(
            np.isfinite(stacked).sum(axis=0) >= limits.CROSSING_ROUNDS
        )
        if origin != target
    }


def _round_sums(
    analysis: PairAnalysis, launches: Sequence[Launch], group_of: I64, count: int
) -> Iterator[tuple[F64, F64]]:
    """Yield for each round the sum of rates, and the number of pairs, from each group to each."""
    matrix = analysis.matrix
    for launch in launches:
        if launch.purpose != "measure" or (launch.network or "") != matrix.network:
            continue
        rounds = [
            turn
            for pair_pass in passes_of(launch)
            if pair_pass.quantity == "bandwidth"
            and pair_pass.message_bytes == matrix.message_bytes
            and not pair_pass.case.endswith(CLOSING)
            for turn in pair_pass.sampled
        ]
        groups = group_of[node_of_rank(launch, matrix.nodes)]
        for turn in rounds[:: max(1, len(rounds) // limits.CROSSING_SAMPLE)]:
            origins, targets = groups[turn.origins], groups[turn.targets]
            good = (origins >= 0) & (targets >= 0)
            cells = origins[good] * count + targets[good]
            rates = turn.values[good]
            square = count, count
            sums = np.bincount(cells, rates, minlength=count * count).astype(float)
            pairs = np.bincount(cells, minlength=count * count).astype(float)
            yield sums.reshape(square), pairs.reshape(square)
