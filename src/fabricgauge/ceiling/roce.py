"""What RDMA over Converged Ethernet can carry per direction: its packets in Ethernet frames.

A packet is the RDMA MTU with the headers of a reliable connection's middle packets. The
RDMA MTU is the largest of 256 to 4096 that fits the interface's MTU; nothing of a VLAN tag.

Sources: InfiniBand Architecture Specification Volume 1 Annex A16 (RoCE: GRH over Ethernet,
no LRH and VCRC) and Annex A17 (RoCE v2: IP and UDP in the GRH's place); RFC 768 (UDP). The
96 bytes kept free for headers: Linux include/rdma/ib_addr.h, iboe_get_mtu (GRH 40, UDP 8,
BTH 12, XRC 4, atomics 28, ICRC 4).
"""

from fabricgauge.ceiling import ethernet
from fabricgauge.ceiling.binding import ceiling_of
from fabricgauge.ceiling.infiniband import BTH_BYTES, ICRC_BYTES, MTUS
from fabricgauge.ceiling.packet import Packet, Part, mtu_origin, payload_step, unknown, wire_step
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling, Step
from fabricgauge.model.fabric import Network

GRH_BYTES = 40
UDP_BYTES = 8
KEPT_FREE_BYTES = 96

#: The smallest MTU of an interface that RDMA fits in.
LEAST_MTU = MTUS[0] + KEPT_FREE_BYTES


def v1(network: Network) -> Ceiling | Skipped:
    """RoCE v1: a global route header (GRH) in the Ethernet frame."""
    return _ceiling(network, "Ethernet line rate (RoCE v1)", (("GRH", GRH_BYTES),))


def v2(network: Network, medium: str = "Ethernet line rate (RoCE v2)") -> Ceiling | Skipped:
    """RoCE v2: IP and UDP in the Ethernet frame."""
    return _ceiling(network, medium, (ethernet.ip_part(network), ("UDP", UDP_BYTES)))


def rdma_mtu(network: Network) -> Step | Skipped:
    """The RDMA MTU: stated as such, or the largest that the interface's MTU has room for.

    A stated MTU that is itself one of 256 to 4096 is taken for the RDMA MTU, a member's
    never is: it is the interface's.
    """
    mtu = network.mtu_bytes
    if not network.members and mtu in MTUS:
        return Step("RDMA MTU", mtu_origin(network), mtu, "bytes")
    fitting = [one for one in MTUS if one <= mtu - KEPT_FREE_BYTES]
    if not fitting:
        return Skipped(f"{network.name}: MTU {mtu} leaves no room for payload of RDMA")
    room = f"largest of {MTUS[0]} to {MTUS[-1]} within {mtu} − {KEPT_FREE_BYTES} (headers)"
    return Step("RDMA MTU", f"{room}; MTU: {mtu_origin(network)}", fitting[-1], "bytes")


def _ceiling(network: Network, medium: str, routing: tuple[Part, ...]) -> Ceiling | Skipped:
    reason = unknown(network)
    if reason:
        return reason
    mtu = rdma_mtu(network)
    if isinstance(mtu, Skipped):
        return mtu
    inside = (*routing, ("BTH", BTH_BYTES), ("ICRC", ICRC_BYTES))
    payload = int(mtu.value)
    wire = wire_step(payload, (*inside, *ethernet.FRAME))
    return ceiling_of(network, medium, Packet(payload_step(payload, ()), wire, (mtu,)))
