"""The links of one adapter's interfaces and RDMA ports as traits; pure."""

from collections.abc import Iterator

from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Interface, IpoibPort, Node
from fabricgauge.model.inventory import Adapter, Inventory, RdmaPort


def link_traits(node: Node, adapter: Adapter) -> Iterator[tuple[str, str]]:
    """Link and MTU of each interface, by its place on the adapter."""
    for number, name in enumerate(sorted(adapter.interfaces), 1):
        interface = node.interface(name)
        if isinstance(interface, Interface):
            place = f" {number}" if number > 1 else ""
            yield f"link{place}", link(interface)
            yield f"MTU{place}", str(interface.mtu_bytes)
            if isinstance(interface.ipoib, IpoibPort) and isinstance(interface.ipoib.mode, str):
                yield f"IPoIB mode{place}", interface.ipoib.mode


def link(interface: Interface) -> str:
    """``up, 25 Gb/s``, ``no carrier``, ``switched off``."""
    if isinstance(interface.carrier, Skipped):
        return "switched off"
    if not interface.carrier:
        return "no carrier"
    if isinstance(interface.speed_bit_s, Skipped):
        return "up"
    return f"up, {interface.speed_bit_s / 1e9:g} Gb/s"


def port_traits(inventory: Inventory, adapter: Adapter) -> Iterator[tuple[str, str]]:
    """State, rate and width of each RDMA port, by its place on the adapter."""
    ports = [port for port in inventory.rdma_ports if port.device in adapter.rdma_devices]
    ordered = sorted(ports, key=lambda port: (port.device, port.number))
    for number, port in enumerate(ordered, 1):
        place = f" {number}" if number > 1 else ""
        yield f"RDMA port{place}", _port(port)


def _port(port: RdmaPort) -> str:
    parts = [port.protocol]
    if isinstance(port.state, str):
        parts.append(port.state)
    if isinstance(port.rate_bit_s, float):
        parts.append(f"{port.rate_bit_s / 1e9:g} Gb/s")
    if isinstance(port.lanes, int):
        parts.append(f"{port.lanes}x")
    return ", ".join(parts)
