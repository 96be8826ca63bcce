"""A survey of nodes that do not exist: six like ones with GPUs, one odd, one hostile, one lost."""

import msgspec

from fabricgauge.judge.ceiling.technologies import ceilings
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Address, Interface, Node
from fabricgauge.model.inventory import (
    Adapter,
    Gpu,
    Inventory,
    Nearness,
    PcieLink,
    RdmaPort,
    Stack,
)
from fabricgauge.model.surveyed import Surveyed
from fabricgauge.nodes.discover.interface import build_surveyed_fabric
from fabricgauge.nodes.discover.likeness import classify_nodes
from fabricgauge.nodes.discover.ports import add_host_links, classify_ports

HOSTILE = '<b onload="x">$(id)`\'\x1b[2J\n'
UNSAID = Skipped("nobody says it")


def node(number: int, interface: str) -> Node:
    port = Interface(
        interface, "i40e", "up", True, 40e9, 9000, f"02:00:00:00:00:{number:02x}",
        (Address(f"10.40.0.{number}", 24),), UNSAID, 1,
    )  # fmt: skip
    return Node(
        f"c{number}", f"c{number}", f"b{number}", "net:[1]", 64, "5.14.0", (port,),
        {"cpu model": "Xeon", "net.ipv4.tcp_timestamps": "1"},
    )  # fmt: skip


def inventory(number: int, firmware: str = "6.01", interface: str = "enp97s0") -> Inventory:
    ethernet = Adapter(
        "0000:61:00.0", "Intel", "XL710", "ethernet", "i40e", UNSAID, firmware, 1,
        PcieLink(8.0, 8), PcieLink(8.0, 8), (interface,),
    )  # fmt: skip
    hca = Adapter(
        "0000:ca:00.0", "Mellanox", "ConnectX-6", "infiniband", "mlx5_core", UNSAID, "20.37", 0,
        PcieLink(16.0, 16), PcieLink(16.0, 16), (), ("mlx5_0",),
    )  # fmt: skip
    port = RdmaPort(
        "mlx5_0", 1, "InfiniBand", "infiniband", "ACTIVE", "LinkUp", 200e9, 53.125e9, (), (), 4,
        (), (), number, 1, UNSAID, 4096, UNSAID,
    )  # fmt: skip
    return Inventory(
        f"c{number}", node(number, interface), ("/sys/bus/pci",), adapters=(ethernet, hca),
        rdma_ports=(port,),
        gpus=(Gpu(0, "H100", "0000:17:00.0", 0, ()), Gpu(1, "H100", "0000:db:00.0", 1, ())),
        nearness=(Nearness(0, "mlx5_0", "PIX"), Nearness(1, "mlx5_0", "SYS")),
        stacks=(Stack("openmpi", "4.1.6", "/opt/ompi/bin/mpirun"),),
        facts={"memory bytes": str(384 << 30)},
    )  # fmt: skip


def surveyed(hostile: bool = False) -> Surveyed:
    """Seven nodes, of which c5 is odd, c3 has another name for its interface, and c8 is lost."""
    found = [inventory(number) for number in range(1, 8)]
    found[4] = inventory(5, firmware=HOSTILE if hostile else "5.04")
    found[2] = inventory(3, interface=HOSTILE if hostile else "enp182s0")
    reason = HOSTILE if hostile else "c8 could not be reached (exit status 255): No route to host"
    name = HOSTILE if hostile else "c8"
    lost = Inventory(name, Skipped(reason), troubles=(reason,))
    half = msgspec.structs.replace(
        found[6], troubles=("c7: the answer was cut off in section 'late'",)
    )
    return concluded((*found[:6], half, lost))


def concluded(inventories: tuple[Inventory, ...]) -> Surveyed:
    fabric = build_surveyed_fabric(inventories, (), virtual=False)
    networks = add_host_links(fabric.networks, inventories)
    ports = classify_ports(inventories)
    return Surveyed(
        inventories,
        msgspec.structs.replace(fabric, networks=networks),
        classify_nodes(inventories),
        ports,
        ceilings((*networks, *(one.network for one in ports))),
    )
