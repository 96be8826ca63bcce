"""A node's /sys and /proc as files, and the script that checks it."""

import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest

from fabricgauge.features.health.expectations import Expectations, read_expectations
from fabricgauge.features.health.script import ScriptSettings, write_script

BOOT = "11111111-2222-3333-4444-555555555555"

#: What the node of ``build_node`` should have.
EXPECTED = """
version = 1
[[class]]
nodes = "n[1-2]"
[class.net.eth0]
link = "up"
rate_mbit_s = 25000
mtu_bytes = 9000
driver = "mlx5_core"
pcie = "16.0 GT/s x16"
[class.rdma.mlx5_0]
firmware = "20.43.1014"
driver = "mlx5_core"
pcie = "16.0 GT/s x16"
[class.port."mlx5_0:1"]
link = "up"
rate = "100 Gb/sec (4X EDR)"
layer = "InfiniBand"
manager = "0x1"
[class.port."mlx5_0:1".gid]
0 = "IB/RoCE v1 ib0"
[class.node]
memlock_bytes = "unlimited"
gpus = 2
gpus_of_driver = 2
"""

SHELLS: dict[str, tuple[str, ...]] = {
    "dash": ("dash",), "bash": ("bash", "--posix"), "busybox": ("busybox", "sh"),
}  # fmt: skip

#: The shells, of which only the first is tried by quick tests.
QUICK_SHELLS = [
    pytest.param(shell, marks=[pytest.mark.slow] * (shell != "dash")) for shell in SHELLS
]

LIMITS = """\
Limit                     Soft Limit           Hard Limit           Units
Max locked memory         unlimited            unlimited            bytes
"""
SNMP = (
    "Tcp: RtoAlgorithm OutSegs RetransSegs InErrs\nTcp: 1 {out} {again} 0\n"
    "Udp: InDatagrams NoPorts\nUdp: 0 0\n"
)


class Answer(NamedTuple):
    """The status and the output of one check."""

    status: int
    text: str
    error: str = ""


class Node:
    """One node below ``root``; ``state`` is its state file."""

    def __init__(self, root: Path) -> None:
        self.root, self.state = root, root / "state"

    def write(self, name: str, value: object) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{value}\n")

    def net(self, name: str, value: object, interface: str = "eth0") -> None:
        self.write(f"sys/class/net/{interface}/{name}", value)

    def port(self, name: str, value: object) -> None:
        self.write(f"sys/class/infiniband/mlx5_0/ports/1/{name}", value)

    def at(self, uptime_s: float, boot: str = BOOT) -> None:
        """Set the time since the node started."""
        self.write("proc/uptime", f"{uptime_s:.2f} 5.00")
        self.write("proc/sys/kernel/random/boot_id", boot)

    def check(
        self,
        *options: str,
        expectations: Expectations | None = None,
        shell: str = "dash",
        settings: ScriptSettings | None = None,
    ) -> Answer:
        known = expectations or read_expectations(EXPECTED, "health.toml")
        script = write_script(known, settings or ScriptSettings())
        argv = [*SHELLS[shell], "-s", "--", "--root", str(self.root), "--state", str(self.state)]
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [*argv, *options], input=script, capture_output=True, text=True, timeout=30,
                check=False, env={"PATH": "/usr/bin:/bin", "TMPDIR": folder},
            )  # fmt: skip
            assert list(Path(folder).iterdir()) == []
        return Answer(done.returncode, done.stdout, done.stderr)


def build_node(root: Path) -> Node:
    """Return a healthy node: an Ethernet and an InfiniBand port of one adapter, and two GPUs."""
    node = Node(root)
    node.write("proc/sys/kernel/hostname", "n1.example.org")
    node.write("proc/net/dev", "Inter-|\n face |\n  eth0: 1 2 3")
    node.write("proc/self/limits", LIMITS)
    node.write("proc/net/snmp", SNMP.format(out=1000, again=1))
    node.at(90_000)
    pci = root / "sys/devices/pci0000:60/0000:60:01.0"
    for path, vendor, kind in (
        (pci / "0000:61:00.0", "0x15b3", "0x020700"),
        (pci / "0000:62:00.0", "0x10de", "0x030200"),
        (pci / "0000:63:00.0", "0x10de", "0x030200"),
    ):
        name = str(path.relative_to(root))
        node.write(f"{name}/vendor", vendor)
        node.write(f"{name}/device", "0x101b")
        node.write(f"{name}/class", kind)
        node.write(f"{name}/uevent", f"DRIVER=mlx5_core\nPCI_SLOT_NAME={path.name}")
        link = root / "sys/bus/pci/devices" / path.name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(path)
    for place in (
        "sys/devices/pci0000:60/0000:60:01.0",
        str((pci / "0000:61:00.0").relative_to(root)),
    ):
        node.write(f"{place}/current_link_speed", "16.0 GT/s PCIe")
        node.write(f"{place}/current_link_width", 16)
    for number in (0, 1):
        node.write(f"proc/driver/nvidia/gpus/0000:6{2 + number}:00.0/information", "Model: x")
    for name, value in (
        ("operstate", "up"), ("carrier", 1), ("speed", 25000), ("mtu", 9000), ("type", 1),
        ("carrier_down_count", 1), ("statistics/rx_errors", 5), ("statistics/tx_errors", 0),
        ("statistics/rx_dropped", 700), ("statistics/tx_dropped", 0),
        ("statistics/rx_missed_errors", 0),
    ):  # fmt: skip
        node.net(name, value)
    (root / "sys/class/net/eth0/device").symlink_to(pci / "0000:61:00.0")
    device = "sys/class/infiniband/mlx5_0"
    node.write(f"{device}/node_type", "1: CA")
    node.write(f"{device}/fw_ver", "20.43.1014")
    (root / device / "device").symlink_to(pci / "0000:61:00.0")
    for name, value in (
        ("state", "4: ACTIVE"), ("phys_state", "5: LinkUp"), ("rate", "100 Gb/sec (4X EDR)"),
        ("link_layer", "InfiniBand"), ("lid", "0x7"), ("sm_lid", "0x1"),
        ("gids/0", "fe80:0000:0000:0000:b859:9f03:00a8:1e2c"),
        ("gid_attrs/types/0", "IB/RoCE v1"), ("gid_attrs/ndevs/0", "ib0"),
        ("counters/symbol_error", 0), ("counters/link_downed", 2),
        ("counters/port_rcv_errors", 3), ("counters/port_xmit_discards", 9),
        ("counters/port_xmit_wait", 123456), ("hw_counters/out_of_sequence", 11),
        ("hw_counters/req_remote_access_errors", 4),
    ):  # fmt: skip
        node.port(name, value)
    return node
