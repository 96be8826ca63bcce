"""Ceilings of InfiniBand, Omni-Path and IPoIB per direction: lanes, coding, packet headers.

A packet is the MTU with the headers of the reliable connection's middle packets; only the
first one of a message has an RDMA header as well.

InfiniBand: packet delimiters, credits and skip ordered sets of the link are not taken off: the
ceiling may be a little too high. Sources: InfiniBand Architecture Specification Volume 1 Release
1.4, 7.7 (LRH), 9.2 (BTH), 7.8 (ICRC, VCRC), 9.3.3 (RETH); Volume 2 Release 1.5 (lanes, coding and
FEC by speed).

Omni-Path: 16 flits of 64 bits each travel with their 16 type bits, 14 bits of CRC and 2 of credit
as one link transfer packet (LTP) of 1056 bits. It stands in the place of a 64b/66b code: 4 lanes ×
25.78125 Gb/s × 1024 ÷ 1056 is 100 Gb/s exactly. So link-level CRC, credits and retry sequence are
outside that rate. Packet headers are inside. The packet has the least header that a protocol on
this link has: LRH, BTH and ICRC of verbs' reliable connection, in whole flits. PSM2 and OPX need
more (PSM2: 56 bytes and ICRC, 99.4 % of the rate at an MTU of 10240 and 99.2 % at 8192). Sources:
Birrittella et al., "Intel Omni-Path Architecture: Enabling Scalable, High Performance Fabrics",
IEEE Hot Interconnects 2015 (flits, LTP); Linux include/rdma/opa_port_info.h (MTUs) and
drivers/infiniband/hw/hfi1 (9B packets); Cornelis Networks, CN5000 documentation 2.4.1 (16 flits in
an LTP) and 4.2.2 (400 Gb/s without link overhead, MTU 10240).

IPoIB: TCP in IP packets on either link. In datagram mode an IP packet is one packet of the link, an
unreliable datagram. In connected mode it is a message of a reliable connection, which the adapter
cuts into packets of the path MTU. That MTU is unknown: the link's largest stands for it. A global
route header does not count either, since only multicast and routed packets have one. If the mode is
unknown, the sum is connected mode's, and if the link is unknown, Omni-Path's: they have the fewest
bytes beyond payload, and a ceiling must not be too low. Sources: RFC 4391 section 6 (encapsulation
header) and RFC 4755 sections 4 and 5 (the same in connected mode, larger MTUs); InfiniBand
Architecture Specification Volume 1 Release 1.4, 9.2 (BTH, padding), 9.3.2 (DETH); Linux 6.12,
Documentation/infiniband/ipoib.rst (modes, MTU 65520).
"""

import math
import re

import msgspec

from fabricgauge.judge.ceiling.capacity import (
    Coding,
    CodingShare,
    Packet,
    Part,
    ceiling_of,
    mtu_step,
    payload_step,
    wire_step,
)
from fabricgauge.judge.ceiling.ethernet import BTH, ICRC, tcp_payload_step
from fabricgauge.model.absence import Skipped
from fabricgauge.model.adapter import LANE_BIT_S, PATH_MTUS
from fabricgauge.model.ceiling import Ceiling, CeilingStep
from fabricgauge.model.fabric import Network

MTUS = PATH_MTUS
WIDTHS = (1, 2, 4, 8, 12)

_8B10B = CodingShare(8, 10, "8b/10b")
#: FEC, if on, replaces this: 512 bits, transcoded to 514, in code words of 528 (EDR).
#: 512 ÷ 528 is 64 ÷ 66, so the data rate is the same.
_64B66B = CodingShare(64, 66, "64b/66b")
_TRANSCODED = CodingShare(256, 257, "256b/257b")
_RS544 = CodingShare(514, 544, "RS-FEC")

#: Lane and coding by speed. The tutorial's table gives data rates (SDR 1x 2 Gb/s, QDR 4x
#: 32 Gb/s); its 54.6 Gb/s for 4x FDR is 54.55 Gb/s rounded up.
SPEEDS: dict[str, Coding] = {
    speed: Coding(LANE_BIT_S[speed], shares)
    for speeds, shares in (
        (("SDR", "DDR", "QDR"), (_8B10B,)),
        # FDR10 is Mellanox's speed on the lanes of 40 Gb/s Ethernet, not of the specification.
        (("FDR10", "FDR", "EDR"), (_64B66B,)),
        (("HDR", "NDR", "XDR"), (_TRANSCODED, _RS544)),
    )
    for speed in speeds
}

PARTS: tuple[Part, ...] = (("LRH", 8), BTH, ICRC, ("VCRC", 2))

_LINK = re.compile(r"(\d+)x (\w+)", re.IGNORECASE)


class IbLink(msgspec.Struct, frozen=True):
    """A link of ``lanes`` lanes at a speed of ``SPEEDS``."""

    speed: str
    lanes: int

    @property
    def name(self) -> str:
        return f"{self.lanes}x {self.speed}"

    @property
    def data_bit_s(self) -> float:
        return SPEEDS[self.speed].data_bit_s(self.lanes)


def ib_link(name: str) -> IbLink | Skipped:
    """Return the link that ``4x EDR`` (in the kernel's words ``4X EDR``) names."""
    match = _LINK.fullmatch(name.strip())
    if match and match[2].upper() in SPEEDS and int(match[1]) in WIDTHS:
        return IbLink(match[2].upper(), int(match[1]))
    return Skipped(f"{name!r} is no InfiniBand link (such as 4x EDR)")


def ceiling(network: Network) -> Ceiling | Skipped:
    """Return the most payload per direction of reliable connections, from the data rate."""
    network = at_data_rate(network)
    mtu = network.mtu_bytes
    packet = Packet(payload_step(mtu, ()), wire_step(mtu, PARTS), (mtu_step(network),))
    return ceiling_of(network, "InfiniBand data rate", packet, coding_steps(network))


def at_data_rate(network: Network) -> Network:
    """Return the network at its data rate: 4x FDR's 56 Gb/s carry 54.5 Gb/s of data."""
    link, rate = ib_link(network.link), network.rate_bit_s
    if isinstance(link, Skipped) or isinstance(rate, Skipped) or link.data_bit_s >= rate:
        return network
    origin = f"data rate of {link.name}; {network.rate_origin}"
    return msgspec.structs.replace(network, rate_bit_s=link.data_bit_s, rate_origin=origin)


def coding_steps(network: Network) -> tuple[CeilingStep, ...]:
    """Return the steps from the lanes to the data rate, if the link's name implies and agrees."""
    if network.link == "OPA100":
        return OPA100_CODING.steps_to(network, OPA100_LANES)
    link = ib_link(network.link)
    return () if isinstance(link, Skipped) else SPEEDS[link.speed].steps_to(network, link.lanes)


FLIT_BYTES = 8
OMNI_PATH_PARTS: tuple[Part, ...] = PARTS[:3]

#: OPA adds 8192 and 10240 to InfiniBand's (opa_port_info.h: OPA_MTU_8192, OPA_MTU_10240).
OMNI_PATH_MTUS = (*MTUS, 8192, 10240)

#: Data rate of a generation of Omni-Path per direction in bit/s.
OMNI_PATHS: dict[str, float] = {"OPA100": 100e9, "CN5000": 400e9}

#: Lanes and coding, as far as they are public.
OPA100_LANES = 4
OPA100_CODING = Coding(25.78125e9, (CodingShare(1024, 1056, "LTP: types, CRC, credit"),))


def omni_path(network: Network) -> Ceiling | Skipped:
    """Return the most payload per direction of verbs' reliable connection, the leanest protocol."""
    mtu = network.mtu_bytes
    used = mtu + sum(size for _, size in OMNI_PATH_PARTS)
    padding = ("padding to whole flits", -used % FLIT_BYTES)
    wire = wire_step(mtu, (*OMNI_PATH_PARTS, padding))
    packet = Packet(payload_step(mtu, ()), wire, (mtu_step(network),))
    return ceiling_of(network, "Omni-Path data rate", packet, coding_steps(network))


ENCAPSULATION_BYTES = 4

#: The IP packet with its encapsulation header fills a link packet of 2048, Linux' usual one.
IPOIB_MTU = 2048 - ENCAPSULATION_BYTES
#: Omni-Path's usual one fills its largest packet.
IPOIB_OMNI_PATH_MTU = OMNI_PATH_MTUS[-1] - ENCAPSULATION_BYTES


class _Below(msgspec.Struct, frozen=True):
    """The link below IP: its largest packet, the bytes beyond payload, and its padding."""

    name: str
    largest_bytes: int
    parts: tuple[Part, ...]
    granule: str
    granule_bytes: int


_INFINIBAND = _Below("InfiniBand", MTUS[-1], PARTS, "4 bytes", 4)
#: Its headers are whole flits, so that padding the payload pads the packet.
_OMNI_PATH = _Below("Omni-Path", OMNI_PATH_MTUS[-1], OMNI_PATH_PARTS, "flits", FLIT_BYTES)


def ipoib(network: Network) -> Ceiling | Skipped:
    """Return the most TCP payload per direction, at most at the link's data rate."""
    link = ib_link(network.link)
    below = _OMNI_PATH if isinstance(link, Skipped) else _INFINIBAND
    network = at_data_rate(network)
    wire, before = _on_the_wire(network, below)
    packet = Packet(tcp_payload_step(network), wire, (mtu_step(network), *before))
    medium = f"IPoIB over {below.name}, data rate"
    return ceiling_of(network, medium, packet, coding_steps(network))


def _on_the_wire(network: Network, below: _Below) -> tuple[CeilingStep, tuple[CeilingStep, ...]]:
    """Return all that the link carries for one IP packet, and the step that cuts it."""
    message = network.mtu_bytes + ENCAPSULATION_BYTES
    is_datagram = network.mode == "datagram" and message <= below.largest_bytes
    packets = math.ceil(message / below.largest_bytes)
    times = "" if packets == 1 else f"{packets} × "
    parts = (
        ("IPoIB", ENCAPSULATION_BYTES),
        *((f"{times}{name}", packets * size) for name, size in below.parts),
        *((("DETH", 8),) if is_datagram else ()),
        (f"padding to whole {below.granule}", -message % below.granule_bytes),
    )
    mode = "" if network.mode else "connected mode assumed: not known; "
    link = "" if network.link else "Omni-Path assumed: not known; "
    noun = "packet" if packets == 1 else "packets"
    expression = f"{mode}{link}{below.name}'s largest; an IP packet goes in {packets} {noun}"
    cut = CeilingStep("path MTU", expression, below.largest_bytes, "bytes")
    return wire_step(network.mtu_bytes, parts), () if is_datagram else (cut,)
