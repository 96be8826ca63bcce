"""What TCP over Ethernet can carry per direction, from rate, MTU and TCP timestamps.

Sizes: IEEE 802.3-2022 clauses 3.1-3.2 and 4.4.2 (header, FCS, preamble with start
delimiter, interpacket gap of 96 bit times); RFC 791, RFC 8200 and RFC 9293 (IPv4, IPv6
and TCP headers without options); RFC 7323 appendix A (timestamps padded to 12 bytes).
"""

from fabricgauge.ceiling.binding import ceiling_of
from fabricgauge.ceiling.packet import (
    Packet,
    Part,
    mtu_step,
    named,
    payload_step,
    unknown,
    wire_step,
)
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling, Step
from fabricgauge.model.fabric import Network

HEADER_BYTES = 14
FCS_BYTES = 4
PREAMBLE_BYTES = 8
GAP_BYTES = 12
IPV4_BYTES = 20
IPV6_BYTES = 40
TCP_BYTES = 20
TIMESTAMPS_BYTES = 12

#: Rates in bit/s by name, as the MAC sees them: line coding and FEC are on top and cost
#: nothing of it. IEEE 802.3-2022 clauses 14, 24, 36, 126, 126, 49, 107, 82, 133, 82, 119, 119;
#: 800GbE: IEEE 802.3df-2024 clause 172. The tutorial's table has 10 M, 100 M, 1 G and 10-100 G.
RATES: dict[str, float] = {
    "10MbE": 10e6, "100MbE": 100e6, "1GbE": 1e9, "2.5GbE": 2.5e9, "5GbE": 5e9, "10GbE": 10e9,
    "25GbE": 25e9, "40GbE": 40e9, "50GbE": 50e9, "100GbE": 100e9, "200GbE": 200e9,
    "400GbE": 400e9, "800GbE": 800e9,
}  # fmt: skip

#: RFC 894: the largest IP packet in an Ethernet frame that is no jumbo frame.
USUAL_MTU = 1500

#: What every frame has besides the packet in it.
FRAME: tuple[Part, ...] = (
    ("header", HEADER_BYTES),
    ("FCS", FCS_BYTES),
    ("preamble, start delimiter", PREAMBLE_BYTES),
    ("gap", GAP_BYTES),
)


def ceiling(network: Network) -> Ceiling | Skipped:
    """The most TCP payload per direction, with every step of the sum.

    Skipped when the line rate is not known, when the network has neither members nor a
    stated MTU, or when its MTU leaves no room for payload.
    """
    reason = unknown(network)
    if reason:
        return reason
    mtu = mtu_step(network)
    packet = Packet(tcp_payload_step(network), wire_step(network.mtu_bytes, FRAME), (mtu,))
    return ceiling_of(network, "Ethernet line rate", packet)


def ip_part(network: Network) -> Part:
    """The IP header: IPv6 where the network's subnet is one."""
    name, size = ("IPv6", IPV6_BYTES) if ":" in network.subnet else ("IPv4", IPV4_BYTES)
    return named(network, name, "ip"), size


def tcp_payload_step(network: Network) -> Step:
    """The bytes of a TCP stream in one packet of the MTU in force."""
    timestamps = TIMESTAMPS_BYTES if network.timestamps else 0
    said = named(network, "TCP timestamps", "timestamps")
    parts = (ip_part(network), ("TCP", TCP_BYTES), (said, timestamps))
    return payload_step(network.mtu_bytes, parts)
