"""Plan cases of many ranks that are no round robin: collectives, many pairs, neighbours, load."""

from collections.abc import Collection, Iterator
from itertools import product
from math import ceil, log2

import msgspec

from fabricgauge.check.plan.cases import (
    FIXED_BYTES,
    LARGE_BYTES,
    MIN_RANKS_UNDER_LOAD,
    MIN_WINDOW,
    SAMPLES_PER_CASE,
    SIMULATED_GROWING_RANKS,
    SMALL_BYTES,
    WINDOW,
    base_pattern,
    fit_stream,
    is_growing,
    size_problem,
)
from fabricgauge.check.plan.profiles import Profile
from fabricgauge.model.pattern import NEIGHBOUR_PATTERNS, SUSTAINED_BYTES, Load, Pattern
from fabricgauge.model.plan import Case

#: A size is skipped if its samples would take more than this many times the budget of a case.
MAX_BUDGET_FACTOR = 8.0
#: Pairs per rank that measure under load: a fifth of the ranks, as in GPCNeT (Chunduri et al.,
#: SC 2019).
VICTIM_PAIRS_PER_RANK = 0.1
#: Most messages that streams of a simulation have under way together. SimGrid's solver takes time
#: that grows faster than they do, and 2,048 on a dragonfly after the round robins end by SIGSEGV.
SIMULATED_MESSAGES = 256


class Grid(msgspec.Struct, frozen=True):
    """The density of sizes, rank counts and pair counts, and a case's budget."""

    sizes: tuple[int, ...]
    counts: tuple[int, ...]
    pairs: tuple[int, ...]
    case_s: float


def crowd_cases(
    profile: Profile,
    patterns: Collection[Pattern],
    ranks: int,
    payload_bytes_per_s: float,
    available_s: float,
    *,
    simulated: bool = False,
    sparsest: bool = False,
) -> tuple[Case, ...]:
    """Plan ``patterns`` on the densest grid that fits into ``available_s``, else on the sparsest.

    Budgets shrink first, then sizes between the ends are dropped unless they are the request's,
    then rank counts. ``sparsest``, for a simulation, tries no other grid.
    """
    most_messages = SIMULATED_MESSAGES if simulated else 0
    planned: tuple[Case, ...] = ()
    for grid in (*grids(profile, ranks),)[-1 if sparsest else 0 :]:
        planner = _CasePlanner(
            ranks, payload_bytes_per_s, grid.case_s, profile.sizes, most_messages,
            SIMULATED_GROWING_RANKS if sparsest else ranks,
        )  # fmt: skip
        all_cases = (
            *planner.bisection(),
            *planner.many_pairs(grid.pairs),
            *planner.loaded(profile.loads),
            *planner.neighbours(),
            *planner.collectives(profile.collectives, grid),
        )
        planned = tuple(case for case in all_cases if case.pattern in patterns)
        if sum(case.budget_s for case in planned) <= available_s:
            break
    return planned


def grids(profile: Profile, ranks: int) -> Iterator[Grid]:
    """Yield grids from the densest to the sparsest."""
    sizes, (least_s, most_s) = profile.collective_sizes, profile.case_s
    counts, pairs = doubling_counts(2, ranks), doubling_counts(1, ranks // 2)
    ends = sizes if profile.sizes else (sizes[0], sizes[-1])
    least = sizes if profile.sizes else sizes[:1]
    yield Grid(sizes, counts, pairs, most_s)
    yield Grid(sizes, counts, pairs, least_s)
    yield Grid(ends, counts, pairs, least_s)
    yield Grid(ends, counts[-1::-3][::-1], pairs[-1::-3][::-1], least_s)
    yield Grid(ends, counts[-1:], pairs[-1:], least_s)
    yield Grid(least, counts[-1:], pairs[-1:], least_s)


def doubling_counts(first: int, last: int) -> tuple[int, ...]:
    """Return ``first``, its doubles below ``last``, and ``last``."""
    steps = [first]
    while steps[-1] * 2 < last:
        steps.append(steps[-1] * 2)
    return tuple(dict.fromkeys((*steps, max(first, last))))


def min_iteration_s(
    pattern: Pattern, message_bytes: int, ranks: int, payload_bytes_per_s: float
) -> float:
    """Return the least time of one operation, from what the busiest rank sends or receives."""
    plain = base_pattern(pattern)
    if is_growing(pattern):
        parts = float(ranks - 1)
    elif plain == "allreduce":
        parts = 2.0
    elif plain in ("bcast", "reduce"):
        parts = float(ceil(log2(ranks)))
    else:
        parts = 2.0 if pattern == "exchange" else 1.0
    return parts * message_bytes / payload_bytes_per_s


class _CasePlanner(msgspec.Struct, frozen=True):
    """Plan cases within a budget on a network of a known ceiling.

    ``sizes`` are those of the request; if empty, each pattern has its usual ones. Streams have at
    most ``most_messages`` under way together; 0 is no limit. Collectives in which each rank has a
    message for every other have ``growing_ranks`` at most.
    """

    ranks: int
    payload_bytes_per_s: float
    case_s: float
    sizes: tuple[int, ...] = ()
    most_messages: int = 0
    growing_ranks: int = 1 << 30

    def collectives(self, patterns: tuple[Pattern, ...], grid: Grid) -> Iterator[Case]:
        for pattern, count in product(patterns, grid.counts):
            members = min(count, self.growing_ranks) if is_growing(pattern) else count
            sizes = (FIXED_BYTES[pattern],) if pattern in FIXED_BYTES else grid.sizes
            for place, size in enumerate(sizes):
                is_least = not place and not self.sizes
                if is_least or self._fits(pattern, size, members):
                    yield self._case(pattern, size, f"{members}ranks", ranks=members)

    def many_pairs(self, counts: tuple[int, ...]) -> Iterator[Case]:
        for count in counts:
            detail = f"{count}pairs"
            for size in self._sizes("multi_latency", SMALL_BYTES):
                yield self._case("multi_latency", size, detail, pairs=count)
            for size in self._sizes("multi_bandwidth", SMALL_BYTES, LARGE_BYTES):
                yield self._streaming("multi_bandwidth", size, detail, pairs=count)

    def neighbours(self) -> Iterator[Case]:
        for pattern in NEIGHBOUR_PATTERNS:
            for size in self._sizes(pattern, SMALL_BYTES, LARGE_BYTES):
                if size == SMALL_BYTES or self._fits(pattern, size, self.ranks):
                    yield self._case(pattern, size)

    def loaded(self, loads: tuple[Load, ...]) -> Iterator[Case]:
        victims = max(1, int(self.ranks * VICTIM_PAIRS_PER_RANK))
        enough = self.ranks >= MIN_RANKS_UNDER_LOAD
        sizes = self._sizes("loaded_latency", SMALL_BYTES)
        for size, load in product(sizes, loads if enough else ()):
            case = self._case("loaded_latency", size, load, pairs=victims)
            yield msgspec.structs.replace(case, load=load)

    def bisection(self) -> Iterator[Case]:
        for size in self._sizes("bisection", LARGE_BYTES):
            yield self._streaming("bisection", size)

    def _sizes(self, pattern: Pattern, *usual: int) -> tuple[int, ...]:
        """Return the requested sizes that the pattern can have, else its usual ones."""
        sizes = self.sizes or usual
        return tuple(size for size in sizes if not size_problem(pattern, size, self.ranks))

    def _fits(self, pattern: Pattern, size: int, members: int) -> bool:
        """Check that buffers suffice, and the time too if nobody requested the size."""
        iteration_time_s = min_iteration_s(pattern, size, members, self.payload_bytes_per_s)
        most_s = MAX_BUDGET_FACTOR * self.case_s
        in_time = bool(self.sizes) or SAMPLES_PER_CASE * iteration_time_s <= most_s
        return in_time and not size_problem(pattern, size, members)

    def _streaming(self, pattern: Pattern, size: int, detail: str = "", pairs: int = 0) -> Case:
        fit_bytes = self.case_s * self.payload_bytes_per_s / SAMPLES_PER_CASE
        if size > SUSTAINED_BYTES:
            size, window = fit_stream(size, fit_bytes, exact=bool(self.sizes))
        else:
            window = WINDOW
        if self.most_messages:
            share = self.most_messages // (pairs or max(1, self.ranks // 2))
            window = max(MIN_WINDOW, min(window, share))
        return self._case(pattern, size, detail, pairs=pairs, window=window)

    def _case(
        self, pattern: Pattern, size: int, detail: str = "", *,
        ranks: int = 0, pairs: int = 0, window: int = 1,
    ) -> Case:  # fmt: skip
        iteration_time_s = window * min_iteration_s(
            pattern, size, ranks or self.ranks, self.payload_bytes_per_s
        )
        return Case(
            name="/".join(filter(None, (pattern, str(size), detail))),
            pattern=pattern,
            message_bytes=size,
            window=window,
            origin=0,
            target=1,
            budget_s=max(self.case_s, SAMPLES_PER_CASE * iteration_time_s),
            ranks=ranks,
            pairs=pairs,
        )
