"""Which pairs to measure again before anybody is named."""

import numpy as np

from fabricgauge.model.pairs import PairAnalysis
from fabricgauge.model.topology import Topology
from fabricgauge.stats.pairs.analysis import Solved, solve
from fabricgauge.stats.pairs.grouping import FROM_DATA, grouping
from fabricgauge.stats.pairs.limits import Limits
from fabricgauge.stats.pairs.singles import find_singles, residual
from fabricgauge.stats.pairs.slowness import slowness

#: Each node that is named or suspected meets so many that are known to be good.
_PARTNERS = 3

#: So many conspicuous pairs, or as many as there are nodes.
_LEAST_PAIRS = 8

_USUAL = Limits()


def to_measure_again(
    analysis: PairAnalysis, limits: Limits = _USUAL
) -> tuple[tuple[str, str], ...]:
    """Pairs of nodes, the most conspicuous first, that decide on findings and suspects.

    Conspicuous pairs themselves, many more of them than the noise makes suspects; then each
    named or suspected node, and each end of a named or suspected pair, with nodes that are known to
    be good. Measured one at a time in further rounds and given to
    :func:`fabricgauge.stats.pairs.matrices.matrices` with the first launches, they make the next
    analysis sure where this one was not.
    """
    matrix = analysis.matrix
    if not np.isfinite(matrix.values).any():
        return ()
    source = FROM_DATA if analysis.grouped_by == "data" else "stated"
    groups = grouping(matrix.nodes, Topology(analysis.groups, source))
    solved = solve(matrix, slowness(matrix), groups, limits)
    pairs = dict.fromkeys(_conspicuous(analysis, solved, limits))
    pairs.update(dict.fromkeys(_cross_paired(analysis)))
    return tuple(pairs)


def _conspicuous(analysis: PairAnalysis, solved: Solved, limits: Limits) -> list[tuple[str, str]]:
    matrix = analysis.matrix
    rest = residual(solved.left, solved.both, solved.noise)
    found = find_singles(matrix, rest, solved.noise, limits.slowness(matrix.quantity))
    pairs = (
        _ordered(matrix.nodes[i], matrix.nodes[j])
        for i, j in zip(found.rows, found.columns, strict=True)
    )
    return list(dict.fromkeys(pairs))[: max(_LEAST_PAIRS, len(matrix.nodes))]


def _cross_paired(analysis: PairAnalysis) -> list[tuple[str, str]]:
    nodes = set(analysis.matrix.nodes)
    named = [(one.part, one.names) for one in analysis.findings]
    named += [(one.part, one.names) for one in analysis.suspects]
    doubtful = dict.fromkeys(
        name for part, names in named if part != "group" for name in names if name in nodes
    )
    good = [one.node for one in reversed(analysis.ranking) if one.node not in doubtful]
    return [_ordered(node, other) for node in doubtful for other in good[:_PARTNERS]]


def _ordered(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one < other else (other, one)
