"""What Slingshot can carry per direction: Ethernet of 100 or 200 Gb/s per adapter.

Slingshot-10 adapters (ConnectX-5) speak RoCE v2, so its sum is that of RoCE v2. Slingshot-11
adapters (Cassini) have packets of their own between them, whose format is not public; they
may leave out the Ethernet header and the gap. Nothing is taken off there, so its
ceiling is the line rate: too high by what these packets need, never too low.

Source: De Sensi et al., "An In-Depth Analysis of the Slingshot Interconnect", SC 2020, section
II (adapters; frames of 32 bytes and more, no interpacket gap, IP without Ethernet header). The
tutorial's table has 200 Gb/s for "Slingshot10/11": that is the switch's port; an
adapter of Slingshot-10 has 100 Gb/s.
"""

from fabricgauge.ceiling import roce
from fabricgauge.ceiling.binding import ceiling_of
from fabricgauge.ceiling.packet import bare, unknown
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.fabric import Network

#: Line rate of an adapter in bit/s.
GENERATIONS: dict[str, float] = {"Slingshot-10": 100e9, "Slingshot-11": 200e9}

#: RDMA MTU of Slingshot-10, and the interface's of Slingshot-11 (its usual jumbo frames).
USUAL_MTU: dict[str, int] = {"Slingshot-10": 4096, "Slingshot-11": 9000}

NOT_PUBLIC = "the packets' format is not public, nothing is taken off"


def ceiling(network: Network) -> Ceiling | Skipped:
    """The most payload per direction; for Slingshot-11 the line rate itself."""
    if network.link == "Slingshot-10":
        return roce.v2(network, "Slingshot-10 line rate (RoCE v2)")
    reason = unknown(network)
    if reason:
        return reason
    medium = f"{network.link or 'Slingshot'} line rate (headers not taken off)"
    return ceiling_of(network, medium, bare(network, NOT_PUBLIC))
