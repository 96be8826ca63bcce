"""One matrix of pairs → groups, levels, who is slow, and who only looks like it."""

from collections.abc import Sequence

import msgspec
import numpy as np

from fabricgauge.localise.ends import End, Search, SlowEnds, behind, find_ends, left_of
from fabricgauge.localise.found_groups import found_topology, spectrum
from fabricgauge.localise.groups import (
    Grouping,
    beside_own_block,
    blocks,
    expected_levels,
    grouping,
    in_unit,
    order,
)
from fabricgauge.localise.limits import MANY, MANY_SLOW, USUAL_LIMITS, Limits
from fabricgauge.localise.naming import Naming
from fabricgauge.localise.noise import Excess, Noise, noise
from fabricgauge.localise.slowness import F64, Slowness, slowness
from fabricgauge.localise.unsteady import changing, jitter, ranking, restless
from fabricgauge.localise.uplinks import find_uplinks, oversubscription, slow_blocks
from fabricgauge.localise.ways import Remaining, find_singles, remaining, residual
from fabricgauge.model.pairs import PairAnalysis, PairFinding, PairMatrix, Spectrum, Suspect
from fabricgauge.model.topology import Topology

_NOWHERE = Topology()


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
    uplinks: list[End]
    ends: SlowEnds


def analyse_all(
    matrices: Sequence[PairMatrix], topology: Topology = _NOWHERE, limits: Limits = USUAL_LIMITS
) -> tuple[PairAnalysis, ...]:
    """Each matrix; without a topology, groups that a network's latency shows hold for all of it."""
    stated = {
        matrix.network: topology if topology.groups else _of_network(matrices, matrix.network)
        for matrix in matrices
    }
    return tuple(analyse(matrix, stated[matrix.network], limits) for matrix in matrices)


def _of_network(matrices: Sequence[PairMatrix], network: str) -> Topology:
    """Groups in the latency of the smallest messages, or else in the largest ones' bandwidth."""
    here = [matrix for matrix in matrices if matrix.network == network]
    here.sort(key=lambda one: (one.quantity != "latency", one.message_bytes))
    return found_topology(here[0] if here[0].quantity == "latency" else here[-1])


def analyse(
    matrix: PairMatrix, topology: Topology = _NOWHERE, limits: Limits = USUAL_LIMITS
) -> PairAnalysis:
    """Name who is at fault in one matrix; without groups they are looked for in it.

    Bandwidth is taken for a bottleneck: what is slowest on a pair's way decides. Latency is taken
    for a sum of delays. docs/explanation/who-is-at-fault.md tells the method and its limits.
    """
    groups = grouping(matrix.nodes, topology if topology.groups else found_topology(matrix))
    start = slowness(matrix)
    if not np.isfinite(start.typical):
        return _nothing(matrix, groups)
    solved = solve(matrix, start, groups, limits)
    limit = limits.slowness(matrix.quantity)
    rest = residual(solved.ends, solved.noise)
    singles = find_singles(matrix, rest, solved.noise, limit)
    ways = remaining(singles, solved.ends, limits)
    jitters = jitter(matrix, start.partners)
    typical = _healthy(matrix, solved, limit)
    usual = typical / start.typical if start.adds_up else 1.0
    naming = Naming(matrix, solved.slow, groups, usual)
    suspects, doubtful = _suspects(naming, solved, ways, jitters, limits)
    return PairAnalysis(
        matrix, groups.groups, groups.by, typical, rest.sigma,
        in_unit(start, solved.middle[:-1, :-1]),
        in_unit(start, solved.expected),
        order(groups),
        ranking(matrix, solved.slow, groups, solved.ends.both, jitters),
        spectrum(matrix.values, rest.sigma, twice=start.adds_up),
        _findings(naming, solved, ways, limit), suspects, doubtful,
    )  # fmt: skip


def solve(matrix: PairMatrix, start: Slowness, groups: Grouping, limits: Limits) -> Solved:
    """Take away what is expected, name slow groups, then slow ends."""
    middle, fast = blocks(start, groups)
    first = noise(matrix, start, beside_own_block(start, groups, middle))
    uplinks = find_uplinks(start, groups, fast, first, limits)
    expected = expected_levels(start, groups, fast, slow_blocks(uplinks, groups))
    slow = msgspec.structs.replace(start, expected=expected.astype(np.float32), index=groups.index)
    level, limit = noise(matrix, slow), limits.slowness(slow.quantity)
    crossing = None if slow.adds_up else oversubscription(expected, groups, level)
    hides = crossing is not None and crossing.level > 0.5 * limit
    confined = tuple(groups.members[:-1]) if hides else ()
    search = Search(left_of(slow, groups, uplinks), level, limit, limits.rate, confined)
    return Solved(slow, level, middle, expected, crossing, uplinks, find_ends(search))


def _healthy(matrix: PairMatrix, solved: Solved, limit: float) -> float:
    """The median over pairs of which no end is slow; over all pairs where few nodes are slow."""
    slow = solved.slow
    ends = {end.index for end in solved.ends.named}
    if slow.nodes < MANY:
        ends |= behind(slow, limit)
    if len(ends) * MANY_SLOW < slow.nodes:
        return slow.typical
    healthy = np.delete(np.delete(matrix.values, [*ends], axis=0), [*ends], axis=1)
    measured = healthy[np.isfinite(healthy)]
    return float(np.median(measured)) if measured.size else slow.typical


def _findings(
    naming: Naming, solved: Solved, ways: Remaining, limit: float
) -> tuple[PairFinding, ...]:
    found = [naming.group(end) for end in solved.uplinks]
    found += [*map(naming.node, solved.ends.named), *naming.slow_ways(ways)]
    if solved.crossing is not None and solved.crossing.level >= limit:
        found.append(naming.oversubscription(solved.crossing))
    return tuple(sorted(found, key=lambda one: (one.explanation, -abs(one.effect), one.names)))


def _suspects(
    naming: Naming, solved: Solved, ways: Remaining, jitters: F64, limits: Limits
) -> tuple[tuple[Suspect, ...], tuple[Suspect, ...]]:
    """Who is suspected, and what is only measured again.

    Where ranks fall on processors moves a launch's latencies far more than its own samples
    scatter: before a second pass nobody is suspected, only measured again.
    """
    limit = limits.slowness(solved.slow.quantity)
    changed = changing(naming.matrix, solved.slow, solved.noise, limit, limits.rate)
    slow = (*map(naming.suspected_end, solved.ends.doubtful), *naming.suspected_ways(ways))
    unsteady = (
        *map(naming.changed, changed),
        *(naming.restless(int(i), jitters) for i in restless(jitters)),
    )
    doubtful = tuple(naming.doubtful_ways(ways))
    if solved.slow.adds_up and solved.noise.passes < 2:
        return unsteady, (*slow, *doubtful)
    return (*slow, *unsteady), doubtful


def _nothing(matrix: PairMatrix, groups: Grouping) -> PairAnalysis:
    """Of a matrix in which nothing was measured."""
    table: F64 = np.full((len(groups.groups), len(groups.groups)), np.nan)
    return PairAnalysis(
        matrix, groups.groups, groups.by, 0.0, 0.0, table, table, order(groups), (),
        Spectrum((), (), ()), (), (),
    )  # fmt: skip
