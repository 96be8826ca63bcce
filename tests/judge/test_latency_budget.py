"""A latency split into ends, cables and switches, where the number of switches is known."""

import msgspec
import pytest
from tests.logs.readers.topology.files import read, text_of
from tests.report import sample

from fabricgauge.judge.ceiling.stated import stated_network
from fabricgauge.judge.latency_budget import LatencyBudget, latency_budgets
from fabricgauge.logs.references.interface import reference
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import UsageError
from fabricgauge.model.fabric import Fabric, Group, Topology
from fabricgauge.model.judged import Judged
from fabricgauge.model.run import Ended, Launch, Run
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.report.content.budget import budget


def imported(network: str, curve: SuiteCurve, topology: Topology = Topology()) -> Run:  # noqa: B008
    """A run with one network, and nothing but the curve of a log."""
    fabric = Fabric((), (), (stated_network(network),), topology=topology)
    run = sample.judged().run
    launch = Launch(
        1, fabric.networks[0].name, (), None, (), (), Ended("ok", 0, "", (), 0.0), curves=(curve,)
    )  # fmt: skip
    return msgspec.structs.replace(run, fabric=fabric, launches=(launch,))


def the_budget(run: Run) -> LatencyBudget:
    (found,) = latency_budgets(run)
    assert isinstance(found, LatencyBudget)
    return found


@pytest.fixture
def racf() -> SuiteCurve:
    return next(c for c in reference("racf-opa100-mpi").curves if c.quantity == "time")


def test_the_evaluation_s_switch_takes_110_of_930_ns(racf: SuiteCurve) -> None:
    found = the_budget(imported(reference("racf-opa100-mpi").network, racf))
    assert found.latency_s == pytest.approx(0.93e-6)
    assert found.switches == 1
    assert found.switches_s == pytest.approx(110e-9)
    assert found.cables_s == pytest.approx(2 * 2 * 5e-9)
    assert found.ends_s == pytest.approx(0.80e-6)
    assert found.fits


def test_a_figure_below_its_path_s_own_time_does_not_fit(racf: SuiteCurve) -> None:
    found = the_budget(imported("opa100 switches=9", racf))
    assert found.ends_s == pytest.approx(0.93e-6 - 0.99e-6)
    assert not found.fits
    assert found.cables_s is None


def test_a_topology_with_both_nodes_in_one_group_has_one_switch_between(racf: SuiteCurve) -> None:
    curve = msgspec.structs.replace(racf, hosts=("c1", "c2"))
    leaf = Topology((Group("leaf1", ("c1", "c2", "c3"), is_switch=True),), "topology.conf")
    found = the_budget(imported("edr", curve, leaf))
    assert (found.switches, found.switch.link, found.path) == (1, "EDR", "c1 → c2")
    leaves = (Group("leaf1", ("c1",), is_switch=True), Group("leaf2", ("c2",), is_switch=True))
    assert not list(latency_budgets(imported("edr", curve, Topology(leaves, "topology.conf"))))


@pytest.mark.parametrize(
    ("text", "switches"),
    [
        (text_of("slurm-23.11--tree"), 1),
        (text_of("ibnetdiscover--fat-tree"), 1),
        (text_of("slurm-24.05--block"), None),
        (text_of("plain--racks"), None),
    ],
    ids=["slurm switches", "ibnetdiscover", "slurm blocks", "plain list"],
)
def test_only_a_leaf_switch_is_one_switch(
    text: str, switches: int | None, racf: SuiteCurve
) -> None:
    topology = read(text)
    curve = msgspec.structs.replace(racf, hosts=topology.groups[0].nodes[:2])
    found = [
        split if isinstance(split, Skipped) else split.switches
        for split in latency_budgets(imported("edr", curve, topology))
    ]
    assert found == ([] if switches is None else [switches])


@pytest.mark.parametrize(("message_bytes", "is_split"), [(0, True), (64, True), (65, False)])
def test_a_message_whose_transfer_takes_time_is_not_split(
    message_bytes: int, is_split: bool, racf: SuiteCurve
) -> None:
    (point,) = racf.points
    points = tuple(
        msgspec.structs.replace(point, message_bytes=message_bytes << more) for more in (1, 0)
    )
    run = imported("opa100 switches=1", msgspec.structs.replace(racf, points=points))
    (found,) = latency_budgets(run)
    assert isinstance(found, Skipped) != is_split
    words = repr(budget(msgspec.structs.replace(sample.judged(), run=run)).blocks)
    assert ("SKIPPED" in words, "both ends" in words) == (not is_split, is_split)


@pytest.mark.parametrize("network", ["opa100", "100GbE roce switches=1", "fdr switches=1"])
def test_an_unknown_path_or_switch_has_no_budget(network: str, racf: SuiteCurve) -> None:
    assert not list(latency_budgets(imported(network, racf)))


def test_switches_and_cable_are_stated_with_a_network() -> None:
    network = stated_network("hdr switches=3 cable=2.5")
    assert (network.switches, network.cable_m) == (3, 2.5)
    assert isinstance(stated_network("hdr").switches, Skipped)
    assert stated_network("hdr switches=0").switches == 0
    for wrong in ("hdr switches=1.5", "hdr switches=99", "hdr cable=x", "nvlink4 switches=1"):
        with pytest.raises(UsageError, match=wrong.split()[1].partition("=")[0]):
            stated_network(wrong)


def test_a_report_shows_the_parts_and_warns_of_a_figure_that_does_not_fit(racf: SuiteCurve) -> None:
    def text(network: str) -> str:
        judged: Judged = msgspec.structs.replace(sample.judged(), run=imported(network, racf))
        return repr(budget(judged).blocks)

    assert "0.1100" in text("opa100 switches=1 cable=2")
    assert "11.8 %" in text("opa100 switches=1 cable=2")
    assert "caution" not in text("opa100 switches=1")
    assert "caution" in text("opa100 switches=9")
