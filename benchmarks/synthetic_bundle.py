"""A bundle of nodes that do not exist: like nodes, and odd ones with one kind of oddity each.

The answers have the layout that probe.sh and survey.sh print on a node with a 40 Gb/s Ethernet
adapter, an InfiniBand HDR adapter and a management port; names of interfaces differ by chance.
"""

import random
from pathlib import Path

from fabricgauge.model.surveyed import BundleIndex
from fabricgauge.store.bundle import BundleWriter

#: What is odd, by the words that a report must have for it, and what is changed in an answer.
ODDITIES: dict[str, tuple[tuple[str, str], ...]] = {
    "firmware": (("firmware-version: 6.01", "firmware-version: 5.04"),),
    "PCIe": (("current_link_width: 16", "current_link_width: 8"),),
    "memory": (("MemTotal:       395869184 kB", "MemTotal:       362314752 kB"),),
    "kernel": (("5.14.0-427.el9.x86_64", "5.14.0-362.el9.x86_64"),),
    "limit of locked memory": (("bytes: unlimited", "bytes: 65536"),),
    "openmpi": (("(Open MPI) 4.1.6", "(Open MPI) 4.1.5"),),
    "adapter": (
        ("== pci 0000:ca:00.0", "== not there"),
        ("== rdma mlx5_0", "== nor this"),
        ("== rdma-port 1 mlx5_0", "== nor that"),
    ),
}

_QUICK = """== fabricgauge-probe 1
== hostname
{name}
== kernel
5.14.0-427.el9.x86_64
== boot_id
{boot}
== net_namespace
net:[4026531840]
== cpus
64
== ip_json
[{{"ifname":"{eth}","ifindex":2,"flags":["BROADCAST","MULTICAST","UP","LOWER_UP"],"mtu":9000,\
"operstate":"UP","address":"{mac}","addr_info":[{{"family":"inet","local":"{ip}","prefixlen":16}}]}}]
== sys {eth}
ifindex: 2
address: {mac}
operstate: up
carrier: 1
speed: 40000
mtu: 9000
type: 1
numa_node: 1
driver: i40e
== ethtool {eth}
driver: i40e
version: 5.14.0-427.el9.x86_64
firmware-version: 6.01 0x800035cf 1.1747.0
expansion-rom-version:
bus-info: 0000:{bus}:00.0
== settings
net/ipv4/tcp_timestamps:1
net/core/rmem_max:212992
== facts
cpu model: Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz
max locked memory bytes: unlimited
NUMA nodes: 0-1
== end
"""

_SURVEY = """== fabricgauge-survey 1
== pci 0000:{bus}:00.0
vendor: 0x8086
device: 0x1583
class: 0x020000
numa_node: 1
current_link_speed: 8.0 GT/s PCIe
current_link_width: 8
max_link_speed: 8.0 GT/s PCIe
max_link_width: 8
driver: i40e
net: {eth}
== pci 0000:ca:00.0
vendor: 0x15b3
device: 0x101b
class: 0x020700
numa_node: 1
current_link_speed: 16.0 GT/s PCIe
current_link_width: 16
max_link_speed: 16.0 GT/s PCIe
max_link_width: 16
driver: mlx5_core
infiniband: mlx5_0
== rdma mlx5_0
node_type: 1: CA
node_guid: {guid}
fw_ver: 20.37.1014
hca_type: MT4123
board_id: MT_0000000223
bus: 0000:ca:00.0
driver: mlx5_core
numa_node: 1
== rdma-port 1 mlx5_0
state: 4: ACTIVE
phys_state: 5: LinkUp
rate: 200 Gb/sec (4X HDR)
lid: {lid}
sm_lid: 0x1
link_layer: InfiniBand
gid: fe80:0000:0000:0000:{guid}
gid_type: IB/RoCE v1
== limits
Limit                     Soft Limit           Hard Limit           Units
Max open files            51200                51200                files
== memory
MemTotal:       395869184 kB
== command-line
BOOT_IMAGE=/vmlinuz root=/dev/ram0 ip=dhcp BOOTIF={mac} iommu=pt
== os-release
PRETTY_NAME="Rocky Linux 9.4 (Blue Onyx)"
== lsmod
i40e 614400 0 - Live 0x0000000000000000
mlx5_core 2048000 1 mlx5_ib, Live 0x0000000000000000
== paths
mpirun: /opt/openmpi/bin/mpirun
== mpirun --version
mpirun (Open MPI) 4.1.6
== survey end
"""


def answer(number: int, lot: random.Random) -> tuple[str, dict[str, str]]:
    """A node's answer, and what was filled in."""
    bus = lot.choice(("61", "b6"))
    filled = {
        "name": f"c{number}",
        "boot": f"{lot.getrandbits(128):032x}",
        "eth": {"61": "enp97s0", "b6": "enp182s0"}[bus],
        "bus": bus,
        "mac": f"3c:fd:fe:{number >> 8 & 255:02x}:{number & 255:02x}:00",
        "ip": f"10.40.{number >> 8}.{number & 255}",
        "guid": ":".join(f"{lot.getrandbits(16):04x}" for _ in range(4)),
        "lid": hex(number + 1),
    }
    return (_QUICK + _SURVEY).format(**filled), filled


def written(path: Path, nodes: int = 2000, seed: int = 40) -> dict[str, str]:
    """Write the bundle to a new directory; the odd nodes, each with what is odd about it."""
    lot = random.Random(seed)  # noqa: S311 not for secrets
    chosen = dict(zip(lot.sample(range(1, nodes + 1), len(ODDITIES)), ODDITIES, strict=True))
    writer = BundleWriter(
        path, BundleIndex(program="synthetic", nodes=tuple(f"c{n}" for n in range(1, nodes + 1)))
    )
    for number in range(1, nodes + 1):
        text, filled = answer(number, lot)
        for before, after in ODDITIES[chosen[number]] if number in chosen else ():
            changed = text.replace(before.format(**filled), after.format(**filled))
            assert changed != text
            text = changed
        writer.keep(f"c{number}", text)
    writer.close()
    return {f"c{number}": what for number, what in chosen.items()}
