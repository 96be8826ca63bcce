"""How much longer than the usual way each way is, so that pairs far apart can be compared."""

import msgspec
import numpy as np
from numpy.typing import NDArray

from fabricgauge.model.pairs import PairAnalysis
from fabricgauge.stats.series import Series


class Distances(msgspec.Struct, frozen=True, eq=False):
    """Seconds beyond the typical latency from group to group, (G + 1, G + 1).

    All zero for a bandwidth: a pair that measures alone has the crossing links to itself.
    """

    group_of: dict[str, int]
    beyond: NDArray[np.float64]

    def beyond_usual(self, one: Series) -> float:
        """What the way from the origin to the target adds to the usual one."""
        last = len(self.beyond) - 1
        ends = (self.group_of.get(end, last) for end in (one.origin, one.target))
        return float(self.beyond[tuple(ends)])


def distances(analysis: PairAnalysis) -> Distances:
    """Those that the matrix of all pairs shows."""
    group_of = {node: at for at, group in enumerate(analysis.groups) for node in group.nodes}
    adds_up = analysis.matrix.quantity == "latency"
    beyond = analysis.expected - analysis.typical if adds_up else np.zeros_like(analysis.expected)
    return Distances(group_of, np.nan_to_num(beyond))
