"""An application on increasing numbers of nodes: its launches and the scaling results."""

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.varied import Design
from fabricgauge.model.verdict import Outcome, Verdict

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
