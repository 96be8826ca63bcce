"""A plan of which each pair of nodes can be a job of its own."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.check.plan.round_robin import group_by_pair, group_disjoint, meetings, pair_plan
from fabricgauge.model.plan import Case, Plan, PlannedLaunch, Stopping, rounds

CASE = Case("all_pairs_latency/8", "all_pairs_latency", 8, 1, 0, 1, 0.1)
TEMPLATE = Plan(
    "quick", Stopping(0.01, 0.95), False,
    (
        PlannedLaunch(1, "10.0.0.0/24", "10.0.0.0/24", ("0", "1"), (CASE,)),
        PlannedLaunch(2, "loopback:0", None, ("0", "0"), (CASE,)),
    ),
)  # fmt: skip


def names(count: int) -> tuple[str, ...]:
    return tuple(f"c{number}" for number in range(1, count + 1))


@given(st.integers(2, 40))
def test_every_pair_has_one_job(count: int) -> None:
    plan = pair_plan(TEMPLATE, names(count))
    pairs = group_by_pair(plan.launches)
    assert len(pairs) == count * (count - 1) // 2
    assert len({frozenset(pair) for pair in pairs}) == len(pairs)
    numbers = [launch.number for launch in plan.launches]
    assert numbers == list(range(1, len(numbers) + 1))


@given(st.integers(3, 40), st.integers(1, 5))
def test_each_node_meets_as_many_partners_as_were_asked_for(count: int, partners: int) -> None:
    pairs = group_by_pair(pair_plan(TEMPLATE, names(count), partners).launches)
    met = Counter(node for pair in pairs for node in pair)
    wanted = min(partners, count - 1)
    assert max(met.values()) <= wanted
    assert min(met.values(), default=0) >= wanted - count % 2


def test_what_one_node_does_alone_is_measured_once_with_the_first_pair() -> None:
    plan = pair_plan(TEMPLATE, names(4))
    alone = [one for one in plan.launches if len(set(one.nodes)) == 1]
    assert [one.network for one in alone] == [f"loopback:{alone[0].nodes[0]}"]
    first, *others = group_by_pair(plan.launches).values()
    assert [len(first), *{len(one) for one in others}] == [2, 1]
    left = group_by_pair([one for one in plan.launches if one.number > 3])
    assert len(left) == 4


def starts(*nodes: tuple[str, ...]) -> list[PlannedLaunch]:
    return [PlannedLaunch(at, "net1", None, each, ()) for at, each in enumerate(nodes, 1)]


@given(st.integers(2, 24), st.integers(0, 9))
def test_pairs_that_share_no_node_are_a_round_and_all_nodes_are_one_of_their_own(
    count: int, partners: int
) -> None:
    pairs = list(meetings(names(count), partners))
    made = list(group_disjoint([*starts(*pairs), *starts(names(count))], count))
    assert [one for group in made for one in group] == [*starts(*pairs), *starts(names(count))]
    assert len(made) == (min(partners, rounds(count)) if partners else rounds(count)) + 1


@given(st.lists(st.sets(st.sampled_from("abcdef"), min_size=1)), st.integers(1, 4))
def test_no_more_at_once_than_were_asked_for_and_none_on_one_node(
    every: list[set[str]], most: int
) -> None:
    launches = starts(*(tuple(sorted(each)) for each in every))
    made = list(group_disjoint(launches, most))
    assert [one for group in made for one in group] == launches
    for group in made:
        met = Counter(node for one in group for node in one.nodes)
        assert len(group) <= most
        assert max(met.values()) == 1
