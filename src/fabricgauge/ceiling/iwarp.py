"""What iWARP can carry per direction: RDMA writes in frames of their own over TCP.

One FPDU fills one TCP segment. Markers are off, the CRC field is there whether it is used
or not. The adapter's own TCP has no timestamps unless it is told to (Linux
drivers/infiniband/hw/cxgb4/cm.c: enable_tcp_timestamps is 0).

Sources: RFC 5044 section 4 (MPA: length, padding to 4 bytes, CRC; markers are optional);
RFC 5041 section 4 (DDP, tagged) and RFC 5040 section 4 (RDMAP's byte in it).
"""

from fabricgauge.ceiling.binding import ceiling_of
from fabricgauge.ceiling.ethernet import FRAME, tcp_payload_step
from fabricgauge.ceiling.packet import Packet, Part, mtu_step, unknown, wire_step
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling, Step
from fabricgauge.model.fabric import Network

MPA_LENGTH_BYTES = 2
#: Control of DDP and of RDMAP a byte each, steering tag 4, offset 8.
DDP_BYTES = 14
CRC_BYTES = 4
_PARTS: tuple[Part, ...] = (
    ("MPA length", MPA_LENGTH_BYTES), ("DDP, RDMAP", DDP_BYTES), ("MPA CRC", CRC_BYTES),
)  # fmt: skip


def ceiling(network: Network) -> Ceiling | Skipped:
    """The most payload of RDMA writes per direction."""
    reason = unknown(network)
    if reason:
        return reason
    segment = tcp_payload_step(network)
    framed = Step("TCP segment", segment.expression, segment.value, "bytes")
    packet = Packet(
        _payload_step(int(segment.value)),
        wire_step(network.mtu_bytes, FRAME),
        (mtu_step(network), framed),
    )
    return ceiling_of(network, "Ethernet line rate (iWARP)", packet)


def _payload_step(segment_bytes: int) -> Step:
    """The FPDU is a multiple of 4 bytes, so up to 3 of the segment stay empty."""
    room = segment_bytes - segment_bytes % 4
    expression = f"{room}" + "".join(f" − {size} ({what})" for what, size in _PARTS)
    if room != segment_bytes:
        expression += f"; {room} is the multiple of 4 within {segment_bytes}"
    value = room - sum(size for _, size in _PARTS)
    return Step("payload per packet", expression, value, "bytes")
