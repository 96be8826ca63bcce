"""Ceilings of a PCI Express link per direction: generation, width, packet headers.

The packet is the largest that the link passes (MPS) with a header of three double words,
the smallest one: read completions have it, and so have writes to addresses below 4 GiB,
which Linux's IOMMU hands out first. Acknowledgements, credits and skip ordered sets are
not taken off. So the limit may be a few percent too high, and is never too low. If PCI Express
is the network itself, its MTU is the payload size (MPS).

Sources: PCI Express Base Specification Revision 5.0, 2.2 (headers), 3.6 (sequence number,
LCRC), 4.2.1 (8b/10b, framing symbols), 4.2.2 (128b/130b, framing tokens); Revision 6.0, 4.2.3
(flits: 236 bytes of packets, 6 of link layer, 8 of CRC, 6 of FEC); Revision 7.0 keeps these.
"""

import re

import msgspec

from fabricgauge.judge.ceiling.packet import (
    Coding,
    CodingShare,
    Part,
    payload_step,
    wire_step,
)
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import CeilingStep
from fabricgauge.model.words.figures import gigabits_per_s

_8B10B = CodingShare(8, 10, "8b/10b")
_128B130B = CodingShare(128, 130, "128b/130b")
_FLIT = CodingShare(236, 256, "flit: link layer, CRC, FEC")

_HEADER = ("header", 12)
_SYMBOLS: tuple[Part, ...] = (
    ("STP", 1), ("sequence number", 2), _HEADER, ("LCRC", 4), ("END", 1),
)  # fmt: skip
_TOKENS: tuple[Part, ...] = (("STP with sequence number", 4), _HEADER, ("LCRC", 4))


class PcieGeneration(msgspec.Struct, frozen=True):
    """Lane and coding of one generation; ``parts`` are a packet's bytes beyond payload."""

    coding: Coding
    parts: tuple[Part, ...]


#: The HotI 2025 tutorial's table gives both directions together. By its text encoding is not
#: included, but it is taken off for 1.x and 2.x (2.5 GT/s: 250 MB/s each way)
#: and included from 3.0 on (8 GT/s: 1 GB/s each way; 985 MB/s without it).
GENERATIONS: dict[str, PcieGeneration] = {
    "1.0": PcieGeneration(Coding(2.5e9, (_8B10B,), "GT/s"), _SYMBOLS),
    "2.0": PcieGeneration(Coding(5e9, (_8B10B,), "GT/s"), _SYMBOLS),
    "3.0": PcieGeneration(Coding(8e9, (_128B130B,), "GT/s"), _TOKENS),
    "4.0": PcieGeneration(Coding(16e9, (_128B130B,), "GT/s"), _TOKENS),
    "5.0": PcieGeneration(Coding(32e9, (_128B130B,), "GT/s"), _TOKENS),
    "6.0": PcieGeneration(Coding(64e9, (_FLIT,), "GT/s"), (_HEADER,)),
    "7.0": PcieGeneration(Coding(128e9, (_FLIT,), "GT/s"), (_HEADER,)),
}

#: Widths that slots and adapters have; x12 and x32 of older revisions are in no product.
LANES = (1, 2, 4, 8, 16)

#: Payload sizes that Device Control can set (Revision 5.0, 7.5.3.4).
PAYLOADS = (128, 256, 512, 1024, 2048, 4096)

#: The largest that servers' root complexes commonly offer (many have 256).
ASSUMED_PAYLOAD = 512

_NAME = re.compile(r"pcie\s*(\d\.\d)\s*x(\d+)(?:\s*mps\s*(\d+))?", re.IGNORECASE)


class PcieCapacity(msgspec.Struct, frozen=True):
    """One link; ``payload_bytes`` is its MPS, ``assumed`` if that was not stated."""

    generation: str
    lanes: int
    payload_bytes: int = ASSUMED_PAYLOAD
    assumed: bool = False

    @property
    def name(self) -> str:
        return f"PCIe {self.generation} x{self.lanes}"

    @property
    def data_bit_s(self) -> float:
        """After encoding, before packets' own bytes."""
        return GENERATIONS[self.generation].coding.data_bit_s(self.lanes)

    @property
    def coding_steps(self) -> tuple[CeilingStep, ...]:
        return GENERATIONS[self.generation].coding.steps(self.lanes)

    @property
    def packet(self) -> tuple[CeilingStep, CeilingStep]:
        """Payload and wire bytes of the largest packet."""
        payload = payload_step(self.payload_bytes, ())
        return payload, wire_step(self.payload_bytes, GENERATIONS[self.generation].parts)

    @property
    def payload_bytes_per_s(self) -> float:
        payload, wire = self.packet
        return self.data_bit_s / 8 * payload.value / wire.value

    def limit_steps(self) -> tuple[CeilingStep, ...]:
        """Return the sum of this link's payload to an adapter behind it."""
        payload, wire = self.packet
        mps = f"{payload.value:g}" + (" (MPS assumed: not stated)" if self.assumed else " (MPS)")
        limit = CeilingStep(
            f"{self.name} limit",
            f"{gigabits_per_s(self.data_bit_s, 6)} ÷ 8 bit × {mps} ÷ {wire.value:g}"
            f" ({wire.expression})",
            self.payload_bytes_per_s, "bytes/s per direction",
        )  # fmt: skip
        coded = tuple(
            CeilingStep(f"{self.name} {step.label}", step.expression, step.value, step.unit)
            for step in self.coding_steps
        )
        return (*coded, limit)


def pcie_link(name: str) -> PcieCapacity | Skipped:
    """Return the link that ``PCIe 3.0 x8`` or ``PCIe 3.0 x8 MPS 256`` names."""
    match = _NAME.fullmatch(name.strip())
    if match and match[1] in GENERATIONS and int(match[2]) in LANES:
        stated = int(match[3]) if match[3] else ASSUMED_PAYLOAD
        if stated in PAYLOADS:
            return PcieCapacity(match[1], int(match[2]), stated, assumed=not match[3])
    return Skipped(f"{name!r} is no PCIe link (such as PCIe 3.0 x8 MPS 256)")
