"""What a plan of many nodes covers, and how long it may last."""

import msgspec

from fabricgauge.model.pattern import TOURNAMENT_PATTERNS
from fabricgauge.model.plan import Case, Plan, PlannedLaunch
from fabricgauge.plan.tournament import rounds

#: What a round takes besides measuring: agreeing, gathering and writing. An estimate that was
#: not measured on a large cluster; it decides how many rounds fit and nothing else.
ROUND_OVERHEAD_S = 0.002
ROUND_OVERHEAD_PER_RANK_S = 2e-6
#: The start of a launch; an estimate as well.
START_S = 3.0
START_PER_RANK_S = 0.002


class Coverage(msgspec.Struct, frozen=True):
    """How much of one tournament on one network is planned, by all launches together."""

    network: str | None
    case: str
    ranks: int
    rounds: int

    @property
    def share(self) -> float:
        """Share of all pairs that meet, 0 to 1."""
        return self.rounds / rounds(self.ranks)

    @property
    def partners(self) -> int:
        """How many others each rank meets at least; of an odd number one has a bye in a round."""
        return self.rounds - self.ranks % 2


def coverage(of: Plan) -> tuple[Coverage, ...]:
    """What share of the pairs each tournament of the plan covers."""
    made: dict[tuple[str | None, str, int], set[int]] = {}
    for launch in of.launches:
        for case in launch.cases:
            if case.pattern in TOURNAMENT_PATTERNS:
                members = case.ranks or len(launch.nodes)
                made.setdefault((launch.network, case.name, members), set()).update(
                    rounds_to_make(case, len(launch.nodes))
                )
    return tuple(Coverage(*key, len(chosen)) for key, chosen in made.items())


def rounds_to_make(case: Case, ranks: int) -> tuple[int, ...]:
    """The numbers of the rounds that a tournament asks for in a launch of ``ranks``."""
    return case.rounds or tuple(range(rounds(case.ranks or ranks)))


def estimated_s(of: Plan) -> float:
    """How long a plan lasts at most, starts and agreement between ranks included: an estimate."""
    return sum(start_s(len(launch.nodes)) + launch_s(launch) for launch in of.launches)


def launch_s(launch: PlannedLaunch) -> float:
    """A launch's measuring and the agreement between its ranks."""
    ranks = len(launch.nodes)
    tournaments = [case for case in launch.cases if case.pattern in TOURNAMENT_PATTERNS]
    agreeing = sum(len(rounds_to_make(case, ranks)) for case in tournaments)
    return launch.longest_s + agreeing * overhead_s(ranks)


def start_s(ranks: int) -> float:
    """How long a launch of ``ranks`` takes to start."""
    return START_S + START_PER_RANK_S * ranks


def overhead_s(ranks: int) -> float:
    """What a tournament's round takes besides measuring."""
    return ROUND_OVERHEAD_S + ROUND_OVERHEAD_PER_RANK_S * ranks
