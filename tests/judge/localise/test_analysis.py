import msgspec
import numpy as np
import pytest
from benchmarks.planted import Fault, leaves
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.judge.localise.fabric import faults, matrix_of, measured, named

from fabricgauge.judge.localise import limits
from fabricgauge.judge.localise.detect import analyse, analyse_all
from fabricgauge.model.pairs import PairMatrix, Quantity

QUANTITIES: tuple[Quantity, ...] = ("bandwidth", "latency")


@pytest.mark.parametrize("nodes", [4, 5, 8, 32])
@pytest.mark.parametrize("quantity", QUANTITIES)
def test_one_slow_node_is_named_and_nobody_else(nodes: int, quantity: Quantity) -> None:
    matrix = measured(nodes, Fault("node", (2,), 0.75), quantity=quantity)
    assert named(matrix) == {("node", ("n00002",))}


@pytest.mark.parametrize("nodes", [4, 8, 32])
@pytest.mark.parametrize("part", ["sender", "receiver"])
def test_a_node_slow_in_one_direction_is_named_for_that_direction(nodes: int, part: str) -> None:
    fault = Fault("sender" if part == "sender" else "receiver", (1,), 0.5)
    assert named(measured(nodes, fault)) == {(part, ("n00001",))}


@pytest.mark.parametrize("nodes", [3, 4, 8, 32])
@pytest.mark.parametrize("quantity", QUANTITIES)
def test_a_slow_pair_is_named_and_neither_of_its_ends(nodes: int, quantity: Quantity) -> None:
    matrix = measured(nodes, Fault("pair", (0, 2), 0.5), quantity=quantity)
    assert named(matrix) == {("pair", ("n00000", "n00002"))}


@pytest.mark.parametrize("nodes", [3, 4, 5, 8, 32])
@pytest.mark.parametrize("quantity", QUANTITIES)
def test_healthy_nodes_are_not_named(nodes: int, quantity: Quantity) -> None:
    for seed in range(5):
        assert named(measured(nodes, quantity=quantity, noise=0.02, seed=seed)) == set()


def test_faults_at_the_limit_are_found_at_two_percent_noise() -> None:
    for seed in range(5):
        slow = measured(32, Fault("node", (seed,), 0.10), noise=0.02, seed=seed)
        at_limit = Fault("node", (seed,), 0.05)
        late = measured(32, at_limit, quantity="latency", noise=0.02, seed=seed)
        assert named(slow) == named(late) == {("node", (f"n{seed:05d}",))}


def test_two_slow_nodes_of_eight_do_not_hide_each_other() -> None:
    matrix = measured(8, Fault("sender", (1,), 0.5), Fault("node", (2,), 0.2))
    assert named(matrix) == {("sender", ("n00001",)), ("node", ("n00002",))}


def test_effect_and_interval_are_those_planted() -> None:
    (one,) = analyse(measured(32, Fault("node", (3,), 0.75))).findings
    assert one.low <= one.effect <= one.high
    assert one.effect == pytest.approx(-0.75, abs=0.01)
    (late,) = analyse(measured(4, Fault("node", (3,), 0.75), quantity="latency")).findings
    assert late.effect == pytest.approx(0.75, abs=0.05)
    assert (one.affected, late.affected) == (62, 3)


@settings(max_examples=15, deadline=None)
@given(order=st.permutations(range(12)), seed=st.integers(0, 1000))
def test_permuting_nodes_permutes_what_is_named(order: list[int], seed: int) -> None:
    matrix = measured(12, Fault("node", (2,), 0.3), Fault("pair", (5, 9), 0.4), seed=seed)
    assert named(_permuted(matrix, order)) == named(matrix)


@settings(max_examples=15, deadline=None)
@given(power=st.integers(-40, 40), seed=st.integers(0, 1000))
@pytest.mark.parametrize("quantity", QUANTITIES)
def test_units_change_nothing(quantity: Quantity, power: int, seed: int) -> None:
    matrix = measured(9, Fault("node", (2,), 0.3), quantity=quantity, seed=seed)
    scaled = msgspec.structs.replace(
        matrix, values=matrix.values * 2.0**power, repeats=matrix.repeats * 2.0**power
    )
    one, other = analyse(matrix), analyse(scaled)
    assert [(f.part, f.names, f.effect) for f in one.findings] == [
        (f.part, f.names, f.effect) for f in other.findings
    ]
    assert other.typical == pytest.approx(one.typical * 2.0**power)


def test_one_pass_suspects_a_pair_and_does_not_name_it() -> None:
    analysis = analyse(measured(32, Fault("pair", (0, 20), 0.5), passes=1))
    assert faults(analysis) == set()
    assert {tuple(sorted(one.names)) for one in analysis.suspects} == {("n00000", "n00020")}
    assert all("one pass" in one.reason and one.next_test for one in analysis.suspects)


def test_two_nodes_are_suspected_and_never_named() -> None:
    analysis = analyse(measured(2, Fault("sender", (0,), 0.75)))
    assert analysis.findings == ()
    assert [one.names for one in analysis.suspects] == [("n00000", "n00001")]


def test_scattered_collisions_name_no_node_and_no_pair() -> None:
    analysis = analyse(measured(32, collided=0.06, noise=0.005), leaves(32))
    assert analysis.findings == ()
    assert any("routing collisions" in one.reason for one in analysis.suspects)


def test_a_slow_node_is_found_among_collisions() -> None:
    matrix = measured(32, Fault("node", (3,), 0.3), collided=0.06, noise=0.005)
    assert named(matrix, leaves(32)) == {("node", ("n00003",))}


def test_a_slow_node_behind_oversubscribed_uplinks_is_named() -> None:
    matrix = measured(64, Fault("node", (2,), 0.2), oversubscribed=2.0)
    analysis = analyse(matrix, leaves(64))
    assert faults(analysis) == {("node", ("n00002",))}
    assert [one.explanation for one in analysis.findings] == ["fault", "oversubscription"]
    assert analysis.findings[1].effect == pytest.approx(-0.5, abs=0.01)


def test_sampled_rounds_are_enough_for_a_slow_node() -> None:
    matrix = _sampled(measured(64, Fault("node", (5,), 0.3)), rounds=8)
    assert matrix.coverage < 0.2
    assert named(matrix) == {("node", ("n00005",))}


def test_nothing_measured_is_no_finding() -> None:
    analysis = analyse(matrix_of(np.full((4, 4), np.nan)))
    assert (analysis.findings, analysis.suspects, analysis.ranking) == ((), (), ())
    assert analysis.spectrum.counts == ()


def test_every_measured_node_is_ranked_and_the_slow_one_first() -> None:
    analysis = analyse(measured(32, Fault("sender", (7,), 0.4)))
    assert len(analysis.ranking) == 32
    first = analysis.ranking[0]
    assert first.node == "n00007"
    assert first.sending == pytest.approx(-0.4, abs=0.02)
    assert first.receiving == pytest.approx(0.0, abs=0.02)
    assert all(
        np.isfinite([one.sending, one.jitter, one.typical]).all() for one in analysis.ranking
    )


def test_latency_groups_hold_for_bandwidth_of_the_same_network() -> None:
    latency = measured(64, quantity="latency")
    both = analyse_all((measured(64, Fault("group", (1,), 0.5)), latency))
    assert [one.grouped_by for one in both] == ["data", "data"]
    assert faults(both[0]) == {("group", ("block 2",))}


def test_limits_decide_what_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = measured(32, Fault("node", (3,), 0.12))
    assert len(analyse(matrix).findings) == 1
    monkeypatch.setitem(limits.FAULT, "bandwidth", 0.5)
    assert analyse(matrix).findings == ()


def test_zero_and_infinite_figures_do_not_break_the_analysis() -> None:
    values = np.full((6, 6), 1e9)
    values[0, 1], values[2, 3], values[4, 5] = 0.0, np.inf, -1.0
    assert analyse(matrix_of(values)).findings == ()


def _permuted(matrix: PairMatrix, order: list[int]) -> PairMatrix:
    return msgspec.structs.replace(
        matrix,
        nodes=tuple(matrix.nodes[i] for i in order),
        values=matrix.values[np.ix_(order, order)],
        spread=matrix.spread[np.ix_(order, order)],
        repeats=matrix.repeats[:, order][:, :, order],
    )


def _sampled(matrix: PairMatrix, rounds: int) -> PairMatrix:
    """Only the pairs that meet in the first rounds of the round robin."""
    count = len(matrix.nodes)
    i, j = np.meshgrid(np.arange(count), np.arange(count), indexing="ij")
    meet = (i + j) % (count - 1)
    meet = np.where(i == count - 1, 2 * j % (count - 1), meet)
    meet = np.where(j == count - 1, 2 * i % (count - 1), meet)
    out = meet >= rounds
    values, spread = matrix.values.copy(), matrix.spread.copy()
    repeats = matrix.repeats.copy()
    values[out] = spread[out] = repeats[:, out] = np.nan
    return msgspec.structs.replace(matrix, values=values, spread=spread, repeats=repeats)


@pytest.mark.parametrize("nodes", [3, 4, 5, 8])
@pytest.mark.parametrize("quantity", QUANTITIES)
def test_what_is_typical_is_what_healthy_pairs_have(nodes: int, quantity: Quantity) -> None:
    healthy = analyse(measured(nodes, quantity=quantity)).typical
    fault = Fault("node", (1,), 0.9 if quantity == "bandwidth" else 2.0)
    analysis = analyse(measured(nodes, fault, quantity=quantity))
    assert analysis.typical == pytest.approx(healthy, rel=0.01)
    assert analysis.expected == pytest.approx(analysis.typical, rel=0.01)
