"""Define how much to measure: message sizes, patterns, and one row for each named profile."""

import msgspec

from fabricgauge.check.plan.cases import EPOCHS
from fabricgauge.model.pattern import ONE_SIDED_PATTERNS, CollectivePattern, Load, PairPattern
from fabricgauge.model.request import MeasurementRequest

KIB = 1024
MIB = 1024 * KIB

#: 0 B and every power of two to 4 MiB: the sizes that OSU and IMB print by default.
DEFAULT_SIZES: tuple[int, ...] = (0, *(2**power for power in range(23)))

#: Default patterns of a pair.
PATTERNS: tuple[PairPattern, ...] = (
    "latency",
    "bandwidth",
    "bidirectional_bandwidth",
    "put_latency",
    "put_bandwidth",
)


class PairSizes(msgspec.Struct, frozen=True):
    """The sizes of a pattern from rank 0 to 1, and of the stream ``back``."""

    pattern: PairPattern
    sizes: tuple[int, ...]
    back: tuple[int, ...] = ()


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """How much is measured of one pair, and of many ranks.

    Variation between launches of the same program is larger than within one (Hunold and
    Carpen-Amarie, arXiv:1505.07734), so figures that matter come from at least three.

    ``pair_case_s`` bounds a case of a pair that has the launch to itself. ``pair_sizes`` are what
    it measures; if empty, each default pattern at each default size. All other fields are for
    more ranks. ``budget_s`` is the limit of a whole run; a small cluster needs less. One pair of a
    round robin makes round trips for ``round_trips_s``, and streams in each direction for
    ``stream_s``, at least and at most; ``case_s`` bounds any other case. ``loads`` are made while
    victims measure. ``reference_pair`` are words of ``plan.cases``, measured between ranks of
    two nodes while all others sleep. ``sizes`` are those of the request, for every pattern; if
    empty, each pattern has its usual sizes.
    """

    name: str
    launches: int
    pair_case_s: float
    budget_s: float
    round_trips_s: tuple[float, float]
    stream_s: tuple[float, float]
    case_s: tuple[float, float]
    collectives: tuple[CollectivePattern, ...]
    collective_sizes: tuple[int, ...]
    relative_half_width: float = 0.01
    latency_sizes: tuple[int, ...] = (8,)
    bandwidth_sizes: tuple[int, ...] = (MIB,)
    loads: tuple[Load, ...] = ("none", "all_to_all", "incast", "permutation")
    reference_pair: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    pair_sizes: tuple[PairSizes, ...] = ()


#: All that rules ask of two nodes: messages of each protocol, three large sizes each way and both
#: ways, which show one wire, and one of MPI_Put's. A stream needs the largest size once only.
_LARGE = (64 * KIB, 256 * KIB, MIB)
_FEW_SIZES = (
    PairSizes("latency", (0, 8, 128, KIB, 16 * KIB, *_LARGE)),
    PairSizes("bandwidth", (8, KIB, 16 * KIB, *_LARGE, 4 * MIB), _LARGE),
    PairSizes("bidirectional_bandwidth", _LARGE),
    PairSizes("put_latency", (8,)),
    PairSizes("put_bandwidth", (MIB,)),
)

_QUICK: tuple[CollectivePattern, ...] = ("barrier", "bcast", "allreduce", "allgather", "alltoall")
_BLOCKING: tuple[CollectivePattern, ...] = (
    *_QUICK, "reduce", "reduce_scatter", "gather", "scatter",
)  # fmt: skip
_ALL: tuple[CollectivePattern, ...] = (
    *_BLOCKING, "allgatherv", "gatherv", "scatterv", "alltoallv",
    "ibarrier", "ibcast", "iallreduce", "iallgather", "ialltoall", "ireduce", "ireduce_scatter",
    "igather", "iscatter", "iallgatherv", "igatherv", "iscatterv", "ialltoallv",
)  # fmt: skip
#: Without patterns of threads, which need a launch of their own: see ``plan.plan``.
_ONE_PAIR: tuple[str, ...] = (
    "latency", "bandwidth", "bidirectional_bandwidth", "ping_ping",
    "persistent_latency", "persistent_bandwidth",
    *(
        f"{pattern}:{epoch}"
        for pattern in sorted(ONE_SIDED_PATTERNS)
        for epoch in EPOCHS
    ),
)  # fmt: skip

PROFILES: dict[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile(
            name="quick",
            launches=1,
            pair_case_s=0.3,
            budget_s=60.0,
            round_trips_s=(0.01, 0.2),
            stream_s=(0.01, 0.2),
            case_s=(0.1, 0.3),
            collectives=_QUICK,
            collective_sizes=(8, 64 * KIB),
            loads=("none", "all_to_all"),
            pair_sizes=_FEW_SIZES,
        ),
        Profile(
            name="standard",
            launches=3,
            pair_case_s=0.5,
            budget_s=600.0,
            round_trips_s=(0.01, 0.5),
            stream_s=(0.01, 0.5),
            case_s=(0.1, 0.5),
            collectives=_BLOCKING,
            collective_sizes=(8, KIB, 32 * KIB, MIB),
        ),
        Profile(
            name="full",
            launches=5,
            relative_half_width=0.005,
            pair_case_s=2.0,
            budget_s=7200.0,
            round_trips_s=(0.02, 1.0),
            stream_s=(0.02, 1.0),
            latency_sizes=(8, 4 * KIB),
            bandwidth_sizes=(64 * KIB, MIB),
            case_s=(0.2, 1.0),
            collectives=_ALL,
            collective_sizes=(8, 128, 2 * KIB, 32 * KIB, 256 * KIB, MIB),
            reference_pair=_ONE_PAIR,
        ),
    )
}


def profile_of(request: MeasurementRequest) -> Profile:
    """Return the profile of the request, with the changes that the request makes.

    A simulated cluster's messages cost the simulator far more time than they simulate, and only the
    requested noise disturbs them: few messages suffice.
    """
    profile = PROFILES[request.profile]
    changes: dict[str, object] = {
        "launches": request.launches,
        "relative_half_width": request.half_width,
        "pair_case_s": request.case_budget,
        "case_s": request.case_budget and (request.case_budget, request.case_budget),
    }
    if request.sim:
        changes |= {"round_trips_s": (4e-5, 4e-5), "stream_s": (2e-3, 2e-3), "budget_s": 3600.0}
    return msgspec.structs.replace(
        profile, **{key: value for key, value in changes.items() if value}
    )
