"""Make a plan from a request, nodes and networks: which launches, in which order.

Launches are interleaved over networks, so that a drift affects all of them equally. Two ranks are
one pair, which has launches to itself. More ranks do everything in one launch, because the start of
thousands takes long: first all pairs, then one pair, then cases of all ranks together.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, product
from typing import Any

import msgspec

from fabricgauge.check.plan.cases import (
    ALL_PATTERNS,
    MIN_RANKS_UNDER_LOAD,
    SIMULATED_GROWING_RANKS,
    parse_pattern,
    plan_cases,
    reference_cases,
    require_sizes,
)
from fabricgauge.check.plan.outlook import estimated_s, measuring_s, start_s
from fabricgauge.check.plan.profiles import DEFAULT_SIZES, MIB, PATTERNS, Profile, profile_of
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.errors import UsageError
from fabricgauge.model.fabric import Network
from fabricgauge.model.pairs import Meeting
from fabricgauge.model.pattern import (
    COLLECTIVE_PATTERNS,
    ONE_SIDED_PATTERNS,
    PAIR_PATTERNS,
    THREADED_PATTERNS,
    Pattern,
    RoundRobinPattern,
)
from fabricgauge.model.plan import Case, Plan, PlannedLaunch, Stopping, renumber, rounds
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.model.words.networks import loopback_of

#: Assumed payload rate of an unknown link, 1 Gb/s; it sets only windows and budgets.
ASSUMED_PAYLOAD_BYTES_PER_S = 117.69e6
MAX_MESSAGE_BYTES = 1024 * MIB
CONFIDENCE = 0.95
#: Largest share of a launch's time for patterns other than round robins; those get the rest.
MAX_SHARE_TOGETHER = 0.4
#: Shortest case of a pair under a time budget, relative to its usual time.
MIN_SHARE_OF_CASE = 1 / 16

#: Up to this many ranks a simulation measures collectives and many pairs as a real fabric does.
MOST_RANKS_SIMULATED_WHOLE = 32
_THINNED = (
    "sizes of collectives but the smallest, and counts of ranks and pairs but the largest"
    f" (allgather, alltoall and the like: {SIMULATED_GROWING_RANKS} ranks at most); a simulation of"
    f" more than {MOST_RANKS_SIMULATED_WHOLE} ranks takes long; --patterns with their names"
    " measures them"
)

#: Rounds of disjoint pairs in which a suite measures many nodes: each pair is a start of its own.
#: Up to this many nodes all meet each other.
SUITE_PARTNERS = 8

#: Patterns of a pair whose node is excluded from the launch of most nodes.
SEPARATE_PATTERNS = ("all_pairs_latency", "all_pairs_bandwidth")

Targets = tuple[tuple[Network | None, Ceiling | Skipped], ...]
#: Cases of successive launches on one network; patterns of threads have a launch of their own.
_Turn = tuple[tuple[Case, ...], ...]


class JointRanks(msgspec.Struct, frozen=True):
    """Ranks that can be measured together on some networks, or ``separate`` from the launch of
    most.
    """

    ranks: tuple[str, ...]
    targets: Targets
    separate: bool = False


class _Scope(msgspec.Struct, frozen=True):
    """A request with what is known of its ranks."""

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
    """Plan the ranks that work together, and each excluded node with a good partner.

    The time budget covers all of them together. If only two of many nodes remain, they are measured
    like all pairs: the sweep of two nodes takes longer.
    """
    pairs = msgspec.structs.replace(
        request, patterns=request.patterns or SEPARATE_PATTERNS, budget=0.0
    )

    def planned(group_request: MeasurementRequest, of: JointRanks) -> tuple[PlannedLaunch, ...]:
        return plan(group_request, of.ranks, of.targets, virtual=virtual, profile=profile).launches

    separate_launches = [
        launch for group in groups if group.separate for launch in planned(pairs, group)
    ]
    mains = [group for group in groups if not group.separate]
    left_s = max(1.0, request.budget - estimated_s(separate_launches)) if request.budget else 0.0
    shares = sum(len(group.targets) for group in mains)
    launches: list[PlannedLaunch] = []
    for group in mains:
        group_request = pairs if len(group.ranks) == 2 < len(ranks) else request
        share_s = left_s * len(group.targets) / shares
        launches += planned(msgspec.structs.replace(group_request, budget=share_s), group)
    ranks_of_most = max((len(group.ranks) for group in mains), default=0)
    return _plan(
        request, profile or profile_of(request), (*launches, *separate_launches), ranks_of_most
    )


def plan(
    request: MeasurementRequest,
    ranks: Sequence[str],
    targets: Targets,
    *,
    virtual: bool = False,
    profile: Profile | None = None,
) -> Plan:
    """Plan launches interleaved over the targets, as many on each as the profile has.

    ``ranks`` is the node of each rank: a node with p ranks occurs p times. A target is a network
    with its ceiling, or (None, …) for MPI's own choice. A ``virtual`` cluster shares one machine's
    processors: there one pair measures at a time unless the request sets another number.
    ``profile`` replaces the profile of the request.

    The time budget reduces, in this order: budgets of cases, density of sizes and of rank counts,
    samples of a pair, and the share of the pairs that meet.

    Raises:
        UsageError: fewer than two ranks, a size out of range, a pattern that these ranks cannot
            have, or too little time.
    """
    alone = is_pair(request, ranks)
    _require_valid(request, len(ranks), alone)
    chosen = _narrowed(profile or profile_of(request), request)
    scope = _Scope(request, tuple(ranks), chosen, virtual and not request.sim)
    each_s = (request.budget or chosen.budget_s) / chosen.launches / len(targets)
    available_s = max(0.0, each_s - start_s(len(ranks)))
    turns = _turns_of_pair if alone else _turns_of_many
    by_target = [turns(scope, payload_rate(ceiling), available_s) for _, ceiling in targets]
    launches = [
        _launch(scope.ranks, network, turn_cases)
        for part in range(chosen.launches)
        for (network, _), parts in zip(targets, by_target, strict=True)
        for turn_cases in parts[part]
    ]
    needed_s = estimated_s(launches)
    if request.budget and needed_s > request.budget * (1 + 1e-6):  # a profile's own may be exceeded
        raise UsageError(
            f"{request.budget:g} s are too short for {len(ranks)} ranks: this profile needs at"
            f" least {needed_s:.0f} s; give more time, fewer launches or fewer patterns"
        )
    return _plan(request, chosen, launches, len(ranks))


def is_thinned(request: MeasurementRequest, ranks: int) -> bool:
    """Check if collectives and many pairs of a simulation are measured on the sparsest grid.

    Their messages, and with them the simulator's time, grow with the square of the ranks.
    Requested patterns and sizes are measured as on any fabric.
    """
    requested = request.patterns or request.sizes
    return bool(request.sim) and ranks > MOST_RANKS_SIMULATED_WHOLE and not requested


def _plan(
    request: MeasurementRequest,
    profile: Profile,
    launches: Iterable[PlannedLaunch],
    ranks: int = 0,
) -> Plan:
    """Return a plan of these launches, numbered in their order; most of them have ``ranks``."""
    stopping = Stopping(profile.relative_half_width, CONFIDENCE)
    return Plan(
        profile.name, stopping, request.check_data,
        renumber(launch.with_buffers(request.buffers) for launch in launches),
        transport=request.transport,
        memory=request.memory, device=request.device,
        left_out=(_THINNED,) if is_thinned(request, ranks) else (),
    )  # fmt: skip


def tool_plan(
    request: MeasurementRequest,
    groups: Sequence[JointRanks],
    programs: Sequence[str],
    of_pairs: str = "",
) -> Plan:
    """Plan each of a suite's programs on each network, as often as the profile has launches.

    With more than two nodes, the program ``of_pairs`` measures one pair after the other, and the
    other programs measure all nodes together.
    """
    from fabricgauge.check.plan.round_robin import meetings

    profile = profile_of(request)
    launches = (
        msgspec.structs.replace(_launch(ranks, network, ()), program=program)
        for part, group in product(range(profile.launches), groups)
        for (network, _), program in product(group.targets, programs)
        for ranks in (
            meetings(group.ranks, SUITE_PARTNERS, part=part)
            if program == of_pairs and len(group.ranks) > 2
            else (group.ranks,)
        )
    )
    planned = _plan(request, profile, launches)
    return msgspec.structs.replace(
        planned, stopping=Stopping(0.0, 0.0), check_data=False, tool=request.tool
    )


def is_pair(request: MeasurementRequest, ranks: Sequence[str]) -> bool:
    """Check if two ranks measure only patterns of a pair, which then has launches to itself."""
    words = {word.partition(":")[0] for word in request.patterns}
    return len(ranks) == 2 and not request.sim and words <= set(PAIR_PATTERNS)


def split_by_threads(words: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Return the patterns of each launch: those of threads have their own.

    The level of thread support that they need makes an MPI slower for everything else.
    """
    several = tuple(word for word in words if parse_pattern(word).pattern in THREADED_PATTERNS)
    plain = tuple(word for word in words if word not in several)
    return tuple(words_of_launch for words_of_launch in (plain, several) if words_of_launch)


def _turns_of_pair(scope: _Scope, rate: float, available_s: float) -> tuple[_Turn, ...]:
    """Return the same cases for every launch; a budget of the request shortens each case."""
    request, profile = scope.request, scope.profile
    # An MPI that can send from a GPU need not have one-sided operations there.
    left_out = ONE_SIDED_PATTERNS if request.memory else ()
    usual = tuple(pattern for pattern in PATTERNS if pattern not in left_out)
    groups = split_by_threads(request.patterns or usual)
    available_s -= start_s(2) * (len(groups) - 1)
    case_s = profile.pair_case_s
    least_s = case_s * MIN_SHARE_OF_CASE
    turn = _turn_of_pair(scope, groups, case_s, rate)
    while request.budget and case_s > least_s and _measuring_s(turn) > available_s:
        case_s /= 2
        turn = _turn_of_pair(scope, groups, case_s, rate)
    return (turn,) * profile.launches


def _turn_of_pair(
    scope: _Scope, groups: tuple[tuple[str, ...], ...], case_s: float, rate: float
) -> _Turn:
    """Return the cases of each launch: the profile's own, or what the request names."""
    request, profile = scope.request, scope.profile
    if profile.pair_sizes and not request.patterns and not request.sizes:
        rows = (row for row in profile.pair_sizes if row.pattern in groups[0])
        cases = (plan_cases((row.pattern,), row.sizes, case_s, rate, back=row.back) for row in rows)
        return (tuple(chain.from_iterable(cases)),)
    sizes = tuple(dict.fromkeys(request.sizes)) or DEFAULT_SIZES
    return tuple(plan_cases(words, sizes, case_s, rate) for words in groups)


def _measuring_s(turn: _Turn) -> float:
    return sum(case.budget_s for launch_cases in turn for case in launch_cases)


def _turns_of_many(scope: _Scope, rate: float, available_s: float) -> tuple[_Turn, ...]:
    """Return the cases of launches that differ only in the rounds of the round robins."""
    from fabricgauge.check.plan.all_pairs import RoundField, all_pairs_cases, closing_round
    from fabricgauge.check.plan.crowd_cases import crowd_cases

    profile, ranks = scope.profile, len(scope.ranks)
    # All ranks of a node share its link.
    shared_rate = rate / max(Counter(scope.ranks).values())
    requested = scope.request.patterns
    # Requested patterns of a pair are measured as round robins too, so that no node is left out.
    robins = [_ALL_PAIRS[word] for word in requested if word in _ALL_PAIRS]
    robins = robins if len(set(scope.ranks)) > 2 else []
    patterns = (*_pattern_names(requested), *robins) or ALL_PATTERNS
    alone = reference_cases(
        profile.reference_pair, profile.case_s[1], rate, scope.ranks, profile.sizes
    )
    left_s = max(0.0, available_s - _measuring_s((alone,)))
    together = crowd_cases(
        profile, patterns, ranks, shared_rate, left_s * MAX_SHARE_TOGETHER,
        simulated=bool(scope.request.sim), sparsest=is_thinned(scope.request, ranks),
    )  # fmt: skip
    left_s = max(0.0, left_s - _measuring_s((together,)))
    fields = (
        RoundField(
            ranks=ranks,
            concurrent=scope.request.concurrent or int(scope.virtual),
            payload_bytes_per_s=shared_rate,
            pair_s={
                "all_pairs_latency": profile.round_trips_s,
                "all_pairs_bandwidth": profile.stream_s,
            },
            part=(part, profile.launches),
            exact=bool(profile.sizes),
        )
        for part in range(profile.launches)
    )
    many = len(set(scope.ranks)) > 2 and not scope.request.sim
    # A closing round takes the time of field round more.
    shared_s = left_s * rounds(ranks) / (rounds(ranks) + 1) if many else left_s
    cases_by_part = [
        (*all_pairs_cases(profile, patterns, field, shared_s), *alone, *together)
        for field in fields
    ]
    if many:
        with_closing = (*cases_by_part[-1], *closing_round(cases_by_part[-1], ranks))
        if not scope.request.budget or measuring_s(with_closing, ranks) <= available_s:
            cases_by_part[-1] = with_closing
    return tuple((part_cases,) for part_cases in cases_by_part)


#: The round robin that measures on all nodes what a pattern measures between two nodes.
_ALL_PAIRS: Mapping[str, RoundRobinPattern] = {
    "latency": "all_pairs_latency", "bandwidth": "all_pairs_bandwidth",
}  # fmt: skip


def _narrowed(profile: Profile, request: MeasurementRequest) -> Profile:
    if sizes := tuple(sorted(set(request.sizes))):
        profile = msgspec.structs.replace(
            profile, sizes=sizes, latency_sizes=sizes, collective_sizes=sizes,
            bandwidth_sizes=tuple(size for size in sizes if size),
        )  # fmt: skip
    if request.patterns:
        names = _pattern_names(request.patterns)
        words = dict.fromkeys(request.patterns)
        of_pair = [word for word in words if word.partition(":")[0] in PAIR_PATTERNS]
        of_pair.sort(key=lambda word: PAIR_PATTERNS.index(parse_pattern(word).pattern))
        profile = msgspec.structs.replace(
            profile, collectives=tuple(p for p in COLLECTIVE_PATTERNS if p in names),
            reference_pair=tuple(of_pair),
        )  # fmt: skip
    return profile


def _pattern_names(words: Iterable[str]) -> tuple[Pattern, ...]:
    requested_names = {word.partition(":")[0] for word in words}
    return tuple(pattern for pattern in ALL_PATTERNS if pattern in requested_names)


def payload_rate(ceiling: Ceiling | Skipped) -> float:
    """Return payload bytes per second."""
    if isinstance(ceiling, Skipped):
        return ASSUMED_PAYLOAD_BYTES_PER_S
    return ceiling.payload_bytes_per_s


def _launch(
    ranks: tuple[str, ...], network: Network | None, launch_cases: tuple[Case, ...]
) -> PlannedLaunch:
    return PlannedLaunch(0, None, None, ranks, launch_cases).pinned_to(network)


def _require_valid(request: MeasurementRequest, ranks: int, alone: bool) -> None:
    if ranks < 2:
        raise UsageError("pairs need two ranks or more; name more nodes with -w")
    names = _pattern_names(request.patterns)
    for pattern in names:
        if pattern in THREADED_PATTERNS and not alone:
            raise UsageError(
                f"{pattern} needs a launch of two ranks alone; measure it between two nodes,"
                " without patterns of many ranks"
            )
    if "loaded_latency" in names and ranks < MIN_RANKS_UNDER_LOAD:
        raise UsageError(
            f"loaded_latency needs {MIN_RANKS_UNDER_LOAD} ranks: two that measure and two that make"
            f" load; there are {ranks}"
        )
    for size in request.sizes:
        if not 0 <= size <= MAX_MESSAGE_BYTES:
            raise UsageError(f"message size {size} B is out of range: 0 B to 1 GiB")
    require_sizes(names, request.sizes, ranks)


#: Changes that turn a round robin's case into a case of ranks 0 and 1.
_PAIR_STREAM: dict[str, Any] = {
    "pattern": "bandwidth", "target": 1, "ranks": 0, "concurrent": 0, "rounds": (),
}  # fmt: skip


def host_reference(number: int, node: str, network: str | None, of: Plan) -> PlannedLaunch:
    """Plan a launch that shows what MPI and one host do without a network, over TCP loopback.

    It repeats the largest streaming cases of the plan's first launch on ``node`` alone.
    """
    measured = next(launch for launch in of.launches if launch.network == network)
    streams = {
        case.message_bytes: msgspec.structs.replace(
            case, name=f"bandwidth/{case.message_bytes}/0>1", **_PAIR_STREAM
        )
        for case in measured.cases
        if case.pattern in ("bandwidth", "all_pairs_bandwidth") and case.origin == 0
    }
    largest = [streams[size] for size in sorted(streams)[-3:]]
    return PlannedLaunch(number, loopback_of(node), None, (node, node), tuple(largest))


# Seconds of a case that measures a suspect again, and of one if frames are lost.
RECHECK_S, LOSSY_RECHECK_S = 0.5, 0.125


def recheck_launch(
    number: int,
    network: Network | None,
    meetings: tuple[Meeting, ...],
    nodes: tuple[str, ...],
    payload_bytes_per_s: float,
    loses: bool = False,
) -> PlannedLaunch:
    """Plan each meeting in its order, one at a time, a stream in both directions.

    All other ranks sleep meanwhile; ``nodes`` are by rank. If frames are lost no interval narrows:
    the launch sends just enough to show who loses them.
    """
    case_s, rank = LOSSY_RECHECK_S if loses else RECHECK_S, {n: at for at, n in enumerate(nodes)}
    cases: list[Case] = []
    for meeting in meetings:
        word, size = meeting.quantity, meeting.message_bytes
        (case, *_) = plan_cases((word,), (size,), case_s, payload_bytes_per_s)
        ends = (rank[meeting.one], rank[meeting.other])
        for a, b in (ends, ends[::-1]) if word == "bandwidth" else (ends,):
            name = f"{word}/{size}/{a}>{b}"
            cases.append(msgspec.structs.replace(case, name=name, origin=a, target=b))
    launch = PlannedLaunch(number, None, None, nodes, tuple(cases), purpose="again")
    return launch.pinned_to(network)
