"""survey.sh on this machine, and on one whose /sys has adapters that this one has not."""

import shutil
import subprocess
from importlib import resources
from pathlib import Path

import pytest
from tests.nodes.discover.survey import fake_sysfs as sysfs

from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import Inventory, PcieLink
from fabricgauge.nodes.discover.printouts.table import parse_named
from fabricgauge.nodes.discover.probe import SURVEY, read_script
from fabricgauge.nodes.discover.sections import split_answer as quick_sections
from fabricgauge.nodes.discover.sections import split_survey
from fabricgauge.nodes.discover.survey.understand import ANSWER, build_inventory

SCRIPT = resources.files("fabricgauge.nodes.discover").joinpath(SURVEY)

in_a_namespace = pytest.mark.skipif(
    not sysfs.usable(), reason="no namespace for an ordinary user here"
)

HCA = {
    "vendor": "0x15b3", "device": "0x101b", "class": "0x020700", "numa_node": "1",
    "current_link_speed": "16.0 GT/s PCIe", "current_link_width": "8",
    "max_link_speed": "16.0 GT/s PCIe", "max_link_width": "16",
}  # fmt: skip
PORT = {
    "node_type": "1: CA", "fw_ver": "20.37.1014", "board_id": "MT_0000000223",
    "ports/1/state": "4: ACTIVE", "ports/1/phys_state": "5: LinkUp",
    "ports/1/rate": "200 Gb/sec (4X HDR)", "ports/1/lid": "0x1a", "ports/1/sm_lid": "0x1",
    "ports/1/link_layer": "InfiniBand",
    "ports/1/gids/0": "fe80:0000:0000:0000:0c42:a103:0079:4e8c",
    "ports/1/gid_attrs/types/0": "IB/RoCE v1",
}  # fmt: skip
HFI = {"vendor": "0x8086", "device": "0x24f0", "class": "0x020800", "numa_node": "0"}
HFI_PORT = {
    "node_type": "1: CA", "fw_ver": "1.27.0", "boardversion": "ChipABI 3.0, ChipRev 7.17",
    "ports/1/state": "1: DOWN", "ports/1/phys_state": "3: Disabled",
    "ports/1/rate": "100 Gb/sec (4X EDR)", "ports/1/lid": "0x0", "ports/1/sm_lid": "0x0",
    "ports/1/link_layer": "InfiniBand",
}  # fmt: skip
ROCE = {"vendor": "0x15b3", "device": "0x1017", "class": "0x020000", "numa_node": "-1"}
ROCE_PORT = {
    "node_type": "1: CA", "ports/1/state": "4: ACTIVE", "ports/1/rate": "100 Gb/sec (4X EDR)",
    "ports/1/link_layer": "Ethernet", "ports/1/gid_attrs/types/0": "IB/RoCE v1",
    "ports/1/gid_attrs/types/1": "RoCE v2", "ports/1/gid_attrs/ndevs/0": "ens1f0np0",
    "ports/1/lid": "0x0",
}  # fmt: skip
H100 = {
    "vendor": "0x10de", "device": "0x2330", "class": "0x030200", "numa_node": "1",
    "current_link_speed": "2.5 GT/s PCIe", "current_link_width": "16",
    "max_link_speed": "32.0 GT/s PCIe", "max_link_width": "16", "iommu_group/type": "identity",
}  # fmt: skip
CONSOLE = {"vendor": "0x1a03", "device": "0x2000", "class": "0x030000", "numa_node": "0"}


def inventory(raw: str, trouble: str = "") -> Inventory:
    return build_inventory("c1", {ANSWER: raw}, trouble, parse_named)


@pytest.fixture(scope="module")
def here() -> str:
    """This machine's answer."""
    done = subprocess.run(
        ["sh", "-s"], input=read_script(SURVEY), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0
    return done.stdout


@pytest.fixture(scope="module")
def equipped(tmp_path_factory: pytest.TempPathFactory) -> Inventory:
    root = tmp_path_factory.mktemp("sys")
    hca = sysfs.pci(root, "0000:ca:00.0", HCA, "mlx5_core")
    sysfs.rdma(root, "0000:ca:00.0", "mlx5_0", PORT)
    (hca / "net" / "ib0").mkdir(parents=True)
    sysfs.pci(root, "0000:17:00.0", HFI, "hfi1")
    sysfs.rdma(root, "0000:17:00.0", "hfi1_0", HFI_PORT)
    sysfs.pci(root, "0000:31:00.0", ROCE, "mlx5_core")
    sysfs.rdma(root, "0000:31:00.0", "mlx5_1", ROCE_PORT)
    sysfs.pci(root, "0000:db:00.0", H100)
    sysfs.pci(root, "0000:05:00.0", CONSOLE)
    sysfs.pci(root, "0000:00:1f.0", {"class": "0x060100", "vendor": "0x8086"})
    tools = root / "tools"
    sysfs.tool(tools, "opainfo", "echo '== end'; echo '== survey end'; echo '$(reboot)'")
    return inventory(sysfs.surveyed(root, tools))


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="shellcheck is not installed")
@pytest.mark.parametrize("text", [SCRIPT.read_text("utf-8"), read_script(SURVEY)])
def test_the_survey_is_clean_shell(text: str) -> None:
    done = subprocess.run(["shellcheck", "-"], input=text.encode(), capture_output=True)
    assert done.returncode == 0, done.stdout.decode()


@pytest.mark.skipif(not shutil.which("dash"), reason="dash is not installed")
def test_the_survey_needs_no_more_than_a_posix_shell() -> None:
    done = subprocess.run(["dash", "-n"], input=read_script(SURVEY), text=True, capture_output=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not shutil.which("busybox"), reason="busybox is not installed")
def test_busyboxs_shell_and_tools_are_enough(tmp_path: Path) -> None:
    subprocess.run(["busybox", "--install", "-s", str(tmp_path)], check=True)
    done = subprocess.run(
        [str(tmp_path / "sh"), "-s"], input=read_script(SURVEY), capture_output=True, text=True,
        env={"PATH": str(tmp_path)}, timeout=60,
    )  # fmt: skip
    found = split_survey(done.stdout)
    assert found.is_complete
    assert {"limits", "memory", "command-line"} <= found.sections.keys()


def test_this_machine_tells_all_of_itself(here: str) -> None:
    found = inventory(here)
    assert not isinstance(found.node, Skipped)
    assert int(found.facts["memory bytes"]) > 1 << 28
    assert "max open files" in found.facts
    assert not any("cut off" in trouble for trouble in found.troubles)


def test_the_quick_answer_stands_whole_before_the_long_one(here: str) -> None:
    assert here.index("\n== end\n") < here.index("\n== fabricgauge-survey 1\n")


@in_a_namespace
def test_a_narrow_pcie_link_is_told_from_the_capable_one(equipped: Inventory) -> None:
    hca = next(one for one in equipped.adapters if one.bus == "0000:ca:00.0")
    assert (hca.pcie_now, hca.pcie_capable) == (PcieLink(16.0, 8), PcieLink(16.0, 16))
    assert (hca.kind, hca.firmware, hca.numa_node) == ("infiniband", "20.37.1014", 1)
    assert (hca.interfaces, hca.rdma_devices) == (("ib0",), ("mlx5_0",))


@in_a_namespace
def test_an_infiniband_port_has_its_lanes_and_lids(equipped: Inventory) -> None:
    port = next(one for one in equipped.rdma_ports if one.device == "mlx5_0")
    assert (port.protocol, port.state, port.physical) == ("infiniband", "ACTIVE", "LinkUp")
    assert (port.rate_bit_s, port.lanes, port.lane_bit_s) == (200e9, 4, 53.125e9)
    assert (port.lid, port.sm_lid, port.guid) == (26, 1, "0x0c42a10300794e8c")


@in_a_namespace
def test_an_omni_path_port_that_is_down_keeps_its_lid_of_none(equipped: Inventory) -> None:
    port = next(one for one in equipped.rdma_ports if one.device == "hfi1_0")
    assert (port.protocol, port.link_layer, port.state) == ("omni-path", "Omni-Path", "DOWN")
    assert (port.lid, port.physical) == (0, "Disabled")
    adapter = next(one for one in equipped.adapters if one.rdma_devices == ("hfi1_0",))
    assert adapter.kind == "omni-path"


@in_a_namespace
def test_a_roce_port_has_an_interface_and_no_lid(equipped: Inventory) -> None:
    port = next(one for one in equipped.rdma_ports if one.device == "mlx5_1")
    assert (port.protocol, port.interface) == ("roce", "ens1f0np0")
    assert isinstance(port.lid, Skipped)
    assert equipped.facts["gid types mlx5_1:1"] == "IB/RoCE v1, RoCE v2"


@in_a_namespace
def test_a_consoles_display_is_no_gpu_and_a_bridge_no_adapter(equipped: Inventory) -> None:
    assert [gpu.bus for gpu in equipped.gpus] == ["0000:db:00.0"]
    (gpu,) = equipped.gpus
    assert (gpu.pcie_now, gpu.pcie_capable) == (PcieLink(2.5, 16), PcieLink(32.0, 16))
    assert equipped.facts["iommu type of 0000:db:00.0"] == "identity"
    assert len(equipped.adapters) == 3


@in_a_namespace
def test_virtual_functions_are_no_adapters_though_lspci_lists_them(tmp_path: Path) -> None:
    root, tools = tmp_path / "sys", tmp_path / "tools"
    sysfs.pci(root, "0000:31:00.0", ROCE, "mlx5_core")
    for number, inside in enumerate(({}, {"net/eth0v1/x": ""})):
        folder = sysfs.pci(root, f"0000:31:00.{number + 1}", {**ROCE, **inside})
        sysfs.link(folder / "physfn", "../0000:31:00.0")
    record = "Slot:\\t0000:31:00.%s\\nClass:\\tEthernet controller [0200]\\n\\n"
    sysfs.tool(tools, "lspci", f"for n in 0 1 2; do printf '{record}' $n; done")
    found = inventory(sysfs.surveyed(root, tools))
    assert [(one.bus, one.interfaces) for one in found.adapters] == [
        ("0000:31:00.0", ()),
        ("0000:31:00.2", ("eth0v1",)),
    ]
    assert found.facts["virtual functions 0000:31:00.0"] == "0000:31:00.1 0000:31:00.2"


@in_a_namespace
def test_many_virtual_functions_crowd_out_no_adapter(tmp_path: Path) -> None:
    root = tmp_path / "sys"
    for number in range(300):
        folder = sysfs.pci(root, f"0000:01:{number // 8:02x}.{number % 8}", ROCE)
        sysfs.link(folder / "physfn", "../0000:01:00.0")
    sysfs.pci(root, "0000:ca:00.0", HCA, "mlx5_core")
    found = inventory(sysfs.surveyed(root, tmp_path / "tools"))
    assert [one.bus for one in found.adapters] == ["0000:ca:00.0"]


@in_a_namespace
def test_a_tool_that_prints_an_end_mark_ends_nothing(equipped: Inventory) -> None:
    assert "memory bytes" in equipped.facts
    assert "opainfo" in " ".join((*equipped.sources, *equipped.troubles))
    assert "answer" not in equipped.facts


@in_a_namespace
def test_a_tool_that_hangs_is_named_and_delays_no_longer_than_its_time(tmp_path: Path) -> None:
    sysfs.files(tmp_path / "sys", {"kernel/x": "1"})
    script = read_script(SURVEY).replace("TOOL_S=4", "TOOL_S=1")
    sysfs.tool(tmp_path / "tools", "mpirun", "sleep 50")
    sysfs.tool(tmp_path / "tools", "ucx_info", "trap '' TERM; sleep 50 & wait; sleep 50")
    done = subprocess.run(
        ["sh", "-s"], input=script, capture_output=True, text=True, timeout=40,
        env={"PATH": f"{tmp_path / 'tools'}:/usr/bin:/bin"},
    )  # fmt: skip
    found = inventory(done.stdout)
    for tool in ("mpirun --version", "ucx_info -v"):
        assert any(f"{tool} did not end" in trouble for trouble in found.troubles)


@in_a_namespace
def test_an_interface_of_type_32_tells_its_mode_and_the_rates_behind_it(tmp_path: Path) -> None:
    sysfs.rdma(tmp_path, "0000:ca:00.0", "mlx5_0", PORT)
    for name, kind in (("ib0", "32"), ("eth0", "1")):
        values = {"ifindex": "7", "type": kind, "mode": "datagram", "dev_port": "0"}
        sysfs.files(tmp_path / "class" / "net" / name, values)
        sysfs.link(
            tmp_path / "class" / "net" / name / "device", "../../../devices/pci0000:00/0000:ca:00.0"
        )
    sections = quick_sections("c1", sysfs.surveyed(tmp_path, tmp_path / "tools"))
    found = sections["sys ib0"].parse_pairs(": ")
    assert (found["mode"], found["dev_port"]) == ("datagram", "0")
    assert found["rate 1"] == "200 Gb/sec (4X HDR)"
    assert "mode" not in sections["sys eth0"].parse_pairs(": ")
