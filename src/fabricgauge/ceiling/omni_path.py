"""What Omni-Path can carry per direction: flits in link transfer packets, packet headers.

What is in the 100 Gb/s and what is not: 16 flits of 64 bits each travel with their 16 type
bits, 14 bits of CRC and 2 of credit as one link transfer packet (LTP) of 1056 bits. It stands
in the place of a 64b/66b code: 4 lanes × 25.78125 Gb/s × 1024 ÷ 1056 is 100 Gb/s exactly. So
link-level CRC, credits and retry sequence are outside that rate. Packet headers are inside.
The packet has the least header that a protocol on this link has: LRH, BTH and ICRC of
verbs' reliable connection, in whole flits. PSM2 and OPX need more (PSM2: 56 bytes and ICRC,
99.4 % of the rate at an MTU of 10240 and 99.2 % at 8192).

Sources: Birrittella et al., "Intel Omni-Path Architecture: Enabling Scalable, High
Performance Fabrics", IEEE Hot Interconnects 2015 (flits, LTP); Linux include/rdma/
opa_port_info.h (MTUs) and drivers/infiniband/hw/hfi1 (9B packets); Cornelis Networks, CN5000
documentation 2.4.1 (16 flits in an LTP) and 4.2.2 (400 Gb/s without link overhead, MTU 10240).
"""

import msgspec

from fabricgauge.ceiling.binding import ceiling_of
from fabricgauge.ceiling.packet import (
    Coding,
    CodingShare,
    Packet,
    Part,
    mtu_step,
    payload_step,
    wire_step,
)
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling, CeilingStep
from fabricgauge.model.fabric import Network

FLIT_BYTES = 8
LRH_BYTES = 8
BTH_BYTES = 12
ICRC_BYTES = 4

PARTS: tuple[Part, ...] = (("LRH", LRH_BYTES), ("BTH", BTH_BYTES), ("ICRC", ICRC_BYTES))

#: OPA adds 8192 and 10240 to InfiniBand's (opa_port_info.h: OPA_MTU_8192, OPA_MTU_10240).
MTUS = (256, 512, 1024, 2048, 4096, 8192, 10240)
LARGEST_MTU = 10240


class Generation(msgspec.Struct, frozen=True):
    """A generation's data rate per direction; ``coding`` of its lanes where that is public."""

    data_bit_s: float
    lanes: int = 4
    coding: Coding | None = None


GENERATIONS: dict[str, Generation] = {
    "OPA100": Generation(
        100e9, 4, Coding(25.78125e9, (CodingShare(1024, 1056, "LTP: types, CRC, credit"),))
    ),
    "CN5000": Generation(400e9),
}


def ceiling(network: Network) -> Ceiling | Skipped:
    """The most payload per direction of verbs' reliable connection, the leanest protocol."""
    mtu = network.mtu_bytes
    used = mtu + sum(size for _, size in PARTS)
    wire = wire_step(mtu, (*PARTS, ("padding to whole flits", -used % FLIT_BYTES)))
    packet = Packet(payload_step(mtu, ()), wire, (mtu_step(network),))
    return ceiling_of(network, "Omni-Path data rate", packet, coding_steps(network))


def coding_steps(network: Network) -> tuple[CeilingStep, ...]:
    """From the lanes to the data rate, where the generation's coding is public."""
    generation = GENERATIONS.get(network.link)
    if generation is None or generation.coding is None:
        return ()
    return generation.coding.steps_to(network, generation.lanes)
