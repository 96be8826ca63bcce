"""Ceilings of TCP, RoCE and iWARP over Ethernet per direction, from rate, MTU and headers.

TCP: from MTU and timestamps. Sizes: IEEE 802.3-2022 clauses 3.1-3.2 and 4.4.2 (header, FCS,
preamble with start delimiter, interpacket gap of 96 bit times); RFC 791, RFC 8200 and RFC 9293
(IPv4, IPv6, TCP headers without options); RFC 7323 appendix A (timestamps padded to 12 bytes).

RoCE: a packet is the RDMA MTU with the headers of a reliable connection's middle packets. The
RDMA MTU is the largest of 256 to 4096 that fits the interface's MTU; a VLAN tag does not count.
Sources: InfiniBand Architecture Specification Volume 1 Annex A16 (RoCE: GRH over Ethernet,
no LRH and VCRC) and Annex A17 (RoCE v2: IP and UDP in the GRH's place); RFC 768 (UDP).

iWARP: RDMA writes in frames of their own over TCP. One FPDU fills one TCP segment. Markers are off,
the CRC field is always present, used or not. The adapter's own TCP has no timestamps by
default (Linux drivers/infiniband/hw/cxgb4/cm.c: enable_tcp_timestamps is 0). Sources: RFC 5044
section 4 (MPA: length, padding to 4 bytes, CRC; markers are optional); RFC 5041 section 4 (DDP,
tagged) and RFC 5040 section 4 (RDMAP's byte in it).
"""

import math
import re
from functools import partial

import msgspec

from fabricgauge.judge.ceiling.capacity import (
    SAME_RATE,
    Packet,
    Part,
    ceiling_of,
    mtu_origin,
    mtu_step,
    named,
    payload_step,
    wire_step,
)
from fabricgauge.model.absence import Skipped
from fabricgauge.model.adapter import PATH_MTUS, ROCE_HEADER_BYTES, roce_mtu
from fabricgauge.model.ceiling import Ceiling, CeilingStep
from fabricgauge.model.fabric import Network

#: Rates in bit/s by name, as the MAC sees them: line coding and FEC come on top and cost
#: no part of it. IEEE 802.3-2022 clauses 14, 24, 36, 126, 126, 49, 107, 82, 133, 82, 119, 119;
#: 800GbE: IEEE 802.3df-2024 clause 172. The tutorial's table has 10 M, 100 M, 1 G and 10-100 G.
RATES: dict[str, float] = {
    "10MbE": 10e6, "100MbE": 100e6, "1GbE": 1e9, "2.5GbE": 2.5e9, "5GbE": 5e9, "10GbE": 10e9,
    "25GbE": 25e9, "40GbE": 40e9, "50GbE": 50e9, "100GbE": 100e9, "200GbE": 200e9,
    "400GbE": 400e9, "800GbE": 800e9,
}  # fmt: skip

_RATE = re.compile(r"([0-9.]+)([MGT])bE")
_FACTORS = {"M": 1e6, "G": 1e9, "T": 1e12}


def rate_name(rate_bit_s: float) -> str:
    """Return ``100GbE``; a rate of no standard gets the same form: ``12.5GbE``."""
    same = partial(math.isclose, rate_bit_s, rel_tol=SAME_RATE)
    standard_name = next((name for name, standard in RATES.items() if same(standard)), "")
    unit = "G" if rate_bit_s >= 1e9 else "M"
    return standard_name or f"{rate_bit_s / _FACTORS[unit]:.10g}{unit}bE"


def rate_of(name: str) -> float:
    """Return the rate in bit/s of such a name."""
    match = _RATE.fullmatch(name)
    return float(match[1]) * _FACTORS[match[2]] if match else RATES[name]


#: RFC 894: the largest IP packet in an Ethernet frame that is no jumbo frame.
USUAL_MTU = 1500

#: The bytes of every frame beyond its packet.
FRAME: tuple[Part, ...] = (
    ("header", 14), ("FCS", 4), ("preamble, start delimiter", 8), ("gap", 12),
)  # fmt: skip


def ceiling(network: Network) -> Ceiling | Skipped:
    """Return the most TCP payload per direction, with every step of the sum.

    Skipped when the line rate is unknown, when the network has neither members nor a
    stated MTU, or when its MTU leaves no room for payload.
    """
    mtu = mtu_step(network)
    tunnel = (("VXLAN, UDP, outer IP, inner header", network.tunnel_bytes),)
    wire = wire_step(network.mtu_bytes, (*tunnel, *FRAME))
    packet = Packet(tcp_payload_step(network), wire, (mtu,))
    return ceiling_of(network, "Ethernet line rate", packet)


def ip_part(network: Network) -> Part:
    """Return the IP header: IPv6 if the network's subnet is one."""
    name, size = ("IPv6", 40) if ":" in network.subnet else ("IPv4", 20)
    return named(network, name, "ip"), size


def tcp_payload_step(network: Network) -> CeilingStep:
    """Return the bytes of a TCP stream in one packet of the MTU in force."""
    timestamps = named(network, "TCP timestamps", "timestamps"), 12 if network.timestamps else 0
    return payload_step(network.mtu_bytes, (ip_part(network), ("TCP", 20), timestamps))


#: Parts of each packet of a reliable connection, also on InfiniBand and Omni-Path.
BTH: Part = ("BTH", 12)
ICRC: Part = ("ICRC", 4)

#: The smallest MTU of an interface that RDMA fits in.
LEAST_MTU = PATH_MTUS[0] + ROCE_HEADER_BYTES


def roce_v1(network: Network) -> Ceiling | Skipped:
    """Return RoCE v1's ceiling: a global route header (GRH) in the Ethernet frame."""
    return _roce(network, "Ethernet line rate (RoCE v1)", (("GRH", 40),))


def roce_v2(network: Network, medium: str = "Ethernet line rate (RoCE v2)") -> Ceiling | Skipped:
    """Return RoCE v2's ceiling: IP and UDP in the Ethernet frame."""
    return _roce(network, medium, (ip_part(network), ("UDP", 8)))


def rdma_mtu(network: Network) -> CeilingStep | Skipped:
    """Return the RDMA MTU: stated as such, or the largest that fits the interface's MTU.

    A stated MTU that is itself one of 256 to 4096 is taken for the RDMA MTU. A member's MTU
    is always the interface's.
    """
    mtu = network.mtu_bytes
    if isinstance(network.stated_mtu_bytes, int) and mtu in PATH_MTUS:
        return CeilingStep("RDMA MTU", mtu_origin(network), mtu, "bytes")
    fitting = roce_mtu(mtu)
    if not fitting:
        return Skipped(f"{network.name}: MTU {mtu} leaves no room for payload of RDMA")
    sizes = f"{PATH_MTUS[0]} to {PATH_MTUS[-1]}"
    room = f"largest of {sizes} within {mtu} − {ROCE_HEADER_BYTES} (headers)"
    return CeilingStep("RDMA MTU", f"{room}; MTU: {mtu_origin(network)}", fitting, "bytes")


def _roce(network: Network, medium: str, routing: tuple[Part, ...]) -> Ceiling | Skipped:
    mtu = rdma_mtu(network)
    if isinstance(mtu, Skipped):
        return mtu
    payload = int(mtu.value)
    wire = wire_step(payload, (*routing, BTH, ICRC, *FRAME))
    return ceiling_of(network, medium, Packet(payload_step(payload, ()), wire, (mtu,)))


#: Control of DDP and of RDMAP a byte each, steering tag 4, offset 8.
_IWARP_PARTS: tuple[Part, ...] = (("MPA length", 2), ("DDP, RDMAP", 14), ("MPA CRC", 4))


def iwarp(network: Network) -> Ceiling | Skipped:
    """Return the most payload of RDMA writes per direction.

    The FPDU is a multiple of 4 bytes, so up to 3 of the segment stay empty.
    """
    segment = tcp_payload_step(network)
    size = int(segment.value)
    room = size - size % 4
    payload = payload_step(room, _IWARP_PARTS)
    if room != size:
        expression = f"{payload.expression}; {room} is the multiple of 4 within {size}"
        payload = msgspec.structs.replace(payload, expression=expression)
    framed = CeilingStep("TCP segment", segment.expression, segment.value, "bytes")
    wire = wire_step(network.mtu_bytes, FRAME)
    packet = Packet(payload, wire, (mtu_step(network), framed))
    return ceiling_of(network, "Ethernet line rate (iWARP)", packet)
