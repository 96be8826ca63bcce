"""Estimate how long a plan lasts, and find the part of it that is not made yet."""

from collections import defaultdict
from collections.abc import Iterable

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
    placed = ((len(launch.nodes), launch.cases) for launch in launches)
    return sum(start_s(ranks) + measuring_s(cases, ranks) for ranks, cases in placed)


def measuring_s(cases: Iterable[Case], ranks: int) -> float:
    """Return how long cases of one launch last at most, agreement between ranks included."""
    total_s = 0.0
    for case in cases:
        is_robin = case.pattern in ROUND_ROBIN_PATTERNS
        rounds_made = len(rounds_to_make(case, ranks)) if is_robin else 0
        total_s += case.longest_s(ranks) + rounds_made * overhead_s(ranks)
    return total_s


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
        fine = [launch for launch in run_launches if launch.ended.status == "ok" and launch.figures]
        finished_numbers = {launch.number for launch in fine}
        return tuple(launch for launch in of.launches if launch.number not in finished_numbers)
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
    remaining = []
    for planned in of.launches:
        cases = []
        for case in planned.cases:
            key = (planned.number, case.name)
            if key in finished:
                continue
            to_make = rounds_to_make(case, len(planned.nodes))
            if not rounds[key] or case.pattern not in ROUND_ROBIN_PATTERNS:
                cases.append(case)
            elif missing := tuple(number for number in to_make if number not in rounds[key]):
                cases.append(msgspec.structs.replace(case, rounds=missing))
        if cases:
            remaining.append(msgspec.structs.replace(planned, cases=tuple(cases)))
    return tuple(remaining)
