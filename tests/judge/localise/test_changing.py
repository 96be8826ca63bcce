import numpy as np
from tests.judge.localise.fabric import measured

from fabricgauge.judge.localise.detect import analyse
from fabricgauge.judge.localise.ways import jitter, restless


def test_a_node_slow_in_one_pass_is_suspected_and_not_named() -> None:
    matrix = measured(16)
    matrix.repeats[1, 4] *= 0.4
    analysis = analyse(matrix)
    assert analysis.findings == ()
    (one,) = analysis.suspects
    assert (one.part, one.names) == ("sender", ("n00004",))
    assert "1 of 3 passes" in one.reason


def test_steady_nodes_are_not_suspected() -> None:
    assert all(analyse(measured(16, seed=seed)).suspects == () for seed in range(5))


def test_a_node_whose_samples_scatter_is_suspected() -> None:
    matrix = measured(16)
    matrix.spread[7] = matrix.spread[:, 7] = 0.4
    (one,) = analyse(matrix).suspects
    assert (one.part, one.names) == ("node", ("n00007",))
    assert "scatter" in one.reason


def test_jitter_is_the_nodes_own_and_not_its_partners() -> None:
    matrix = measured(16)
    matrix.spread[7] = matrix.spread[:, 7] = 0.4
    assert restless(jitter(matrix)).tolist() == [7]


def test_equal_jitter_is_nobodys() -> None:
    assert restless(np.full(8, 0.3)).size == 0
    assert restless(np.array([np.nan, 0.1])).size == 0
