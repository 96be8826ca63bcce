"""An MPI that uses two networks at once is held against the sum of their ceilings."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import rdma_nodes as nodes
from tests.judge import planted
from tests.nodes.discover.test_ports import alike
from tests.rdma_nodes import Card

from fabricgauge.check.conclude import conclude
from fabricgauge.judge.ceiling.technologies import add_ceilings, ceilings
from fabricgauge.judge.evidence import gather_evidence
from fabricgauge.judge.interface import Context
from fabricgauge.judge.judging import judgement
from fabricgauge.judge.thresholds import DEFAULTS
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.run import Launch, Run
from fabricgauge.model.verdict import Outcome, Verdict
from fabricgauge.model.words.networks import OWN_CHOICE

#: Two adapters of Omni-Path in one fabric.
TWO_OPA = tuple(
    nodes.OPA[0]._replace(device=f"hfi1_{n}", bus=f"0000:5{n}:00.0", lid=10 * n + 1) for n in (0, 1)
)
BOTH = 2 * planted.CEILING_BYTES_PER_S


def launch(number: int, split: planted.Split, fraction: float) -> Launch:
    """All patterns at ``fraction`` of one network's ceiling, by MPI's own choice."""
    measured = (planted.measurement(one, split=split) for one in planted.samples(fraction))
    return planted.launch(measured, number, network=None)


def run(split: planted.Split, fraction: float, fabric: Fabric | None = None) -> Run:
    launches = [launch(number, split, fraction) for number in (1, 2, 3)]
    return planted.run(planted.without_sockets(launches), of=fabric)


def judged(of: Run) -> tuple[tuple[Verdict, ...], Outcome]:
    found = judgement(Context(of, ceilings(of.fabric.networks)))
    return found.verdicts, found.overall


def test_a_stream_over_two_networks_passes_by_the_sum_of_their_ceilings() -> None:
    verdicts, overall = judged(run({"eth0": 0.5, "eth1": 0.5}, 1.97))
    path = planted.the(verdicts, "path", Outcome.PASS)
    assert "net1 50.0 %" in path.summary
    assert "net2 50.0 %" in path.summary
    streams = planted.by_rule(verdicts, "fraction")
    assert {one.outcome for one in streams} == {Outcome.PASS}
    figures = [one.figure.value for one in streams if one.figure]
    assert max(figures) == pytest.approx(1.97 / 2, abs=0.005)
    assert overall is Outcome.PASS


def test_a_run_shows_the_sum_as_the_ceiling_of_mpi_s_own_choice() -> None:
    total = conclude(run({"eth0": 0.5, "eth1": 0.5}, 1.97), DEFAULTS).ceilings[OWN_CHOICE]
    assert isinstance(total, Ceiling)
    assert total.payload_bytes_per_s == pytest.approx(BOTH)
    assert [step.label for step in total.steps] == ["net1", "net2", "ceiling"]


def test_a_slow_stream_over_two_networks_is_undecided_until_each_is_measured() -> None:
    verdicts, overall = judged(run({"eth0": 0.5, "eth1": 0.5}, 1.2))
    slow = planted.the(verdicts, "fraction", Outcome.INCONCLUSIVE)
    assert "--network" in slow.remedy
    assert overall is Outcome.INCONCLUSIVE


def test_more_than_both_networks_carry_is_above_the_ceiling() -> None:
    verdicts, overall = judged(run({"eth0": 0.5, "eth1": 0.5}, 2.4))
    assert Outcome.PASS not in planted.outcomes(verdicts, "above-ceiling")
    assert overall is not Outcome.PASS


def wired_together() -> Fabric:
    bare = planted.fabric()
    networks = tuple(msgspec.structs.replace(one, wire="w1") for one in bare.networks)
    return msgspec.structs.replace(bare, networks=networks)


@pytest.mark.parametrize(
    ("split", "fabric"),
    [
        ({"eth0": 1.0}, None),  # one network: it is to be named
        ({"eth0": 0.5, "eth7": 0.5}, None),  # an interface of no network
        ({"eth0": 1.0, "eth1": 0.6}, None),  # another program's bytes beside the payload
        ({"lo": 0.0}, None),  # shared memory
        ({"eth0": 0.5, "eth1": 0.5}, wired_together()),  # two names of one link
    ],
)
def test_counters_that_do_not_show_two_networks_give_no_ceiling(
    split: planted.Split, fabric: Fabric | None
) -> None:
    verdicts, overall = judged(run(split, 0.995, fabric))
    assert planted.outcomes(verdicts, "fraction") == {Outcome.SKIPPED}
    assert Outcome.PASS not in planted.outcomes(verdicts, "path")
    assert overall is not Outcome.PASS


@given(share=st.floats(min_value=0.0, max_value=1.0))
def test_the_ceiling_is_that_of_both_networks_or_none(share: float) -> None:
    of = planted.run([launch(1, {"eth0": share, "eth1": 1 - share}, 0.995)])
    evidence = gather_evidence(of).find_network(None)
    total = add_ceilings(of.fabric, evidence, ceilings(of.fabric.networks), DEFAULTS)
    assert total is None or total.payload_bytes_per_s == pytest.approx(BOTH)
    assert (total is not None) >= (0.1 <= share <= 0.9)


@pytest.mark.parametrize(
    ("cards", "shares", "fraction", "outcome"),
    [
        (TWO_OPA, (0.5, 0.5), 0.99, Outcome.PASS),
        (TWO_OPA, (0.5, 0.5), 0.6, Outcome.INCONCLUSIVE),
        (TWO_OPA, (1.0, 0.0), 0.49, Outcome.SKIPPED),  # one of two rails: it is to be named
        (nodes.NDR, (0.5, 0.5), 0.99, Outcome.PASS),
        (nodes.OPA, (1.0,), 0.99, Outcome.SKIPPED),
    ],
)
def test_rails_that_mpi_chose_are_held_against_all_of_them(
    cards: tuple[Card, ...], shares: tuple[float, ...], fraction: float, outcome: Outcome
) -> None:
    of = alike(cards)
    ports = [f"{card.device}:1" for card in cards]
    network = of.networks[0]
    limit = ceilings(of.networks)[network.name]
    assert isinstance(limit, Ceiling)
    split = dict(zip(ports, shares, strict=True))
    rate = fraction * limit.payload_bytes_per_s
    samples = [
        planted.Sample("bandwidth", size, origin, planted.WINDOW * size / rate)
        for size in (65536, 1 << 20, 1 << 22)
        for origin in (0, 1)
    ]
    launches = [
        planted.launch((planted.measurement(one, split=split) for one in samples), number, None)
        for number in (1, 2, 3)
    ]
    verdicts, _ = judged(planted.run(planted.without_sockets(launches), of=of))
    assert planted.outcomes(verdicts, "fraction") == {outcome}
    expected = Outcome.INCONCLUSIVE if outcome is Outcome.SKIPPED else Outcome.PASS
    assert planted.outcomes(verdicts, "path") == {expected}


def test_rails_that_were_named_are_held_against_all_of_them() -> None:
    of = alike(TWO_OPA)
    assert of.networks[0].rails == 2
    limit = ceilings(of.networks)[of.networks[0].name]
    one = ceilings(of.networks)[of.networks[1].name]
    assert isinstance(limit, Ceiling)
    assert isinstance(one, Ceiling)
    assert limit.payload_bytes_per_s == pytest.approx(2 * one.payload_bytes_per_s)
