"""An application on more and more nodes: what each launch showed, and what follows."""

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.varied import Design
from fabricgauge.model.verdict import Outcome, Verdict

#: The file of a run directory that holds it.
SCALED = "scale.json"


class ScaleLaunch(msgspec.Struct, frozen=True):
    """One start of the application. ``arm`` is its place in the design, ``wall_s`` that between
    MPI_Init and MPI_Finalize of the slowest rank; a reason where the launch has none.

    ``left_node_bytes`` is the least that must have crossed the network by the profile.
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

    @property
    def invalid(self) -> bool:
        return any(one.outcome is Outcome.INVALID for one in self.verdicts)


class ScalePoint(msgspec.Struct, frozen=True):
    """One number of nodes under one setting, over all blocks.

    ``speedup`` is against the fewest nodes of the same setting, block by block; ``efficiency`` is
    that divided by the factor by which the number of nodes grew. ``outcome`` is the worst of its
    launches' placement and path. Intervals are from the least to the largest of the blocks, at the
    confidence that order statistics give the median.
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


class ScaleRun(msgspec.Struct, frozen=True):
    """What was launched. ``factors`` of the design are what was varied, then the number of nodes;
    ``ppn`` is how many ranks a node has."""

    program: tuple[str, ...]
    network: str
    ppn: int
    design: Design
    launches: tuple[ScaleLaunch, ...]
    notes: tuple[str, ...] = ()
    complete: bool = True


class Scaled(ScaleRun, frozen=True, kw_only=True):
    """The same with what follows from it."""

    points: tuple[ScalePoint, ...]
