"""Inventories → what the ceilings of their networks and RDMA ports need; pure."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from fabricgauge.discover.survey.sysfs import LANE_BIT_S
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Interface, Member, Network
from fabricgauge.model.inventory import Adapter, Inventory, PcieLink, RdmaPort
from fabricgauge.model.likeness import PortClass
from fabricgauge.words.figures import link_rate

#: PCI Express generations by giga-transfers per second of a lane (Base Specification 7.0, 1.2).
GENERATIONS = {
    2.5: "1.0", 5.0: "2.0", 8.0: "3.0", 16.0: "4.0", 32.0: "5.0", 64.0: "6.0", 128.0: "7.0",
}  # fmt: skip

#: By protocol the MTU that ports commonly run with, where no tool said it: InfiniBand's largest,
#: that of hfi1 since 10.4, and Amazon's.
USUAL_MTU = {"infiniband": 4096, "omni-path": 10240, "efa": 9001, "iwarp": 1500, "roce": 1024}

#: Drivers of adapters that a hypervisor presents: the PCI Express link that these claim is none
#: of hardware (QEMU's q35 gives virtio 2.5 GT/s x1; vmxnet3 claims 5 GT/s x32).
_PRESENTED = frozenset({"virtio-pci", "virtio_net", "ena", "efa", "vmxnet3", "gve"})

_BY_INTERFACE = "by interface"
_SPEEDS = {rate: name for name, rate in LANE_BIT_S.items()}


def with_host_links(
    networks: Iterable[Network], inventories: Sequence[Inventory]
) -> tuple[Network, ...]:
    """The networks, each with the fastest PCI Express link of its members' adapters.

    The rate is the fastest port's as well: an adapter in a narrow slot is odd, and no limit for
    the others. A network of which some member's adapter is not known stays as it is.
    """
    by_interface = {
        (inventory.name, interface): _slot(adapter)
        for inventory in inventories
        for adapter in inventory.adapters
        for interface in adapter.interfaces
    }
    return tuple(_attached(network, by_interface) for network in networks)


def _attached(network: Network, links: Mapping[tuple[str, str], PcieLink | Skipped]) -> Network:
    found = [links.get((member.node, member.interface)) for member in network.members]
    known = [link for link in found if isinstance(link, PcieLink) and host_link(link)]
    if len(known) < len(found) or not known:
        return network
    fastest = max(known, key=lambda link: link.gt_s * link.lanes)
    return msgspec.structs.replace(network, host_link=host_link(fastest))


def _slot(adapter: Adapter) -> PcieLink | Skipped:
    if adapter.driver in _PRESENTED:
        return Skipped("a hypervisor presents it")
    return adapter.pcie_now


def host_link(link: PcieLink | Skipped) -> str:
    """``PCIe 3.0 x8``; empty where the link or its generation is not known."""
    if isinstance(link, Skipped) or link.gt_s not in GENERATIONS:
        return ""
    return f"PCIe {GENERATIONS[link.gt_s]} x{link.lanes}"


def port_classes(inventories: Sequence[Inventory]) -> tuple[PortClass, ...]:
    """Active RDMA ports that are alike, with a network that stands for a link of theirs.

    That they are alike does not say that they are joined.
    """
    links: dict[str, Network] = {}
    ends: dict[str, list[Member]] = {}
    for inventory in inventories:
        for port in inventory.rdma_ports:
            if port.state == "ACTIVE" and port.protocol in USUAL_MTU:
                link, member = _link(inventory, port)
                links.setdefault(link.name, link)
                ends.setdefault(link.name, []).append(member)
    return tuple(_class(links[name], tuple(ends[name])) for name in sorted(links))


def _class(network: Network, ends: tuple[Member, ...]) -> PortClass:
    """Where the MTU is the interface's, the members say so: RDMA's is then smaller."""
    members = ends if network.rate_origin == _BY_INTERFACE else ()
    origin = "not known" if isinstance(network.rate_bit_s, Skipped) else "the ports report it"
    stands = msgspec.structs.replace(network, members=members, rate_origin=origin)
    return PortClass(stands, ends)


def _link(inventory: Inventory, port: RdmaPort) -> tuple[Network, Member]:
    """A link like this port's, of one name for equal ports, and the port as its end."""
    adapter = next((one for one in inventory.adapters if port.device in one.rdma_devices), None)
    host = host_link(_slot(adapter)) if adapter else ""
    technology = _technology(inventory, port)
    rate = _rate(inventory, port, adapter)
    link = _lanes(port) if port.protocol == "infiniband" else ""
    told = link or (link_rate(rate) if isinstance(rate, float) else "of unknown rate")
    mtu, by_interface, assumed = _mtu(inventory, port)
    packet = f"MTU {mtu} assumed" if assumed else f"MTU {mtu}"
    network = Network(
        name=", ".join(part for part in (f"{technology} {told}", packet, host) if part),
        subnet="", technology=technology, rate_bit_s=rate,
        rate_origin=_BY_INTERFACE if by_interface else "", members=(),
        stated_mtu_bytes=mtu, host_link=host, link=link, assumed=assumed,
    )  # fmt: skip
    return network, Member(inventory.name, f"{port.device}:{port.number}", "", mtu)


def _technology(inventory: Inventory, port: RdmaPort) -> str:
    """RoCE is of version 2 unless all of the port's addresses are of version 1."""
    kinds = inventory.facts.get(f"gid types {port.device}:{port.number}", "")
    if port.protocol != "roce":
        return port.protocol
    return "roce-v1" if "v1" in kinds and "v2" not in kinds else "roce-v2"


def _rate(inventory: Inventory, port: RdmaPort, adapter: Adapter | None) -> float | Skipped:
    """The interface's own rate where RDMA runs over one; a device in software has none.

    Only over Ethernet is there RDMA in software (rxe, siw), which no source finds on a bus.
    """
    is_placed = adapter is not None and isinstance(adapter.bus, str)
    if not is_placed and port.protocol in ("roce", "iwarp"):
        return Skipped("no source names its bus: RDMA in software has no rate of its own")
    speed = interface.speed_bit_s if (interface := _interface(inventory, port)) else None
    return speed if isinstance(speed, float) and port.protocol == "roce" else port.rate_bit_s


def _interface(inventory: Inventory, port: RdmaPort) -> Interface | None:
    if isinstance(inventory.node, Skipped) or isinstance(port.interface, Skipped):
        return None
    found = inventory.node.interface(port.interface)
    return None if isinstance(found, Skipped) else found


def _lanes(port: RdmaPort) -> str:
    """``4x EDR``; empty where the lanes or their speed are not known."""
    if isinstance(port.lanes, Skipped) or isinstance(port.lane_bit_s, Skipped):
        return ""
    return f"{port.lanes}x {_SPEEDS[port.lane_bit_s]}" if port.lane_bit_s in _SPEEDS else ""


def _mtu(inventory: Inventory, port: RdmaPort) -> tuple[int, bool, tuple[str, ...]]:
    """The MTU, whether it is the interface's, and what is assumed."""
    if isinstance(port.mtu_bytes, int):
        return port.mtu_bytes, False, ()
    interface = _interface(inventory, port)
    if interface and port.protocol in ("roce", "iwarp"):
        return interface.mtu_bytes, True, ()
    return USUAL_MTU[port.protocol], False, ("mtu",)
