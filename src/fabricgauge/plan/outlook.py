"""How long a plan may last, and what of it is left when some of it is made."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

import msgspec

from fabricgauge.model.pattern import ROUND_ROBIN_PATTERNS
from fabricgauge.model.plan import Case, Plan, PlannedLaunch, rounds
from fabricgauge.model.run import Launch

#: A round's time outside measuring: agreeing, gathering and writing. It is an estimate, never
#: measured on a large cluster. It decides only how many rounds fit.
ROUND_OVERHEAD_S = 0.002
ROUND_OVERHEAD_PER_RANK_S = 2e-6
#: The start of a launch; an estimate as well.
START_S = 3.0
START_PER_RANK_S = 0.002
#: States of a case that is not measured again.
FINAL = ("ok", "skipped")


def rounds_to_make(case: Case, ranks: int) -> tuple[int, ...]:
    """The numbers of the rounds that a round robin asks for in a launch of ``ranks``."""
    return case.rounds or tuple(range(rounds(case.ranks or ranks)))


def estimated_s(launches: Iterable[PlannedLaunch]) -> float:
    """How long they last at most, starts and agreement between ranks included: an estimate."""
    return sum(_launch_s(launch) for launch in launches)


def _launch_s(launch: PlannedLaunch) -> float:
    ranks = len(launch.nodes)
    return start_s(ranks) + measuring_s(launch.cases, ranks)


def measuring_s(cases: Iterable[Case], ranks: int) -> float:
    """Return how long cases of one launch last at most, agreement between ranks included."""
    return sum(
        case.longest_s(ranks)
        + (
            len(rounds_to_make(case, ranks)) * overhead_s(ranks)
            if case.pattern in ROUND_ROBIN_PATTERNS
            else 0.0
        )
        for case in cases
    )


def start_s(ranks: int) -> float:
    """How long a launch of ``ranks`` takes to start."""
    return START_S + START_PER_RANK_S * ranks


def overhead_s(ranks: int) -> float:
    """The time outside measuring that a round robin's round takes."""
    return ROUND_OVERHEAD_S + ROUND_OVERHEAD_PER_RANK_S * ranks


def remaining(of: Plan, made: Iterable[Launch]) -> tuple[PlannedLaunch, ...]:
    """The plan's launches with only the cases and rounds that have no result in ``made``.

    Of measurements only ``ok`` and ``skipped`` count. A launch with nothing left is dropped.
    """
    if of.tool != "engine":
        done = {one.number for one in made if one.figures and one.ended.status == "ok"}
        return tuple(one for one in of.launches if one.number not in done)
    finished: set[tuple[int, str]] = set()
    rounds: dict[tuple[int, str], set[int]] = defaultdict(set)
    for each in made:
        finished |= {(each.number, one.case) for one in each.measurements if one.status in FINAL}
        for round_ in each.rounds:
            rounds[each.number, round_.case].add(round_.round)
    left = (
        msgspec.structs.replace(
            launch,
            cases=tuple(
                rest
                for case in launch.cases
                if (launch.number, case.name) not in finished
                for rest in _rest(case, launch, rounds[launch.number, case.name])
            ),
        )
        for launch in of.launches
    )
    return tuple(launch for launch in left if launch.cases)


def _rest(case: Case, launch: PlannedLaunch, made: Collection[int]) -> Iterator[Case]:
    """The case with those rounds that were not made; nothing where none is left."""
    if not made or case.pattern not in ROUND_ROBIN_PATTERNS:
        yield case
        return
    left = tuple(one for one in rounds_to_make(case, len(launch.nodes)) if one not in made)
    if left:
        yield msgspec.structs.replace(case, rounds=left)
