"""A latency accuses nobody before it was measured in more than one pass or launch."""

import msgspec
import numpy as np
from benchmarks.planted import LATENCY_S, Fault, Scenario, measured_again
from tests.judge.localise.fabric import matrix_of, measured

from fabricgauge.judge.localise.confirm import confirm
from fabricgauge.judge.localise.detect import analyse
from fabricgauge.judge.localise.limits import LATENCY_LAUNCHES
from fabricgauge.judge.localise.recheck import recheck
from fabricgauge.model.absence import Skipped
from fabricgauge.model.pairs import PairMatrix, Quantity

#: Pairs of four nodes as one launch of a lab on two processors had them, over the typical.
FALLEN = {(0, 1): 0.77, (0, 2): 0.81, (0, 3): 0.89, (1, 2): 1.16, (1, 3): 1.15, (2, 3): 1.11}


def fallen(quantity: Quantity, passes: int = 1) -> PairMatrix:
    """One pass in which each pair has what its ranks' processors gave it, and no sample differs."""
    values = np.full((4, 4), np.nan)
    for (one, other), share in FALLEN.items():
        figure = LATENCY_S * share if quantity == "latency" else 1e9 / share
        values[one, other] = values[other, one] = figure
    return matrix_of(values, quantity, passes)


def test_pairs_of_one_pass_are_measured_again_before_anybody_is_suspected() -> None:
    found = analyse(fallen("latency"))
    assert found.claims == ()
    assert found.doubtful != ()
    made = recheck([found])
    assert made is not None
    assert made.launches == LATENCY_LAUNCHES > 1


def test_the_same_in_several_passes_that_agree_is_told() -> None:
    assert analyse(fallen("latency", passes=3)).claims != ()


def test_bandwidths_are_measured_again_once() -> None:
    made = recheck([analyse(fallen("bandwidth"))])
    assert made is not None
    assert made.launches == 1


def test_a_late_node_of_one_pass_is_found_by_the_second_measurement() -> None:
    for nodes in (8, 32):
        scenario = Scenario(3, nodes, "latency", 0.01, 1, (Fault("node", (2,), 0.25),))
        found = analyse(measured(nodes, *scenario.faults, quantity="latency", passes=1, seed=3))
        made = recheck([found])
        assert made is not None
        assert not isinstance(made.meetings, Skipped)
        (settled,) = confirm([found], measured_again(scenario, made.meetings, 12))
        assert [(one.part, one.names) for one in settled.faults] == [("node", ("n00002",))]


def test_a_doubtful_end_meets_good_partners() -> None:
    found = analyse(measured(8, quantity="latency", passes=1))
    end = msgspec.structs.replace(
        analyse(fallen("latency")).doubtful[0], part="node", names=("n00001",)
    )
    made = recheck([msgspec.structs.replace(found, suspects=(), doubtful=(end,))])
    assert made is not None
    assert not isinstance(made.meetings, Skipped)
    met = [{one.one, one.other} for one in made.meetings]
    assert sum("n00001" in pair for pair in met) == 3
