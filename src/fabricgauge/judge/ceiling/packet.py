"""The largest packet of a link, and the coding that determines the bits for packets.

A packet is its payload, and all bytes that occupy the link for it. A coding leads from lanes and
their signalling rate to the bits that remain for packets.
"""

import math
from collections.abc import Iterable

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import CeilingStep
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
