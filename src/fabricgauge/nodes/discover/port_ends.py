"""One RDMA port of a node with its adapter, its interface and its link; pure.

Source: InfiniBand Architecture Specification Volume 1 Release 1.4, 10.9.1 (partitions: two limited
members do not reach each other).
"""

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.adapter import LANE_BIT_S, Adapter, PcieLink, RdmaPort
from fabricgauge.model.fabric import Interface, Member, Node
from fabricgauge.model.inventory import Inventory
from fabricgauge.nodes.discover.printouts import pci
from fabricgauge.nodes.discover.printouts.verbs import LINKS

#: By protocol the usual MTU of ports, for ports without a known one: InfiniBand's largest,
#: that of hfi1 since 10.4, Amazon's, and Slingshot's jumbo frames.
USUAL_MTU = {
    "infiniband": 4096, "omni-path": 10240, "efa": 9001, "iwarp": 1500, "roce": 1024,
    "slingshot": 9000,
}  # fmt: skip

#: Protocols whose MTU comes from the interface.
_BY_INTERFACE = ("roce", "iwarp", "slingshot")

#: Drivers of adapters that a hypervisor presents: the PCI Express link that they report is not
#: hardware's (QEMU's q35 gives virtio 2.5 GT/s x1; vmxnet3 reports 5 GT/s x32).
_PRESENTED = frozenset({"virtio-pci", "virtio_net", "ena", "efa", "vmxnet3", "gve"})

_SPEEDS = {rate: name for name, rate in LANE_BIT_S.items()}
_FULL = 0x8000


class PortEndpoint(msgspec.Struct, frozen=True):
    """A port with its adapter and interface; ``upper_interfaces`` are the interfaces on it."""

    node: str
    port: RdmaPort
    adapter: Adapter | Skipped
    interface: Interface | Skipped
    upper_interfaces: tuple[str, ...] = ()

    @property
    def host_link(self) -> str:
        return "" if isinstance(self.adapter, Skipped) else name_link(get_slot_link(self.adapter))

    @property
    def slot(self) -> str:
        """The PCI device without its function: ports of one adapter share it."""
        bus = "" if isinstance(self.adapter, Skipped) else self.adapter.bus
        return bus.rpartition(".")[0] if isinstance(bus, str) and bus else self.port.device

    @property
    def technology(self) -> str:
        """RoCE has version 2 unless all of the port's addresses have version 1."""
        if self.port.protocol != "roce":
            return self.port.protocol
        kinds = " ".join(self.port.gid_types)
        return "roce-v1" if "v1" in kinds and "v2" not in kinds else "roce-v2"

    @property
    def rate_bit_s(self) -> float | Skipped:
        """The interface's rate if RDMA runs over one; a device in software has none.

        Only over Ethernet is there RDMA in software (rxe, siw), which no source finds on a bus.
        """
        is_on_bus = isinstance(self.adapter, Adapter) and isinstance(self.adapter.bus, str)
        if not is_on_bus and self.port.protocol in ("roce", "iwarp"):
            return Skipped("no source names its bus: RDMA in software has no rate")
        if isinstance(self.interface, Interface) and self.port.protocol == "roce":
            speed = self.interface.speed_bit_s
            return speed if isinstance(speed, float) else self.port.rate_bit_s
        return self.port.rate_bit_s

    @property
    def link(self) -> str:
        """``4x EDR``, or "" if the lanes or their speed are unknown."""
        port, rate, lane = self.port, self.rate_bit_s, self.port.lane_bit_s
        if port.protocol == "infiniband":
            speed = "" if isinstance(lane, Skipped) else _SPEEDS.get(lane, "")
            return f"{port.lanes}x {speed}" if speed and isinstance(port.lanes, int) else ""
        return "" if isinstance(rate, Skipped) else LINKS.get((port.protocol, rate / 1e9), "")

    @property
    def mtu(self) -> tuple[int, bool, bool]:
        """The MTU, whether it is the interface's, and whether it is assumed."""
        port = self.port
        if isinstance(path_mtu := port.path_mtu_bytes, int):
            return path_mtu, False, False
        if isinstance(self.interface, Interface) and port.protocol in _BY_INTERFACE:
            return self.interface.mtu_bytes, True, False
        return USUAL_MTU[port.protocol], False, True

    @property
    def member(self) -> Member:
        return Member(self.node, self.port.name, "", self.mtu[0])

    def reaches(self, peer: "PortEndpoint") -> bool:
        """Check whether they share a partition, one of them as a full member.

        Without known keys they do.
        """
        own_keys = [int(key, 16) for key in self.port.pkeys]
        peer_keys = [int(key, 16) for key in peer.port.pkeys]
        shared = ((a | b) & _FULL for a in own_keys for b in peer_keys if (a ^ b) | _FULL == _FULL)
        return not own_keys or not peer_keys or any(shared)


def get_slot_link(adapter: Adapter) -> PcieLink | Skipped:
    if adapter.driver in _PRESENTED:
        return Skipped("a hypervisor presents it")
    return adapter.pcie_now


def name_link(link: PcieLink | Skipped) -> str:
    """Return ``PCIe 3.0 x8``, or "" if the link or its generation is unknown."""
    if isinstance(link, Skipped) or link.gt_s not in pci.GT_S:
        return ""
    return f"PCIe {pci.GT_S.index(link.gt_s) + 1}.0 x{link.lanes}"


def list_port_endpoints(name: str, node: Node | Inventory) -> tuple[PortEndpoint, ...]:
    """Return the node's active ports, in the order of their devices' numbers."""
    endpoints = []
    for port in sorted(node.rdma_ports, key=_get_sort_key):
        if port.state == "ACTIVE" and port.protocol in USUAL_MTU:
            adapter = next(
                (adapter for adapter in node.adapters if port.device in adapter.rdma_devices),
                Skipped("no source names its adapter"),
            )
            interface = next(
                (interface for interface in node.interfaces if interface.name == port.interface),
                Skipped("no source names its interface"),
            )
            upper_interfaces = _list_upper_interfaces(node, port, adapter)
            endpoints.append(PortEndpoint(name, port, adapter, interface, upper_interfaces))
    return tuple(endpoints)


def _list_upper_interfaces(
    node: Node | Inventory, port: RdmaPort, adapter: Adapter | Skipped
) -> tuple[str, ...]:
    """Return the port's interface, or its adapter's, with their VLANs and bonds."""
    names = {port.interface} if isinstance(port.interface, str) else set[str]()
    if not names and isinstance(adapter, Adapter):
        names = set(adapter.interfaces)
    masters = {interface.master for interface in node.interfaces if interface.name in names}
    return tuple(
        interface.name
        for interface in node.interfaces
        if interface.name in names | masters or interface.parent in names
    )


def _get_sort_key(port: RdmaPort) -> tuple[int, str, int]:
    """Sort ``mlx5_2`` before ``mlx5_10``."""
    return len(port.device), port.device, port.number
