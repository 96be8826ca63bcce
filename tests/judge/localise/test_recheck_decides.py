"""What one pass over all pairs leaves open, a recheck of single pairs decides."""

from collections.abc import Callable

import msgspec
import pytest
from benchmarks.fault_detection import looked_at_again, outcome
from benchmarks.planted import LATENCY_S, Element, Fault, Scenario, leaves, measured
from tests.judge import planted_fabric as many
from tests.judge.localise.fabric import faults
from tests.judge.localise.test_confirmed import PAIRS, bandwidth, settled_one

from fabricgauge.judge.localise.detect import analyse
from fabricgauge.judge.localise.recheck import recheck
from fabricgauge.judge.stats.series import Point, Series, series_of
from fabricgauge.model.absence import Skipped
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.fabric import Topology
from fabricgauge.model.pairs import PairAnalysis, Quantity, Suspect

PASSES_WORTH = 12


@pytest.mark.parametrize(
    ("element", "at", "quantity", "effect"),
    [
        ("pair", (3, 20), "bandwidth", 0.25),
        ("pair", (3, 20), "latency", 0.25),
        ("pair", (3, 9), "latency", 0.25),
        ("node", (7,), "latency", 0.10),
        ("sender", (7,), "bandwidth", 0.10),
    ],
)
def test_after_one_pass_the_second_look_names_the_part(
    element: Element, at: tuple[int, ...], quantity: Quantity, effect: float
) -> None:
    scenario = Scenario(4, 32, quantity, 0.01, 1, (Fault(element, at, effect),))
    found = outcome(scenario, PASSES_WORTH)
    assert (found.exact, found.healthy) == (1, 0)


def test_a_pair_below_the_threshold_is_rechecked_without_being_told() -> None:
    scenario = Scenario(5, 32, "bandwidth", 0.02, 1, (Fault("pair", (3, 20), 0.10),))
    found = analyse(measured(scenario), leaves(32))
    assert faults(found) == set()
    assert ("n00003", "n00020") not in {tuple(sorted(one.names)) for one in found.suspects}
    assert ("n00003", "n00020") in {tuple(sorted(one.names)) for one in found.doubtful}
    assert outcome(scenario, PASSES_WORTH).exact == 1


def test_nothing_is_measured_again_where_nothing_stands_out() -> None:
    found = analyse(measured(Scenario(4, 32, "bandwidth", 0.005, 3, ())), leaves(32))
    assert recheck([found]) is None


def test_a_group_is_measured_again_by_nodes_that_were_measured_already() -> None:
    groups = tuple(
        msgspec.structs.replace(one, nodes=(f"absent-{one.name}", *one.nodes))
        for one in leaves(48).groups
    )
    slow = Scenario(4, 48, "bandwidth", 0.01, 3, (Fault("group", (1,), 0.5),))
    found = analyse(measured(slow), Topology(groups, "written"))
    assert faults(found) == {("group", ("leaf1",))}
    made = recheck([found])
    assert made is not None
    assert set(made.nodes) < set(found.matrix.nodes)


def test_a_pair_that_chance_made_slow_is_forgotten() -> None:
    scenario = Scenario(4, 32, "bandwidth", 0.02, 1, ())
    found = analyse(measured(scenario), leaves(32))
    assert found.suspects != ()
    assert looked_at_again(scenario, found, PASSES_WORTH).suspects == ()


@pytest.mark.parametrize("seed", range(6))
def test_noise_alone_names_nobody(seed: int) -> None:
    for quantity in ("bandwidth", "latency"):
        found = outcome(Scenario(seed, 32, quantity, 0.05, 1, ()), PASSES_WORTH)
        assert found.healthy == 0


def test_a_far_pair_is_not_slow_for_being_far() -> None:
    """Latencies between leaves are 24 % higher than within one."""
    scenario = Scenario(5, 32, "latency", 0.005, 1, ())
    given = _suspecting(analyse(measured(scenario), leaves(32)), "n00001", "n00020")
    made = recheck([given])
    assert made is not None
    assert not isinstance(made.meetings, Skipped)
    near, far = LATENCY_S, 1.24 * LATENCY_S
    series = tuple(
        _one(ends, near if _leaf(ends[0]) == _leaf(ends[1]) else far)
        for one in made.meetings
        if one.quantity == "latency"
        for ends in [(one.one, one.other)]
    )
    assert settled_one(given, series).findings == ()


@pytest.mark.parametrize(("share", "named"), [(0.8, []), (1.3, ["n00001"])])
def test_a_node_whose_latencies_scatter_is_named_for_being_slower_alone(
    share: float, named: list[str]
) -> None:
    scatters = Suspect("node", ("n00001",), "latency", 0.0, "its samples scatter", "other work")
    found = analyse(measured(Scenario(5, 16, "latency", 0.005, 1, ())), leaves(16))
    given = msgspec.structs.replace(found, suspects=(scatters,))
    made = recheck([given])
    assert made is not None
    assert not isinstance(made.meetings, Skipped)
    series = tuple(
        _one(ends, LATENCY_S * (share if "n00001" in ends else 1.0))
        for one in made.meetings
        if one.quantity == "latency"
        for ends in [(one.one, one.other)]
    )
    assert [one.names[0] for one in settled_one(given, series).findings] == named


def test_a_slow_pair_is_named_unless_an_end_is_slow_elsewhere_which_is_named_then() -> None:
    suspected = bandwidth(Suspect("direction", ("c1", "c2"), "bandwidth", -0.7, "noise", "again"))
    only_pair = settled_one(suspected, _again(lambda one, other: {one, other} == {0, 1}))
    (finding,) = only_pair.findings
    assert (finding.part, finding.names) == ("pair", ("c1", "c2"))
    one_way = settled_one(suspected, _again(lambda one, other: (one, other) == (0, 1)))
    assert [one.part for one in one_way.findings] == ["direction"]
    whole_node = settled_one(suspected, _again(lambda one, other: 0 in {one, other}))
    assert [(one.part, one.names) for one in whole_node.findings] == [("node", ("c1",))]
    assert whole_node.findings[0].effect == pytest.approx(-0.75, abs=0.02)
    assert whole_node.suspects == ()
    sender = settled_one(suspected, _again(lambda one, other: one == 0))
    assert [(one.part, one.names) for one in sender.findings] == [("sender", ("c1",))]


def _again(is_slow: Callable[[int, int], bool]) -> tuple[Series, ...]:
    def share(one: int, other: int) -> float:
        return many.sound(one, other) * (0.25 if is_slow(one, other) else 1.0)

    return series_of([many.again(4, PAIRS, share)])


def _suspecting(found: PairAnalysis, one: str, other: str) -> PairAnalysis:
    suspect = Suspect("pair", (one, other), "latency", 0.2, "noise", "again")
    return msgspec.structs.replace(found, suspects=(suspect,))


def _leaf(node: str) -> int:
    return int(node[1:]) // 16


def _one(ends: tuple[str, str], seconds: float) -> Series:
    estimate = Estimate(seconds, seconds, seconds, 0.95, 1, 1)
    return Series("latency", *ends, (Point(8, estimate, estimate, ()),))
