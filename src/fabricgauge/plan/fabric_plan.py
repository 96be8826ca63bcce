"""Many nodes and a profile in, plan out: all pairs, collectives, many pairs, load.

A launch holds everything, for a start of thousands of ranks takes long. What matters most comes
first: all pairs, then one pair, then what all ranks do together.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.errors import UsageError
from fabricgauge.model.fabric import Network
from fabricgauge.model.pattern import (
    COLLECTIVE_PATTERNS,
    CROWD_PATTERNS,
    PAIR_PATTERNS,
    THREADED_PATTERNS,
    TOURNAMENT_PATTERNS,
    Pattern,
)
from fabricgauge.model.plan import Case, Plan, PlannedLaunch, Stopping
from fabricgauge.model.together import Round
from fabricgauge.plan.all_pairs import Field, all_pairs_cases
from fabricgauge.plan.crowd_cases import crowd_cases
from fabricgauge.plan.fabric_profiles import FabricProfile
from fabricgauge.plan.outlook import estimated_s, rounds_to_make, start_s
from fabricgauge.plan.pair_cases import reference_pair
from fabricgauge.plan.plan import ASSUMED_PAYLOAD_BYTES_PER_S, LARGEST_MESSAGE_BYTES

_ALONE = tuple(one for one in PAIR_PATTERNS if one not in THREADED_PATTERNS)
#: What a launch of many ranks can hold. Those of threads need one of their own, with a level of
#: thread support that makes everything else slower: they are measured between two nodes.
ALL_PATTERNS: tuple[Pattern, ...] = (
    *TOURNAMENT_PATTERNS, *_ALONE, *CROWD_PATTERNS, *COLLECTIVE_PATTERNS,
)  # fmt: skip

#: Of a launch's time for what is no tournament, at most; what it leaves is the tournaments'.
SHARE_TOGETHER = 0.4

_Parts = tuple[tuple[Case, ...], ...]
Targets = tuple[tuple[Network | None, Ceiling | Skipped], ...]


class FabricWanted(msgspec.Struct, frozen=True):
    """What the user asked for. ``nodes`` are by rank: a node with p ranks stands p times.

    ``budget_s`` is the time for the whole run, 0 for the profile's; ``patterns`` and ``sizes``
    are measured instead of the profile's, unless empty. ``concurrent`` pairs of a round measure at
    once, 0 for all. A ``virtual`` cluster shares one machine's processors: there one pair measures
    at a time unless ``concurrent`` says otherwise. ``seed`` chooses the rounds where not all are
    made.
    """

    profile: FabricProfile
    nodes: tuple[str, ...]
    check_data: bool = False
    confidence: float = 0.95
    budget_s: float = 0.0
    patterns: tuple[Pattern, ...] = ()
    sizes: tuple[int, ...] = ()
    concurrent: int = 0
    virtual: bool = False
    seed: int = 0


def fabric_plan(wanted: FabricWanted, targets: Targets) -> Plan:
    """Launches interleaved over the targets, so that a drift touches all of them alike.

    A target is a network with its ceiling, or (None, …) for MPI's own choice. The time budget
    trades, in this order: budgets of cases, density of sizes and of rank counts, samples of a pair,
    and the share of the pairs that meet.

    Raises:
        UsageError: fewer than two ranks, a size out of range, a pattern that many ranks cannot
            have, or less time than the least takes.
    """
    _require(wanted)
    asked = msgspec.structs.replace(wanted, profile=_chosen(wanted))
    each_s = (wanted.budget_s or asked.profile.budget_s) / asked.profile.launches / len(targets)
    available_s = max(0.0, each_s - start_s(len(asked.nodes)))
    by_target = [_parts(asked, ceiling, available_s) for _, ceiling in targets]
    turns = [
        (network, parts[part])
        for part in range(asked.profile.launches)
        for (network, _), parts in zip(targets, by_target, strict=True)
    ]
    launches = tuple(_launch(number, asked, *one) for number, one in enumerate(turns, start=1))
    stopping = Stopping(asked.profile.relative_half_width, asked.confidence)
    made = Plan(asked.profile.name, stopping, asked.check_data, launches)
    _require_time(wanted, made)
    return made


def remaining_rounds(
    launches: Iterable[PlannedLaunch], done: Iterable[tuple[int, Round]]
) -> tuple[PlannedLaunch, ...]:
    """The launches without those rounds of tournaments that were made already.

    ``done`` pairs launch numbers with rounds. A tournament of which nothing is left is dropped,
    and so is a launch without cases.
    """
    made: dict[tuple[int, str], set[int]] = {}
    for number, one in done:
        made.setdefault((number, one.case), set()).add(one.round)
    left = (
        msgspec.structs.replace(
            launch,
            cases=tuple(
                rest
                for case in launch.cases
                for rest in _rest(case, launch, made.get((launch.number, case.name), ()))
            ),
        )
        for launch in launches
    )
    return tuple(launch for launch in left if launch.cases)


def _rest(case: Case, launch: PlannedLaunch, made: Collection[int]) -> Sequence[Case]:
    if not made or case.pattern not in TOURNAMENT_PATTERNS:
        return (case,)
    planned = rounds_to_make(case, len(launch.nodes))
    left = tuple(one for one in planned if one not in made)
    return (msgspec.structs.replace(case, rounds=left),) if left else ()


def _launch(
    number: int, wanted: FabricWanted, network: Network | None, cases: tuple[Case, ...]
) -> PlannedLaunch:
    return PlannedLaunch(
        number=number,
        network=network.name if network else None,
        subnet=network.subnet if network else None,
        nodes=wanted.nodes,
        cases=cases,
    )


def _parts(wanted: FabricWanted, ceiling: Ceiling | Skipped, available_s: float) -> _Parts:
    """The cases of each launch on one network: they differ in the tournaments' rounds only."""
    rate = (
        ASSUMED_PAYLOAD_BYTES_PER_S if isinstance(ceiling, Skipped) else ceiling.payload_bytes_per_s
    )
    # All ranks of a node share its link.
    shared_rate = rate / max(Counter(wanted.nodes).values())
    patterns = wanted.patterns or ALL_PATTERNS
    profile, ranks = wanted.profile, len(wanted.nodes)
    alone = reference_pair(profile.reference_pair, profile.case_s[1], rate)
    left_s = max(0.0, available_s - sum(case.budget_s for case in alone))
    together = crowd_cases(profile, patterns, ranks, shared_rate, left_s * SHARE_TOGETHER)
    left_s = max(0.0, left_s - sum(case.budget_s for case in together))
    field = Field(
        ranks=ranks,
        concurrent=wanted.concurrent or int(wanted.virtual),
        payload_bytes_per_s=shared_rate,
        pair_s={
            "all_pairs_latency": profile.round_trips_s,
            "all_pairs_bandwidth": profile.stream_s,
        },
        part=(0, profile.launches),
        seed=wanted.seed,
    )
    fields = (
        msgspec.structs.replace(field, part=(part, profile.launches))
        for part in range(profile.launches)
    )
    return tuple(
        (*all_pairs_cases(profile, patterns, one, left_s), *alone, *together) for one in fields
    )


def _chosen(wanted: FabricWanted) -> FabricProfile:
    """The profile with the patterns and sizes that were asked for instead of its own."""
    sizes = tuple(sorted(set(wanted.sizes)))
    changes: dict[str, tuple[object, ...]] = {}
    if sizes:
        streamed = tuple(size for size in sizes if size)
        changes |= {"latency_sizes": sizes, "bandwidth_sizes": streamed, "collective_sizes": sizes}
    if wanted.patterns:
        changes["collectives"] = tuple(p for p in COLLECTIVE_PATTERNS if p in wanted.patterns)
        changes["reference_pair"] = tuple(p for p in _ALONE if p in wanted.patterns)
    return msgspec.structs.replace(wanted.profile, **changes)


def _require(wanted: FabricWanted) -> None:
    if len(wanted.nodes) < 2:
        raise UsageError("pairs need at least two ranks; name more nodes with -w")
    for pattern in wanted.patterns:
        if pattern not in ALL_PATTERNS:
            raise UsageError(
                f"{pattern} is none of what many nodes measure together; measure it between two"
            )
    for size in wanted.sizes:
        if not 0 <= size <= LARGEST_MESSAGE_BYTES:
            raise UsageError(f"message size {size} B is out of range: 0 B to 1 GiB")


def _require_time(wanted: FabricWanted, made: Plan) -> None:
    """A budget that somebody named must hold; a profile's own gives way on a slow network."""
    needed_s = estimated_s(made)
    if wanted.budget_s and needed_s > wanted.budget_s * (1 + 1e-6):
        raise UsageError(
            f"{wanted.budget_s:g} s are too little for {len(wanted.nodes)} ranks: the least that"
            f" this profile measures takes about {needed_s:.0f} s; give more time, fewer launches"
            " or fewer patterns"
        )
