"""Who breaks a launch is found, in few launches."""

from collections.abc import Collection
from itertools import combinations
from math import ceil, log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.check.plan.search import (
    MAX_PARALLEL_LAUNCHES,
    Group,
    exclude_culprits,
    search_alone,
    search_culprits,
)

#: Launches per culprit: two bisections, and those that tell a node from a pair.
LAUNCHES_PER_LOG2 = 2
BESIDE = 7


def searched(nodes: Group, planted: Collection[Group]) -> tuple[tuple[Group, ...], int]:
    """Who was found, and with how many launches."""
    launches, search = 0, search_culprits(nodes)
    answer: bool | None = None
    while True:
        try:
            group = search.send(answer)  # type: ignore[arg-type]
        except StopIteration as done:
            return done.value, launches
        assert 1 < len(group) == len(set(group))
        launches += 1
        answer = any(set(one) <= set(group) for one in planted)


def names(count: int) -> Group:
    return tuple(f"n{number}" for number in range(count))


def alike(found: Collection[Group]) -> set[frozenset[str]]:
    return {frozenset(one) for one in found}


@st.composite
def planted_in(draw: st.DrawFn) -> tuple[Group, tuple[Group, ...]]:
    nodes = names(draw(st.integers(4, 64)))
    node = st.tuples(st.sampled_from(nodes))
    pair = st.lists(st.sampled_from(nodes), min_size=2, max_size=2, unique=True).map(tuple)
    return nodes, tuple(draw(st.lists(node | pair, max_size=2)))


@given(planted_in())
def test_one_or_two_culprits_are_found_exactly(case: tuple[Group, tuple[Group, ...]]) -> None:
    nodes, planted = case
    found, launches = searched(nodes, planted)
    bad = {one for one in planted if len(one) == 1}
    # What a bad node explains, nobody can tell from it.
    told = [one for one in planted if len(one) == 1 or not any(set(b) & set(one) for b in bad)]
    assert alike(found) == alike(told)
    each = LAUNCHES_PER_LOG2 * ceil(log2(len(nodes))) + BESIDE
    assert launches <= each * len(found) + 2


@pytest.mark.parametrize("count", [2, 3, 4, 5, 8])
def test_every_single_pair_and_node_of_few_is_found(count: int) -> None:
    nodes = names(count)
    for pair in combinations(nodes, 2):
        assert alike(searched(nodes, [pair])[0]) == {frozenset(pair)}
    for node in nodes if count > 2 else ():
        assert searched(nodes, [(node,)])[0] == ((node,),)


def test_a_pair_among_64_nodes_is_found_in_18_launches_at_most() -> None:
    nodes = names(64)
    counts = [searched(nodes, [pair])[1] for pair in combinations(nodes, 2)]
    assert max(counts) <= 18
    assert sum(counts) / len(counts) <= 16


def alone(nodes: Group, bad: Collection[str]) -> tuple[tuple[str, ...], int]:
    """Who breaks launches of their own, and how often groups were launched."""
    times, search = 0, search_alone(nodes)
    groups = next(search)
    while True:
        assert sum(map(len, groups)) == len({node for group in groups for node in group})
        times += 1
        try:
            groups = search.send([bool(set(bad) & set(group)) for group in groups])
        except StopIteration as done:
            return done.value, times


@given(st.integers(2, 300), st.data())
def test_nodes_that_break_alone_are_found_together(count: int, data: st.DataObject) -> None:
    nodes = names(count)
    bad = data.draw(st.lists(st.sampled_from(nodes), max_size=3, unique=True))
    found, times = alone(nodes, bad)
    everywhere = len(bad) == min(count, ceil(count / ceil(count / MAX_PARALLEL_LAUNCHES)))
    assert {*found} == {*bad} or (everywhere and not found)
    assert times <= 1 + ceil(log2(count) / log2(MAX_PARALLEL_LAUNCHES))


def test_what_all_nodes_break_is_no_nodes_fault() -> None:
    assert alone(names(40), names(40)) == ((), 1)


def test_nothing_is_found_where_nothing_breaks() -> None:
    assert searched(names(64), []) == ((), 1)


def test_both_nodes_of_a_known_pair_are_tried_with_the_others() -> None:
    assert tuple(exclude_culprits(("a", "b", "c"), [("a", "b")])) == (("b", "c"), ("a", "c"))
