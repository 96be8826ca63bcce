"""Ceilings of networks with a known rate but unknown packets: at most flit framing is taken off.

EFA: the packets of SRD and the cloud's encapsulation are not public. Instances with several
cards (p4d has 4, p5 has 32 of 100 Gb/s) are several rails. Sources: Amazon EC2 documentation,
network specifications of accelerated and HPC instances (cards and Gb/s); "Network MTU" there
(9001). The tutorial has 100 Gb/s (first generation, 2018), 170 Gb/s (second, 2020) and 200 Gb/s
(third, 2022). 400 Gb/s: p6-b200 (8 cards, 3200 Gb/s).

Slingshot-10 adapters (ConnectX-5) speak RoCE v2, so its sum is that of RoCE v2. Slingshot-11
adapters (Cassini) have packets of their own between them, whose format is not public; they
may leave out the Ethernet header and the gap. Its ceiling is the line rate: too high by what these
packets need, never too low. Source: De Sensi et al., "An In-Depth Analysis of the Slingshot
Interconnect", SC 2020, section II (adapters; frames of 32 bytes and more, no interpacket gap, IP
without Ethernet header). The tutorial's table has 200 Gb/s for "Slingshot10/11": that is the
switch's port; an adapter of Slingshot-10 has 100 Gb/s.

NVLink: NVIDIA publishes the rate of a link, not the format of its packets. The Pascal paper below
describes 16-byte flits, up to 16 of data after one of header (94 %), but later links run a little
above their nominal rate (a V100's reports 25.78 GB/s), so the nominal rate is the bound. A pair of
GPUs has the links that join it: all of one GPU through NVSwitch, fewer in a mesh (DGX-1: one or
two); the number of links is that of rails. Sources: Foley and Danskin, "Ultra-Performance Pascal
GPU and NVLink Interconnect", IEEE Micro 37(2), 2017; NVIDIA architecture white papers of P100,
V100, A100, H100; NVIDIA NVLink and NVSwitch product page (fifth generation). The tutorial's table
(300, 600, 900, 1,800 GB/s per GPU) sums both directions.

CXL: flits on the lanes of PCI Express. Up to 32 GT/s a flit is 68 bytes (64 of slots, 2 of CRC, 2
of protocol ID) on 128b/130b; at 64 GT/s it is 256 bytes, 240 of them for slots. Slots carry headers
as well as data, in shares that the requests decide; these are not taken off, so reads and writes
stay below. Sources: Compute Express Link Specification Revision 3.1, 4.2 (68-byte flit), 4.3
(256-byte flit), 6.2 (framing); Revisions 1.1 and 2.0 for their rates. The tutorial's table agrees.
"""

import re

import msgspec

from fabricgauge.judge.ceiling import ethernet
from fabricgauge.judge.ceiling.capacity import Coding, CodingShare, bare, ceiling_of
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.fabric import Network

#: Rate of one card in bit/s.
EFA_CARDS: dict[str, float] = {
    "EFA-100": 100e9, "EFA-170": 170e9, "EFA-200": 200e9, "EFA-400": 400e9,
}  # fmt: skip

EFA_MTU = 9001


def efa(network: Network) -> Ceiling | Skipped:
    """Return the line rate of the cards: too high by the packets' headers, never too low."""
    return ceiling_of(network, "EFA line rate (headers not taken off)", bare(network, _NOT_PUBLIC))


#: Line rate of an adapter in bit/s.
SLINGSHOTS: dict[str, float] = {"Slingshot-10": 100e9, "Slingshot-11": 200e9}

#: RDMA MTU of Slingshot-10, and the interface's of Slingshot-11 (its usual jumbo frames).
SLINGSHOT_MTU: dict[str, int] = {"Slingshot-10": 4096, "Slingshot-11": 9000}

_NOT_PUBLIC = "the packets' format is not public, nothing is taken off"


def slingshot(network: Network) -> Ceiling | Skipped:
    """Return the most payload per direction; for Slingshot-11 the line rate itself."""
    if network.link == "Slingshot-10":
        return ethernet.roce_v2(network, "Slingshot-10 line rate (RoCE v2)")
    medium = f"{network.link or 'Slingshot'} line rate (headers not taken off)"
    return ceiling_of(network, medium, bare(network, _NOT_PUBLIC))


class NvlinkGeneration(msgspec.Struct, frozen=True):
    """``lanes`` of such a coding are one link's direction; a GPU has up to ``links``."""

    coding: Coding
    lanes: int
    links: int
    gpu: str

    @property
    def link_bit_s(self) -> float:
        return self.coding.data_bit_s(self.lanes)


NVLINKS: dict[str, NvlinkGeneration] = {
    "NVLink 1": NvlinkGeneration(Coding(20e9), 8, 4, "P100"),
    "NVLink 2": NvlinkGeneration(Coding(25e9), 8, 6, "V100"),
    "NVLink 3": NvlinkGeneration(Coding(50e9), 4, 12, "A100"),
    "NVLink 4": NvlinkGeneration(Coding(100e9), 2, 18, "H100"),
    "NVLink 5": NvlinkGeneration(Coding(200e9), 2, 18, "B200"),
}

#: The largest packet's data (16 flits of 16 bytes); it has no part in the sum.
NVLINK_PACKET_BYTES = 256


def nvlink(network: Network) -> Ceiling | Skipped:
    """Return the nominal rate of the links per direction; ``rails`` join the pair."""
    medium = f"{network.link or 'NVLink'} rate (headers not taken off)"
    generation = NVLINKS.get(network.link)
    coding = generation.coding.steps_to(network, generation.lanes) if generation else ()
    return ceiling_of(network, medium, bare(network, _NOT_PUBLIC), coding)


def simulated(network: Network) -> Ceiling | Skipped:
    why = "a fluid model has no packets, nothing is taken off"
    return ceiling_of(network, "simulated link rate", bare(network, why))


_68 = Coding(
    32e9,
    (CodingShare(128, 130, "128b/130b"), CodingShare(64, 68, "flit: CRC, protocol ID")),
    "GT/s",
)
_256 = Coding(64e9, (CodingShare(240, 256, "flit: header, CRC, FEC"),), "GT/s")

CXLS: dict[str, Coding] = {
    "1.0": _68, "1.1": _68, "2.0": _68, "3.0": _256, "3.1": _256,
}  # fmt: skip

#: Links of x16, x8 and x4, and x2 and x1 in degraded mode (Revision 3.1, 6.4).
CXL_LANES = (1, 2, 4, 8, 16)

#: A cache line, the unit that CXL moves.
CXL_LINE_BYTES = 64

_LINK = re.compile(r"cxl (\d\.\d) x(\d+)", re.IGNORECASE)
_SLOTS = "headers in the flits' slots are not taken off"


def cxl(network: Network) -> Ceiling | Skipped:
    """Return the flits' slots per direction; ``Network.link`` is e.g. CXL 2.0 x16."""
    match = _LINK.fullmatch(network.link.strip())
    if not match or match[1] not in CXLS or int(match[2]) not in CXL_LANES:
        return Skipped(f"{network.name}: {network.link!r} is no CXL link (such as CXL 2.0 x16)")
    coding = CXLS[match[1]].steps(int(match[2]))
    medium = f"{network.link} data rate (slots' headers not taken off)"
    return ceiling_of(network, medium, bare(network, _SLOTS), coding)
