"""Pairs take turns, and their ratios are summed up by order statistics."""

import statistics

from benchmarks.ratios import in_turn, spread
from hypothesis import given
from hypothesis import strategies as st


def test_the_order_changes_from_pair_to_pair() -> None:
    seen: list[str] = []
    pairs = in_turn(lambda: seen.append("a"), lambda: seen.append("b"), 3)
    assert len(list(pairs)) == 3
    assert "".join(seen) == "abbaab"


def test_each_result_stays_on_its_own_side() -> None:
    assert list(in_turn(lambda: "ours", lambda: 2, 2)) == [("ours", 2), ("ours", 2)]


@given(st.lists(st.floats(0.01, 100), min_size=1))
def test_a_spread_is_in_order_and_holds_the_median(values: list[float]) -> None:
    found = spread(values)
    assert found.minimum <= found.lower <= found.median <= found.upper <= found.maximum
    assert found.median == statistics.median(values)
    assert found.count == len(values)
