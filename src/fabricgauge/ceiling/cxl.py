"""What Compute Express Link can carry per direction: flits on the lanes of PCI Express.

Up to 32 GT/s a flit is 68 bytes (64 of slots, 2 of CRC, 2 of protocol ID) on 128b/130b; at
64 GT/s it is 256 bytes, 240 of them for slots. Slots carry headers as well as data, in
shares that the requests decide; these are not taken off, so reads and writes stay below.

Sources: Compute Express Link Specification Revision 3.1, 4.2 (68-byte flit), 4.3 (256-byte
flit), 6.2 (framing); Revisions 1.1 and 2.0 for their rates. The tutorial's table agrees.
"""

import re

from fabricgauge.ceiling.binding import ceiling_of
from fabricgauge.ceiling.coding import Coding, Share
from fabricgauge.ceiling.packet import bare, unknown
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.fabric import Network

_68 = Coding(32e9, (Share(128, 130, "128b/130b"), Share(64, 68, "flit: CRC, protocol ID")), "GT/s")
_256 = Coding(64e9, (Share(240, 256, "flit: header, CRC, FEC"),), "GT/s")

GENERATIONS: dict[str, Coding] = {
    "1.0": _68, "1.1": _68, "2.0": _68, "3.0": _256, "3.1": _256,
}  # fmt: skip

#: Links of x16, x8 and x4, and x2 and x1 in degraded mode (Revision 3.1, 6.4).
LANES = (1, 2, 4, 8, 16)

#: A cache line, which is what CXL moves.
LINE_BYTES = 64

_LINK = re.compile(r"cxl (\d\.\d) x(\d+)", re.IGNORECASE)
_SLOTS = "headers in the flits' slots are not taken off"


def cxl_link(name: str) -> tuple[Coding, int] | Skipped:
    """Coding and lanes of what ``CXL 2.0 x16`` names."""
    found = _LINK.fullmatch(name.strip())
    if found and found[1] in GENERATIONS and int(found[2]) in LANES:
        return GENERATIONS[found[1]], int(found[2])
    return Skipped(f"{name!r} is no CXL link (such as CXL 2.0 x16)")


def ceiling(network: Network) -> Ceiling | Skipped:
    """The most that flits' slots carry per direction; told by ``Network.link``."""
    reason = unknown(network)
    if reason:
        return reason
    link = cxl_link(network.link)
    if isinstance(link, Skipped):
        return Skipped(f"{network.name}: {link.reason}")
    coding, lanes = link
    medium = f"{network.link} data rate (slots' headers not taken off)"
    return ceiling_of(network, medium, bare(network, _SLOTS), coding.steps(lanes))
