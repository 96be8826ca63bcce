"""Requested sizes are planned as they are, for every pattern, or refused by name."""

from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.check.plan.asked import FAST_BYTES_PER_S, GBE_BYTES_PER_S, planned, target

from fabricgauge.check.plan.cases import ALL_PATTERNS, FIXED_BYTES, size_problem
from fabricgauge.check.plan.profiles import MIB, PROFILES
from fabricgauge.model.errors import UsageError
from fabricgauge.model.pattern import (
    PAIR_PATTERNS,
    PATTERNS,
    ROUND_ROBIN_PATTERNS,
    THREADED_PATTERNS,
    Pattern,
)
from fabricgauge.model.plan import Case

size_lists = st.lists(
    st.one_of(st.integers(0, 64 * MIB), st.sampled_from((0, 8, 4096, 65536, MIB))),
    min_size=1, max_size=6, unique=True,
)  # fmt: skip


def cases_of(pattern: str, ranks: int, sizes: list[int], rate: float, profile: str) -> list[Case]:
    made = planned(ranks, target(rate), profile, patterns=(pattern,), sizes=tuple(sizes))
    return [case for launch in made.launches for case in launch.cases if case.pattern == pattern]


def test_the_property_below_covers_the_catalogue() -> None:
    families = (get_args(family) for family in get_args(Pattern))
    assert sorted(ALL_PATTERNS) == sorted(name for names in families for name in names)
    assert set(ALL_PATTERNS) >= set(PATTERNS)


@pytest.mark.parametrize("pattern", ALL_PATTERNS)
@settings(max_examples=8, deadline=None)
@given(
    st.sampled_from((2, 4, 7, 32)), size_lists,
    st.sampled_from((GBE_BYTES_PER_S, FAST_BYTES_PER_S)), st.sampled_from(sorted(PROFILES)),
)  # fmt: skip
def test_a_pattern_has_exactly_the_requested_sizes_or_is_refused_by_name(
    pattern: str, ranks: int, sizes: list[int], rate: float, profile: str
) -> None:
    try:
        cases = cases_of(pattern, ranks, sizes, rate, profile)
    except UsageError as error:
        assert pattern in str(error)
        alone = pattern in THREADED_PATTERNS and ranks > 2
        few = pattern == "loaded_latency" and ranks < 4
        assert alone or few or any(size_problem(pattern, size, ranks) for size in sizes)
        return
    assert {case.message_bytes for case in cases} == set(sizes)
    if pattern in (*PAIR_PATTERNS, *ROUND_ROBIN_PATTERNS):
        return
    series: dict[tuple[int, int, str], set[int]] = {}
    for case in cases:
        series.setdefault((case.ranks, case.pairs, case.load), set()).add(case.message_bytes)
    assert all(found == set(sizes) for found in series.values())


def test_every_pattern_of_a_list_has_every_size() -> None:
    patterns, sizes = ("latency", "multi_latency", "sendrecv", "bcast"), (8, 4096, 65536, 4 * MIB)
    made = planned(32, target(), patterns=patterns, sizes=sizes)
    cases = [case for launch in made.launches for case in launch.cases]
    for pattern in patterns:
        found = {case.message_bytes for case in cases if case.pattern == pattern}
        assert found == set(sizes), pattern


@pytest.mark.parametrize(
    ("patterns", "sizes", "named"),
    [
        (("bandwidth",), (0, 8), "bandwidth"),
        (("alltoall",), (8, 64 * MIB), "alltoall"),
        (("latency", "accumulate_latency"), (8, 12), "accumulate_latency"),
        (("barrier",), (8,), "barrier"),
        (("put_latency",), (0,), "put_latency"),
    ],
)
def test_a_size_that_a_pattern_cannot_have_is_refused_by_name(
    patterns: tuple[str, ...], sizes: tuple[int, ...], named: str
) -> None:
    with pytest.raises(UsageError, match=f"--sizes [0-9]+: {named} "):
        planned(8, target(), patterns=patterns, sizes=sizes)


@pytest.mark.parametrize("pattern", sorted(FIXED_BYTES))
def test_a_pattern_of_one_size_may_stand_beside_others(pattern: str) -> None:
    made = planned(4, target(), patterns=("latency", pattern), sizes=(4096,))
    sizes = {
        case.pattern: case.message_bytes for launch in made.launches for case in launch.cases
        if case.pattern in ("latency", pattern)
    }  # fmt: skip
    assert sizes == {"latency": 4096, pattern: FIXED_BYTES[pattern]}


def test_an_empty_message_is_measured_by_the_patterns_that_have_one() -> None:
    made = planned(2, target(), patterns=("latency", "bandwidth"), sizes=(0, 65536))
    measured = {(case.pattern, case.message_bytes) for case in made.launches[0].cases}
    assert measured == {("latency", 0), ("latency", 65536), ("bandwidth", 65536)}
