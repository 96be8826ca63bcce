"""From the launches of an application to speed-up and efficiency, block by block."""

from collections.abc import Sequence

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.scaled import Scaled, ScaleLaunch, ScalePoint, ScaleRun
from fabricgauge.model.varied import Design
from fabricgauge.model.verdict import Outcome
from fabricgauge.stats.repeats import of_repeats

#: That of the design which is how many nodes an arm has: always the last.
NODES = "nodes"

#: Sentences that a point quotes: placement and path, and a launch that differs.
MOST_SAID = 3


def with_points(run: ScaleRun) -> Scaled:
    """What was launched, with a point for each arm in the order of the design.

    What is not valid is no figure: its point has a reason instead, and so has a point whose
    reference has no figure.
    """
    points = (_point(run.design, arm, run.launches, run.ppn) for arm in range(len(run.design.arms)))
    return Scaled(**msgspec.structs.asdict(run), points=tuple(points))


def _point(design: Design, arm: int, launches: Sequence[ScaleLaunch], ppn: int) -> ScalePoint:
    *levels, count = design.arms[arm]
    nodes, fewest = int(count), design.factors[-1].levels[0]
    base = design.arms.index((*levels, fewest))
    own = [one for one in launches if one.arm == arm]
    times, before = _times(launches, arm), _times(launches, base)
    both = sorted(times.keys() & before.keys())
    outcome, summary = _outcome(own, nodes)

    def over(figures: Sequence[float]) -> Estimate | Skipped:
        if not figures:
            return Skipped(summary or "no launch came to its end")
        return of_repeats([Estimate(one, one, one, 0.0, 1, 1) for one in figures])

    share = nodes / int(fewest)
    speedups = [before[block] / times[block] for block in both]
    shares = [one.mpi_share for one in own if isinstance(one.mpi_share, float) and not one.invalid]
    return ScalePoint(
        tuple(levels), nodes, nodes * ppn, outcome, summary, over(list(times.values())),
        over(speedups), over([one / share for one in speedups]), over(shares),
    )  # fmt: skip


def _times(launches: Sequence[ScaleLaunch], arm: int) -> dict[int, float]:
    """By block, of what is valid and came to its end."""
    return {
        one.block: one.wall_s
        for one in launches
        if one.arm == arm and isinstance(one.wall_s, float) and not one.invalid
    }


def _outcome(launches: Sequence[ScaleLaunch], nodes: int) -> tuple[Outcome, str]:
    """The worst word on where its launches ran and what carried them, and that in a sentence."""
    broken = next((one for one in launches if one.status != "ok"), None)
    said = [verdict for one in launches for verdict in one.verdicts]
    outcomes = (one.outcome for one in said)
    worst = min(outcomes, key=lambda one: one.rank, default=Outcome.SKIPPED)
    told = dict.fromkeys(one.summary for one in said if one.outcome is worst)
    summary = "; ".join(list(told)[:MOST_SAID])
    if worst is Outcome.INVALID:
        return worst, summary
    if broken is not None:
        return Outcome.INCONCLUSIVE, broken.message
    if nodes == 1 and worst is Outcome.SKIPPED:
        return worst, "one node: there is no path to prove"
    return worst, summary
