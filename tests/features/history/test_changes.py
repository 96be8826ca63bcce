"""Change points: against a library, on planted levels, and what changed then."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricgauge.features.history.changes import (
    FEWEST_RUNS,
    find_changes,
    name_what_changed,
    partition,
)
from fabricgauge.features.history.values import History, RunRow


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(2 * FEWEST_RUNS, 60), st.floats(0.05, 3.0))
def test_partition_finds_the_segments_of_ruptures(seed: int, count: int, penalty: float) -> None:
    """Both minimise the same sum, so that the costs are equal, and the splits but for ties."""
    ruptures = pytest.importorskip("ruptures")
    random = np.random.default_rng(seed)
    levels = np.repeat(random.normal(0, 1.0, -(-count // 7)), 7)[:count]
    entries = levels + random.normal(0, 0.2, count)
    pelt = ruptures.Pelt(model="l2", min_size=FEWEST_RUNS, jump=1).fit(entries[:, None])
    expected = [end for end in pelt.predict(pen=penalty) if end < count]
    assert cost(entries, partition(entries, penalty)) + penalty * len(
        partition(entries, penalty)
    ) == pytest.approx(cost(entries, tuple(expected)) + penalty * len(expected))


def cost(entries: "np.ndarray[tuple[int], np.dtype[np.float64]]", starts: tuple[int, ...]) -> float:
    return float(sum(((part - part.mean()) ** 2).sum() for part in np.split(entries, starts)))


def test_a_planted_level_is_found_where_it_began() -> None:
    random = np.random.default_rng(3)
    values = 12e9 * np.exp(random.normal(0, 0.01, 90))
    values[50:] *= 0.94
    (change,) = find_changes(values)
    assert abs(change.index - 50) <= 1
    assert change.shift.low < -0.06 < change.shift.high


@pytest.mark.parametrize("place", [1001, 1502, 2333])
def test_a_long_series_is_split_at_the_same_place(place: int) -> None:
    random = np.random.default_rng(5)
    values = np.exp(random.normal(0, 0.004, 3000))
    values[place:] *= 0.95
    (change,) = find_changes(values)
    assert abs(change.index - place) <= 1


def test_noise_and_single_outliers_are_no_change() -> None:
    changes = 0
    for seed in range(60):
        random = np.random.default_rng(seed)
        values = np.exp(random.normal(0, 0.02, 120))
        values[[20, 57, 58, 90]] *= 0.4
        changes += len(find_changes(values))
    assert changes <= 2


def test_a_series_that_goes_and_comes_back_has_two_changes() -> None:
    random = np.random.default_rng(4)
    values = np.exp(random.normal(0, 0.005, 100))
    values[30:60] *= 1.1
    assert [abs(change.index - place) <= 1 for change, place in
            zip(find_changes(values), (30, 60), strict=True)] == [True, True]  # fmt: skip


@given(st.lists(st.floats(1e-9, 1e12), max_size=30))
def test_any_series_has_an_answer(figures: list[float]) -> None:
    for change in find_changes(np.array(figures, dtype=float)):
        assert FEWEST_RUNS <= change.index <= len(figures) - FEWEST_RUNS


def make_history(firmware: list[str], nodes: Sequence[tuple[str, ...]]) -> History:
    runs = tuple(
        RunRow(f"r{place}", float(place), True, "PASS", "", "", beside, ("ib",), "mpich", 0, place,
               "")
        for place, beside in enumerate(nodes)
    )  # fmt: skip
    per_node = {
        place: {node: {"firmware": text, "kernel": "6.1"} for node in nodes[place]}
        for place, text in enumerate(firmware)
    }
    return History("", runs, (), {0: {"MPI": "mpich 5"}}, per_node)


def test_only_what_differs_on_both_sides_changed() -> None:
    stored = make_history(["1", "1", "1", "2", "2", "2"], [("a", "b")] * 6)
    assert name_what_changed(stored, range(3), range(3, 6), ("a",)) == ("a: firmware: 1 → 2",)
    mixed = make_history(["1", "2", "1", "2", "1", "2"], [("a", "b")] * 6)
    assert name_what_changed(mixed, range(3), range(3, 6), ("a",)) == ()


def test_a_new_neighbour_is_a_change() -> None:
    stored = make_history(["1"] * 4, [("a", "b")] * 2 + [("a", "c")] * 2)
    what = name_what_changed(stored, range(2), range(2, 4), ("a",))
    assert "other nodes of the run: b → c" in what
