"""Detect, say what to measure again, confirm: from launches of many nodes to who is slow."""

from collections.abc import Sequence

from fabricgauge.localise.confirm import confirm
from fabricgauge.localise.detect import analyse_all
from fabricgauge.localise.matrices import matrices
from fabricgauge.localise.recheck import recheck
from fabricgauge.model.pairs import FabricResult, PairAnalysis, Recheck
from fabricgauge.model.run import Launch
from fabricgauge.model.topology import Topology
from fabricgauge.stats.series import Series, series_of


def localise(launches: Sequence[Launch], topology: Topology) -> FabricResult:
    """What all pairs, and those that were measured again, say of nodes, pairs and groups.

    Nothing where only two nodes were measured. A launch of the purpose ``again`` decides about
    its network's suspects; networks without one have what to measure in ``rechecks``.
    """
    made = [launch for launch in launches if launch.rounds]
    by_network: dict[str, list[PairAnalysis]] = {}
    for one in analyse_all(matrices(made), topology) if made else ():
        by_network.setdefault(one.matrix.network, []).append(one)
    analyses: list[PairAnalysis] = []
    rechecks: list[Recheck] = []
    for network, found in by_network.items():
        again = _again(launches, network)
        analyses += confirm(found, again)
        left = None if again else recheck(found, topology)
        rechecks += [left] if left else []
    return FabricResult(tuple(analyses), tuple(rechecks))


def _again(launches: Sequence[Launch], network: str) -> tuple[Series, ...]:
    """Single pairs of a network that were measured to confirm suspicions."""
    return series_of([
        one for one in launches if one.purpose == "again" and (one.network or "") == network
    ])  # fmt: skip
