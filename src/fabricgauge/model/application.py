"""What an application sent by MPI, rank by rank, as its profile tells it."""

from typing import Literal

import msgspec

#: Where the other side of a call was; of a collective, whether its communicator spans nodes.
Side = Literal["unknown", "same node", "other nodes"]

#: How a rank's recording ended. ``lost``: it was killed or crashed, and its memory was kept.
Ending = Literal["finalized", "aborted", "lost"]

#: What a report groups calls by, as the profiling library names it.
CallKind = Literal[
    "PointToPoint", "Persistent", "Starting", "Waiting", "Collective", "OneSided", "Making",
    "FreeingCommunicator", "FreeingWindow",
]  # fmt: skip


class CallMix(msgspec.Struct, frozen=True):
    """One call at sizes of one power of two, summed over all ranks.

    ``least_bytes`` is the smallest size of the class, whose largest is below twice that; None where
    the call has no size. ``ranks`` is the communicator's size, 0 where the call names none.
    ``bytes`` is what the ranks moved, as calls.hpp of the library defines it for each call.
    """

    call: str
    kind: CallKind
    least_bytes: int | None
    side: Side
    ranks: int
    region: int
    calls: int
    bytes: int
    time_s: float


class RankProfile(msgspec.Struct, frozen=True):
    """One rank: where it ran, how long, how much of that in MPI, and what it sent.

    ``node`` is the least rank on its node. ``sent_bytes`` are messages and puts to other ranks,
    ``left_node_bytes`` the least that must have left its node, collectives included.
    ``lost_calls`` are those that found no room in its memory.
    """

    rank: int
    node: int
    host: str
    wall_s: float
    mpi_s: float
    calls: int
    sent_bytes: int
    left_node_bytes: int
    ending: Ending
    lost_calls: int = 0


class PeerTraffic(msgspec.Struct, frozen=True, gc=False):
    """Messages and puts from one rank to another, both of MPI_COMM_WORLD."""

    origin: int
    target: int
    messages: int
    bytes: int


class ApplicationProfile(msgspec.Struct, frozen=True):
    """All that was recorded of one start of a program.

    ``size`` is how many ranks it had; of a run that broke off ``ranks`` may be fewer.
    ``overhead_s`` is what recording one call takes, as each rank measured it at its start.
    ``source`` is the tool that wrote it: ours, mpiP or IPM; theirs tell less.
    """

    program: str
    library: str
    size: int
    started_utc_s: float
    overhead_s: float
    ranks: tuple[RankProfile, ...]
    mix: tuple[CallMix, ...]
    peers: tuple[PeerTraffic, ...] = ()
    source: str = "fabricgauge"
    notes: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        return len(self.ranks) == self.size and all(r.ending == "finalized" for r in self.ranks)

    @property
    def wall_s(self) -> float:
        """From MPI_Init to MPI_Finalize, of the rank that took longest."""
        return max((one.wall_s for one in self.ranks), default=0.0)

    @property
    def mpi_share(self) -> float:
        """Time in MPI, as a share of all ranks' time."""
        every = sum(one.wall_s for one in self.ranks)
        return sum(one.mpi_s for one in self.ranks) / every if every else 0.0

    @property
    def overhead_share(self) -> float:
        """What recording took of all ranks' time, by its measured cost and the number of calls."""
        every = sum(one.wall_s for one in self.ranks)
        return self.overhead_s * sum(one.calls for one in self.ranks) / every if every else 0.0

    @property
    def nodes(self) -> int:
        return len({one.node for one in self.ranks})
