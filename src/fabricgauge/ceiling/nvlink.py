"""What NVLink can carry per direction: links of one GPU, and the switches between GPUs.

NVIDIA publishes the rate of a link, not the format of its packets. The Pascal paper below
tells of 16-byte flits, up to 16 of data after one of header (94 %), but later links run a little
above their nominal rate (a V100's reports 25.78 GB/s), so the nominal rate is the bound and
nothing is taken off it. A pair of GPUs has the links that join it: all of one GPU through
NVSwitch, fewer in a mesh (DGX-1: one or two); the number of links is that of rails.

Sources: Foley and Danskin, "Ultra-Performance Pascal GPU and NVLink Interconnect", IEEE
Micro 37(2), 2017; NVIDIA architecture white papers of P100, V100, A100, H100; NVIDIA NVLink
and NVSwitch product page (fifth generation). The tutorial's table (300, 600, 900,
1,800 GB/s per GPU) sums both directions.
"""

import msgspec

from fabricgauge.ceiling.binding import ceiling_of
from fabricgauge.ceiling.coding import Coding
from fabricgauge.ceiling.packet import bare, unknown
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling, Step
from fabricgauge.model.fabric import Network


class Generation(msgspec.Struct, frozen=True):
    """``lanes`` of ``lane_bit_s`` are one link's direction; a GPU has up to ``links``."""

    lane_bit_s: float
    lanes: int
    links: int
    gpu: str

    @property
    def link_bit_s(self) -> float:
        return self.lane_bit_s * self.lanes


class Switch(msgspec.Struct, frozen=True):
    """An NVSwitch chip: ports, each one link of generation ``nvlink``."""

    nvlink: str
    ports: int


GENERATIONS: dict[str, Generation] = {
    "NVLink 1": Generation(20e9, 8, 4, "P100"),
    "NVLink 2": Generation(25e9, 8, 6, "V100"),
    "NVLink 3": Generation(50e9, 4, 12, "A100"),
    "NVLink 4": Generation(100e9, 2, 18, "H100"),
    "NVLink 5": Generation(200e9, 2, 18, "B200"),
}

#: Non-blocking, so what a pair of GPUs has is what the GPU's own links have. White papers of
#: DGX-2 (2018), A100, H100; the fifth generation's chip in the NVL72 switch tray.
SWITCHES: dict[str, Switch] = {
    "NVSwitch 1": Switch("NVLink 2", 18),
    "NVSwitch 2": Switch("NVLink 3", 36),
    "NVSwitch 3": Switch("NVLink 4", 64),
    "NVSwitch 4": Switch("NVLink 5", 72),
}

#: The largest packet's data (16 flits of 16 bytes); it has no part in the sum.
PACKET_BYTES = 256

_NOT_PUBLIC = "the packets' format is not public, nothing is taken off"


def ceiling(network: Network) -> Ceiling | Skipped:
    """The nominal rate of the links per direction; ``rails`` is how many join the pair."""
    medium = f"{network.link or 'NVLink'} rate (headers not taken off)"
    return unknown(network) or ceiling_of(
        network, medium, bare(network, _NOT_PUBLIC), _coding_steps(network)
    )


def _coding_steps(network: Network) -> tuple[Step, ...]:
    generation = GENERATIONS.get(network.link)
    if generation is None or generation.link_bit_s != network.rate_bit_s:
        return ()
    return Coding(generation.lane_bit_s).steps(generation.lanes)
