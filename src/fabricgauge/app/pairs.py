"""From the rounds of a run to what they say of its nodes, and to whom to measure again."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from fabricgauge.ceiling.technologies import ceilings
from fabricgauge.localise.confirm import settled_all
from fabricgauge.localise.detect import analyse_all
from fabricgauge.localise.matrices import matrices
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Network
from fabricgauge.model.pairs import FabricResult, Finding, PairAnalysis, Suspect
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.model.run import Run
from fabricgauge.model.topology import Topology
from fabricgauge.plan.plan import ASSUMED_PAYLOAD_BYTES_PER_S
from fabricgauge.plan.suspects import Again, again
from fabricgauge.stats.series import Series, series_of


def fabric_result(run: Run) -> FabricResult:
    """What the matrices of all pairs say; nothing where only two nodes were measured."""
    made = [launch for launch in run.launches if launch.rounds]
    if not made:
        return FabricResult()
    analyses = analyse_all(matrices(made), run.fabric.topology)
    of_network = _by_network(analyses)
    return FabricResult(
        tuple(
            one
            for network, each in of_network.items()
            for one in settled_all(each, _again(run, network))
        )
    )


def _by_network(analyses: Iterable[PairAnalysis]) -> dict[str, list[PairAnalysis]]:
    found: dict[str, list[PairAnalysis]] = {}
    for one in analyses:
        found.setdefault(one.matrix.network, []).append(one)
    return found


def _again(run: Run, network: str) -> tuple[Series, ...]:
    """Single pairs of a network that were measured to confirm suspicions."""
    return series_of([
        launch
        for launch in run.launches
        if launch.purpose == "again" and (launch.network or "") == network
    ])  # fmt: skip


class Recheck(msgspec.Struct, frozen=True):
    """A launch that measures suspects again, or why there is none for that network."""

    network: str | None
    launch: PlannedLaunch | Skipped


def rechecks(run: Run, result: FabricResult) -> Iterator[Recheck]:
    """One launch per network on which somebody is suspected."""
    number = max(launch.number for launch in run.plan.launches)
    limits = ceilings(run.fabric.networks)
    for name, analyses in _by_network(result.analyses).items():
        network = next((one for one in run.fabric.networks if one.name == name), None)
        limit = limits.get(name)
        rate = (
            ASSUMED_PAYLOAD_BYTES_PER_S
            if limit is None or isinstance(limit, Skipped)
            else limit.payload_bytes_per_s
        )
        made = second_look(number + 1, analyses, network, rate, run.fabric.topology)
        if isinstance(made, Again):
            number += 1
            yield Recheck(name, msgspec.structs.replace(made.launch, purpose="again"))
        elif made is not None:
            yield Recheck(name, made)


def second_look(
    number: int,
    analyses: Sequence[PairAnalysis],
    network: Network | None,
    payload_bytes_per_s: float,
    topology: Topology,
) -> Again | Skipped | None:
    """What is measured again of one network's matrices; None where everybody is beyond doubt."""
    accused = tuple(_accused(analyses))
    doubtful = tuple(one for analysis in analyses for one in analysis.doubtful)
    if not accused and not doubtful:
        return None
    healthy = _healthy(analyses)
    order = analyses[0].matrix.nodes
    return again(number, accused, healthy, network, payload_bytes_per_s, topology, doubtful, order)


def _accused(analyses: Sequence[PairAnalysis]) -> Iterator[Finding | Suspect]:
    for analysis in analyses:
        yield from (one for one in analysis.findings if one.explanation == "fault")
        yield from analysis.suspects


def _healthy(analyses: Sequence[PairAnalysis]) -> tuple[str, ...]:
    """All nodes, those that stand out least first."""
    worst: dict[str, float] = {}
    for analysis in analyses:
        for one in analysis.ranking:
            effect = max(abs(one.sending), abs(one.receiving))
            worst[one.node] = max(worst.get(one.node, 0.0), effect)
    return tuple(sorted(worst, key=lambda node: (worst[node], node)))
