"""What a simulated cluster consists of, whichever way it was described."""

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.topology import Topology


class Platform(msgspec.Struct, frozen=True):
    """A platform of SimGrid, and what the rest of the program has to know of it.

    ``xml`` is its file's text; ``path`` is where that file is instead, if it is a user's own.
    ``nodes`` are its hosts in the order in which ranks are placed. ``rate_bit_s`` is that of a
    node's link per direction, as the file states it; ``origin`` says who did. ``overhead_s`` is
    what a message costs both ends together, outside the network.
    """

    name: str
    nodes: tuple[str, ...]
    rate_bit_s: float | Skipped
    origin: str
    overhead_s: float
    topology: Topology = Topology()
    xml: str = ""
    path: str = ""
