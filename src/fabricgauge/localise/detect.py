"""From launches of many nodes to who is slow: detect, say what to measure again, confirm."""

from collections.abc import Sequence

import msgspec
import numpy as np

from fabricgauge.localise import limits
from fabricgauge.localise.confirm import confirm
from fabricgauge.localise.crossing import name_slow_crossings
from fabricgauge.localise.ends import (
    SlowEnds,
    SlowUplinks,
    behind,
    find_ends,
    find_uplinks,
    left_of,
    slow_blocks,
)
from fabricgauge.localise.found_groups import found_topology, spectrum
from fabricgauge.localise.groups import (
    Grouping,
    beside_own_block,
    blocks,
    expected_levels,
    grouping,
    in_unit,
    order,
    oversubscription,
)
from fabricgauge.localise.matrices import matrices
from fabricgauge.localise.naming import PARTLY, Naming
from fabricgauge.localise.noise import Excess, Noise, noise
from fabricgauge.localise.recheck import recheck
from fabricgauge.localise.slowness import F64, Slowness, slowness
from fabricgauge.localise.unsteady import changing, jitter, ranking, scattering
from fabricgauge.localise.ways import find_singles, residual, told_ways
from fabricgauge.model.pairs import (
    FabricResult,
    PairAnalysis,
    PairMatrix,
    Recheck,
    Spectrum,
    Suspect,
)
from fabricgauge.model.run import Launch
from fabricgauge.model.topology import Topology
from fabricgauge.stats.series import series_of

_NOWHERE = Topology()


def localise(launches: Sequence[Launch], topology: Topology) -> FabricResult:
    """What all pairs, and those that were measured again, say of nodes, pairs and groups.

    Nothing where only two nodes were measured. A launch of the purpose ``again`` decides about
    its network's suspects. For networks without one, ``rechecks`` says what to measure.
    """
    found = analyse_all(matrices(launches), topology)
    analyses: list[PairAnalysis] = []
    rechecks: list[Recheck] = []
    for network in dict.fromkeys(one.matrix.network for one in found):
        here = [one for one in found if one.matrix.network == network]
        again = [one for one in launches if one.purpose == "again"]
        series = series_of([one for one in again if (one.network or "") == network])
        confirmed = confirm(here, series)
        if series:
            confirmed = tuple(name_slow_crossings(one, launches) for one in confirmed)
        analyses += confirmed
        left = None if series else recheck(here)
        rechecks += [left] if left else []
    return FabricResult(tuple(analyses), tuple(rechecks))


class Solved(msgspec.Struct, frozen=True, eq=False):
    """Slowness beyond what is expected, and everything that is named in it.

    ``middle`` and ``expected`` are slownesses from each group to each: the median over all pairs,
    and that of healthy ones.
    """

    slow: Slowness
    noise: Noise
    middle: F64
    expected: F64
    crossing: Excess | None
    uplinks: SlowUplinks
    ends: SlowEnds


def analyse_all(
    every: Sequence[PairMatrix], topology: Topology = _NOWHERE
) -> tuple[PairAnalysis, ...]:
    """Each matrix; without a topology, groups that a network's latency shows hold for all of it."""
    stated = {
        matrix.network: topology if topology.groups else _of_network(every, matrix.network)
        for matrix in every
    }
    return tuple(analyse(matrix, stated[matrix.network]) for matrix in every)


def _of_network(every: Sequence[PairMatrix], network: str) -> Topology:
    """Groups in the latency of the smallest messages, or else in the largest ones' bandwidth."""
    here = [matrix for matrix in every if matrix.network == network]
    here.sort(key=lambda one: (one.quantity != "latency", one.message_bytes))
    return found_topology(here[0] if here[0].quantity == "latency" else here[-1])


def analyse(matrix: PairMatrix, topology: Topology = _NOWHERE) -> PairAnalysis:
    """Name who is at fault in one matrix; without groups they are looked for in it.

    Bandwidth is taken for a bottleneck: what is slowest on a pair's way decides. Latency is taken
    for a sum of delays. docs/development/who-is-at-fault.md tells the method and its limits.
    """
    groups = grouping(matrix.nodes, topology if topology.groups else found_topology(matrix))
    start = slowness(matrix)
    if not np.isfinite(start.typical):
        return _nothing(matrix, groups)
    solved = solve(matrix, start, groups)
    rest = residual(solved.ends, solved.noise)
    typical = _healthy(matrix, solved)
    naming = Naming(matrix, solved.slow, groups, typical / start.typical if start.adds_up else 1.0)
    singles = find_singles(matrix, rest, solved.noise)
    ways, suspects, doubtful = told_ways(naming, singles, solved.ends)
    found = [*map(naming.group, solved.uplinks.named), *map(naming.node, solved.ends.named), *ways]
    if solved.crossing is not None and solved.crossing.level >= start.limit:
        found.append(naming.oversubscription(solved.crossing))
    maybe, rather_not = _suspected_ends(naming, solved.ends)
    in_doubt = [naming.doubtful_group(end) for end in solved.uplinks.doubtful]
    large = [one for one in in_doubt if abs(one.effect) >= limits.LARGE_GROUP]
    suspects = [*maybe, *large, *suspects]
    doubtful = [*(one for one in in_doubt if one not in large), *rather_not, *doubtful]
    if start.adds_up and solved.noise.passes < 2:
        # Latencies differ between launches far more than within one, because ranks get other
        # processors. After a single pass nothing is suspected, only measured again.
        suspects, doubtful = [], [*suspects, *doubtful]
    jitters = jitter(matrix, start.partners)
    suspects += [*changing(naming, solved.noise), *scattering(naming, jitters)]
    return PairAnalysis(
        matrix, groups.groups, groups.by, typical, rest.sigma,
        in_unit(start, solved.middle[:-1, :-1]),
        in_unit(start, solved.expected),
        order(groups),
        ranking(matrix, solved.slow, groups, solved.ends.both, jitters),
        spectrum(matrix.values, rest.sigma, twice=start.adds_up),
        tuple(sorted(found, key=lambda one: (one.explanation, -abs(one.effect), one.names))),
        tuple(suspects), tuple(doubtful),
    )  # fmt: skip


def _suspected_ends(naming: Naming, ends: SlowEnds) -> tuple[list[Suspect], list[Suspect]]:
    """Ends that look slow: those that are suspected, and those that are only worth another look.

    Where many nodes are slow with most of their partners only, they share links with others, or
    their ways are longer.
    """
    partly = sorted(ends.partly, key=lambda end: -end.level)
    suspects = [naming.suspected_end(end) for end in ends.doubtful]
    unsure = [naming.suspected_end(end, PARTLY) for end in partly]
    few = max(limits.FEW_PAIRS, naming.slow.nodes // limits.NODES_PER_PAIR)
    if len({end.index for end in partly}) <= few:
        return [*suspects, *unsure], []
    return suspects, [] if naming.slow.adds_up else unsure[: limits.MOST_DOUBTFUL]


def solve(matrix: PairMatrix, start: Slowness, groups: Grouping) -> Solved:
    """Take away what is expected, name slow groups, then slow ends."""
    middle, fast = blocks(start, groups)
    first = noise(matrix, start, beside_own_block(start, groups, middle))
    uplinks = find_uplinks(start, groups, fast, first)
    expected = expected_levels(start, groups, fast, slow_blocks(uplinks.named, groups))
    slow = msgspec.structs.replace(start, expected=expected.astype(np.float32), index=groups.index)
    level = noise(matrix, slow)
    crossing = None if slow.adds_up else oversubscription(expected, groups, level)
    hides = crossing is not None and crossing.level > limits.LEAST * slow.limit
    confined = tuple(groups.members[:-1]) if hides else ()
    ends = find_ends(left_of(slow, level, groups, uplinks.named, confined))
    return Solved(slow, level, middle, expected, crossing, uplinks, ends)


def _healthy(matrix: PairMatrix, solved: Solved) -> float:
    """The median over pairs without a slow end; over all pairs where few nodes are slow."""
    slow = solved.slow
    ends = {end.index for end in solved.ends.named}
    if slow.nodes < limits.MANY:
        ends |= behind(slow)
    if len(ends) * limits.MANY_SLOW < slow.nodes:
        return slow.typical
    healthy = np.delete(np.delete(matrix.values, [*ends], axis=0), [*ends], axis=1)
    measured = healthy[np.isfinite(healthy)]
    return float(np.median(measured)) if measured.size else slow.typical


def _nothing(matrix: PairMatrix, groups: Grouping) -> PairAnalysis:
    """The analysis of a matrix in which nothing was measured."""
    table: F64 = np.full((len(groups.groups), len(groups.groups)), np.nan)
    return PairAnalysis(
        matrix, groups.groups, groups.by, 0.0, 0.0, table, table, order(groups), (),
        Spectrum((), (), ()), (), (),
    )  # fmt: skip
