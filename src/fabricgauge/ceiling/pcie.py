"""What PCI Express carries where it is the network itself: between devices or to memory.

The sum and its sources are in ``pcie_link``; the network's MTU is the payload size (MPS).
"""

import msgspec

from fabricgauge.ceiling.binding import ceiling_of
from fabricgauge.ceiling.packet import Packet, mtu_step, unknown
from fabricgauge.ceiling.pcie_link import pcie_link
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.fabric import Network


def ceiling(network: Network) -> Ceiling | Skipped:
    """The most payload per direction; the generation is told by ``Network.link``."""
    reason = unknown(network)
    if reason:
        return reason
    link = pcie_link(network.link)
    if isinstance(link, Skipped):
        return Skipped(f"{network.name}: {link.reason}")
    link = msgspec.structs.replace(link, payload_bytes=network.mtu_bytes)
    payload, wire = link.packet
    packet = Packet(payload, wire, (mtu_step(network, "MPS"),))
    return ceiling_of(network, "PCIe data rate", packet, link.coding_steps)
