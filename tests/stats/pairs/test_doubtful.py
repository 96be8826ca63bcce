from benchmarks.planted import Fault, Scenario, Synthetic
from tests.stats.pairs.fabric import faults

from fabricgauge.stats.pairs.analysis import analyse
from fabricgauge.stats.pairs.doubtful import to_measure_again


def test_a_conspicuous_pair_is_measured_again_and_then_named() -> None:
    scenario = Scenario(4, 32, "bandwidth", 0.02, 1, (Fault("pair", (3, 20), 0.25),))
    matrix = Synthetic().measure(scenario)
    first = analyse(matrix)
    pairs = to_measure_again(first)
    assert faults(first) == set()
    assert ("n00003", "n00020") in pairs
    again = analyse(Synthetic().again(scenario, matrix, pairs, 6))
    assert faults(again) == {("pair", ("n00003", "n00020"))}


def test_a_named_node_meets_partners_that_nobody_suspects() -> None:
    scenario = Scenario(4, 16, "bandwidth", 0.005, 3, (Fault("node", (2,), 0.5),))
    pairs = to_measure_again(analyse(Synthetic().measure(scenario)))
    assert len([pair for pair in pairs if "n00002" in pair]) == 3


def test_few_pairs_of_a_healthy_fabric_are_measured_again() -> None:
    scenario = Scenario(4, 32, "bandwidth", 0.05, 1, ())
    pairs = to_measure_again(analyse(Synthetic().measure(scenario)))
    assert len(pairs) <= 32 + 3 * 20
