"""Find the slow parts of a fabric: detect, plan the recheck, confirm."""

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from fabricgauge.judge.localise import limits
from fabricgauge.judge.localise.confirm import confirm
from fabricgauge.judge.localise.crossing import name_slow_crossings
from fabricgauge.judge.localise.ends import (
    Endpoint,
    SlowEnds,
    explain_by_groups,
    find_ends,
    find_slow_at_best,
    find_uplinks,
    slow_blocks,
)
from fabricgauge.judge.localise.groups import (
    Grouping,
    beside_own_block,
    blocks,
    expected_levels,
    found_topology,
    grouping,
    in_unit,
    oversubscription,
    spectrum,
)
from fabricgauge.judge.localise.matrices import matrices
from fabricgauge.judge.localise.naming import LATE, PARTLY, STANDARD, Naming
from fabricgauge.judge.localise.recheck import recheck
from fabricgauge.judge.localise.slowness import F64, Excess, Noise, Slowness, noise, slowness
from fabricgauge.judge.localise.ways import (
    changing,
    classify_pairs,
    find_singles,
    jitter,
    ranking,
    residual,
    scattering,
)
from fabricgauge.judge.stats.series import series_of
from fabricgauge.model.fabric import Topology
from fabricgauge.model.pairs import (
    FabricResult,
    PairAnalysis,
    PairMatrix,
    Recheck,
    Spectrum,
    Suspect,
)
from fabricgauge.model.run import Launch

_NOWHERE = Topology()


def localise(launches: Sequence[Launch], topology: Topology) -> FabricResult:
    """Return what all pairs, and those that were measured again, show of nodes, pairs and groups.

    The result is empty if only two nodes were measured. A launch of the purpose ``again`` decides
    about its network's suspects. For networks without one, ``rechecks`` are what to measure.
    """
    detected = analyse_all(matrices(launches), topology)
    analyses: list[PairAnalysis] = []
    rechecks: list[Recheck] = []
    for network in dict.fromkeys(analysis.matrix.network for analysis in detected):
        of_network = [analysis for analysis in detected if analysis.matrix.network == network]
        series = series_of([
            launch
            for launch in launches
            if launch.purpose == "again" and (launch.network or "") == network
        ])  # fmt: skip
        confirmed = confirm(of_network, series)
        if series:
            confirmed = tuple(name_slow_crossings(analysis, launches) for analysis in confirmed)
        analyses += confirmed
        plan = None if series else recheck(of_network)
        rechecks += [plan] if plan else []
    return FabricResult(tuple(analyses), tuple(rechecks))


class Solved(msgspec.Struct, frozen=True, eq=False):
    """The slowness beyond the expected one, and everything that is named in it.

    ``middle`` and ``expected`` are slownesses from each group to each: the median over all pairs,
    and that of healthy ones.
    """

    slow: Slowness
    noise: Noise
    middle: F64
    expected: F64
    crossing: Excess | None
    uplinks: list[Endpoint]
    doubtful_uplinks: list[Endpoint]
    ends: SlowEnds


def analyse_all(
    all_matrices: Sequence[PairMatrix], topology: Topology = _NOWHERE
) -> tuple[PairAnalysis, ...]:
    """Analyse each matrix. Without a topology, the groups in a network's latency hold for all."""
    stated = {
        matrix.network: topology if topology.groups else _found_groups(all_matrices, matrix.network)
        for matrix in all_matrices
    }
    return tuple(analyse(matrix, stated[matrix.network]) for matrix in all_matrices)


def _found_groups(all_matrices: Sequence[PairMatrix], network: str) -> Topology:
    """Return the groups in the latency of the smallest messages, else in the largest ones' rate."""
    ordered = sorted(
        (matrix for matrix in all_matrices if matrix.network == network),
        key=lambda matrix: (matrix.quantity != "latency", matrix.message_bytes),
    )
    return found_topology(ordered[0] if ordered[0].quantity == "latency" else ordered[-1])


def analyse(matrix: PairMatrix, topology: Topology = _NOWHERE) -> PairAnalysis:
    """Name the parts at fault in one matrix; without a topology, its groups are looked for.

    Bandwidth is taken for a bottleneck: the slowest part of a pair's path decides. Latency is taken
    for a sum of delays. docs/development/who-is-at-fault.md has the method and its limits.
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
    pairs, suspects, doubtful = classify_pairs(naming, singles, solved.ends)
    findings = [
        *map(naming.group, solved.uplinks), *map(naming.node, solved.ends.named), *pairs,
    ]  # fmt: skip
    if solved.crossing is not None and solved.crossing.level >= start.limit:
        findings.append(naming.oversubscription(solved.crossing))
    likely, unlikely = _suspected_ends(naming, solved.ends)
    in_doubt = [naming.doubtful_group(end) for end in solved.doubtful_uplinks]
    large = [suspect for suspect in in_doubt if abs(suspect.effect) >= limits.LARGE_GROUP]
    suspects = [*likely, *large, *suspects]
    doubtful = [*(suspect for suspect in in_doubt if suspect not in large), *unlikely, *doubtful]
    if start.adds_up and solved.noise.passes < 2:
        # Latencies differ between launches far more than within one, because ranks get other
        # processors. After a single pass nothing is suspected, only measured again.
        suspects, doubtful = [*_late_of_three(naming)], [*suspects, *doubtful]
    findings.sort(key=lambda fault: (fault.explanation, -abs(fault.effect), fault.names))
    jitters = jitter(matrix, start.partners)
    suspects += [*changing(naming, solved.noise), *scattering(naming, jitters)]
    return PairAnalysis(
        matrix, groups.groups, groups.by, typical, rest.sigma,
        in_unit(start, solved.middle[:-1, :-1]),
        in_unit(start, solved.expected),
        tuple(groups.order.tolist()),
        ranking(matrix, solved.slow, groups, solved.ends.level_tests, jitters),
        spectrum(matrix.values, rest.sigma, twice=start.adds_up),
        tuple(findings), tuple(suspects), tuple(doubtful),
    )  # fmt: skip


def _suspected_ends(naming: Naming, ends: SlowEnds) -> tuple[list[Suspect], list[Suspect]]:
    """Return the slow-looking ends: the suspects, and those that are only worth a recheck.

    If many nodes are slow with most of their partners only, they share links with others, or
    their paths are longer.
    """
    partly = sorted(ends.partly, key=lambda end: -end.level)
    suspects = [naming.suspected_end(end) for end in ends.doubtful]
    unsure = [naming.suspected_end(end, PARTLY) for end in partly]
    most = max(limits.FEW_PAIRS, naming.slow.nodes // limits.NODES_PER_PAIR)
    if len({end.index for end in partly}) <= most:
        return [*suspects, *unsure], []
    return suspects, [] if naming.slow.adds_up else unsure[: limits.MOST_DOUBTFUL]


def _late_of_three(naming: Naming) -> Iterator[Suspect]:
    """Yield the node of three whose two latencies are far above the third: none is left to test."""
    values, nodes = naming.matrix.values, naming.matrix.nodes
    if len(nodes) != limits.FEWEST_NODES:
        return
    for index, node in enumerate(nodes):
        latencies = np.delete(values[index], index)
        first, second = (other for other in range(len(nodes)) if other != index)
        usual = values[first, second]
        if latencies.min() >= limits.LATE * usual:
            effect = float(np.median(latencies) / usual) - 1.0
            yield Suspect("node", (node,), "latency", effect, LATE, STANDARD)


def solve(matrix: PairMatrix, start: Slowness, groups: Grouping) -> Solved:
    """Subtract the expected slowness, name slow groups, then slow ends."""
    middle, fast = blocks(start, groups)
    first = noise(matrix, start, beside_own_block(start, groups, middle))
    uplinks, doubtful = find_uplinks(start, groups, fast, first)
    expected = expected_levels(start, groups, fast, slow_blocks(uplinks, groups))
    slow = msgspec.structs.replace(start, expected=expected.astype(np.float32), index=groups.index)
    level = noise(matrix, slow)
    crossing = None if slow.adds_up else oversubscription(expected, groups, level)
    hides = crossing is not None and crossing.level > limits.LEAST * slow.limit
    confined = tuple(groups.members[:-1]) if hides else ()
    ends = find_ends(explain_by_groups(slow, level, groups, uplinks, confined))
    return Solved(slow, level, middle, expected, crossing, uplinks, doubtful, ends)


def _healthy(matrix: PairMatrix, solved: Solved) -> float:
    """Return the median over pairs without a slow end, or over all pairs if few nodes are slow."""
    slow = solved.slow
    ends = {end.index for end in solved.ends.named}
    if slow.nodes < limits.MANY:
        ends |= find_slow_at_best(slow)
    if len(ends) * limits.MANY_SLOW < slow.nodes:
        return slow.typical
    healthy = np.delete(np.delete(matrix.values, [*ends], axis=0), [*ends], axis=1)
    measured = healthy[np.isfinite(healthy)]
    return float(np.median(measured)) if measured.size else slow.typical


def _nothing(matrix: PairMatrix, groups: Grouping) -> PairAnalysis:
    """Return the analysis of a matrix in which nothing was measured."""
    table: F64 = np.full((len(groups.groups), len(groups.groups)), np.nan)
    return PairAnalysis(
        matrix, groups.groups, groups.by, 0.0, 0.0, table, table, tuple(groups.order.tolist()), (),
        Spectrum((), (), ()), (), (),
    )  # fmt: skip
