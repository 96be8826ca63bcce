"""Plan cases of many ranks that are no round robin: collectives, many pairs, neighbours, load."""

from collections.abc import Collection, Iterator
from itertools import product
from math import ceil, log2

import msgspec

from fabricgauge.check.plan.cases import (
    LARGE_BYTES,
    SAMPLES_PER_CASE,
    SMALL_BYTES,
    WINDOW,
    fit_stream,
)
from fabricgauge.check.plan.profiles import MIB, Profile
from fabricgauge.model.pattern import SUSTAINED_BYTES, CrowdPattern, Load, Pattern
from fabricgauge.model.plan import Case

#: Largest buffer of a rank in a collective whose buffers grow with the ranks.
MAX_BUFFER_BYTES = 256 * MIB
#: A size is skipped if its samples would take more than this many times the budget of a case.
MAX_BUDGET_FACTOR = 8.0
#: Pairs per rank that measure under load: a fifth of the ranks, as in GPCNeT (Chunduri et al.,
#: SC 2019).
VICTIM_PAIRS_PER_RANK = 0.1
#: Two ranks that measure, and two that make load.
MIN_RANKS_UNDER_LOAD = 4

#: Collectives in which a rank has ``message_bytes`` for, or from, every other rank.
_GROWING = ("allgather", "gather", "scatter", "alltoall", "reduce_scatter")
_NEIGHBOURS: tuple[CrowdPattern, ...] = ("sendrecv", "exchange")


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
) -> tuple[Case, ...]:
    """Plan ``patterns`` on the densest grid that fits into ``available_s``, else on the sparsest.

    Budgets shrink first, then sizes between the ends are dropped, then rank counts.
    """
    planned: tuple[Case, ...] = ()
    for grid in grids(profile, ranks):
        planner = _CasePlanner(ranks, payload_bytes_per_s, grid.case_s)
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
    sizes, counts, pairs = (
        profile.collective_sizes,
        doubling_counts(2, ranks),
        doubling_counts(1, ranks // 2),
    )
    least_s, most_s = profile.case_s
    ends = (sizes[0], sizes[-1])
    yield Grid(sizes, counts, pairs, most_s)
    yield Grid(sizes, counts, pairs, least_s)
    yield Grid(ends, counts, pairs, least_s)
    yield Grid(ends, counts[-1::-3][::-1], pairs[-1::-3][::-1], least_s)
    yield Grid(ends, counts[-1:], pairs[-1:], least_s)
    yield Grid(ends[:1], counts[-1:], pairs[-1:], least_s)


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
    plain = _base_pattern(pattern)
    if plain in _GROWING:
        parts = float(ranks - 1)
    elif plain == "allreduce":
        parts = 2.0
    elif plain in ("bcast", "reduce"):
        parts = float(ceil(log2(ranks)))
    else:
        parts = 2.0 if pattern == "exchange" else 1.0
    return parts * message_bytes / payload_bytes_per_s


class _CasePlanner(msgspec.Struct, frozen=True):
    """Plan cases within a budget on a network of a known ceiling."""

    ranks: int
    payload_bytes_per_s: float
    case_s: float

    def collectives(self, patterns: tuple[Pattern, ...], grid: Grid) -> Iterator[Case]:
        for pattern, members in product(patterns, grid.counts):
            sizes = (0,) if pattern.endswith("barrier") else grid.sizes
            for size in (*sizes[:1], *(s for s in sizes[1:] if self._fits(pattern, s, members))):
                yield self._case(pattern, size, f"{members}ranks", ranks=members)

    def many_pairs(self, counts: tuple[int, ...]) -> Iterator[Case]:
        for count in counts:
            yield self._case("multi_latency", SMALL_BYTES, f"{count}pairs", pairs=count)
            yield self._streaming("multi_bandwidth", SMALL_BYTES, f"{count}pairs", pairs=count)
            yield self._streaming("multi_bandwidth", LARGE_BYTES, f"{count}pairs", pairs=count)

    def neighbours(self) -> Iterator[Case]:
        for pattern in _NEIGHBOURS:
            yield self._case(pattern, SMALL_BYTES)
            if self._fits(pattern, LARGE_BYTES, self.ranks):
                yield self._case(pattern, LARGE_BYTES)

    def loaded(self, loads: tuple[Load, ...]) -> Iterator[Case]:
        victims = max(1, int(self.ranks * VICTIM_PAIRS_PER_RANK))
        for load in loads if self.ranks >= MIN_RANKS_UNDER_LOAD else ():
            case = self._case("loaded_latency", SMALL_BYTES, load, pairs=victims)
            yield msgspec.structs.replace(case, load=load)

    def bisection(self) -> Iterator[Case]:
        yield self._streaming("bisection", LARGE_BYTES)

    def _fits(self, pattern: Pattern, size: int, members: int) -> bool:
        iteration_time_s = min_iteration_s(pattern, size, members, self.payload_bytes_per_s)
        buffer_bytes = members * size if _base_pattern(pattern) in _GROWING else size
        in_time = SAMPLES_PER_CASE * iteration_time_s <= MAX_BUDGET_FACTOR * self.case_s
        return in_time and buffer_bytes <= MAX_BUFFER_BYTES

    def _streaming(self, pattern: Pattern, size: int, detail: str = "", pairs: int = 0) -> Case:
        fit_bytes = self.case_s * self.payload_bytes_per_s / SAMPLES_PER_CASE
        if size > SUSTAINED_BYTES:
            size, window = fit_stream(size, fit_bytes)
        else:
            window = WINDOW
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


def _base_pattern(pattern: Pattern) -> str:
    """Return a collective's name without the marks of its non-blocking and variable forms."""
    return pattern.removeprefix("i").removesuffix("v")
