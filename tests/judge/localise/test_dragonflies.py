"""Dragonflies: uplinks that no single pair can fill, and ways that differ in length."""

import msgspec
import numpy as np
import pytest
from tests.judge.localise.fabric import Dragonfly, Tree, faults, named

from fabricgauge.judge.localise.crossing import name_slow_crossings
from fabricgauge.judge.localise.detect import analyse
from fabricgauge.judge.localise.matrices import matrices
from fabricgauge.model.pairs import PairAnalysis, Rechecked
from fabricgauge.model.run import Launch


def confirmed(dragonfly: Dragonfly, launch: Launch) -> PairAnalysis:
    """The analysis of one launch after a second measurement in which each single pair is fast."""
    (matrix,) = matrices([launch])
    return Tree(1, 32).second_look(analyse(matrix, dragonfly.topology), np.random.default_rng(1))


@pytest.mark.parametrize("share", [0.5, 0.25])
def test_uplinks_that_no_single_pair_can_fill_name_their_group(share: float) -> None:
    dragonfly = Dragonfly(uplinks={1: share})
    launch = dragonfly.launch()
    analysis = confirmed(dragonfly, launch)
    assert faults(analysis) == set()
    analysis = name_slow_crossings(analysis, [launch])
    assert faults(analysis) == {("group", ("group1",))}
    (fault,) = analysis.faults
    assert fault.effect == pytest.approx(share - 1, abs=0.02)
    assert isinstance(fault.rechecked, Rechecked)
    assert fault.rechecked.confirmed
    assert fault.rechecked.partners == ("group0", "group2", "group3")
    assert not fault.rechecked.own_pairs
    assert analysis.suspects == ()


def test_a_group_that_a_slower_one_makes_doubtful_is_compared_with_and_not_named() -> None:
    dragonfly = Dragonfly(uplinks={1: 0.5, 0: 0.88})
    launch = dragonfly.launch()
    analysis = name_slow_crossings(confirmed(dragonfly, launch), [launch])
    assert faults(analysis) == {("group", ("group1",))}


def test_sound_uplinks_name_no_group() -> None:
    dragonfly = Dragonfly()
    launch = dragonfly.launch()
    analysis = name_slow_crossings(confirmed(dragonfly, launch), [launch])
    assert faults(analysis) == set()


@pytest.mark.parametrize("uplinks", [{1: 0.25, 2: 0.25}, {1: 0.5, 2: 0.5}, {0: 0.5, 3: 0.6}])
def test_slow_uplinks_of_two_of_four_groups_name_both(uplinks: dict[int, float]) -> None:
    """The single rounds of the two sound groups are compared with."""
    dragonfly = Dragonfly(uplinks=uplinks)
    launch = dragonfly.launch()
    analysis = name_slow_crossings(confirmed(dragonfly, launch), [launch])
    assert faults(analysis) == {("group", (f"group{number}",)) for number in uplinks}
    assert analysis.suspects == ()


@pytest.mark.parametrize(
    "uplinks", [{1: 0.9}, {1: 0.9, 2: 0.88}, {1: 0.8, 2: 0.8}, {0: 0.5, 1: 0.5, 2: 0.5}]
)
def test_groups_that_differ_little_or_are_too_many_are_not_named(
    uplinks: dict[int, float],
) -> None:
    dragonfly = Dragonfly(uplinks=uplinks)
    launch = dragonfly.launch()
    analysis = name_slow_crossings(confirmed(dragonfly, launch), [launch])
    assert faults(analysis) == set()


def test_few_rounds_in_which_pairs_cross_name_no_group() -> None:
    dragonfly = Dragonfly(uplinks={1: 0.25})
    launch = dragonfly.launch()
    analysis = confirmed(dragonfly, launch)
    few = msgspec.structs.replace(launch, rounds=launch.rounds[:4])
    assert faults(name_slow_crossings(analysis, [few])) == set()


@pytest.mark.parametrize("late", [{}, {7: 0.4e-6}, {7: 0.4e-6, 20: 0.2e-6}])
def test_nodes_with_longer_ways_are_not_named_beside_late_ones(late: dict[int, float]) -> None:
    """One router of each group leads to no other group, so its nodes are one link farther."""
    dragonfly = Dragonfly(late_s=late)
    found = named(dragonfly.latencies(), dragonfly.topology)
    assert found == {("node", (f"n{node:05d}",)) for node in late}
