"""The sum of a ceiling: a link's coding and packets, the host link below it, and rails.

A packet is its payload, and all bytes that occupy the link for it. A coding leads from lanes and
their signalling rate to the bits that remain for packets. The smallest limit binds, and the ceiling
names it.

PCI Express, the host link, can be the network itself; its MTU is then the payload size (MPS). The
packet is the largest that the link passes (MPS) with a header of three double words, the smallest
one: read completions have it, and so have writes to addresses below 4 GiB, which Linux's IOMMU
hands out first. Acknowledgements, credits and skip ordered sets are not taken off. So the limit may
be a few percent too high, and is never too low. Sources: PCI Express Base Specification Revision
5.0, 2.2 (headers), 3.6 (sequence number, LCRC), 4.2.1 (8b/10b, framing symbols), 4.2.2 (128b/130b,
framing tokens); Revision 6.0, 4.2.3 (flits: 236 bytes of packets, 6 of link layer, 8 of CRC, 6 of
FEC); Revision 7.0 keeps these.
"""

import math
import re
from collections.abc import Iterable

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling, CeilingStep
from fabricgauge.model.fabric import Network
from fabricgauge.model.words.figures import gigabits_per_s

#: Rates that differ by less are equal: rounding.
SAME_RATE = 1e-6

#: A part of a packet beyond payload: its name and its size in bytes.
Part = tuple[str, int]


class Packet(msgspec.Struct, frozen=True):
    """``payload`` and ``wire`` of the largest packet, in bytes; ``before`` leads to them."""

    payload: CeilingStep
    wire: CeilingStep
    before: tuple[CeilingStep, ...] = ()


def unknown(network: Network) -> Skipped | None:
    """Return why no ceiling of any technology can be worked out; None if one can."""
    if isinstance(network.rate_bit_s, Skipped):
        return Skipped(f"{network.name}: no line rate, so no ceiling: {network.rate_bit_s.reason}")
    if not network.members and isinstance(network.stated_mtu_bytes, Skipped):
        return Skipped(
            f"{network.name}: no members and none stated, so no MTU to work out a ceiling with"
        )
    if not network.rate_bit_s > 0:
        return Skipped(f"{network.name}: {network.rate_bit_s:g} bit/s is not a valid line rate")
    return None


def mtu_step(network: Network, label: str = "MTU") -> CeilingStep:
    """Return the MTU in force, with its origin."""
    return CeilingStep(label, mtu_origin(network), network.mtu_bytes, "bytes")


def mtu_origin(network: Network) -> str:
    if isinstance(network.stated_mtu_bytes, Skipped):
        return "smallest of the members"
    if "mtu" in network.assumed:
        return "assumed: no port says it" if network.members else "assumed: not stated"
    return "the ports' active MTU" if network.members else network.rate_origin


def named(network: Network, label: str, field: str) -> str:
    """Return the label in a sum, marked if the value was not stated."""
    return f"{label}, assumed: not stated" if field in network.assumed else label


def payload_step(start: int, headers: Iterable[Part]) -> CeilingStep:
    """Return the payload beside the headers inside the MTU; may be negative."""
    return _sum("payload per packet", start, "−", headers)


def wire_step(start: int, added: Iterable[Part]) -> CeilingStep:
    """Return all bytes that occupy the link for one packet."""
    return _sum("wire bytes per packet", start, "+", added)


def _sum(label: str, start: int, sign: str, parts: Iterable[Part]) -> CeilingStep:
    nonzero = [(name, size) for name, size in parts if size]
    expression = f"{start}" + "".join(f" {sign} {size} ({name})" for name, size in nonzero)
    total = sum(size for _, size in nonzero)
    return CeilingStep(label, expression, start + total if sign == "+" else start - total, "bytes")


def bare(network: Network, why: str) -> Packet:
    """Return a packet of a format that is not public: its whole MTU is payload."""
    size = network.mtu_bytes
    payload = CeilingStep("payload per packet", f"{size}", size, "bytes")
    wire = CeilingStep("wire bytes per packet", f"{size}; {why}", size, "bytes")
    return Packet(payload, wire, (mtu_step(network),))


class CodingShare(msgspec.Struct, frozen=True):
    """The share of bits on the lane for packets: ``kept`` of ``of``; ``what`` takes the others."""

    kept: int
    of: int
    what: str


class Coding(msgspec.Struct, frozen=True):
    """The signalling rate of one lane, and the shares of it that are for packets.

    ``unit`` is how the standard counts: ``Gb/s`` or, for transfers of one bit, ``GT/s``.
    """

    lane_bit_s: float
    shares: tuple[CodingShare, ...] = ()
    unit: str = "Gb/s"

    def data_bit_s(self, lanes: int) -> float:
        """Return the rate for packets on ``lanes`` lanes, per direction."""
        rate = self.lane_bit_s * lanes
        for share in self.shares:
            rate = rate * share.kept / share.of
        return rate

    def steps(self, lanes: int) -> tuple[CeilingStep, ...]:
        """Return the steps from the lane to the data rate."""
        unit, lane = "bit/s per direction", f"{self.lane_bit_s / 1e9:.10g} {self.unit}"
        rate_bit_s = self.lane_bit_s * lanes
        signalled = CeilingStep("signalling rate", f"{lanes} × {lane} per lane", rate_bit_s, unit)
        if not self.shares:
            return (signalled,)
        factors = "".join(f" × {share.kept} ÷ {share.of} ({share.what})" for share in self.shares)
        expression = f"{gigabits_per_s(rate_bit_s)}{factors}"
        return (signalled, CeilingStep("data rate", expression, self.data_bit_s(lanes), unit))

    def steps_to(self, network: Network, lanes: int) -> tuple[CeilingStep, ...]:
        """Return these steps if they lead to the network's own rate, else none."""
        rate_bit_s = network.rate_bit_s
        agrees = not isinstance(rate_bit_s, Skipped) and math.isclose(
            self.data_bit_s(lanes), rate_bit_s, rel_tol=SAME_RATE
        )
        return self.steps(lanes) if agrees else ()


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
PCIE_GENERATIONS: dict[str, PcieGeneration] = {
    "1.0": PcieGeneration(Coding(2.5e9, (_8B10B,), "GT/s"), _SYMBOLS),
    "2.0": PcieGeneration(Coding(5e9, (_8B10B,), "GT/s"), _SYMBOLS),
    "3.0": PcieGeneration(Coding(8e9, (_128B130B,), "GT/s"), _TOKENS),
    "4.0": PcieGeneration(Coding(16e9, (_128B130B,), "GT/s"), _TOKENS),
    "5.0": PcieGeneration(Coding(32e9, (_128B130B,), "GT/s"), _TOKENS),
    "6.0": PcieGeneration(Coding(64e9, (_FLIT,), "GT/s"), (_HEADER,)),
    "7.0": PcieGeneration(Coding(128e9, (_FLIT,), "GT/s"), (_HEADER,)),
}

#: Widths that slots and adapters have; x12 and x32 of older revisions are in no product.
PCIE_LANES = (1, 2, 4, 8, 16)

#: Payload sizes that Device Control can set (Revision 5.0, 7.5.3.4).
PCIE_PAYLOADS = (128, 256, 512, 1024, 2048, 4096)

#: The largest that servers' root complexes commonly offer (many have 256).
ASSUMED_MPS = 512

_PCIE_NAME = re.compile(r"pcie\s*(\d\.\d)\s*x(\d+)(?:\s*mps\s*(\d+))?", re.IGNORECASE)


class PcieCapacity(msgspec.Struct, frozen=True):
    """One link; ``payload_bytes`` is its MPS, ``assumed`` if that was not stated."""

    generation: str
    lanes: int
    payload_bytes: int = ASSUMED_MPS
    assumed: bool = False

    @property
    def name(self) -> str:
        return f"PCIe {self.generation} x{self.lanes}"

    @property
    def data_bit_s(self) -> float:
        """After encoding, before packets' own bytes."""
        return PCIE_GENERATIONS[self.generation].coding.data_bit_s(self.lanes)

    @property
    def coding_steps(self) -> tuple[CeilingStep, ...]:
        return PCIE_GENERATIONS[self.generation].coding.steps(self.lanes)

    @property
    def packet(self) -> tuple[CeilingStep, CeilingStep]:
        """Payload and wire bytes of the largest packet."""
        payload = payload_step(self.payload_bytes, ())
        return payload, wire_step(self.payload_bytes, PCIE_GENERATIONS[self.generation].parts)

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
    match = _PCIE_NAME.fullmatch(name.strip())
    if match and match[1] in PCIE_GENERATIONS and int(match[2]) in PCIE_LANES:
        stated = int(match[3]) if match[3] else ASSUMED_MPS
        if stated in PCIE_PAYLOADS:
            return PcieCapacity(match[1], int(match[2]), stated, assumed=not match[3])
    return Skipped(f"{name!r} is no PCIe link (such as PCIe 3.0 x8 MPS 256)")


PER_DIRECTION = "bytes/s per direction"

#: The last steps of a sum, and what binds.
_Bound = tuple[tuple[CeilingStep, ...], str]


def ceiling_of(
    network: Network, medium: str, packet: Packet, coding: tuple[CeilingStep, ...] = ()
) -> Ceiling | Skipped:
    """Return the ceiling of a network from its line rate and its largest packet.

    ``medium`` names the link's limit, e.g. ``Ethernet line rate``; ``coding``
    leads to that rate. Each rail has a host link of its own, unless ``Network.slots`` are fewer.
    Skipped if the rate or the MTU is unknown, or the packet has no room for payload.
    """
    reason, rate_bit_s = unknown(network), network.rate_bit_s
    if reason or isinstance(rate_bit_s, Skipped):
        return reason or Skipped(f"{network.name}: no line rate")
    payload, wire = packet.payload.value, packet.wire.value
    if payload <= 0:
        return Skipped(f"{network.name}: MTU {network.mtu_bytes} leaves no room for payload")
    rate, part = f"{gigabits_per_s(rate_bit_s)} ÷ 8 bit", f"{payload:g} ÷ {wire:g}"
    line = _step("line rate", f"{rate} ({network.rate_origin})", rate_bit_s / 8)
    share = CeilingStep("payload share of the wire", part, payload / wire, "share")
    limit = _step("ceiling", f"{line.value / 1e6:.2f} MB/s × {part}", line.value * share.value)
    named = f"{medium} of {network.name}, {gigabits_per_s(rate_bit_s, 6)}"
    host = pcie_link(network.host_link) if network.host_link else Skipped("it is not known")
    if isinstance(host, PcieCapacity) and 0 < network.slots < network.rails:
        last, binding = _shared_slots(network, limit, named, host)
    else:
        last, binding = _all_rails(network, _one_rail(network, limit, named, host))
    return Ceiling(
        network=network.name,
        payload_bytes_per_s=last[-1].value,
        payload_per_packet_bytes=int(payload),
        wire_bytes_per_packet=int(wire),
        burst_bytes=network.burst_bytes * network.rails,
        binding=binding,
        steps=(*coding, line, *packet.before, packet.payload, packet.wire, share, *last),
    )


def _step(label: str, expression: str, value: float) -> CeilingStep:
    return CeilingStep(label, expression, value, PER_DIRECTION)


def _one_rail(
    network: Network, link: CeilingStep, named: str, host: PcieCapacity | Skipped
) -> _Bound:
    """Return the smaller of link and host link."""
    if not network.host_link:
        return (link,), named
    if isinstance(host, Skipped):
        expression = f"{link.expression} (host link not counted: {host.reason})"
        return (_step("ceiling", expression, link.value),), named
    host_limit = host.payload_bytes_per_s
    smaller = (
        f"smaller of {link.value / 1e6:.2f} MB/s (one link) and {host_limit / 1e6:.2f} MB/s"
        f" ({host.name})"
    )
    least = _step("ceiling", smaller, min(link.value, host_limit))
    one_link = _step("one link", link.expression, link.value)
    binding = named if link.value <= host_limit else f"host link {host.name}"
    return (one_link, *host.limit_steps(), least), binding


def _all_rails(network: Network, rail: _Bound) -> _Bound:
    (*before, last), binding = rail
    if network.rails == 1:
        return rail
    unit = "link" if network.technology == "nvlink" else "rail"
    one_rail = _step(f"one {unit}", last.expression, last.value)
    expression = f"{network.rails} {unit}s × {last.value / 1e6:.2f} MB/s"
    total = _step("ceiling", expression, network.rails * last.value)
    return (*before, one_rail, total), f"{network.rails} {unit}s, each by {binding}"


def _shared_slots(network: Network, link: CeilingStep, named: str, host: PcieCapacity) -> _Bound:
    """Return the smaller of all links and their fewer slots, if ports share an adapter."""
    links, slots = network.rails * link.value, network.slots * host.payload_bytes_per_s
    all_rails = f"{network.rails} rails × {link.value / 1e6:.2f} MB/s"
    host_links = f"{network.slots} × {host.payload_bytes_per_s / 1e6:.2f} MB/s"
    smaller = f"smaller of {links / 1e6:.2f} MB/s (rails) and {slots / 1e6:.2f} MB/s ({host.name})"
    binding = f"{network.rails} rails, each by {named}"
    if slots < links:
        binding = f"host link {host.name}, {network.slots} for {network.rails} rails"
    steps = (
        _step("one rail", link.expression, link.value),
        _step("all rails", all_rails, links),
        *host.limit_steps(),
        _step("host links", host_links, slots),
        _step("ceiling", smaller, min(links, slots)),
    )
    return steps, binding


def pcie(network: Network) -> Ceiling | Skipped:
    """Return the most payload per direction; ``Network.link`` names the generation."""
    link = pcie_link(network.link)
    if isinstance(link, Skipped):
        return Skipped(f"{network.name}: {link.reason}")
    payload, wire = msgspec.structs.replace(link, payload_bytes=network.mtu_bytes).packet
    packet = Packet(payload, wire, (mtu_step(network, "MPS"),))
    return ceiling_of(network, "PCIe data rate", packet, link.coding_steps)
