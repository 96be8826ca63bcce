"""Estimate how long a plan lasts, and find the part of it that is not made yet."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

import msgspec

from fabricgauge.model.pattern import ROUND_ROBIN_PATTERNS
from fabricgauge.model.plan import Case, Plan, PlannedLaunch, rounds
from fabricgauge.model.run import Launch

#: A round's time outside measuring: agreeing, gathering and writing. An estimate, never measured
#: on a large cluster; it decides only how many rounds fit.
ROUND_OVERHEAD_S = 0.002
ROUND_OVERHEAD_PER_RANK_S = 2e-6
#: The start of a launch; also an estimate.
START_S = 3.0
START_PER_RANK_S = 0.002
#: Statuses of a case that is not measured again.
FINAL = ("ok", "skipped")


def rounds_to_make(case: Case, ranks: int) -> tuple[int, ...]:
    """Return the numbers of a round robin's rounds in a launch of ``ranks``."""
    return case.rounds or tuple(range(rounds(case.ranks or ranks)))


def estimated_s(launches: Iterable[PlannedLaunch]) -> float:
    """Estimate how long launches last at most, with starts and agreement between ranks."""
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
    """Estimate how long a launch of ``ranks`` takes to start."""
    return START_S + START_PER_RANK_S * ranks


def overhead_s(ranks: int) -> float:
    """Estimate the time outside measuring of a round robin's round."""
    return ROUND_OVERHEAD_S + ROUND_OVERHEAD_PER_RANK_S * ranks


def find_remaining(of: Plan, run_launches: Iterable[Launch]) -> tuple[PlannedLaunch, ...]:
    """Return the plan's launches with only the cases and rounds that have no result yet.

    Only measurements with status ``ok`` or ``skipped`` count. A launch without such a rest is
    dropped.
    """
    if of.tool != "engine":
        done_numbers = {
            launch.number
            for launch in run_launches
            if launch.figures and launch.ended.status == "ok"
        }
        return tuple(launch for launch in of.launches if launch.number not in done_numbers)
    finished: set[tuple[int, str]] = set()
    rounds: dict[tuple[int, str], set[int]] = defaultdict(set)
    for launch in run_launches:
        finished |= {
            (launch.number, measurement.case)
            for measurement in launch.measurements
            if measurement.status in FINAL
        }
        for round_ in launch.rounds:
            rounds[launch.number, round_.case].add(round_.round)
    remaining_launches = (
        msgspec.structs.replace(
            launch,
            cases=tuple(
                rest_case
                for case in launch.cases
                if (launch.number, case.name) not in finished
                for rest_case in _remaining_case(case, launch, rounds[launch.number, case.name])
            ),
        )
        for launch in of.launches
    )
    return tuple(launch for launch in remaining_launches if launch.cases)


def _remaining_case(
    case: Case, launch: PlannedLaunch, rounds_made: Collection[int]
) -> Iterator[Case]:
    """Yield the case with its unmade rounds; nothing if all are made."""
    if not rounds_made or case.pattern not in ROUND_ROBIN_PATTERNS:
        yield case
        return
    rounds_left = tuple(
        round_number
        for round_number in rounds_to_make(case, len(launch.nodes))
        if round_number not in rounds_made
    )
    if rounds_left:
        yield msgspec.structs.replace(case, rounds=rounds_left)
