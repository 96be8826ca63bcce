"""From lanes and what they signal to the bits that are left for packets."""

import math

import msgspec

from fabricgauge.model.ceiling import Step


class Share(msgspec.Struct, frozen=True):
    """Of ``of`` bits on the lane ``kept`` are for packets; ``what`` takes the rest."""

    kept: int
    of: int
    what: str


class Coding(msgspec.Struct, frozen=True):
    """What one lane signals per second and which shares of it are for packets.

    ``unit`` is how the standard counts: ``Gb/s`` or, for transfers of one bit, ``GT/s``.
    """

    lane_bit_s: float
    shares: tuple[Share, ...] = ()
    unit: str = "Gb/s"

    def data_bit_s(self, lanes: int) -> float:
        """The rate that packets get on ``lanes`` lanes, per direction."""
        rate = self.lane_bit_s * lanes
        for share in self.shares:
            rate = rate * share.kept / share.of
        return rate

    def steps(self, lanes: int) -> tuple[Step, ...]:
        """From the lane to the data rate, one step each."""
        lane = f"{self.lane_bit_s / 1e9:.10g} {self.unit}"
        signalled = Step(
            "signalling rate", f"{lanes} × {lane} per lane", self.lane_bit_s * lanes,
            "bit/s per direction",
        )  # fmt: skip
        if not self.shares:
            return (signalled,)
        factors = "".join(f" × {one.kept} ÷ {one.of} ({one.what})" for one in self.shares)
        expression = f"{signalled.value / 1e9:.10g} Gb/s{factors}"
        data = Step("data rate", expression, self.data_bit_s(lanes), "bit/s per direction")
        return (signalled, data)


def same_rate(one_bit_s: float, other_bit_s: float) -> bool:
    """Whether two rates are alike but for what rounding leaves."""
    return math.isclose(one_bit_s, other_bit_s, rel_tol=1e-6)
