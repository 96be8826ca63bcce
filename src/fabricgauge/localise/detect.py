"""One matrix of pairs → groups, levels, who is slow, and who only looks like it."""

from collections.abc import Sequence

import msgspec
import numpy as np

from fabricgauge.localise.ends import End, Search, SlowEnds, behind, find_ends, left_of
from fabricgauge.localise.found_groups import found_topology, spectrum
from fabricgauge.localise.groups import (
    Blocks,
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
from fabricgauge.localise.noise import Noise, noise
from fabricgauge.localise.slowness import F64, Slowness, slowness
from fabricgauge.localise.unsteady import changing, jitter, ranking, restless
from fabricgauge.localise.uplinks import SlowCrossing, find_uplinks, oversubscription, slow_blocks
from fabricgauge.localise.ways import Remaining, find_singles, remaining, residual
from fabricgauge.model.pairs import PairAnalysis, PairFinding, PairMatrix, Spectrum, Suspect
from fabricgauge.model.topology import Topology

_NOWHERE = Topology()


class Solved(msgspec.Struct, frozen=True, eq=False):
    """Slowness beyond what is expected, and everything that is named in it."""

    slow: Slowness
    grouping: Grouping
    blocks: Blocks
    noise: Noise
    expected: F64
    crossing: SlowCrossing | None
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
    rest = _remaining(matrix, solved, limits)
    jitters = jitter(matrix, start.partners)
    typical = _healthy(matrix, solved, limits)
    usual = typical / start.typical if start.adds_up else 1.0
    naming = Naming(matrix, solved.slow, groups, usual)
    findings = _findings(naming, solved, rest, limits)
    suspects, doubtful = _suspects(naming, solved, rest, jitters, limits)
    return PairAnalysis(
        matrix, groups.groups, groups.by, typical, rest.sigma,
        in_unit(start, solved.blocks.middle[:-1, :-1]),
        in_unit(start, solved.expected),
        order(groups),
        ranking(matrix, solved.slow, groups, solved.ends.both, jitters),
        spectrum(matrix.values, rest.sigma, twice=start.adds_up), findings, suspects, doubtful,
    )  # fmt: skip


def _suspects(
    naming: Naming, solved: Solved, rest: Remaining, jitters: F64, limits: Limits
) -> tuple[tuple[Suspect, ...], tuple[Suspect, ...]]:
    """Who is suspected, and what is only measured again.

    Where ranks fall on processors moves a launch's latencies far more than its own samples
    scatter: before a second pass nobody is suspected, only measured again.
    """
    limit = limits.slowness(solved.slow.quantity)
    slow = (
        *(naming.suspected_end(end) for end in solved.ends.doubtful),
        *naming.suspected_ways(rest),
    )
    unsteady = (
        *map(
            naming.changed, changing(naming.matrix, solved.slow, solved.noise, limit, limits.rate)
        ),
        *(naming.restless(int(i), jitters) for i in restless(jitters)),
    )
    doubtful = tuple(naming.doubtful_ways(rest))
    if solved.slow.adds_up and solved.noise.passes < 2:
        return unsteady, (*slow, *doubtful)
    return (*slow, *unsteady), doubtful


def solve(matrix: PairMatrix, start: Slowness, groups: Grouping, limits: Limits) -> Solved:
    """Take away what is expected, name slow groups, then slow ends."""
    table = blocks(start, groups)
    first = noise(matrix, start, beside_own_block(start, groups, table.middle))
    uplinks = find_uplinks(start, groups, table.fast, first, limits)
    expected = expected_levels(start, groups, table.fast, slow_blocks(uplinks, groups))
    slow = msgspec.structs.replace(start, expected=expected.astype(np.float32), index=groups.index)
    level = noise(matrix, slow)
    crossing = oversubscription(expected, groups, level)
    limit = limits.slowness(slow.quantity)
    bottleneck = not slow.adds_up and crossing is not None and crossing.level > 0.5 * limit
    confined = tuple(groups.members[:-1]) if bottleneck else ()
    search = Search(left_of(slow, groups, uplinks), level, limit, limits.rate, confined)
    return Solved(slow, groups, table, level, expected, crossing, uplinks, find_ends(search))


def _remaining(matrix: PairMatrix, solved: Solved, limits: Limits) -> Remaining:
    rest = residual(solved.ends.left, solved.ends.both, solved.noise)
    limit = limits.slowness(matrix.quantity)
    singles = find_singles(matrix, rest, solved.noise, limit)
    return remaining(singles, rest, [end.index for end in solved.ends.doubtful], limits)


def _healthy(matrix: PairMatrix, solved: Solved, limits: Limits) -> float:
    """The median over pairs of which no end is slow; over all pairs where few nodes are slow."""
    slow = solved.slow
    ends = {end.index for end in solved.ends.named}
    if slow.nodes < MANY:
        ends |= behind(slow, limits.slowness(slow.quantity))
    if len(ends) * MANY_SLOW < slow.nodes:
        return slow.typical
    healthy = np.delete(np.delete(matrix.values, [*ends], axis=0), [*ends], axis=1)
    measured = healthy[np.isfinite(healthy)]
    return float(np.median(measured)) if measured.size else slow.typical


def _of_network(matrices: Sequence[PairMatrix], network: str) -> Topology:
    """Groups in the latency of the smallest messages, or else in the largest ones' bandwidth."""
    here = [matrix for matrix in matrices if matrix.network == network]
    here.sort(key=lambda one: (one.quantity != "latency", one.message_bytes))
    latencies = [one for one in here if one.quantity == "latency"]
    return found_topology((latencies or here[::-1])[0])


def _findings(
    naming: Naming, solved: Solved, rest: Remaining, limits: Limits
) -> tuple[PairFinding, ...]:
    found = [naming.group(end) for end in solved.uplinks]
    found += [naming.node(end) for end in solved.ends.named]
    found += naming.slow_ways(rest)
    crossing = solved.crossing
    limit = limits.slowness(solved.slow.quantity)
    if not solved.slow.adds_up and crossing is not None and crossing.level >= limit:
        found.append(naming.oversubscription(crossing, _crossing_pairs(solved.grouping)))
    return tuple(sorted(found, key=lambda one: (one.explanation, -abs(one.effect), one.names)))


def _crossing_pairs(groups: Grouping) -> int:
    sizes = np.array([one.size for one in groups.members[:-1]])
    return int(sizes.sum() ** 2 - (sizes**2).sum())


def _nothing(matrix: PairMatrix, groups: Grouping) -> PairAnalysis:
    """Of a matrix in which nothing was measured."""
    table: F64 = np.full((len(groups.groups), len(groups.groups)), np.nan)
    return PairAnalysis(
        matrix, groups.groups, groups.by, 0.0, 0.0, table, table, order(groups), (),
        Spectrum((), (), ()), (), (),
    )  # fmt: skip
