"""A simulated cluster: its platform, its faults and its noise."""

from typing import Literal

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Topology

Way = Literal["out", "in"]
BOTH: tuple[Way, ...] = ("out", "in")


class Fault(msgspec.Struct, frozen=True):
    """One fault; ``text`` is its written form.

    ``names`` are its nodes, or the group of an ``uplink``. ``figures`` stand in the
    order of its form: factors and shares of a rate (0 to 1), deviations, times in seconds.
    ``ways`` are empty if the form has none. ``uplink`` is the number of a single link, from 0;
    None for all.
    """

    text: str
    kind: str
    names: tuple[str, ...]
    figures: tuple[float, ...]
    ways: tuple[Way, ...] = ()
    uplink: int | None = None

    def __str__(self) -> str:
        return self.text

    @property
    def nodes(self) -> tuple[str, ...]:
        """The named nodes; an uplink names none."""
        return () if self.kind == "uplink" else self.names


class Platform(msgspec.Struct, frozen=True):
    """A platform of SimGrid, with the facts that other folders need.

    ``xml`` is its file's text; ``path`` is the place of a user's file instead.
    ``nodes`` are its hosts in the order in which ranks are placed. ``rate_bit_s`` is that of a
    node's link per direction, as the file states it, with its ``origin``. ``overhead_s`` is
    the cost of a message at both ends together, outside the network.
    """

    name: str
    nodes: tuple[str, ...]
    rate_bit_s: float | Skipped
    origin: str
    overhead_s: float
    topology: Topology = Topology()
    xml: str = ""
    path: str = ""


#: 2^64 over the golden ratio: seeds of launches are far from those that people choose.
_GOLDEN = 0x9E3779B97F4A7C15


class Simulation(msgspec.Struct, frozen=True):
    """One simulated cluster.

    Each message takes 1 + ``noise`` × |z| as long as the platform has it, z standard normal;
    ``seed`` determines every z. The same values give the same figures to the last digit.
    """

    platform: Platform
    faults: tuple[Fault, ...] = ()
    seed: int = 1
    noise: float = 0.0

    def in_launch(self, number: int) -> "Simulation":
        """Return the same cluster with the noise of launch ``number``, 1 or more."""
        seed = (self.seed + (number - 1) * _GOLDEN) % 2**64
        return msgspec.structs.replace(self, seed=seed)
