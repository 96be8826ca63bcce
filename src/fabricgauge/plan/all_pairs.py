"""The all-pairs cases of a launch: how long each pair measures, and how many of the rounds."""

from collections.abc import Collection, Mapping, Sequence
from math import ceil

import msgspec

from fabricgauge.model.pattern import Pattern, RoundRobinPattern
from fabricgauge.model.plan import CLOSING, Case, rounds, turns
from fabricgauge.plan.cases import stream
from fabricgauge.plan.outlook import overhead_s, rounds_to_make
from fabricgauge.plan.profiles import Profile
from fabricgauge.plan.round_robin import sampled

#: Windows that a pair sends in each direction; the first one warms up.
WINDOWS_PER_PAIR = 6
#: Round trips of a pair that are needed for a median and a spread.
ROUND_TRIPS_PER_PAIR = 20
#: With fewer partners a slow node cannot be told from its slow partners.
LEAST_ROUNDS = 8
#: Shares of the time: a stream needs more of it than round trips of a few bytes.
SHARES: dict[RoundRobinPattern, float] = {"all_pairs_latency": 1.0, "all_pairs_bandwidth": 2.0}


class Field(msgspec.Struct, frozen=True):
    """Who plays, and under which bounds. ``concurrent`` pairs measure at once, 0 is all.

    ``pair_s`` bounds from both sides how long a pair measures in one direction.
    ``part`` is the launch's place among all that repeat it, and their number.
    """

    ranks: int
    concurrent: int
    payload_bytes_per_s: float
    pair_s: Mapping[RoundRobinPattern, tuple[float, float]]
    part: tuple[int, int]

    def most_per_turn_s(self, pattern: RoundRobinPattern, available_s: float) -> float:
        """A pair's time if all rounds are made within ``available_s``; may be negative."""
        each_s = available_s / rounds(self.ranks) - overhead_s(self.ranks)
        return each_s / turns(pattern, self.ranks, self.concurrent)

    def affordable(self, pattern: RoundRobinPattern, pair_s: float, available_s: float) -> int:
        """How many rounds are possible within ``available_s``."""
        in_turn = turns(pattern, self.ranks, self.concurrent)
        each_s = pair_s * in_turn + overhead_s(self.ranks)
        # What only rounding took away is given back.
        return int(available_s / each_s * (1 + 1e-9))


def all_pairs_cases(
    profile: Profile, patterns: Collection[Pattern], field: Field, available_s: float
) -> tuple[Case, ...]:
    """The round robins; what one leaves of its share of the time is for those after it."""
    every: list[tuple[RoundRobinPattern, int]] = [
        *(("all_pairs_latency", size) for size in profile.latency_sizes),
        *(("all_pairs_bandwidth", size) for size in profile.bandwidth_sizes),
    ]
    wanted = [one for one in every if one[0] in patterns]
    shares = [SHARES[pattern] for pattern, _ in wanted]
    planned: dict[str, Case] = {}
    for place, (pattern, size) in enumerate(wanted):
        share_s = available_s * shares[place] / sum(shares[place:])
        case = _case(pattern, size, field, share_s)
        planned.setdefault(case.name, case)
        made = len(rounds_to_make(case, field.ranks))
        available_s -= case.longest_s(field.ranks) + made * overhead_s(field.ranks)
    return tuple(planned.values())


def closing_round(cases: Sequence[Case], ranks: int) -> tuple[Case, ...]:
    """Return the first round of the largest streams, to be made once more after all else."""
    streams = [case for case in cases if case.pattern == "all_pairs_bandwidth"]
    if not streams:
        return ()
    largest = max(streams, key=lambda case: case.message_bytes)
    first = rounds_to_make(largest, ranks)[:1]
    return (msgspec.structs.replace(largest, name=largest.name + CLOSING, rounds=first),)


def _case(pattern: RoundRobinPattern, message_bytes: int, field: Field, available_s: float) -> Case:
    """A round robin within ``available_s``: first fewer samples of a pair, then fewer rounds."""
    least_s, most_s = field.pair_s[pattern]
    pair_s = min(most_s, max(least_s, field.most_per_turn_s(pattern, available_s)))
    message_bytes, window, needed_s = _samples(pattern, message_bytes, field, pair_s)
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
        rounds=_rounds(field, field.affordable(pattern, pair_s, available_s)),
    )


def _samples(
    pattern: RoundRobinPattern, message_bytes: int, field: Field, pair_s: float
) -> tuple[int, int, float]:
    """Message size, window, and the time that enough samples of them take at the ceiling."""
    rate = field.payload_bytes_per_s
    if pattern == "all_pairs_latency":
        return message_bytes, 1, ROUND_TRIPS_PER_PAIR * 2 * message_bytes / rate
    message_bytes, window = stream(message_bytes, pair_s * rate / WINDOWS_PER_PAIR)
    return message_bytes, window, WINDOWS_PER_PAIR * window * message_bytes / rate


def _rounds(field: Field, affordable: int) -> tuple[int, ...]:
    """Those to make, empty for all: where not all are, the launches make different ones.

    Together they make ``LEAST_ROUNDS``, be there time or not.
    """
    place, parts = field.part
    count = max(ceil(LEAST_ROUNDS / parts), affordable)
    if count >= rounds(field.ranks):
        return ()
    return sampled(field.ranks, count, part=place)
