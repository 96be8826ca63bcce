"""How much to measure on many nodes: named profiles, one row each."""

import msgspec

from fabricgauge.model.pattern import ONE_SIDED_PATTERNS, CollectivePattern, Load
from fabricgauge.plan.asked import EPOCHS
from fabricgauge.plan.profiles import KIB, MIB


class FabricProfile(msgspec.Struct, frozen=True):
    """``budget_s`` is what a whole run may take; a small cluster needs less of it.

    One pair of a tournament makes round trips for ``round_trips_s``, and streams in each
    direction for ``stream_s``, at least and at most; ``case_s`` is that of any other case.
    ``loads`` are made while victims measure, ``reference_pair`` are words of ``plan.asked``,
    measured between ranks 0 and 1 while all others sleep.
    """

    name: str
    launches: int
    budget_s: float
    relative_half_width: float
    round_trips_s: tuple[float, float]
    stream_s: tuple[float, float]
    latency_sizes: tuple[int, ...]
    bandwidth_sizes: tuple[int, ...]
    case_s: tuple[float, float]
    collectives: tuple[CollectivePattern, ...]
    collective_sizes: tuple[int, ...]
    loads: tuple[Load, ...]
    reference_pair: tuple[str, ...] = ()


_QUICK: tuple[CollectivePattern, ...] = ("barrier", "bcast", "allreduce", "allgather", "alltoall")
_BLOCKING: tuple[CollectivePattern, ...] = (
    *_QUICK, "reduce", "reduce_scatter", "gather", "scatter",
)  # fmt: skip
_ALL: tuple[CollectivePattern, ...] = (
    *_BLOCKING, "allgatherv", "gatherv", "scatterv", "alltoallv",
    "ibarrier", "ibcast", "iallreduce", "iallgather", "ialltoall", "ireduce", "ireduce_scatter",
    "igather", "iscatter", "iallgatherv", "igatherv", "iscatterv", "ialltoallv",
)  # fmt: skip
_LOADS: tuple[Load, ...] = ("none", "all_to_all", "incast", "permutation")
#: Without those of threads, which need a launch of their own: see ``plan.plan.apart``.
_ONE_PAIR: tuple[str, ...] = (
    "latency", "bandwidth", "bidirectional_bandwidth", "ping_ping",
    "persistent_latency", "persistent_bandwidth",
    *(
        f"{pattern}:{epoch}"
        for pattern in sorted(ONE_SIDED_PATTERNS)
        for epoch in EPOCHS
    ),
)  # fmt: skip

FABRIC_PROFILES: dict[str, FabricProfile] = {
    profile.name: profile
    for profile in (
        FabricProfile(
            "quick",
            launches=1,
            budget_s=60.0,
            relative_half_width=0.01,
            round_trips_s=(0.01, 0.2),
            stream_s=(0.01, 0.2),
            latency_sizes=(8,),
            bandwidth_sizes=(MIB,),
            case_s=(0.1, 0.3),
            collectives=_QUICK,
            collective_sizes=(8, 64 * KIB),
            loads=("none", "all_to_all"),
        ),
        FabricProfile(
            "standard",
            launches=3,
            budget_s=600.0,
            relative_half_width=0.01,
            round_trips_s=(0.01, 0.5),
            stream_s=(0.01, 0.5),
            latency_sizes=(8,),
            bandwidth_sizes=(MIB,),
            case_s=(0.1, 0.5),
            collectives=_BLOCKING,
            collective_sizes=(8, KIB, 32 * KIB, MIB),
            loads=_LOADS,
        ),
        FabricProfile(
            "full",
            launches=5,
            budget_s=7200.0,
            relative_half_width=0.005,
            round_trips_s=(0.02, 1.0),
            stream_s=(0.02, 1.0),
            latency_sizes=(8, 4 * KIB),
            bandwidth_sizes=(64 * KIB, MIB),
            case_s=(0.2, 1.0),
            collectives=_ALL,
            collective_sizes=(8, 128, 2 * KIB, 32 * KIB, 256 * KIB, MIB),
            loads=_LOADS,
            reference_pair=_ONE_PAIR,
        ),
    )
}


def simulated(profile: FabricProfile) -> FabricProfile:
    """The same for a simulated cluster, whose messages cost the simulator far more than it says.

    Nothing disturbs them but the noise that was asked for, so that few of them suffice.
    """
    return msgspec.structs.replace(
        profile, round_trips_s=(4e-5, 4e-5), stream_s=(2e-3, 2e-3), budget_s=3600.0
    )
