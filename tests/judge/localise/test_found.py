import numpy as np
from benchmarks.planted import Fault
from numpy.typing import NDArray
from tests.judge.localise.fabric import matrix_of, measured

from fabricgauge.judge.localise.groups import found_topology
from fabricgauge.model.fabric import Topology


def ports(blocks: int, size: int, closer: float = 0.9) -> NDArray[np.float64]:
    """The Omni-Path evaluation's switch: blocks of ports that are closer to each other."""
    block = np.arange(blocks * size) // size
    rng = np.random.default_rng(3)
    noise = np.triu(rng.normal(1.0, 0.01, (block.size, block.size)), 1)
    level = np.where(block[:, None] == block[None, :], closer, 1.0)
    latency: NDArray[np.float64] = 0.93e-6 * level * (noise + noise.T)
    return latency


def members(topology: Topology) -> list[tuple[int, ...]]:
    return [tuple(int(name[1:]) for name in group.nodes) for group in topology.groups]


def test_twelve_blocks_of_four_ports_are_found() -> None:
    topology = found_topology(matrix_of(ports(12, 4), "latency"))
    assert members(topology) == [tuple(range(i, i + 4)) for i in range(0, 48, 4)]
    assert topology.groups[0].name == "block 1"


def test_blocks_are_the_same_in_any_order_of_nodes() -> None:
    order = np.random.default_rng(5).permutation(48)
    values = ports(12, 4)[np.ix_(order, order)]
    found = members(found_topology(matrix_of(values, "latency")))
    where = {int(old): new for new, old in enumerate(order)}
    expected = {frozenset(where[i + k] for k in range(4)) for i in range(0, 48, 4)}
    assert {frozenset(one) for one in found} == expected


def test_blocks_are_found_beside_a_slow_node() -> None:
    values = ports(12, 4)
    values[5] += 0.5e-6
    values[:, 5] += 0.5e-6
    assert len(found_topology(matrix_of(values, "latency")).groups) == 12


def test_one_level_has_no_blocks() -> None:
    assert found_topology(measured(16, quantity="latency")).groups == ()


def test_ticks_of_the_clock_are_no_levels() -> None:
    """A simulation has no noise: its figures differ by how its clock rounds."""
    step = np.where(np.arange(48)[:, None] // 4 == np.arange(48) // 4, 0.9995, 1.0)
    assert found_topology(matrix_of(0.93e-6 * step, "latency")).groups == ()
    closer = np.where(step < 1, 0.95, 1.0)
    assert len(found_topology(matrix_of(0.93e-6 * closer, "latency")).groups) == 12


def test_slow_nodes_are_no_block() -> None:
    slow = (Fault("node", (1,), 0.5), Fault("node", (9,), 0.5))
    assert found_topology(measured(16, *slow)).groups == ()


def test_oversubscribed_leaves_show_in_bandwidth() -> None:
    found = found_topology(measured(64, oversubscribed=2.0))
    assert members(found) == [tuple(range(i, i + 16)) for i in range(0, 64, 16)]


def test_few_measured_pairs_show_no_blocks() -> None:
    values = ports(12, 4)
    values[np.random.default_rng(1).random(values.shape) < 0.7] = np.nan
    assert found_topology(matrix_of(values, "latency")).groups == ()
