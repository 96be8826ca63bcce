"""One RDMA port of a node with its adapter, its interface and its link; pure.

Source: InfiniBand Architecture Specification Volume 1 Release 1.4, 10.9.1 (partitions: two limited
members do not reach each other).
"""

import msgspec

from fabricgauge.discover.printouts import pci
from fabricgauge.discover.printouts.verbs import LINKS
from fabricgauge.model.absence import Skipped
from fabricgauge.model.adapter import LANE_BIT_S, Adapter, PcieLink, RdmaPort
from fabricgauge.model.fabric import Interface, Member, Node
from fabricgauge.model.inventory import Inventory

#: By protocol the MTU that ports commonly run with, where no tool said it: InfiniBand's largest,
#: that of hfi1 since 10.4, Amazon's, and Slingshot's jumbo frames.
USUAL_MTU = {
    "infiniband": 4096, "omni-path": 10240, "efa": 9001, "iwarp": 1500, "roce": 1024,
    "slingshot": 9000,
}  # fmt: skip

#: What RDMA over an interface has its MTU from.
_BY_INTERFACE = ("roce", "iwarp", "slingshot")

#: Drivers of adapters that a hypervisor presents: the PCI Express link that these claim is none
#: of hardware (QEMU's q35 gives virtio 2.5 GT/s x1; vmxnet3 claims 5 GT/s x32).
_PRESENTED = frozenset({"virtio-pci", "virtio_net", "ena", "efa", "vmxnet3", "gve"})

_SPEEDS = {rate: name for name, rate in LANE_BIT_S.items()}
_FULL = 0x8000


class PortEnd(msgspec.Struct, frozen=True):
    """A port with what is known of the node around it; ``over`` are the interfaces on it."""

    node: str
    port: RdmaPort
    adapter: Adapter | Skipped
    interface: Interface | Skipped
    over: tuple[str, ...] = ()

    @property
    def host_link(self) -> str:
        return "" if isinstance(self.adapter, Skipped) else host_link(slot(self.adapter))

    @property
    def slot(self) -> str:
        """The PCI device without its function: ports of one adapter share it."""
        bus = "" if isinstance(self.adapter, Skipped) else self.adapter.bus
        return bus.rpartition(".")[0] if isinstance(bus, str) and bus else self.port.device

    @property
    def technology(self) -> str:
        """RoCE is of version 2 unless all of the port's addresses are of version 1."""
        if self.port.protocol != "roce":
            return self.port.protocol
        kinds = " ".join(self.port.gid_types)
        return "roce-v1" if "v1" in kinds and "v2" not in kinds else "roce-v2"

    @property
    def rate_bit_s(self) -> float | Skipped:
        """The interface's own rate where RDMA runs over one; a device in software has none.

        Only over Ethernet is there RDMA in software (rxe, siw), which no source finds on a bus.
        """
        is_placed = isinstance(self.adapter, Adapter) and isinstance(self.adapter.bus, str)
        if not is_placed and self.port.protocol in ("roce", "iwarp"):
            return Skipped("no source names its bus: RDMA in software has no rate of its own")
        if isinstance(self.interface, Interface) and self.port.protocol == "roce":
            speed = self.interface.speed_bit_s
            return speed if isinstance(speed, float) else self.port.rate_bit_s
        return self.port.rate_bit_s

    @property
    def link(self) -> str:
        """``4x EDR``; empty where the lanes or their speed are not known."""
        port, rate, lane = self.port, self.rate_bit_s, self.port.lane_bit_s
        if port.protocol == "infiniband":
            speed = "" if isinstance(lane, Skipped) else _SPEEDS.get(lane, "")
            return f"{port.lanes}x {speed}" if speed and isinstance(port.lanes, int) else ""
        return "" if isinstance(rate, Skipped) else LINKS.get((port.protocol, rate / 1e9), "")

    @property
    def mtu(self) -> tuple[int, bool, bool]:
        """The MTU, whether it is the interface's, and whether it is assumed."""
        port = self.port
        if isinstance(told := port.path_mtu_bytes, int):
            return told, False, False
        if isinstance(self.interface, Interface) and port.protocol in _BY_INTERFACE:
            return self.interface.mtu_bytes, True, False
        return USUAL_MTU[port.protocol], False, True

    @property
    def member(self) -> Member:
        return Member(self.node, self.port.name, "", self.mtu[0])

    def reaches(self, other: "PortEnd") -> bool:
        """Whether they share a partition, one of them as a full member; no keys forbid nothing."""
        mine, theirs = ([int(key, 16) for key in one.port.pkeys] for one in (self, other))
        shared = ((a | b) & _FULL for a in mine for b in theirs if (a ^ b) | _FULL == _FULL)
        return not mine or not theirs or any(shared)


def slot(adapter: Adapter) -> PcieLink | Skipped:
    """The PCI Express link that an adapter is on."""
    if adapter.driver in _PRESENTED:
        return Skipped("a hypervisor presents it")
    return adapter.pcie_now


def host_link(link: PcieLink | Skipped) -> str:
    """``PCIe 3.0 x8``; empty where the link or its generation is not known."""
    if isinstance(link, Skipped) or link.gt_s not in pci.GT_S:
        return ""
    return f"PCIe {pci.GT_S.index(link.gt_s) + 1}.0 x{link.lanes}"


def ends_of(name: str, of: Node | Inventory) -> tuple[PortEnd, ...]:
    """The node's ports that are up, in the order of their devices' numbers."""
    found = []
    for port in sorted(of.rdma_ports, key=_order):
        if port.state == "ACTIVE" and port.protocol in USUAL_MTU:
            mine = (one for one in of.adapters if port.device in one.rdma_devices)
            adapter = next(mine, Skipped("no source names its adapter"))
            own = next((one for one in of.interfaces if one.name == port.interface), None)
            interface = own or Skipped("no source names its interface")
            found.append(PortEnd(name, port, adapter, interface, _over(of, port, adapter)))
    return tuple(found)


def _over(of: Node | Inventory, port: RdmaPort, adapter: Adapter | Skipped) -> tuple[str, ...]:
    """Its own interface, or those of its adapter, with VLANs on it and the bond that it is in."""
    own = {port.interface} if isinstance(port.interface, str) else set[str]()
    if not own and isinstance(adapter, Adapter):
        own = set(adapter.interfaces)
    masters = {one.master for one in of.interfaces if one.name in own}
    names = own | masters
    return tuple(o.name for o in of.interfaces if o.name in names or o.parent in own)


def _order(port: RdmaPort) -> tuple[int, str, int]:
    """``mlx5_2`` before ``mlx5_10``."""
    return len(port.device), port.device, port.number
