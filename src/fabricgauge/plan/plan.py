"""What is asked for, nodes and networks in, plan out: which launches, in which order.

Launches are interleaved over networks, so that a drift touches all of them alike. Two ranks are
one pair, which has launches to itself. More ranks have everything in one launch, because a start of
thousands takes long: first all pairs, then one pair, then what all ranks do together.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.errors import UsageError
from fabricgauge.model.fabric import Network
from fabricgauge.model.pattern import (
    COLLECTIVE_PATTERNS,
    ONE_SIDED_PATTERNS,
    PAIR_PATTERNS,
    THREADED_PATTERNS,
    Pattern,
    RoundRobinPattern,
)
from fabricgauge.model.plan import Case, Plan, PlannedLaunch, Stopping, numbered, rounds
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.plan.all_pairs import Field, all_pairs_cases, closing_round
from fabricgauge.plan.asked import ALL_PATTERNS, asked
from fabricgauge.plan.cases import cases, reference_pair
from fabricgauge.plan.crowd_cases import crowd_cases
from fabricgauge.plan.outlook import estimated_s, measuring_s, start_s
from fabricgauge.plan.pair_jobs import meetings
from fabricgauge.plan.profiles import DEFAULT_SIZES, MIB, PATTERNS, Profile, profile_of
from fabricgauge.words.networks import loopback_of

#: Stands in for an unknown link rate when windows and budgets are chosen: 1 Gb/s.
ASSUMED_PAYLOAD_BYTES_PER_S = 117.69e6
LARGEST_MESSAGE_BYTES = 1024 * MIB
CONFIDENCE = 0.95
#: Largest share of a launch's time for other patterns than round robins, which get the rest.
SHARE_TOGETHER = 0.4
#: A time budget shortens a pair's cases to this share of their usual time at the least.
LEAST_SHARE_OF_CASE = 1 / 16

#: A suite measures many nodes in this many rounds of disjoint pairs, since each pair is a start of
#: its own. Up to this many nodes all meet each other.
SUITE_PARTNERS = 8

#: The patterns of a pair with a node that the launch of all leaves out: those of all pairs.
OF_A_PAIR = ("all_pairs_latency", "all_pairs_bandwidth")

Targets = tuple[tuple[Network | None, Ceiling | Skipped], ...]
#: Cases of launches that follow each other on one network: those of threads have one of their own.
_Turn = tuple[tuple[Case, ...], ...]


class JointRanks(msgspec.Struct, frozen=True):
    """Ranks that can be measured together on some networks; ``beside`` the launch of most."""

    ranks: tuple[str, ...]
    targets: Targets
    beside: bool = False


class _Scope(msgspec.Struct, frozen=True):
    """A request with what became known of the place."""

    request: MeasurementRequest
    ranks: tuple[str, ...]
    profile: Profile
    virtual: bool


def plan_groups(
    request: MeasurementRequest,
    ranks: tuple[str, ...],
    groups: Sequence[JointRanks],
    *,
    virtual: bool = False,
    profile: Profile | None = None,
) -> Plan:
    """The plan of those of ``ranks`` that work together, and of the others with a good partner.

    A time budget is for all of them together. Two that are left of many are measured as all pairs
    are: the sweep of two nodes takes longer.
    """
    pairs = msgspec.structs.replace(request, patterns=request.patterns or OF_A_PAIR, budget=0.0)

    def planned(asked: MeasurementRequest, of: JointRanks) -> tuple[PlannedLaunch, ...]:
        return plan(asked, of.ranks, of.targets, virtual=virtual, profile=profile).launches

    beside = [launch for one in groups if one.beside for launch in planned(pairs, one)]
    mains = [one for one in groups if not one.beside]
    left_s = max(1.0, request.budget - estimated_s(beside)) if request.budget else 0.0
    shares = sum(len(one.targets) for one in mains)
    launches: list[PlannedLaunch] = []
    for one in mains:
        asked = pairs if len(one.ranks) == 2 < len(ranks) else request
        share_s = left_s * len(one.targets) / shares
        launches += planned(msgspec.structs.replace(asked, budget=share_s), one)
    return _plan(request, profile or profile_of(request), (*launches, *beside))


def plan(
    request: MeasurementRequest,
    ranks: Sequence[str],
    targets: Targets,
    *,
    virtual: bool = False,
    profile: Profile | None = None,
) -> Plan:
    """Launches interleaved over the targets, as many on each as the profile has.

    ``ranks`` is a node for each rank: a node with p ranks stands p times. A target is a network
    with its ceiling, or (None, …) for MPI's own choice. A ``virtual`` cluster shares one machine's
    processors: there one pair measures at a time unless the request says otherwise. ``profile``
    replaces the one that is asked for.

    The time budget trades, in this order: budgets of cases, density of sizes and of rank counts,
    samples of a pair, and the share of the pairs that meet.

    Raises:
        UsageError: fewer than two ranks, a size out of range, a pattern that these ranks cannot
            have, or less time than the least takes.
    """
    alone = is_pair(request, ranks)
    _require(request, len(ranks), alone)
    chosen = _narrowed(profile or profile_of(request), request)
    scope = _Scope(request, tuple(ranks), chosen, virtual and not request.sim)
    each_s = (request.budget or chosen.budget_s) / chosen.launches / len(targets)
    available_s = max(0.0, each_s - start_s(len(ranks)))
    turns = _turns_of_pair if alone else _turns_of_many
    by_target = [turns(scope, rate_of(ceiling), available_s) for _, ceiling in targets]
    launches = [
        _launch(scope.ranks, network, made)
        for part in range(chosen.launches)
        for (network, _), parts in zip(targets, by_target, strict=True)
        for made in parts[part]
    ]
    _require_time(request, len(ranks), launches)
    return _plan(request, chosen, launches)


def _plan(request: MeasurementRequest, profile: Profile, launches: Iterable[PlannedLaunch]) -> Plan:
    """A plan of these launches, numbered in their order."""
    stopping = Stopping(profile.relative_half_width, CONFIDENCE)
    return Plan(
        profile.name, stopping, request.check_data, numbered(launches), transport=request.transport,
        memory=request.memory, device=request.device,
    )  # fmt: skip


def tool_plan(
    request: MeasurementRequest,
    groups: Sequence[JointRanks],
    programs: Sequence[str],
    of_pairs: str = "",
) -> Plan:
    """Each of a suite's programs on each network, all as often as the profile has launches.

    Of more than two nodes ``of_pairs`` measures one pair after the other, and the others all nodes
    together.
    """
    profile = profile_of(request)
    launches = (
        msgspec.structs.replace(_launch(ranks, network, ()), program=program)
        for part, one in product(range(profile.launches), groups)
        for (network, _), program in product(one.targets, programs)
        for ranks in (
            meetings(one.ranks, SUITE_PARTNERS, part=part)
            if program == of_pairs and len(one.ranks) > 2
            else (one.ranks,)
        )
    )
    planned = _plan(request, profile, launches)
    return msgspec.structs.replace(
        planned, stopping=Stopping(0.0, 0.0), check_data=False, tool=request.tool
    )


def is_pair(request: MeasurementRequest, ranks: Sequence[str]) -> bool:
    """Whether two ranks measure, and nothing but what a pair does: it has launches to itself."""
    words = {word.partition(":")[0] for word in request.patterns}
    return len(ranks) == 2 and not request.sim and words <= set(PAIR_PATTERNS)


def apart(words: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """The patterns of each launch: those of threads have their own.

    The level of thread support that they need makes an MPI slower for everything else.
    """
    several = tuple(one for one in words if asked(one).pattern in THREADED_PATTERNS)
    plain = tuple(one for one in words if one not in several)
    return tuple(one for one in (plain, several) if one)


def _turns_of_pair(scope: _Scope, rate: float, available_s: float) -> tuple[_Turn, ...]:
    """Every launch has the same cases; within a time that was named each case gets less."""
    request, profile = scope.request, scope.profile
    sizes = tuple(dict.fromkeys(request.sizes)) or DEFAULT_SIZES
    groups = apart(request.patterns or _usual(request))
    available_s -= start_s(2) * (len(groups) - 1)
    case_s = profile.pair_case_s
    least_s = case_s * LEAST_SHARE_OF_CASE
    turn = tuple(cases(words, sizes, case_s, rate) for words in groups)
    while request.budget and case_s > least_s and _measuring_s(turn) > available_s:
        case_s /= 2
        turn = tuple(cases(words, sizes, case_s, rate) for words in groups)
    return (turn,) * profile.launches


def _usual(request: MeasurementRequest) -> tuple[str, ...]:
    """What is measured of a pair unless other patterns are asked for.

    An MPI that can send from a GPU need not have one-sided operations there.
    """
    return tuple(one for one in PATTERNS if not request.memory or one not in ONE_SIDED_PATTERNS)


def _measuring_s(turn: _Turn) -> float:
    return sum(case.budget_s for made in turn for case in made)


def _turns_of_many(scope: _Scope, rate: float, available_s: float) -> tuple[_Turn, ...]:
    """The launches differ in the round robins' rounds only."""
    profile, ranks = scope.profile, len(scope.ranks)
    # All ranks of a node share its link.
    shared_rate = rate / max(Counter(scope.ranks).values())
    patterns = (*_names(scope.request.patterns), *_of_all_pairs(scope)) or ALL_PATTERNS
    alone = reference_pair(profile.reference_pair, profile.case_s[1], rate, scope.ranks)
    left_s = max(0.0, available_s - _measuring_s((alone,)))
    together = crowd_cases(profile, patterns, ranks, shared_rate, left_s * SHARE_TOGETHER)
    left_s = max(0.0, left_s - _measuring_s((together,)))
    fields = (
        Field(
            ranks=ranks,
            concurrent=scope.request.concurrent or int(scope.virtual),
            payload_bytes_per_s=shared_rate,
            pair_s={
                "all_pairs_latency": profile.round_trips_s,
                "all_pairs_bandwidth": profile.stream_s,
            },
            part=(part, profile.launches),
        )
        for part in range(profile.launches)
    )
    many = len(set(scope.ranks)) > 2 and not scope.request.sim
    # A closing round takes the time of one round more.
    shared_s = left_s * rounds(ranks) / (rounds(ranks) + 1) if many else left_s
    made = [
        (*all_pairs_cases(profile, patterns, one, shared_s), *alone, *together) for one in fields
    ]
    if many:
        whole = (*made[-1], *closing_round(made[-1], ranks))
        if not scope.request.budget or measuring_s(whole, ranks) <= available_s:
            made[-1] = whole
    return tuple((one,) for one in made)


#: The round robin that measures on all nodes what a pattern measures between two of them.
_ALL_PAIRS: Mapping[str, RoundRobinPattern] = {
    "latency": "all_pairs_latency", "bandwidth": "all_pairs_bandwidth",
}  # fmt: skip


def _of_all_pairs(scope: _Scope) -> tuple[Pattern, ...]:
    """The round robins of patterns of a pair that are asked for: no node of several is left out."""
    asked = scope.request.patterns if len(set(scope.ranks)) > 2 else ()
    return tuple(_ALL_PAIRS[one] for one in asked if one in _ALL_PAIRS)


def _narrowed(profile: Profile, request: MeasurementRequest) -> Profile:
    """The profile with the patterns and sizes that are asked for instead of its own."""
    sizes = tuple(sorted(set(request.sizes)))
    changes: dict[str, tuple[object, ...]] = {}
    if sizes:
        streamed = tuple(size for size in sizes if size)
        changes |= {"latency_sizes": sizes, "bandwidth_sizes": streamed, "collective_sizes": sizes}
    if request.patterns:
        known = _names(request.patterns)
        of_pair = (one for one in dict.fromkeys(request.patterns) if _name(one) in PAIR_PATTERNS)
        words = sorted(of_pair, key=_place)
        changes["collectives"] = tuple(p for p in COLLECTIVE_PATTERNS if p in known)
        changes["reference_pair"] = tuple(words)
    return msgspec.structs.replace(profile, **changes)


def _place(word: str) -> int:
    return PAIR_PATTERNS.index(asked(word).pattern)


def _name(word: str) -> str:
    return word.partition(":")[0]


def _names(words: Iterable[str]) -> tuple[Pattern, ...]:
    said = set(map(_name, words))
    return tuple(one for one in ALL_PATTERNS if one in said)


def rate_of(ceiling: Ceiling | Skipped) -> float:
    """Payload bytes per second."""
    if isinstance(ceiling, Skipped):
        return ASSUMED_PAYLOAD_BYTES_PER_S
    return ceiling.payload_bytes_per_s


def _launch(
    ranks: tuple[str, ...], network: Network | None, made: tuple[Case, ...]
) -> PlannedLaunch:
    return PlannedLaunch(0, None, None, ranks, made).pinned_to(network)


def _require(request: MeasurementRequest, ranks: int, alone: bool) -> None:
    if ranks < 2:
        raise UsageError("pairs need at least two ranks; name more nodes with -w")
    for pattern in _names(request.patterns):
        if pattern in THREADED_PATTERNS and not alone:
            raise UsageError(
                f"{pattern} needs a launch of two ranks alone; measure it between two nodes, and"
                " leave out patterns of many ranks"
            )
    for size in request.sizes:
        if not 0 <= size <= LARGEST_MESSAGE_BYTES:
            raise UsageError(f"message size {size} B is out of range: 0 B to 1 GiB")


def _require_time(request: MeasurementRequest, ranks: int, made: Sequence[PlannedLaunch]) -> None:
    """A budget that somebody named must hold; a profile's own gives way on a slow network."""
    needed_s = estimated_s(made)
    if request.budget and needed_s > request.budget * (1 + 1e-6):
        raise UsageError(
            f"{request.budget:g} s are too little for {ranks} ranks: the least that this profile"
            f" measures takes about {needed_s:.0f} s; give more time, fewer launches or fewer"
            " patterns"
        )


#: What makes a round robin's case that of one pair of ranks, 0 and 1.
_ONE_STREAM: dict[str, Any] = {
    "pattern": "bandwidth", "target": 1, "ranks": 0, "concurrent": 0, "rounds": (),
}  # fmt: skip


def host_reference(number: int, node: str, network: str | None, of: Plan) -> PlannedLaunch:
    """A launch that shows what MPI and one host do without a network, over TCP loopback.

    It repeats the largest streaming cases of the plan's first launch on ``node`` alone.
    """
    measured = next(launch for launch in of.launches if launch.network == network)
    streams = (
        msgspec.structs.replace(case, name=f"bandwidth/{case.message_bytes}/0>1", **_ONE_STREAM)
        for case in measured.cases
        if case.pattern in ("bandwidth", "all_pairs_bandwidth") and case.origin == 0
    )
    largest = sorted(streams, key=lambda case: case.message_bytes)[-3:]
    return PlannedLaunch(number, loopback_of(node), None, (node, node), tuple(largest))
