"""Pairs that fail → who is at fault."""

from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.doctor.checks.echoes import Pair, find_culprits, make_pair


def failing(count: int, *bad: Pair) -> dict[Pair, bool]:
    """Everybody with everybody; ``bad`` pairs fail."""
    names = [f"c{number}" for number in range(count)]
    every = [make_pair(a, b) for a in names for b in names if a < b]
    return {name: name in bad for name in every}


def test_nobody_is_blamed_where_nothing_fails() -> None:
    assert find_culprits(failing(5)) == ()
    assert find_culprits({}) == ()


def test_whoever_fails_with_all_is_blamed_alone() -> None:
    assert find_culprits(failing(5, ("c0", "c2"), ("c1", "c2"), ("c2", "c3"), ("c2", "c4"))) == (
        ("c2",),
    )


def test_a_pair_of_two_that_do_well_with_others_is_blamed_as_a_pair() -> None:
    assert find_culprits(failing(5, ("c1", "c2"))) == (("c1", "c2"),)


def test_of_a_pair_who_was_tried_with_nobody_else_is_blamed() -> None:
    assert find_culprits({("c0", "c1"): False, ("c1", "c2"): True}) == (("c2",),)
    assert find_culprits({("c0", "c1"): True}) == (("c0", "c1"),)


def test_of_a_pair_who_does_well_with_nobody_is_blamed() -> None:
    """c1 and c2 are held back; c2 is tied with c1 for the most failing pairs."""
    ring = {("c0", "c1"): True, ("c1", "c2"): True, ("c2", "c3"): True, ("c0", "c3"): False}
    assert find_culprits(ring) == (("c1",), ("c2",))


def test_who_is_known_to_be_at_fault_is_blamed_before_those_that_fail_with_as_many() -> None:
    crossed = {make_pair(a, b): True for a in ("c0", "c3") for b in ("c1", "c2")}
    assert find_culprits({**crossed, ("c0", "c3"): False}) == (("c0",), ("c3",))
    assert find_culprits({**crossed, ("c0", "c3"): False}, ["c1", "c2"]) == (("c1",), ("c2",))
    assert find_culprits(failing(3), ["c1"]) == ()


def test_where_all_pairs_fail_all_are_named_together() -> None:
    every = failing(4)
    assert find_culprits(dict.fromkeys(every, True)) == (("c0", "c1", "c2", "c3"),)


def test_two_bad_nodes_are_both_blamed() -> None:
    bad = [name for name in failing(6) if {"c1", "c4"} & set(name)]
    assert set(find_culprits(failing(6, *bad))) == {("c1",), ("c4",)}


@given(st.integers(4, 9), st.data())
def test_every_failing_pair_is_explained_by_somebody_who_is_blamed(
    count: int, data: st.DataObject
) -> None:
    every = sorted(failing(count))
    bad = data.draw(st.sets(st.sampled_from(every)))
    guilty = find_culprits(failing(count, *bad))
    assert all(any(set(who) & set(name) for who in guilty) for name in bad)
    assert bool(guilty) == bool(bad)


@given(st.integers(4, 40), st.data())
def test_a_single_bad_node_in_a_ring_is_found(count: int, data: st.DataObject) -> None:
    names = [f"c{number}" for number in range(count)]
    guilty = data.draw(st.sampled_from(names))
    steps = {1, count // 2}
    ring = {make_pair(names[i], names[(i + step) % count]) for i in range(count) for step in steps}
    assert find_culprits({name: guilty in name for name in ring}) == ((guilty,),)
