"""Bundles put together by hand: printouts are judged, and what nothing reads is listed."""

import shutil
from pathlib import Path

import pytest

from fabricgauge.doctor.checks import CHECKS
from fabricgauge.doctor.doctor import diagnose_bundle
from fabricgauge.doctor.survey import conclude_survey, read_bundle
from fabricgauge.model.errors import StoreError
from fabricgauge.model.finding import Diagnosis
from fabricgauge.model.surveyed import Surveyed
from fabricgauge.model.verdict import exit_status
from fabricgauge.report.content.monitoring import find_outcome

BUNDLES = Path(__file__).parents[1] / "fixtures" / "bundles"
EVERY = tuple(CHECKS)
ALL = ("n1", "n2", "n3", "n4")


def examined(path: Path) -> Diagnosis:
    return diagnose_bundle(path, (), (), EVERY)


def surveyed(path: Path) -> Surveyed:
    content = read_bundle(path)
    return conclude_survey(content.inventories, content.fabric, content.unread, content.subnet)


#: The bundle, its findings (check, severity, nodes), and the exit status.
RIGHT = [
    ("t1-roce-mtu", [("mtu", "WARN", ("n3",))], 0),
    ("t7x-width-1x", [("rdma-rate", "FAIL", ("n2",))], 1),
    ("t14-port-down", [("port", "FAIL", ("n2",))], 1),
    ("t15-pcie-x8", [("pcie", "FAIL", ("n2",))], 1),
    ("t15b-pcie-all-x8", [("pcie", "FAIL", ALL)], 1),
    ("s6-gid", [("gid", "WARN", ("n4",))], 0),
    ("s6b-gid-noip", [("gid", "FAIL", ("n4",))], 1),
    ("s-ethS", [("port-errors", "WARN", ("n2",))], 0),
    ("u-unread", [("subnet-links", "FAIL", ("n2",)), ("port-errors", "WARN", ("n2",)),
                  ("port-errors", "WARN", ("n2",))], 1),
    ("s7-docker", [("addresses", "NOTE", ALL)], 0),
    ("s7-virbr", [("addresses", "NOTE", ALL)], 0),
    ("s20b-cstates", [("idle", "NOTE", ALL)], 0),
    ("s-ipoib-dgram", [("ipoib", "NOTE", ALL)], 0),
    ("s12-all-100-of-200", [("rdma-rate", "NOTE", ALL)], 0),
]  # fmt: skip


@pytest.mark.parametrize(("name", "findings", "status"), RIGHT)
def test_what_the_printouts_say_is_found_and_nothing_else(
    name: str, findings: list[tuple[str, str, tuple[str, ...]]], status: int
) -> None:
    found = examined(BUNDLES / name)
    assert [(one.check, one.severity.value, one.nodes) for one in found.findings] == findings
    assert exit_status(find_outcome(found)) == status
    assert found.nodes == ALL
    assert found.unread == ()


@pytest.mark.parametrize("name", ["t1-roce-mtu", "t7x-width-1x", "t14-port-down", "t15-pcie-x8"])
def test_without_the_odd_node_nothing_is_found(tmp_path: Path, name: str) -> None:
    """Three like nodes that are sound."""
    odd = "n3" if name == "t1-roce-mtu" else "n2"
    shutil.copytree(BUNDLES / name, tmp_path / "b", ignore=shutil.ignore_patterns(odd))
    found = examined(tmp_path / "b")
    assert (found.findings, exit_status(find_outcome(found))) == ((), 0)


SETTINGS = "Settings for eth0:\n\tSpeed: {}Mb/s\n\tDuplex: {}\n\tLink detected: {}\n"


def ethtool(path: Path, *settings: tuple[int, str, str]) -> Path:
    """A bundle of ``ethtool eth0`` alone."""
    for number, setting in enumerate(settings, 1):
        folder = path / f"n{number}"
        folder.mkdir()
        text = SETTINGS.format(*setting).replace(
            "Speed", "Supported link modes:   100000baseCR4/Full\n\tSpeed"
        )
        (folder / "ethtool-eth0.txt").write_text(text)
    return path


FULL = (100_000, "Full", "yes")


@pytest.mark.parametrize("odd", [(10_000, "Full", "yes"), (100_000, "Half", "yes"),
                                 (100_000, "Full", "no (No cable)")])  # fmt: skip
def test_one_rate_duplex_or_link_that_is_not_as_most_fails(
    tmp_path: Path, odd: tuple[int, str, str]
) -> None:
    (finding,) = examined(ethtool(tmp_path, FULL, odd, FULL)).findings
    assert (finding.check, finding.severity.value) == ("rate", "FAIL")
    assert (finding.where, finding.nodes) == ("n2:eth0", ("n2",))


def test_like_rates_are_no_finding(tmp_path: Path) -> None:
    assert examined(ethtool(tmp_path, FULL, FULL, FULL)).findings == ()


def test_rates_of_ibstat_are_compared_where_it_tells_no_lanes(tmp_path: Path) -> None:
    shutil.copytree(BUNDLES / "t14-port-down", tmp_path / "b")
    slow = (BUNDLES / "t14-port-down" / "n1" / "ibstat.txt").read_text()
    (tmp_path / "b" / "n2" / "ibstat.txt").write_text(slow.replace("Rate: 200", "Rate: 50"))
    (finding,) = examined(tmp_path / "b").findings
    assert (finding.check, finding.severity.value, finding.nodes) == ("rdma-rate", "FAIL", ("n2",))


def test_a_path_mtu_that_all_have_below_their_devices_is_noted(tmp_path: Path) -> None:
    shutil.copytree(BUNDLES / "t1-roce-mtu", tmp_path / "b")
    small = (BUNDLES / "t1-roce-mtu" / "n3" / "ibv_devinfo.txt").read_text()
    for node in ALL:
        (tmp_path / "b" / node / "ibv_devinfo.txt").write_text(small)
    (finding,) = examined(tmp_path / "b").findings
    assert (finding.check, finding.severity.value, finding.nodes) == ("mtu", "NOTE", ALL)


def test_errors_that_all_ports_have_counted_are_noted(tmp_path: Path) -> None:
    shutil.copytree(BUNDLES / "s-ethS", tmp_path / "b")
    counted = (BUNDLES / "s-ethS" / "n2" / "ethtool-S-ens1.txt").read_text()
    for node in ALL:
        (tmp_path / "b" / node / "ethtool-S-ens1.txt").write_text(counted)
    (finding,) = examined(tmp_path / "b").findings
    assert (finding.check, finding.severity.value) == ("port-errors", "NOTE")
    assert finding.nodes == ALL


def test_a_few_errors_are_chance(tmp_path: Path) -> None:
    shutil.copytree(BUNDLES / "s-ethS", tmp_path / "b")
    odd = tmp_path / "b" / "n2" / "ethtool-S-ens1.txt"
    odd.write_text(odd.read_text().replace("9999999", "99").replace("8888888", "0"))
    assert examined(tmp_path / "b").findings == ()


def test_no_node_with_the_gid_of_its_address_is_a_warning(tmp_path: Path) -> None:
    shutil.copytree(BUNDLES / "s6b-gid-noip", tmp_path / "b")
    bare = (BUNDLES / "s6b-gid-noip" / "n4" / "ibv_devinfo_-v.txt").read_text()
    for node in ALL:
        (tmp_path / "b" / node / "ibv_devinfo_-v.txt").write_text(bare)
    found = examined(tmp_path / "b").findings
    assert [(one.check, one.severity.value, one.nodes) for one in found] == [("gid", "WARN", ALL)]


def test_flow_control_that_one_node_has_off_is_named(tmp_path: Path) -> None:
    shutil.copytree(BUNDLES / "s-ethS", tmp_path / "b")
    for node in ALL:
        (tmp_path / "b" / node / "ethtool-S-ens1.txt").unlink()
        state = "off" if node == "n3" else "on"
        text = f"Pause parameters for ens1:\nAutonegotiate:\toff\nRX:\t{state}\nTX:\t{state}\n"
        (tmp_path / "b" / node / "ethtool-a-ens1.txt").write_text(text)
    (finding,) = examined(tmp_path / "b").findings
    assert (finding.check, finding.severity.value, finding.nodes) == ("likeness", "WARN", ("n3",))


def test_discover_names_a_path_mtu_and_a_slot_that_all_have_alike() -> None:
    (like,) = surveyed(BUNDLES / "t1-roce-mtu").classes
    assert [one.nodes for one in like.oddities] == [("n3",)]
    everywhere = surveyed(BUNDLES / "t15b-pcie-all-x8")
    assert everywhere.classes[0].oddities == ()
    assert [(one.check, one.nodes) for one in everywhere.limits] == [("pcie", ALL)]
    of_subnet = surveyed(BUNDLES / "u-unread").limits
    assert ("subnet-links", ("n2",)) in [(one.check, one.nodes) for one in of_subnet]


@pytest.mark.parametrize(("left_out", "severity"), [((), "FAIL"), (("n2", "n4"), "WARN")])
def test_an_adapter_that_one_node_lacks_is_named_and_its_firmware_is_not_blamed(
    tmp_path: Path, left_out: tuple[str, ...], severity: str
) -> None:
    """Of two nodes that differ, they may be of two kinds."""
    shutil.copytree(
        BUNDLES / "s12-all-100-of-200", tmp_path / "b", ignore=shutil.ignore_patterns(*left_out)
    )
    answer = tmp_path / "b" / "n3" / "survey.txt"
    lines = answer.read_text().split("\n")
    begin, end = lines.index("== pci 0000:31:00.0"), lines.index("== command-line")
    bare = "\n".join(lines[:begin] + lines[end:])
    bare = bare[: bare.index("== sys ib0")] + bare[bare.index("== settings") :]
    answer.write_text(bare)
    found = [one for one in examined(tmp_path / "b").findings if one.nodes == ("n3",)]
    checks = {one.check: one.severity.value for one in found}
    assert checks["adapters"] == severity
    assert "likeness" not in checks


def test_a_node_with_fewer_printouts_lacks_no_adapter(tmp_path: Path) -> None:
    shutil.copytree(BUNDLES / "t15-pcie-x8", tmp_path / "b", ignore=shutil.ignore_patterns("n2"))
    (tmp_path / "b" / "n4" / "ibstat.txt").unlink()
    (tmp_path / "b" / "n3" / "lspci_-vv_-nn.txt").unlink()
    assert examined(tmp_path / "b").findings == ()


def test_one_file_that_nothing_reads_costs_itself_alone(tmp_path: Path) -> None:
    shutil.copytree(BUNDLES / "t7x-width-1x", tmp_path / "b")
    (tmp_path / "b" / "notes.txt").write_text("rack 4 was moved\n")
    (tmp_path / "b" / "dmesg.gz").write_bytes(b"\x1f\x8b")
    (tmp_path / "b" / "photos").mkdir()
    (tmp_path / "b" / "n1" / "ethtool-k-eth0.txt").write_text("Features for eth0:\n")
    (tmp_path / "b" / "n1" / "shopping.txt").write_text("eggs")
    (tmp_path / "b" / "n1" / "ibstat.txt").write_text("")
    found = examined(tmp_path / "b")
    assert [(one.check, one.nodes) for one in found.findings] == [("rdma-rate", ("n2",))]
    assert {one.partition(":")[0] for one in found.unread} == {"notes", "dmesg.gz", "photos"}
    named = {one.partition(":")[0] for one in found.troubles["n1"]}
    assert named == {"ethtool-k-eth0", "shopping", "ibstat"}


def test_printouts_of_a_subnet_alone_are_a_bundle(tmp_path: Path) -> None:
    links = BUNDLES.parent / "iblinkinfo" / "44--two-leaves.out"
    shutil.copy(links, tmp_path / "iblinkinfo.txt")
    found = examined(tmp_path)
    assert {(one.check, one.severity.value) for one in found.findings} == {("subnet-links", "NOTE")}
    (tmp_path / "iblinkinfo.txt").write_text("ibwarn: no port\n")
    with pytest.raises(StoreError, match="iblinkinfo"):
        read_bundle(tmp_path)


IP_ADDR = BUNDLES.parent / "ip_addr"


def of_ip_addr(folder: Path, form: str, nodes: int = 3, **changes: tuple[str, str]) -> Path:
    """A bundle of ``ip addr`` on like nodes; ``changes`` replace a text on one of them."""
    text = (IP_ADDR / f"6.1--{form}.out").read_text()
    for number in range(1, nodes + 1):
        own = text.replace("02:00:00:00:", f"02:00:00:{number:02x}:")
        own = own.replace("10.77.0.21", f"10.77.0.{number}").replace(
            "10.78.0.21", f"10.78.0.{number}"
        )
        (folder / f"n{number}").mkdir()
        own = own.replace(*changes.get(f"n{number}", ("", "")))
        (folder / f"n{number}" / "ip_addr.txt").write_text(own)
    return folder


@pytest.mark.parametrize("form", ["text", "d-text", "json", "d-json"])
@pytest.mark.parametrize("nodes", [2, 3])
def test_addresses_of_sound_nodes_accuse_nobody(form: str, nodes: int, tmp_path: Path) -> None:
    found = examined(of_ip_addr(tmp_path, form, nodes))
    assert {(one.check, one.severity.value) for one in found.findings} == {("addresses", "NOTE")}
    assert exit_status(find_outcome(found)) == 0
    networks = surveyed(tmp_path).fabric.networks
    assert {network.subnet for network in networks} >= {"10.77.0.0/24", "10.78.0.0/24"}


@pytest.mark.parametrize(
    ("change", "check"),
    [
        (("10.77.0.2/", "10.77.0.1/"), "addresses"),
        (("mtu 9000", "mtu 1500"), "mtu"),
        (("10.77.0.2/24", "10.77.0.2/8"), "subnets"),
        (("e0@e0x: <BROADCAST,MULTICAST,UP,LOWER_UP>", "e0@e0x: <BROADCAST,MULTICAST,UP>"), "link"),
    ],
)
def test_what_is_wrong_in_a_printout_of_addresses_is_found(
    change: tuple[str, str], check: str, tmp_path: Path
) -> None:
    found = examined(of_ip_addr(tmp_path, "d-text", n2=change))
    worst = [one for one in found.findings if one.severity.value != "NOTE"]
    assert {one.check for one in worst} == {check}
    assert all("n2" in one.nodes for one in worst)
