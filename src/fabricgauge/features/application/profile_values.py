"""An application's MPI traffic by rank, as its profile recorded it."""

from typing import Literal

import msgspec

#: Location of a call's peer. For a collective: does its communicator span several nodes?
Side = Literal["unknown", "same node", "other nodes"]

#: How a rank's recording ended. ``lost``: it was killed or crashed, and its memory was kept.
Ending = Literal["finalized", "aborted", "lost"]

#: Kinds by which a report groups calls, as the profiling library names them.
CallKind = Literal[
    "PointToPoint", "Persistent", "Starting", "Waiting", "Collective", "OneSided", "Making",
    "FreeingCommunicator", "FreeingWindow",
]  # fmt: skip


class CallMix(msgspec.Struct, frozen=True):
    """One call at sizes of one power of two, summed over all ranks.

    ``least_bytes`` is the smallest size of the class; the largest is below twice that. It is None
    if the call has no size. ``ranks`` is the communicator's size, 0 if the call has none.
    ``bytes`` are the bytes that the ranks moved, as the library's calls.hpp defines it by call.
    ``site`` is a profiler's number of the call's place in the program, empty if it has none.
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
    site: str = ""


class CallSite(msgspec.Struct, frozen=True):
    """The bytes that one place in the program sent, over all ranks.

    ``site`` is the profiler's number of the place, or its function and the offset in it.
    ``sent_share`` is its share of all bytes sent, as the profiler gives it: the sites of a report
    may be only the largest ones. ``path`` is the program or library of the place, ``address`` the
    call's address in this file, and ``time_s`` the time in it; a foreign report has none of them.
    """

    call: str
    site: str
    calls: int
    bytes: float
    mean_bytes: float
    sent_share: float
    time_s: float = 0.0
    path: str = ""
    address: int = 0


class RankProfile(msgspec.Struct, frozen=True):
    """One rank: its node, its run time, its share in MPI, and the bytes that it sent.

    ``node`` is the lowest rank on its node. ``sent_bytes`` are messages and puts to other ranks,
    ``left_node_bytes`` the least that must have left its node, collectives included.
    ``lost_calls`` is the number of calls that did not fit into its memory.
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
    """The whole recording of one start of a program.

    ``size`` is its number of ranks; ``ranks`` may be fewer if the run broke off. ``overhead_s`` is
    the time to record one call, as each rank measured it at its start. ``source`` is the tool that
    wrote the profile: fabricgauge, mpiP or IPM. Profiles of mpiP and IPM have fewer values.
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
    sites: tuple[CallSite, ...] = ()

    @property
    def complete(self) -> bool:
        return len(self.ranks) == self.size and all(r.ending == "finalized" for r in self.ranks)

    @property
    def wall_s(self) -> float:
        """The slowest rank's time from MPI_Init to MPI_Finalize."""
        return max((rank.wall_s for rank in self.ranks), default=0.0)

    @property
    def mpi_share(self) -> float:
        """Time in MPI, as a share of all ranks' time."""
        total_s = sum(rank.wall_s for rank in self.ranks)
        return sum(rank.mpi_s for rank in self.ranks) / total_s if total_s else 0.0

    @property
    def overhead_share(self) -> float:
        """Time to record all calls (calls times ``overhead_s``), as a share of all ranks' time."""
        total_s = sum(rank.wall_s for rank in self.ranks)
        calls = sum(rank.calls for rank in self.ranks)
        return self.overhead_s * calls / total_s if total_s else 0.0

    @property
    def nodes(self) -> int:
        return len({rank.node for rank in self.ranks})
