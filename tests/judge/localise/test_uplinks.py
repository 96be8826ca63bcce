import numpy as np
import pytest
from benchmarks.planted import Fault, leaves
from tests.judge.localise.fabric import faults, measured, named

from fabricgauge.judge.localise.detect import analyse


def test_a_degraded_uplink_names_the_group_and_none_of_its_nodes() -> None:
    matrix = measured(64, Fault("group", (2,), 0.2))
    assert named(matrix, leaves(64)) == {("group", ("leaf2",))}


@pytest.mark.parametrize("passes", [1, 3])
def test_three_groups_are_enough_to_tell_whose_uplink_is_slow(passes: int) -> None:
    matrix = measured(48, Fault("group", (1,), 0.25), passes=passes)
    assert named(matrix, leaves(48)) == {("group", ("leaf1",))}


def test_a_slow_node_beside_a_degraded_uplink_is_named_too() -> None:
    matrix = measured(64, Fault("group", (2,), 0.3), Fault("node", (40,), 0.5))
    assert named(matrix, leaves(64)) == {("group", ("leaf2",)), ("node", ("n00040",))}


def test_an_uplink_slow_in_one_direction_is_said_to_be() -> None:
    matrix = measured(64)
    slow = matrix.values.copy()
    outside = np.arange(64) // 16 != 1
    slow[np.ix_(~outside, outside)] *= 0.5
    matrix.values[:] = slow
    (one,) = analyse(matrix, leaves(64)).findings
    assert (one.part, one.names) == ("group", ("leaf1",))
    assert "outwards" in one.evidence[0]


def test_slow_nodes_of_a_group_do_not_make_it_the_group() -> None:
    slow = [Fault("node", (i,), 0.3) for i in range(16, 26)]
    found = named(measured(64, *slow), leaves(64))
    assert found == {("node", (f"n{i:05d}",)) for i in range(16, 26)}


def test_crossing_that_is_slow_for_all_is_no_fault() -> None:
    analysis = analyse(measured(64, oversubscribed=2.0), leaves(64))
    assert faults(analysis) == set()
    (one,) = analysis.findings
    assert (one.explanation, len(one.names)) == ("oversubscription", 4)


def test_two_groups_cannot_be_told_apart() -> None:
    assert named(measured(32, Fault("group", (1,), 0.5)), leaves(32)) == set()


def test_a_node_slow_with_a_part_of_its_partners_is_suspected_rather_than_each_pair() -> None:
    matrix = measured(32)
    matrix.repeats[:, 9, 10:22] *= 0.5
    matrix.values[9, 10:22] *= 0.5
    (one,) = analyse(matrix, leaves(32)).suspects
    assert (one.part, one.names) == ("node", ("n00009",))
    assert one.reason == "slow with 12 of its partners and as fast as others with the rest"
