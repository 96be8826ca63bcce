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

#: Clocks, rounding and protocol leave this much scatter even where a simulator repeats itself.
FLOOR = 0.002

#: A second measurement must show this share of the effect again (benchmarks/fault_detection.py).
CONFIRMED = 0.5
#: That it names somebody good, of all who are tested in a matrix together (Bonferroni).
CHANCE = 0.002
#: Fewer good pairs do not show how far good ones differ.
FEWEST_GOOD = 3

#: What a check uses.
USUAL_LIMITS = Limits()

#: Good partners of each suspect: one may turn out to be none, a third one decides.
PARTNERS = 3
#: So many good nodes meet each other: their pairs show how far good pairs differ.
CONTROLS = 5
#: Further suspects are left for another time: some minutes are what a check can spend on it.
MOST_SUSPECTS = 16
#: So many nodes stand for a suspect group.
NODES_OF_GROUP = 2
#: What every pair is measured again with; a claim's own size is added.
RECHECKED: tuple[tuple[Quantity, int], ...] = (("latency", 8), ("bandwidth", 1 << 20))
#: Launches of a second measurement of latencies that were measured in one pass: what a pair has
#: differs from launch to launch by how ranks fall on processors.
LATENCY_LAUNCHES = 2
