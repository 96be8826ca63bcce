"""Plan the all-pairs cases of a launch: how long each pair measures, and how many rounds."""

from collections.abc import Collection, Mapping, Sequence
from math import ceil

import msgspec

from fabricgauge.check.plan.cases import fit_stream
from fabricgauge.check.plan.outlook import overhead_s, rounds_to_make
from fabricgauge.check.plan.profiles import Profile
from fabricgauge.check.plan.round_robin import sample_rounds
from fabricgauge.model.pattern import Pattern, RoundRobinPattern
from fabricgauge.model.plan import CLOSING, Case, rounds, turns

#: Windows that a pair sends in each direction; the first one is warm-up.
WINDOWS_PER_PAIR = 6
#: Round trips of a pair that a median and a spread need.
ROUND_TRIPS_PER_PAIR = 20
#: Fewer partners cannot separate a slow node from its slow partners.
MIN_ROUNDS = 8
#: Shares of the time: a stream needs more time than round trips of a few bytes.
TIME_SHARES: dict[RoundRobinPattern, float] = {"all_pairs_latency": 1.0, "all_pairs_bandwidth": 2.0}


class RoundField(msgspec.Struct, frozen=True):
    """The ranks of a round robin, and its bounds.

    ``concurrent`` pairs measure at once; 0 means all. ``pair_s`` bounds from both sides how long a
    pair measures in one direction. ``part`` is the number of this launch among all that repeat it,
    and their count. The size of a message that does not fit is reduced unless sizes are ``exact``.
    """

    ranks: int
    concurrent: int
    payload_bytes_per_s: float
    pair_s: Mapping[RoundRobinPattern, tuple[float, float]]
    part: tuple[int, int]
    exact: bool = False

    def most_per_turn_s(self, pattern: RoundRobinPattern, available_s: float) -> float:
        """Return a pair's time if all rounds fit into ``available_s``; may be negative."""
        each_s = available_s / rounds(self.ranks) - overhead_s(self.ranks)
        return each_s / turns(pattern, self.ranks, self.concurrent)

    def affordable(self, pattern: RoundRobinPattern, pair_s: float, available_s: float) -> int:
        """Return how many rounds fit into ``available_s``."""
        in_turn = turns(pattern, self.ranks, self.concurrent)
        each_s = pair_s * in_turn + overhead_s(self.ranks)
        # Compensate rounding of the division.
        return int(available_s / each_s * (1 + 1e-9))


def all_pairs_cases(
    profile: Profile, patterns: Collection[Pattern], field: RoundField, available_s: float
) -> tuple[Case, ...]:
    """Plan the round robins; time that one does not use goes to the next ones."""
    all_robins: list[tuple[RoundRobinPattern, int]] = [
        *(("all_pairs_latency", size) for size in profile.latency_sizes),
        *(("all_pairs_bandwidth", size) for size in profile.bandwidth_sizes),
    ]
    robins = [robin for robin in all_robins if robin[0] in patterns]
    shares = [TIME_SHARES[pattern] for pattern, _ in robins]
    planned: dict[str, Case] = {}
    for place, (pattern, size) in enumerate(robins):
        share_s = available_s * shares[place] / sum(shares[place:])
        case = _plan_case(pattern, size, field, share_s)
        planned.setdefault(case.name, case)
        round_count = len(rounds_to_make(case, field.ranks))
        available_s -= case.longest_s(field.ranks) + round_count * overhead_s(field.ranks)
    return tuple(planned.values())


def closing_round(cases: Sequence[Case], ranks: int) -> tuple[Case, ...]:
    """Return the first round of the largest streams, to be made once more after all else."""
    streams = [case for case in cases if case.pattern == "all_pairs_bandwidth"]
    if not streams:
        return ()
    largest = max(streams, key=lambda case: case.message_bytes)
    first = rounds_to_make(largest, ranks)[:1]
    return (msgspec.structs.replace(largest, name=largest.name + CLOSING, rounds=first),)


def _plan_case(
    pattern: RoundRobinPattern, message_bytes: int, field: RoundField, available_s: float
) -> Case:
    """Plan a round robin in ``available_s``: first fewer samples of a pair, then fewer rounds."""
    least_s, most_s = field.pair_s[pattern]
    pair_s = min(most_s, max(least_s, field.most_per_turn_s(pattern, available_s)))
    message_bytes, window, needed_s = _fit_samples(pattern, message_bytes, field, pair_s)
    pair_s = max(pair_s, needed_s)
    return Case(
        name=f"{pattern}/{message_bytes}",
        pattern=pattern,
        message_bytes=message_bytes,
        window=window,
        origin=0,
        target=1,
        budget_s=pair_s,
        concurrent=field.concurrent,
        rounds=_choose_rounds(field, field.affordable(pattern, pair_s, available_s)),
    )


def _fit_samples(
    pattern: RoundRobinPattern, message_bytes: int, field: RoundField, pair_s: float
) -> tuple[int, int, float]:
    """Return message size, window, and the time that enough samples of them take at the ceiling."""
    rate = field.payload_bytes_per_s
    if pattern == "all_pairs_latency":
        return message_bytes, 1, ROUND_TRIPS_PER_PAIR * 2 * message_bytes / rate
    fit_bytes = pair_s * rate / WINDOWS_PER_PAIR
    message_bytes, window = fit_stream(message_bytes, fit_bytes, exact=field.exact)
    return message_bytes, window, WINDOWS_PER_PAIR * window * message_bytes / rate


def _choose_rounds(field: RoundField, affordable: int) -> tuple[int, ...]:
    """Return the rounds to make, empty for all; without time for all, launches make different ones.

    Together they make ``MIN_ROUNDS`` at least, even if the time does not suffice.
    """
    place, parts = field.part
    count = max(ceil(MIN_ROUNDS / parts), affordable)
    if count >= rounds(field.ranks):
        return ()
    return sample_rounds(field.ranks, count, part=place)
