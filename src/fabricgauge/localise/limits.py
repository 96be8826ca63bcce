"""From when on something slow is called a fault."""

import msgspec

from fabricgauge.localise.slowness import level
from fabricgauge.model.pairs import Quantity


class Limits(msgspec.Struct, frozen=True):
    """Least effects of a fault, as shares: of bandwidth lost, of latency added.

    ``rate`` is the false-discovery rate at which things are named.
    """

    bandwidth: float = 0.10
    latency: float = 0.05
    rate: float = 0.01

    def slowness(self, quantity: Quantity) -> float:
        return level(self.latency if quantity == "latency" else self.bandwidth, quantity)


#: A fault at the limit itself is measured below it half of the time, and its link may be a little
#: better than the others' to begin with. It is named when so many standard errors more would reach
#: the limit.
REACH = 4.0
#: But never for less than this share of the limit.
LEAST = 0.5
