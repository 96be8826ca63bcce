"""What Amazon's Elastic Fabric Adapter can carry per direction: the rate of its cards.

The packets of SRD and what the cloud wraps them in are not public, so nothing is taken off.
Instances with several cards (p4d has 4, p5 has 32 of 100 Gb/s) are several rails.

Sources: Amazon EC2 documentation, network specifications of accelerated and HPC instances
(cards and Gb/s); "Network MTU" there (9001). The tutorial has 100 Gb/s (first generation, 2018),
170 Gb/s (second, 2020) and 200 Gb/s (third, 2022). 400 Gb/s: p6-b200 (8 cards, 3200 Gb/s).
"""

from fabricgauge.ceiling.binding import ceiling_of
from fabricgauge.ceiling.packet import bare, unknown
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.fabric import Network

#: Rate of one card in bit/s.
CARDS: dict[str, float] = {
    "EFA-100": 100e9, "EFA-170": 170e9, "EFA-200": 200e9, "EFA-400": 400e9,
}  # fmt: skip

USUAL_MTU = 9001

_NOT_PUBLIC = "the packets' format is not public, nothing is taken off"


def ceiling(network: Network) -> Ceiling | Skipped:
    """The line rate of the cards: too high by what packets need, never too low."""
    return unknown(network) or ceiling_of(
        network, "EFA line rate (headers not taken off)", bare(network, _NOT_PUBLIC)
    )
