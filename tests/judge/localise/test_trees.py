"""Fat trees with fixed routes, where many pairs share an uplink: the right part alone is named."""

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.judge.localise.fabric import Tree, faults, matrix_of, named

from fabricgauge.judge.localise.detect import analyse
from fabricgauge.model.pairs import Rechecked


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_one_slow_uplink_names_its_leaf_and_no_receiver_behind_it(noise: float) -> None:
    found = Tree(4, 16, slow_uplinks={(1, 3): 0.25}).check(noise)
    assert faults(found) == {("group", ("leaf1",))}
    (finding,) = found.faults
    assert isinstance(finding.rechecked, Rechecked)
    assert finding.rechecked.confirmed
    assert finding.effect == pytest.approx(-0.75, abs=0.02)
    assert found.suspects == ()


@pytest.mark.parametrize(("leaves", "leaf"), [(4, 16), (4, 2), (8, 4)])
@pytest.mark.parametrize("share", [0.25, 0.5])
def test_slow_uplinks_of_two_leaves_name_both(leaves: int, leaf: int, share: float) -> None:
    uplinks = {(at, uplink): share for at in (1, 2) for uplink in range(max(1, leaf // 2))}
    found = Tree(leaves, leaf, slow_uplinks=uplinks).check()
    assert faults(found) == {("group", ("leaf1",)), ("group", ("leaf2",))}
    assert all(one.effect == pytest.approx(share - 1, abs=0.02) for one in found.faults)


@pytest.mark.parametrize(("leaves", "leaf"), [(2, 2), (4, 2), (4, 4), (4, 16)])
@pytest.mark.parametrize(("share", "noise"), [(0.5, 0.0), (0.5, 0.02), (0.85, 0.0)])
def test_a_node_that_hides_behind_its_leaf_s_uplink_is_named(
    leaves: int, leaf: int, share: float, noise: float
) -> None:
    found = Tree(leaves, leaf, slow_nodes={1: share}).check(noise)
    assert faults(found) == {("node", ("n00001",))}
    (finding,) = found.faults
    assert finding.effect == pytest.approx(share - 1, abs=0.02)


@pytest.mark.parametrize(("leaves", "leaf"), [(2, 2), (4, 2), (4, 4), (4, 16)])
@pytest.mark.parametrize("noise", [0.0, 0.02, 0.05])
def test_a_sound_tree_names_and_suspects_nobody(leaves: int, leaf: int, noise: float) -> None:
    found = Tree(leaves, leaf).check(noise)
    assert faults(found) == set()
    assert found.suspects == ()


def shared(count: int, seed: int = 1) -> NDArray[np.float64]:
    """Each pair has the link to itself, or shares it with one or three others."""
    rng = np.random.default_rng(seed)
    return 1e10 / rng.choice([1.0, 2.0, 4.0], (count, count), p=[0.2, 0.4, 0.4])


def test_nodes_whose_pairs_share_links_are_not_named() -> None:
    values = shared(64)
    values[::3] = np.minimum(values[::3], 1e10 / 3)  # fewer of these have a link to themselves
    values[::3, ::5] = 1e10
    assert named(matrix_of(values, passes=1)) == set()


def test_a_slow_node_is_named_although_its_pairs_share_links() -> None:
    values = shared(64)
    values[7] = np.minimum(values[7], 1e9)
    values[:, 7] = np.minimum(values[:, 7], 1e9)
    found = named(matrix_of(values, passes=1))
    assert {names for _, names in found} == {("n00007",)}


@pytest.mark.parametrize(("share", "suspected"), [(0.3, True), (0.8, False)])
def test_a_group_that_is_slow_only_while_many_pairs_cross_is_suspected_by_a_large_loss(
    share: float, suspected: bool
) -> None:
    tree = Tree(4, 8)
    rng = np.random.default_rng(3)
    values = np.array([[tree.rate(i, j, alone=False) for j in range(32)] for i in range(32)])
    leaf = np.arange(32) // 8  # with the first leaf its pairs are as fast as others
    crossing = (leaf == 1)[:, None] & (leaf > 1)[None, :]
    values[crossing | crossing.T] *= share
    analysis = tree.second_look(analyse(matrix_of(1e10 * values, passes=1), tree.topology), rng)
    assert faults(analysis) == set()
    groups = [one.names for one in analysis.suspects if one.part == "group"]
    assert groups == ([("leaf1",)] if suspected else [])


def test_a_slow_sender_does_not_confirm_that_its_leaf_is_slow() -> None:
    tree = Tree(4, 2, slow_senders={1: 0.3})
    values = np.array([[tree.rate(i, j, alone=False) for j in range(8)] for i in range(8)])
    values[2:, :2] *= 0.7  # while all pairs measure, something slows what leaf0 receives
    given = analyse(matrix_of(1e10 * values, passes=1), tree.topology)
    assert ("group", ("leaf0",)) in faults(given)
    found = tree.second_look(given, np.random.default_rng(1))
    assert faults(found) == {("sender", ("n00001",))}
