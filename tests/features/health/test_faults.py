"""Each planted fault is named with its part and figures; a healthy node passes beside it."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.features.health.node import QUICK_SHELLS, SHELLS, Node, build_node

BRIDGE = "sys/devices/pci0000:60/0000:60:01.0"
PORT = "sys/class/infiniband/mlx5_0/ports/1"
ADAPTER = f"{BRIDGE}/0000:61:00.0"

PASS, WARN, FAIL, INCONCLUSIVE = "PASS", "WARN", "FAIL", "INCONCLUSIVE"


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return build_node(tmp_path)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_healthy_node_passes_and_is_silent_to_slurm(node: Node, shell: str) -> None:
    assert node.check(shell=shell) == (0, "PASS: 20 checks\n", "")
    assert node.check("--for", "slurm", shell=shell) == (0, "", "")
    assert node.check("--quiet", shell=shell) == (0, "", "")


def down(node: Node) -> None:
    node.net("carrier", 0)
    node.net("operstate", "down")


def off(node: Node) -> None:
    (node.root / "sys/class/net/eth0/carrier").unlink()
    node.net("operstate", "down")


def remove(node: Node, name: str) -> None:
    path = node.root / name
    path.rename(path.with_name(f".{path.name}"))


def gone(node: Node) -> None:
    remove(node, "sys/class/net/eth0")
    node.write("proc/net/dev", "Inter-|\n face |\n    lo: 1 2 3")


def port_down(node: Node) -> None:
    node.port("state", "1: DOWN")
    node.port("phys_state", "3: Disabled")


def without_manager(node: Node) -> None:
    node.port("state", "2: INIT")
    node.port("sm_lid", "0x0")


def narrow(node: Node) -> None:
    node.write(f"{ADAPTER}/current_link_width", 8)
    node.write(f"{BRIDGE}/current_link_width", 8)


def narrow_without_port(node: Node) -> None:
    """Plant a narrow link in a virtual machine, which has no port above its adapter."""
    node.write(f"{ADAPTER}/current_link_width", 8)
    remove(node, f"{BRIDGE}/current_link_width")


def without_kernel_files(node: Node) -> None:
    remove(node, "sys/class")
    remove(node, "proc/net/dev")


def slow_slot(node: Node) -> None:
    node.write(f"{ADAPTER}/current_link_speed", "2.5 GT/s PCIe")
    node.write(f"{BRIDGE}/current_link_speed", "2.5 GT/s PCIe")


def without_gpu(node: Node) -> None:
    remove(node, "proc/driver/nvidia/gpus/0000:63:00.0")
    (node.root / "sys/bus/pci/devices/0000:63:00.0").unlink()
    remove(node, "proc/driver/nvidia/gpus/0000:62:00.0")


def short_of_memory(node: Node) -> None:
    node.write("proc/self/limits", "Max locked memory         65536                65536    bytes")


Plant = Callable[[Node], object]

FAULTS: dict[str, tuple[Plant, str, list[str]]] = {
    "cable": (down, FAIL, ["eth0 link down"]),
    "switched off": (off, FAIL, ["eth0 is switched off"]),
    "interface gone": (gone, FAIL, ["eth0 is gone"]),
    "port down": (port_down, FAIL, ["mlx5_0:1 link down", "Disabled"]),
    "device gone": (lambda n: remove(n, "sys/class/infiniband/mlx5_0"), FAIL, ["mlx5_0 is gone"]),
    "no subnet manager": (without_manager, FAIL, ["mlx5_0:1 has no subnet manager"]),
    "no LID": (lambda n: n.port("lid", "0x0"), FAIL, ["mlx5_0:1", "without a LID"]),
    "half rate": (lambda n: n.net("speed", 10000), FAIL, ["eth0 at 10000 of 25000 Mb/s"]),
    "half width": (
        lambda n: n.port("rate", "50 Gb/sec (2X EDR)"), FAIL, ["mlx5_0:1 at 50 Gb/sec (2X EDR)"],
    ),
    "lanes": (narrow, FAIL, ["eth0 is at PCIe 16.0 GT/s x8", "16.0 GT/s x16"]),
    "generation": (slow_slot, FAIL, ["mlx5_0 is at PCIe 2.5 GT/s x16"]),
    "GPUs": (without_gpu, FAIL, ["1 of 2 GPUs are on the bus", "driver has 0 of 2"]),
    "MTU": (lambda n: n.net("mtu", 1500), WARN, ["eth0 has MTU 1500, 9000 expected"]),
    "firmware": (
        lambda n: n.write("sys/class/infiniband/mlx5_0/fw_ver", "20.31.1014"), WARN,
        ["mlx5_0 has firmware 20.31.1014"],
    ),
    "driver": (
        lambda n: n.write(f"{ADAPTER}/uevent", "DRIVER=vfio-pci"), WARN,
        ["eth0 has driver vfio-pci"],
    ),
    "GID": (
        lambda n: n.port("gid_attrs/types/0", "RoCE v2"), WARN,
        ["mlx5_0:1 has RoCE v2 ib0 at GID 0"],
    ),
    "memlock": (short_of_memory, WARN, ["locked memory is limited to 65536 bytes"]),
    "rate unreadable": (
        lambda n: n.net("speed", -1), INCONCLUSIVE, ["eth0: its rate is unreadable, 25000"],
    ),
    "PCIe unreadable": (
        lambda n: n.write(f"{ADAPTER}/current_link_width", 255), INCONCLUSIVE,
        ["eth0: its PCIe link is unreadable"],
    ),
    "port above unreadable": (
        narrow_without_port, INCONCLUSIVE,
        ["eth0 is at PCIe 16.0 GT/s x8, 16.0 GT/s x16 expected", "unreadable"],
    ),
    "link layer unreadable": (
        lambda n: remove(n, f"{PORT}/link_layer"), INCONCLUSIVE,
        ["mlx5_0:1: its link layer is unreadable, InfiniBand"],
    ),
    "MTU unreadable": (
        lambda n: remove(n, "sys/class/net/eth0/mtu"), INCONCLUSIVE, ["eth0: its MTU", "9000"],
    ),
    "firmware unreadable": (
        lambda n: remove(n, "sys/class/infiniband/mlx5_0/fw_ver"), INCONCLUSIVE,
        ["mlx5_0: its firmware is unreadable"],
    ),
    "PCI bus unreadable": (
        lambda n: remove(n, "sys/bus/pci"), INCONCLUSIVE, ["the PCI bus is unreadable, 2 GPUs"],
    ),
    "a PCI device unreadable": (
        lambda n: remove(n, "sys/bus/pci/devices/0000:63:00.0/vendor"), INCONCLUSIVE,
        ["the PCI bus is unreadable, 2 GPUs"],
    ),
    "kernel's files unreadable": (
        without_kernel_files, INCONCLUSIVE, ["eth0: its link", "mlx5_0: its files"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_named(node: Node, fault: str) -> None:
    plant, outcome, parts = FAULTS[fault]
    plant(node)
    status, text, error = node.check()
    assert (status, text.partition(":")[0]) == ({FAIL: 1, INCONCLUSIVE: 3}.get(outcome, 0), outcome)
    assert all(part in text for part in parts), text
    assert node.check("--for", "slurm").status == int(outcome == FAIL)
    assert error == ""


@pytest.mark.parametrize("fault", ["cable", "no subnet manager", "lanes"])
@pytest.mark.parametrize("shell", SHELLS)
def test_all_shells_find_the_same(node: Node, fault: str, shell: str) -> None:
    FAULTS[fault][0](node)
    assert node.check(shell=shell) == node.check()


DISPUTES: dict[str, Plant] = {
    "carrier without operstate": lambda n: n.net("operstate", "down"),
    "operstate without carrier": lambda n: n.net("carrier", 0),
    "missing in sysfs only": lambda n: remove(n, "sys/class/net/eth0"),
    "port DOWN with LinkUp": lambda n: n.port("state", "1: DOWN"),
    "port ACTIVE without LinkUp": lambda n: n.port("phys_state", "2: Polling"),
    "INIT with a subnet manager": lambda n: n.port("state", "2: INIT"),
    "width of one end": lambda n: n.write(f"{ADAPTER}/current_link_width", 8),
    "bus without a GPU": lambda n: remove(n, "sys/bus/pci/devices/0000:63:00.0"),
}


@pytest.mark.parametrize("dispute", DISPUTES)
def test_sources_that_disagree_are_reported_and_drain_no_node(node: Node, dispute: str) -> None:
    DISPUTES[dispute](node)
    status, text, _ = node.check()
    assert (status, text.partition(":")[0]) == (0, WARN), text
    assert node.check("--for", "slurm").status == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [("speed", 100000), ("operstate", "unknown"), ("statistics/rx_errors", "x")],
)
def test_better_or_harmless_values_pass(node: Node, name: str, value: object) -> None:
    node.net(name, value)
    assert node.check().status == 0
    assert node.check().text.startswith("PASS")


def test_a_lost_part_is_named_once(node: Node) -> None:
    gone(node)
    remove(node, "sys/class/infiniband/mlx5_0")
    text = node.check().text
    assert (text.count("eth0"), text.count("mlx5_0")) == (2, 1)


def test_a_node_of_no_class_is_undecided(node: Node) -> None:
    node.write("proc/sys/kernel/hostname", "login7")
    assert node.check() == (
        3,
        "INCONCLUSIVE: no class of the file of expectations names login7\n",
        "",
    )
    assert node.check("--for", "slurm").status == 0


@pytest.mark.parametrize("shell", QUICK_SHELLS)
def test_a_check_that_hangs_is_named_within_the_limit(node: Node, shell: str) -> None:
    firmware = node.root / "sys/class/infiniband/mlx5_0/fw_ver"
    firmware.unlink()
    os.mkfifo(firmware)  # a read waits for ever, as in a driver that hangs
    started = time.monotonic()
    status, text, _ = node.check("--limit", "1", "--for", "slurm", shell=shell)
    assert time.monotonic() - started < 4
    named = "check of firmware of mlx5_0: not done within 1 s"
    assert (status, text) == (0, f"{named} [fabricgauge]\n")


def test_a_fault_before_a_check_that_hangs_is_a_failure(node: Node) -> None:
    down(node)
    (node.root / "sys/class/infiniband/mlx5_0/fw_ver").unlink()
    os.mkfifo(node.root / "sys/class/infiniband/mlx5_0/fw_ver")
    status, text, _ = node.check("--limit", "1")
    assert status == 1
    assert "eth0 link down" in text
    assert "firmware of mlx5_0: not done" in text
