"""Hold an application's launches, and compute speed-up and efficiency from them, block by block."""

from collections.abc import Sequence

import msgspec

from fabricgauge.judge.stats.curves import combine_estimates
from fabricgauge.model.absence import Skipped
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.varied import Design
from fabricgauge.model.verdict import Outcome, Verdict
from fabricgauge.store.run_directory import RunDirectory

#: The file of a run directory with the result.
SCALED = "scale.json"


class ScaleLaunch(msgspec.Struct, frozen=True):
    """One start of the application.

    ``arm`` is its index in the design. ``wall_s`` is the slowest rank's time between MPI_Init and
    MPI_Finalize, or the reason why there is none. ``left_node_bytes`` are the least bytes that must
    have crossed the network according to the profile. ``metric`` is the application's own figure,
    the reason why there is none, or None if no metric was asked for.
    """

    block: int
    arm: int
    nodes: tuple[str, ...]
    status: str
    message: str
    wall_s: float | Skipped
    mpi_share: float | Skipped
    left_node_bytes: int = 0
    verdicts: tuple[Verdict, ...] = ()
    metric: float | Skipped | None = None

    @property
    def invalid(self) -> bool:
        return any(verdict.outcome is Outcome.INVALID for verdict in self.verdicts)


class ScalePoint(msgspec.Struct, frozen=True):
    """One number of nodes under one setting, over all blocks.

    ``speedup`` is relative to the fewest nodes of the same setting, block by block; ``efficiency``
    is the speedup divided by the growth of the number of nodes. If the problem grows with the
    nodes, a launch did as much more work: ``speedup`` is of the work per time. With a metric it is
    of the metric. ``outcome`` is the worst of its
    launches' placement and path. Intervals reach from the least to the largest of the blocks, with
    the confidence of these order statistics for the median.
    """

    levels: tuple[str, ...]
    nodes: int
    ranks: int
    outcome: Outcome
    summary: str
    time: Estimate | Skipped
    speedup: Estimate | Skipped
    efficiency: Estimate | Skipped
    mpi_share: Estimate | Skipped
    metric: Estimate | Skipped | None = None


class Metric(msgspec.Struct, frozen=True):
    """A figure that the application prints; more is better.

    The last text that ``pattern`` matches counts, its first group is the figure.
    """

    name: str
    pattern: str


class ScaleRun(msgspec.Struct, frozen=True):
    """All launches. The design's ``factors`` are the varied settings, then the number of nodes.

    ``ppn`` is the number of ranks on a node. ``weak`` is true if the problem grows with the nodes.
    """

    program: tuple[str, ...]
    network: str
    ppn: int
    design: Design
    launches: tuple[ScaleLaunch, ...]
    notes: tuple[str, ...] = ()
    complete: bool = True
    weak: bool = False
    metric: Metric | None = None


class Scaled(ScaleRun, frozen=True, kw_only=True):
    """The launches with the results."""

    points: tuple[ScalePoint, ...]


#: The design's factor with the number of nodes of an arm: always the last.
NODES = "nodes"

#: Sentences that a point quotes: placement and path, and a launch that differs.
MOST_QUOTED = 3


def with_points(run: ScaleRun) -> Scaled:
    """Add a point for each arm in the order of the design.

    An invalid launch gives no figure: its point has a reason instead, as has a point whose
    reference has no figure.
    """
    points = (_scale_point(run, arm) for arm in range(len(run.design.arms)))
    return Scaled(**msgspec.structs.asdict(run), points=tuple(points))


def read_scaling(directory: RunDirectory) -> Scaled:
    """Read an earlier scaling from a run's directory.

    Raises:
        StoreError: it cannot be read.
    """
    return with_points(directory.read(SCALED, ScaleRun))


def _scale_point(run: ScaleRun, arm: int) -> ScalePoint:
    design, launches = run.design, run.launches
    *levels, count = design.arms[arm]
    nodes, fewest = int(count), design.factors[-1].levels[0]
    base = design.arms.index((*levels, fewest))
    arm_launches = [launch for launch in launches if launch.arm == arm]
    times = _by_block(launches, arm, "wall_s")
    share = nodes / int(fewest)
    if run.metric:
        finished = [launch for launch in launches if launch.status == "ok"]
        rates, base_rates = (_by_block(finished, which, "metric") for which in (arm, base))
    else:
        grown = share if run.weak else 1.0
        rates = {block: grown / time for block, time in times.items()}
        base_times = _by_block(launches, base, "wall_s")
        base_rates = {block: 1.0 / time for block, time in base_times.items()}
    common_blocks = sorted(rates.keys() & base_rates.keys())
    outcome, summary = _outcome(arm_launches, nodes)

    def estimate(figures: Sequence[float]) -> Estimate | Skipped:
        if not figures:
            reasons = (launch.metric for launch in arm_launches)
            missing = (reason.reason for reason in reasons if isinstance(reason, Skipped))
            return Skipped(next(missing, "") or summary or "no launch came to its end")
        return combine_estimates(
            [Estimate(figure, figure, figure, 0.0, 1, 1) for figure in figures]
        )

    speedups = [rates[block] / base_rates[block] for block in common_blocks]
    shares = [
        launch.mpi_share
        for launch in arm_launches
        if isinstance(launch.mpi_share, float) and not launch.invalid
    ]
    return ScalePoint(
        tuple(levels), nodes, nodes * run.ppn, outcome, summary, estimate(list(times.values())),
        estimate(speedups), estimate([speedup / share for speedup in speedups]), estimate(shares),
        estimate(list(rates.values())) if run.metric else None,
    )  # fmt: skip


def _by_block(launches: Sequence[ScaleLaunch], arm: int, name: str) -> dict[int, float]:
    """Return the figure called ``name`` of an arm's valid launches by block."""
    return {
        launch.block: figure
        for launch in launches
        if launch.arm == arm and not launch.invalid
        if isinstance(figure := getattr(launch, name), float)
    }


def _outcome(launches: Sequence[ScaleLaunch], nodes: int) -> tuple[Outcome, str]:
    broken = next((launch for launch in launches if launch.status != "ok"), None)
    verdicts = [verdict for launch in launches for verdict in launch.verdicts]
    outcomes = (verdict.outcome for verdict in verdicts)
    worst = min(outcomes, key=lambda outcome: outcome.rank, default=Outcome.SKIPPED)
    summaries = dict.fromkeys(verdict.summary for verdict in verdicts if verdict.outcome is worst)
    summary = "; ".join(list(summaries)[:MOST_QUOTED])
    if worst is Outcome.INVALID:
        return worst, summary
    if broken is not None:
        return Outcome.INCONCLUSIVE, broken.message
    if nodes == 1 and worst is Outcome.SKIPPED:
        return worst, "one node: there is no path to prove"
    return worst, summary
