"""What is to be measured: cases, grouped in launches of one MPI program each."""

from collections.abc import Iterable
from math import ceil
from typing import Literal

import msgspec

from fabricgauge.model.fabric import Network
from fabricgauge.model.pattern import ROUND_ROBIN_PATTERNS, Epoch, Load, Pattern

#: A suite's program whose name ends so sends from the second node to the first.
BACK = " back"


def rounds(ranks: int) -> int:
    """Number of rounds in which ``ranks`` all meet: N - 1, or N where N is odd; 0 below two."""
    return ranks - 1 + ranks % 2 if ranks > 1 else 0


def turns(pattern: Pattern, ranks: int, concurrent: int) -> int:
    """How many groups of pairs measure one after another in a round, both directions counted."""
    pairs = max(1, ranks // 2)
    return ceil(pairs / (concurrent or pairs)) * (2 if pattern == "all_pairs_bandwidth" else 1)


#: The end of the name of a case that makes a round of a round robin once more after all else.
CLOSING = "/closing"


class Case(msgspec.Struct, frozen=True):
    """One pattern at one message size; ``budget_s`` bounds its measuring time.

    Of a case of many ranks the first ``ranks`` take part, 0 for all. ``budget_s`` is that of the
    whole case; in a round robin that of one pair in one direction, and all pairs that measure at
    once spend it together. ``concurrent`` is how many pairs of a round measure at once, 0 for
    all; ``rounds`` are those to make, ascending, empty for all; ``pairs`` is how many pairs (or
    victims) measure, 0 for all.
    """

    name: str
    pattern: Pattern
    message_bytes: int
    window: int
    origin: int
    target: int
    budget_s: float
    ranks: int = 0
    pairs: int = 0
    concurrent: int = 0
    rounds: tuple[int, ...] = ()
    load: Load = "none"
    epoch: Epoch = "flush"
    threads: int = 1

    def round_s(self, ranks: int) -> float:
        """The longest that measuring may go without a record, in a launch of ``ranks``.

        A round robin writes one for each round, any other case one at its end.
        """
        if self.pattern not in ROUND_ROBIN_PATTERNS:
            return self.budget_s
        return turns(self.pattern, self.ranks or ranks, self.concurrent) * self.budget_s

    def longest_s(self, ranks: int) -> float:
        """The longest that its measuring may take in a launch of ``ranks``."""
        if self.pattern not in ROUND_ROBIN_PATTERNS:
            return self.budget_s
        return (len(self.rounds) or rounds(self.ranks or ranks)) * self.round_s(ranks)


#: What the plan asked for, or suspects that are measured once more, pair by pair.
Purpose = Literal["measure", "again"]


class Stopping(msgspec.Struct, frozen=True):
    """When a case has enough samples: relative half-width of the median's interval."""

    relative_half_width: float
    confidence: float


class PlannedLaunch(msgspec.Struct, frozen=True):
    """One start of the engine on ``nodes``, one rank per node in that order.

    ``network`` is the name of the network that MPI is pinned to, None to leave MPI
    its own choice. ``subnet`` is that network's subnet in CIDR form. Where it has none MPI is
    pinned to the RDMA ``ports`` (``mlx5_0:1``) of its ``technology``. ``program`` names what
    another suite starts instead of the engine; it has no ``cases``.
    """

    number: int
    network: str | None
    subnet: str | None
    nodes: tuple[str, ...]
    cases: tuple[Case, ...]
    program: str = ""
    purpose: Purpose = "measure"
    ports: tuple[str, ...] = ()
    technology: str = ""

    def pinned_to(self, network: Network | None) -> "PlannedLaunch":
        """The same launch on another network, or with MPI's own choice of one."""
        if network is None:
            return msgspec.structs.replace(self, network=None, subnet=None)
        on_ports = network.has_rdma_ports
        ports = dict.fromkeys(member.interface for member in network.members if on_ports)
        return msgspec.structs.replace(
            self, network=network.name, subnet=None if on_ports else network.subnet,
            ports=tuple(ports), technology=network.technology if on_ports else "",
        )  # fmt: skip

    @property
    def longest_s(self) -> float:
        """The longest that the measuring of all its cases may take."""
        return sum(case.longest_s(len(self.nodes)) for case in self.cases)


def renumber(launches: Iterable[PlannedLaunch], after: int = 0) -> tuple[PlannedLaunch, ...]:
    """The launches with the numbers that follow ``after``."""
    return tuple(
        msgspec.structs.replace(one, number=at) for at, one in enumerate(launches, after + 1)
    )


class Plan(msgspec.Struct, frozen=True):
    """A whole run: launches in the order in which they are to be started.

    ``tool`` is the suite whose programs measure; ``engine`` is our own, ``import`` is none.
    ``transport`` is what carries the engine's data: empty for MPI, else words of
    ``run.transports``. ``memory`` is where its buffers lie: empty for the host's, else a word of
    ``model.memory``; ``device`` is the GPU's number where one was named.
    """

    profile: str
    stopping: Stopping
    check_data: bool
    launches: tuple[PlannedLaunch, ...]
    tool: str = "engine"
    transport: str = ""
    memory: str = ""
    device: int | None = None

    @property
    def last(self) -> int:
        """The highest number that a launch has, 0 without any."""
        return max((launch.number for launch in self.launches), default=0)

    @property
    def budget_s(self) -> float:
        """The longest that the measuring itself may take."""
        return sum(launch.longest_s for launch in self.launches)
