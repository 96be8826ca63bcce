"""Detect, say what to measure again, confirm: from launches of many nodes to who is slow."""

from collections.abc import Sequence

from fabricgauge.localise.confirm import confirm
from fabricgauge.localise.detect import analyse_all
from fabricgauge.localise.matrices import matrices
from fabricgauge.localise.recheck import recheck
from fabricgauge.model.pairs import FabricResult, PairAnalysis, Recheck
from fabricgauge.model.run import Launch
from fabricgauge.model.topology import Topology
from fabricgauge.stats.series import series_of


def localise(launches: Sequence[Launch], topology: Topology) -> FabricResult:
    """What all pairs, and those that were measured again, say of nodes, pairs and groups.

    Nothing where only two nodes were measured. A launch of the purpose ``again`` decides about
    its network's suspects; networks without one have what to measure in ``rechecks``.
    """
    found = analyse_all(matrices(launches), topology)
    analyses: list[PairAnalysis] = []
    rechecks: list[Recheck] = []
    for network in dict.fromkeys(one.matrix.network for one in found):
        here = [one for one in found if one.matrix.network == network]
        again = [one for one in launches if one.purpose == "again"]
        series = series_of([one for one in again if (one.network or "") == network])
        analyses += confirm(here, series)
        left = None if series else recheck(here)
        rechecks += [left] if left else []
    return FabricResult(tuple(analyses), tuple(rechecks))
