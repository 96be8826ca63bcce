"""Ceilings of TCP over IPoIB per direction: IP packets on InfiniBand or Omni-Path.

In datagram mode an IP packet is one packet of the link, an unreliable datagram. In connected mode
it is a message of a reliable connection, which the adapter cuts into packets of the path MTU.
That MTU is unknown: the link's largest stands for it. A global route header does not count
either, since only multicast and routed packets have one. If the mode is unknown, the sum is
connected mode's, and if the link is unknown, Omni-Path's: they have the fewest bytes beyond
payload, and a ceiling must not be too low.

Sources: RFC 4391 section 6 (encapsulation header) and RFC 4755 sections 4 and 5 (the same in
connected mode, larger MTUs); InfiniBand Architecture Specification Volume 1 Release 1.4, 9.2
(BTH, padding), 9.3.2 (DETH); Linux 6.12, Documentation/infiniband/ipoib.rst (modes, MTU 65520).
"""

import math

import msgspec

from fabricgauge.judge.ceiling import infiniband
from fabricgauge.judge.ceiling.binding import ceiling_of
from fabricgauge.judge.ceiling.ethernet import tcp_payload_step
from fabricgauge.judge.ceiling.packet import Packet, Part, mtu_step, wire_step
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling, CeilingStep
from fabricgauge.model.fabric import Network

ENCAPSULATION_BYTES = 4
DETH_BYTES = 8

#: The IP packet with its encapsulation header fills a link packet of 2048, Linux' usual one.
USUAL_MTU = 2048 - ENCAPSULATION_BYTES
#: Omni-Path's usual one fills its largest packet.
USUAL_OMNI_PATH_MTU = infiniband.OMNI_PATH_MTUS[-1] - ENCAPSULATION_BYTES


class _Below(msgspec.Struct, frozen=True):
    """The link below IP: its largest packet, the bytes beyond payload, and its padding."""

    name: str
    largest_bytes: int
    parts: tuple[Part, ...]
    granule: str
    granule_bytes: int


_INFINIBAND = _Below("InfiniBand", infiniband.MTUS[-1], infiniband.PARTS, "4 bytes", 4)
#: Its headers are whole flits, so that padding the payload pads the packet.
_OMNI_PATH = _Below(
    "Omni-Path",
    infiniband.OMNI_PATH_MTUS[-1],
    infiniband.OMNI_PATH_PARTS,
    "flits",
    infiniband.FLIT_BYTES,
)


def ceiling(network: Network) -> Ceiling | Skipped:
    """Return the most TCP payload per direction, at most at the link's data rate."""
    link = infiniband.ib_link(network.link)
    below = _OMNI_PATH if isinstance(link, Skipped) else _INFINIBAND
    network = infiniband.at_data_rate(network)
    wire, before = _on_the_wire(network, below)
    packet = Packet(tcp_payload_step(network), wire, (mtu_step(network), *before))
    medium = f"IPoIB over {below.name}, data rate"
    return ceiling_of(network, medium, packet, infiniband.coding_steps(network))


def _on_the_wire(network: Network, below: _Below) -> tuple[CeilingStep, tuple[CeilingStep, ...]]:
    """Return all that the link carries for one IP packet, and the step that cuts it."""
    message = network.mtu_bytes + ENCAPSULATION_BYTES
    is_datagram = network.mode == "datagram" and message <= below.largest_bytes
    packets = math.ceil(message / below.largest_bytes)
    times = "" if packets == 1 else f"{packets} × "
    parts = (
        ("IPoIB", ENCAPSULATION_BYTES),
        *((f"{times}{name}", packets * size) for name, size in below.parts),
        *((("DETH", DETH_BYTES),) if is_datagram else ()),
        (f"padding to whole {below.granule}", -message % below.granule_bytes),
    )
    mode = "" if network.mode else "connected mode assumed: not known; "
    link = "" if network.link else "Omni-Path assumed: not known; "
    noun = "packet" if packets == 1 else "packets"
    expression = f"{mode}{link}{below.name}'s largest; an IP packet goes in {packets} {noun}"
    cut = CeilingStep("path MTU", expression, below.largest_bytes, "bytes")
    return wire_step(network.mtu_bytes, parts), () if is_datagram else (cut,)
