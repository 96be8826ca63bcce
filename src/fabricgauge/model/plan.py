"""The planned measurements: cases, grouped in launches of one MPI program each."""

from collections.abc import Iterable
from math import ceil
from typing import Literal

import msgspec

from fabricgauge.model.fabric import Network
from fabricgauge.model.pattern import (
    BUFFERED_PATTERNS,
    ROUND_ROBIN_PATTERNS,
    Buffers,
    Epoch,
    Load,
    Pattern,
)

#: The end of a suite program's name if it sends from the second node to the first.
BACK = " back"


def rounds(ranks: int) -> int:
    """Return the rounds in which all N ranks meet: N - 1, or N if N is odd; 0 below two."""
    return ranks - 1 + ranks % 2 if ranks > 1 else 0


def turns(pattern: Pattern, ranks: int, concurrent: int) -> int:
    """Return the number of consecutive groups of pairs in a round, over both directions."""
    pairs = max(1, ranks // 2)
    return ceil(pairs / (concurrent or pairs)) * (2 if pattern == "all_pairs_bandwidth" else 1)


#: The end of the name of a case that repeats a round of a round robin after all other cases.
CLOSING = "/closing"

#: Where all samples are waits for a processor, the engine goes on beyond a case's budget: with
#: messages up to that size, and so long (``stopping.hpp``).
LONGEST_WAITED_OUT_BYTES = 8192
LONGEST_EXTENSION_S = 3.0


class Case(msgspec.Struct, frozen=True):
    """One pattern at one message size; ``budget_s`` bounds its measuring time.

    In a case of many ranks the first ``ranks`` take part, 0 for all. ``budget_s`` is for the whole
    case; in a round robin it is for one pair in one direction, and concurrent pairs spend it
    together. ``concurrent`` is the number of pairs of a round that measure at once, 0 for all;
    ``rounds`` are the rounds to make, ascending, empty for all; ``pairs`` is the number of pairs
    (or victims) that measure, 0 for all. ``buffers`` are those of its messages at each end.
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
    buffers: Buffers = "fewest"

    def round_s(self, ranks: int) -> float:
        """Return the longest seconds between two records, in a launch of ``ranks``.

        A round robin writes a record for each round, any other case one at its end.
        """
        if self.pattern not in ROUND_ROBIN_PATTERNS:
            return self.budget_s
        return turns(self.pattern, self.ranks or ranks, self.concurrent) * self.budget_s

    def longest_s(self, ranks: int) -> float:
        """Return the longest seconds of its measurement in a launch of ``ranks``."""
        if self.pattern not in ROUND_ROBIN_PATTERNS:
            return self.budget_s
        return (len(self.rounds) or rounds(self.ranks or ranks)) * self.round_s(ranks)

    @property
    def extension_s(self) -> float:
        """The longest seconds beyond its budget if its ranks wait for a processor."""
        in_rounds = self.pattern in ROUND_ROBIN_PATTERNS
        if in_rounds or self.message_bytes > LONGEST_WAITED_OUT_BYTES:
            return 0.0
        return min(4 * self.budget_s, LONGEST_EXTENSION_S)


#: The planned cases, or a second measurement of suspects, pair by pair.
Purpose = Literal["measure", "again"]


class Stopping(msgspec.Struct, frozen=True):
    """The precision that ends a case: relative half-width of the median's interval."""

    relative_half_width: float
    confidence: float


class PlannedLaunch(msgspec.Struct, frozen=True):
    """One start of the engine on ``nodes``, one rank per node in that order.

    ``network`` is the name of the network that MPI is pinned to, None to let MPI choose.
    ``subnet`` is that network's subnet in CIDR form. If it has none, MPI is pinned to the RDMA
    ``ports`` (``mlx5_0:1``) of its ``technology``. ``program`` is another suite's program that
    replaces the engine; such a launch has no ``cases``.
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
        """Return the launch pinned to another network, or unpinned for None."""
        if network is None:
            return msgspec.structs.replace(self, network=None, subnet=None)
        by_ports = network.has_rdma_ports
        ports = dict.fromkeys(member.interface for member in network.members if by_ports)
        return msgspec.structs.replace(
            self, network=network.name, subnet=None if by_ports else network.subnet,
            ports=tuple(ports), technology=network.technology if by_ports else "",
        )  # fmt: skip

    def with_buffers(self, buffers: Buffers) -> "PlannedLaunch":
        if buffers == "fewest":
            return self
        replace = msgspec.structs.replace
        return replace(self, cases=tuple(
            replace(case, buffers=buffers) if case.pattern in BUFFERED_PATTERNS else case
            for case in self.cases
        ))  # fmt: skip

    @property
    def longest_s(self) -> float:
        """The longest seconds that all its cases may take."""
        return sum(case.longest_s(len(self.nodes)) for case in self.cases)

    @property
    def extension_s(self) -> float:
        """The longest seconds beyond that if ranks wait for a processor in each case."""
        return sum(case.extension_s for case in self.cases)


def renumber(launches: Iterable[PlannedLaunch], after: int = 0) -> tuple[PlannedLaunch, ...]:
    """Return the launches with consecutive numbers after ``after``."""
    return tuple(
        msgspec.structs.replace(launch, number=number)
        for number, launch in enumerate(launches, after + 1)
    )


class Plan(msgspec.Struct, frozen=True):
    """A whole run: launches in the order of their start.

    ``tool`` is the suite whose programs measure: ``engine`` is fabricgauge's engine, ``import``
    starts no program. ``transport`` carries the engine's data: empty for MPI, else words of
    ``run.transports``. ``memory`` is the memory of its buffers: empty for the host's, else a word
    of ``model.memory``; ``device`` is the requested GPU's number, if any. ``left_out`` says in
    sentences which usual cases are not planned, and why.
    """

    profile: str
    stopping: Stopping
    check_data: bool
    launches: tuple[PlannedLaunch, ...]
    tool: str = "engine"
    transport: str = ""
    memory: str = ""
    device: int | None = None
    left_out: tuple[str, ...] = ()

    @property
    def last(self) -> int:
        """The highest number of a launch, 0 without launches."""
        return max((launch.number for launch in self.launches), default=0)

    @property
    def buffers(self) -> Buffers:
        """The buffers of messages; the fewest if no case has another choice."""
        cases = (case for launch in self.launches for case in launch.cases)
        return next((case.buffers for case in cases if case.buffers != "fewest"), "fewest")

    @property
    def budget_s(self) -> float:
        """The longest seconds of all measurements."""
        return sum(launch.longest_s for launch in self.launches)
