"""A survey from the asking to the odd ones, through doors that are ordinary programs."""

import random
import signal
import time
from pathlib import Path

import pytest
from benchmarks.synthetic_bundle import ODDITIES, answer, written

from fabricgauge.doctor.doctor import diagnose_bundle
from fabricgauge.doctor.survey import conclude_survey, read_bundle, survey_nodes
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.errors import StoreError
from fabricgauge.model.finding import Severity
from fabricgauge.model.host_access import Host, HostAccess
from fabricgauge.model.surveyed import Surveyed
from fabricgauge.report.content.inventory import port as describe_port

FIXTURES = Path(__file__).parents[1] / "fixtures"


def replaying(node: str, text: str, folder: Path, rest: str = "") -> Host:
    """A door whose node says ``text``, and then does ``rest``."""
    path = folder / f"{node}.answer"
    path.write_text(text)
    return Host(node, ("sh", "-c", f'cat "$1"; {rest}', "sh", str(path)))


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> tuple[Surveyed, dict[str, str]]:
    path = tmp_path_factory.mktemp("many") / "bundle"
    planted = written(path)
    content = read_bundle(path)
    return conclude_survey(content.inventories, content.fabric), planted


def test_seven_odd_ones_among_two_thousand_are_named_and_nobody_else(
    many: tuple[Surveyed, dict[str, str]],
) -> None:
    surveyed_, planted = many
    (like,) = surveyed_.classes
    assert len(like.nodes) == 2000
    named = {node: one.attribute for one in like.oddities for node in one.nodes}
    assert named.keys() == planted.keys()
    assert all(planted[node] in attribute for node, attribute in named.items())
    assert sorted(planted.values()) == sorted(ODDITIES)


def test_interfaces_are_joined_by_network_though_their_names_differ(
    many: tuple[Surveyed, dict[str, str]],
) -> None:
    (network,) = many[0].fabric.ip_networks
    assert {member.interface for member in network.members} == {"enp97s0", "enp182s0"}
    assert network.host_link == "PCIe 3.0 x8"
    assert isinstance(many[0].ceilings[network.name], Ceiling)


def test_rdma_ports_are_a_network_with_the_ceiling_of_the_fastest_slot(
    many: tuple[Surveyed, dict[str, str]],
) -> None:
    _, network = many[0].fabric.networks
    assert (len(network.members), many[0].ports) == (1999, ())
    assert network.rate_bit_s == pytest.approx(200e9, rel=0.01)
    assert network.host_link == "PCIe 4.0 x16"
    assert isinstance(many[0].ceilings[network.name], Ceiling)


def test_a_hanging_node_delays_nobody_and_half_an_answer_is_used(tmp_path: Path) -> None:
    whole, _ = answer(1, random.Random(1))  # noqa: S311
    half = whole[: whole.index("== os-release")].replace("\nc1\n", "\nc2\n")
    hosts = (
        Host("hung", ("sh", "-c", "sleep 30")),
        replaying("half", half, tmp_path, "sleep 30"),
        replaying("c1", whole, tmp_path),
    )
    arrived: dict[str, float] = {}
    begun = time.monotonic()
    inventories, fabric = survey_nodes(
        HostAccess("test", hosts), (), timeout_s=2.0,
        keep=lambda node, raw, trouble: arrived.__setitem__(node, time.monotonic() - begun),
    )  # fmt: skip
    assert arrived["c1"] < 2.0 <= arrived["hung"] < 8.0
    assert [one.name for one in inventories] == ["hung", "half", "c1"]
    assert [one.name for one in fabric.unreached] == ["hung"]
    assert inventories[1].facts["memory bytes"] == inventories[2].facts["memory bytes"]
    assert any("within 2 s" in trouble for trouble in inventories[1].troubles)
    assert any("cut off" in trouble for trouble in inventories[1].troubles)


def test_a_node_that_cannot_be_reached_is_so_with_the_programs_own_words(tmp_path: Path) -> None:
    host = Host("c9", ("sh", "-c", "echo 'ssh: No route to host' >&2; exit 255"))
    (inventory,), fabric = survey_nodes(HostAccess("test", (host,)), ())
    assert "No route to host" in fabric.unreached[0].reason
    assert isinstance(inventory.node, Skipped)
    assert conclude_survey((inventory,), fabric).classes == ()


def test_an_interrupt_keeps_what_arrived_where_that_is_wanted(tmp_path: Path) -> None:
    whole, _ = answer(1, random.Random(1))  # noqa: S311
    hosts = (replaying("c1", whole, tmp_path), Host("c2", ("sh", "-c", "sleep 30")))

    def interrupted(node: str, raw: str, trouble: str) -> None:
        signal.raise_signal(signal.SIGINT)

    def kept(node: str, raw: str, trouble: str) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.3)

    with pytest.raises(KeyboardInterrupt):
        survey_nodes(HostAccess("test", hosts), (), keep=interrupted)
    before = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        inventories, fabric = survey_nodes(HostAccess("test", hosts), (), keep=kept, partial=True)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert [node.name for node in fabric.nodes] == ["c1"]
    assert "had not answered" in fabric.unreached[0].reason
    assert len(inventories) == 2


def test_the_guides_printouts_are_a_bundle(tmp_path: Path) -> None:
    for node in ("c1", "c2"):
        (tmp_path / node).mkdir()
        text = (FIXTURES / "lshw" / f"guide--{node}.out").read_bytes()
        (tmp_path / node / "lshw.txt").write_bytes(text)
    lanes = (FIXTURES / "qcu" / "guide--1x40.out").read_bytes()
    (tmp_path / "c1" / "qcu64e.txt").write_bytes(lanes)
    opa = (FIXTURES / "opainfo" / "guide--offline.out").read_text()
    lines = [f"{node}: {line}" for node in ("c1", "c2") for line in opa.splitlines()]
    (tmp_path / "opainfo.txt").write_text("\n".join(lines) + "\n")
    content = read_bundle(tmp_path)
    inventories, fabric = content.inventories, content.fabric
    assert [one.adapters[0].interfaces for one in inventories] == [("enp97s0",), ("enp182s0",)]
    assert [len(one.adapters) for one in inventories] == [1, 1]
    assert inventories[0].adapters[0].lane_mode == "1x40"
    assert [one.rdma_ports[0].physical for one in inventories] == ["Offline", "Offline"]
    assert (fabric.nodes, fabric.unreached) == ((), ())
    (like,) = conclude_survey(inventories, fabric).classes
    assert like.nodes == ("c1", "c2")
    assert [name for name, _ in like.namings[0].names] == ["enp182s0", "enp97s0"]


def test_a_printout_that_no_parser_knows_is_told(tmp_path: Path) -> None:
    (tmp_path / "c1").mkdir()
    (tmp_path / "c1" / "shopping.txt").write_text("eggs")
    (inventory,) = read_bundle(tmp_path).inventories
    assert inventory.troubles == ("shopping: no parser knows a printout of this name",)


def test_a_shared_file_without_labels_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "lshw.txt").write_text("*-network\n")
    with pytest.raises(StoreError, match="lshw"):
        read_bundle(tmp_path)


def test_an_empty_directory_is_no_bundle(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="holds no answers"):
        read_bundle(tmp_path)


@pytest.mark.parametrize(
    ("name", "fixture"),
    [("ethtool-i-eth0", "ethtool/6.1--i-virtio"), ("fi_info", "fi_info/1.17--list"),
     ("rdma_dev", "rdma/6.1--rxe-dev")],
)  # fmt: skip
def test_the_keys_of_one_nodes_printout_are_not_taken_for_nodes(
    tmp_path: Path, name: str, fixture: str
) -> None:
    text = (FIXTURES / f"{fixture}.out").read_text()
    (tmp_path / f"{name}.txt").write_text(text)
    with pytest.raises(StoreError, match="not every line begins with a node's name"):
        read_bundle(tmp_path)
    labelled = "".join(f"c{node}: {line}\n" for node in (1, 2) for line in text.splitlines())
    (tmp_path / f"{name}.txt").write_text(labelled)
    inventories = read_bundle(tmp_path).inventories
    assert [one.name for one in inventories] == ["c1", "c2"]
    assert all(one.adapters or one.stacks for one in inventories)


def write_opainfo(directory: Path, nodes: int, edits: dict[int, dict[str, str]]) -> None:
    """Write the printout of an active port for each node, with some nodes' text replaced."""
    active = (FIXTURES / "opainfo" / "10.11--active.out").read_text()
    for number in range(1, nodes + 1):
        text = active.replace("0x00000005", f"0x0000000{number}")
        for before, after in edits.get(number, {}).items():
            assert before in text
            text = text.replace(before, after)
        (directory / f"n{number}").mkdir()
        (directory / f"n{number}" / "opainfo.txt").write_text(text)


LOST_LANE = {"Rx: 4 ": "Rx: 3 "}
UNMANAGED = {
    "Active": "Init (LinkUp)", "LID: 0x00000002-0x00000002": "LID: 0x00000000-0x00000000",
    "SM LID: 0x00000001": "SM LID: 0x00000000",
}  # fmt: skip


def test_ports_of_opainfo_without_faults_are_alike(tmp_path: Path) -> None:
    write_opainfo(tmp_path, 5, {})
    content = read_bundle(tmp_path)
    surveyed = conclude_survey(content.inventories, content.fabric)
    assert surveyed.limits == ()
    (like,) = surveyed.classes
    assert (like.oddities, like.splits) == ((), ())
    found = diagnose_bundle(tmp_path, (), (), ("port", "rdma-rate"))
    assert not [finding for check in found.checked for finding in check.findings]


def test_a_lost_lane_and_a_port_without_a_manager_are_odd(tmp_path: Path) -> None:
    write_opainfo(tmp_path, 5, {2: UNMANAGED, 4: LOST_LANE})
    content = read_bundle(tmp_path)
    surveyed = conclude_survey(content.inventories, content.fabric)
    assert [(limit.check, limit.nodes) for limit in surveyed.limits] == [
        ("port", ("n2",)), ("rdma-rate", ("n4",)),
    ]  # fmt: skip
    (like,) = surveyed.classes
    odd = {oddity.nodes: oddity.value for oddity in like.oddities}
    assert set(odd) == {("n2",), ("n4",)}
    assert "INIT" in odd["n2",] and "75 Gb/s" in odd["n4",]
    found = diagnose_bundle(tmp_path, (), (), ("port", "rdma-rate"))
    judged = {check.check: check.findings for check in found.checked}
    assert {name: (one.severity, one.nodes) for name, (one,) in judged.items()} == {
        "port": (Severity.FAIL, ("n2",)), "rdma-rate": ("FAIL", ("n4",)),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("edit", "check"),
    [
        (LOST_LANE, "rdma-rate"),
        ({"Act: 25Gb": "Act: 12.5Gb"}, "rdma-rate"),
        ({"Active": "Init (LinkUp)", "0x00000001": "0x00000000"}, "port"),
        ({}, ""),
    ],
)
def test_a_single_port_is_held_against_what_is_enabled(
    tmp_path: Path, edit: dict[str, str], check: str
) -> None:
    write_opainfo(tmp_path, 1, {1: edit})
    found = diagnose_bundle(tmp_path, (), (), ("port", "rdma-rate"))
    assert [one.check for one in found.checked if one.findings] == [check] * bool(check)


def test_a_page_shows_the_enabled_width_of_a_port_that_is_down(tmp_path: Path) -> None:
    (tmp_path / "c1").mkdir()
    offline = (FIXTURES / "opainfo" / "guide--offline.out").read_bytes()
    (tmp_path / "c1" / "opainfo.txt").write_bytes(offline)
    (inventory,) = read_bundle(tmp_path).inventories
    (port,) = inventory.rdma_ports
    assert (port.lanes_enabled, port.lane_bit_s_enabled) == ((4,), (25e9,))
    assert "enabled: 4 lanes at 25 Gb/s" in describe_port(port)
