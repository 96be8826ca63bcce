"""The largest packet of a link, and the coding that leaves bits for packets.

A packet is payload, and all that the link is busy with for it. A coding leads from lanes and what
they signal to the bits that are left for packets.
"""

import math
from collections.abc import Iterable

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import CeilingStep
from fabricgauge.model.fabric import Network
from fabricgauge.words.figures import gigabits_per_s

#: Rates are alike but for what rounding leaves.
SAME_RATE = 1e-6

#: What a packet has beyond payload: its name and its size in bytes.
Part = tuple[str, int]


class Packet(msgspec.Struct, frozen=True):
    """``payload`` and ``wire`` of the largest packet, in bytes; ``before`` leads to them."""

    payload: CeilingStep
    wire: CeilingStep
    before: tuple[CeilingStep, ...] = ()


def unknown(network: Network) -> Skipped | None:
    """Why no ceiling of any technology can be worked out; None where one can."""
    if isinstance(network.rate_bit_s, Skipped):
        return Skipped(f"{network.name}: no line rate, so no ceiling: {network.rate_bit_s.reason}")
    if not network.members and isinstance(network.stated_mtu_bytes, Skipped):
        return Skipped(
            f"{network.name}: no members and none stated, so no MTU to work out a ceiling with"
        )
    if not network.rate_bit_s > 0:
        return Skipped(f"{network.name}: a line rate of {network.rate_bit_s:g} bit/s is none")
    return None


def mtu_step(network: Network, label: str = "MTU") -> CeilingStep:
    """The MTU in force, and who says so."""
    return CeilingStep(label, mtu_origin(network), network.mtu_bytes, "bytes")


def mtu_origin(network: Network) -> str:
    if isinstance(network.stated_mtu_bytes, Skipped):
        return "smallest of the members"
    if "mtu" in network.assumed:
        return "assumed: no port says it" if network.members else "assumed: not stated"
    return "the ports' active MTU" if network.members else network.rate_origin


def named(network: Network, what: str, field: str) -> str:
    """``what`` as a sum names it, marked where it was not stated."""
    return f"{what}, assumed: not stated" if field in network.assumed else what


def payload_step(start: int, taken: Iterable[Part]) -> CeilingStep:
    """What headers inside the MTU leave for payload; may be negative."""
    return _sum("payload per packet", start, "−", taken)


def wire_step(start: int, added: Iterable[Part]) -> CeilingStep:
    """All bytes that the link is busy with for one packet."""
    return _sum("wire bytes per packet", start, "+", added)


def _sum(label: str, start: int, sign: str, parts: Iterable[Part]) -> CeilingStep:
    given = [(what, size) for what, size in parts if size]
    expression = f"{start}" + "".join(f" {sign} {size} ({what})" for what, size in given)
    total = sum(size for _, size in given)
    return CeilingStep(label, expression, start + total if sign == "+" else start - total, "bytes")


def bare(network: Network, why: str) -> Packet:
    """A packet of a format that is not public: nothing is taken off its MTU."""
    size = network.mtu_bytes
    payload = CeilingStep("payload per packet", f"{size}", size, "bytes")
    wire = CeilingStep("wire bytes per packet", f"{size}; {why}", size, "bytes")
    return Packet(payload, wire, (mtu_step(network),))


class CodingShare(msgspec.Struct, frozen=True):
    """Of ``of`` bits on the lane ``kept`` are for packets; ``what`` takes the rest."""

    kept: int
    of: int
    what: str


class Coding(msgspec.Struct, frozen=True):
    """What one lane signals per second and which shares of it are for packets.

    ``unit`` is how the standard counts: ``Gb/s`` or, for transfers of one bit, ``GT/s``.
    """

    lane_bit_s: float
    shares: tuple[CodingShare, ...] = ()
    unit: str = "Gb/s"

    def data_bit_s(self, lanes: int) -> float:
        """The rate that packets get on ``lanes`` lanes, per direction."""
        rate = self.lane_bit_s * lanes
        for share in self.shares:
            rate = rate * share.kept / share.of
        return rate

    def steps(self, lanes: int) -> tuple[CeilingStep, ...]:
        """From the lane to the data rate, one step each."""
        unit, lane = "bit/s per direction", f"{self.lane_bit_s / 1e9:.10g} {self.unit}"
        rate_bit_s = self.lane_bit_s * lanes
        signalled = CeilingStep("signalling rate", f"{lanes} × {lane} per lane", rate_bit_s, unit)
        if not self.shares:
            return (signalled,)
        factors = "".join(f" × {one.kept} ÷ {one.of} ({one.what})" for one in self.shares)
        expression = f"{gigabits_per_s(rate_bit_s)}{factors}"
        return (signalled, CeilingStep("data rate", expression, self.data_bit_s(lanes), unit))

    def steps_to(self, network: Network, lanes: int) -> tuple[CeilingStep, ...]:
        """The same where they lead to the network's own rate, else none."""
        rate_bit_s = network.rate_bit_s
        agrees = not isinstance(rate_bit_s, Skipped) and math.isclose(
            self.data_bit_s(lanes), rate_bit_s, rel_tol=SAME_RATE
        )
        return self.steps(lanes) if agrees else ()
