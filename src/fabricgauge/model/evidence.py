"""What a run's records say happened, as values: told once, read by the rules and every report."""

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.measurement import Placement
from fabricgauge.model.memory import CopyRates


class Moved(msgspec.Struct, frozen=True):
    """One node over a launch's ok cases: payload of all its ranks, octets per interface.

    ``rank`` read the counters. ``by_tcp`` is whether TCP carried the payload, ``by_address`` is
    what the ranks' TCP connections sent, by local address. ``left_out`` says which counters could
    not be used, and why.
    """

    node: str
    rank: int
    payload_bytes: int
    sent_bytes: dict[str, int]
    received_bytes: dict[str, int]
    by_tcp: bool
    by_address: dict[str, int]
    left_out: tuple[str, ...]

    @property
    def total_bytes(self) -> int:
        return sum(self.sent_bytes.values())


class ErrorCount(msgspec.Struct, frozen=True):
    """A counter of trouble that rose by ``count`` while ``frames`` passed that way.

    ``words/port_counters.py`` says what it counts: errors, drops, pauses, congestion or retries.
    ``strays`` is how many of them a quiet interface would have counted in that time.
    """

    node: str
    interface: str
    counter: str
    count: int
    frames: int
    strays: float = 0.0


class Lost(msgspec.Struct, frozen=True):
    """TCP segments of one direction: ``count`` of ``segments`` did not arrive at first."""

    origin: str
    target: str
    count: int
    segments: float

    @property
    def share(self) -> float:
        return self.count / self.segments if self.segments > 0 else 0.0


class Misplaced(msgspec.Struct, frozen=True):
    """A rank that ran on another node than the one that it was meant for."""

    rank: int
    host: str
    meant: str


class Placed(msgspec.Struct, frozen=True):
    """Where the ranks of a launch ran, by rank, and what that shows.

    ``expected`` is how many ranks had to say where they ran. ``shared`` are the ranks of each
    node on which several ran that were meant for several nodes, or all ranks on the only one.
    ``machines`` are the first ranks of the nodes, by boot id: nodes of one machine stand together.
    """

    launch: int
    ranks: tuple[Placement, ...]
    expected: int
    shared: tuple[tuple[Placement, ...], ...] = ()
    machines: tuple[tuple[Placement, ...], ...] = ()
    misplaced: tuple[Misplaced, ...] = ()


class InterfaceTraffic(msgspec.Struct, frozen=True):
    """One interface's traffic during the cases, in octets as the interface counts them.

    ``share`` is that of everything the node sent, over all its interfaces. ``serves``
    names the networks that the interface belongs to; ``pinned`` is whether the launches
    were pinned to one of them.
    """

    interface: str
    serves: tuple[str, ...]
    pinned: bool
    sent_bytes: int
    received_bytes: int
    share: float | Skipped
    errors: int
    dropped: int


class NodeTraffic(msgspec.Struct, frozen=True):
    """A node's interfaces, busiest first; ``payload_bytes`` is what all its ranks sent."""

    node: str
    payload_bytes: int
    crossings: tuple[InterfaceTraffic, ...]

    @property
    def pinned_share(self) -> float:
        """How much of what the node sent went over the network that was meant, 0 to 1."""
        shares = (one.share for one in self.crossings if one.pinned)
        return sum(share for share in shares if not isinstance(share, Skipped))


class Traffic(msgspec.Struct, frozen=True):
    """All launches that were pinned to the same network, or to none."""

    network: str | None
    launches: int
    nodes: tuple[NodeTraffic, ...]


class ForeignTraffic(msgspec.Struct, frozen=True):
    """Octets of others that crossed a node's links while cases measured.

    ``line_bytes`` is what the links could have carried per direction in that time.
    """

    node: str
    sent_bytes: int
    received_bytes: int
    line_bytes: float

    @property
    def sent_share(self) -> float:
        """Share of the line rate, 0 to 1."""
        return self.sent_bytes / self.line_bytes

    @property
    def received_share(self) -> float:
        """Share of the line rate, 0 to 1."""
        return self.received_bytes / self.line_bytes

    @property
    def share(self) -> float:
        """That of the busier direction."""
        return max(self.sent_share, self.received_share)


class WireShares(msgspec.Struct, frozen=True):
    """What one direction of a link was used for, as shares of its line rate; the sum is 1.

    ``mpi`` is what MPI adds to the payload: envelopes and its own messages. ``other`` is what the
    interface counted beyond all that.
    """

    payload: float
    headers: float
    acknowledgements: float
    resent: float
    mpi: float
    other: float
    idle: float


class WireLedger(msgspec.Struct, frozen=True):
    """Where the time of the wire that leaves ``sender`` went in a stream, over ``cases`` cases.

    It is that of whole cases, warm-up, agreements between blocks and control included.
    """

    network: str
    pattern: str
    message_bytes: int
    origin: str
    target: str
    sender: str
    cases: int
    shares: WireShares


class LaunchEvidence(msgspec.Struct, frozen=True):
    """What one launch's counters and ranks show; ``figures`` is whether anything was measured."""

    launch: int
    figures: bool
    moved: tuple[Moved, ...]
    placed: Placed


class NetworkEvidence(msgspec.Struct, frozen=True):
    """All launches that were pinned to the same network, or to none.

    ``counted`` is whether interface counters were read at all. ``lost`` are the segments of the
    network's own connections, of all connections where no network was meant.
    ``sent_again`` is the share of its segments that each node sent again where many pairs had
    streams at once: on which way they were lost, nothing tells.
    ``largest_segments`` are the bytes of the largest segment of each member's busy connections, by
    ``node:interface``. ``over_tcp`` is whether TCP carried the payload. ``copies`` are what copies
    between a node's host and its GPU carry, by node and size in bytes.
    """

    network: str | None
    launches: tuple[LaunchEvidence, ...] = ()
    traffic: Traffic | None = None
    troubles: tuple[ErrorCount, ...] = ()
    lost: tuple[Lost, ...] = ()
    sent_again: dict[str, float] = {}
    largest_segments: dict[str, int] = {}
    counted: bool = False
    over_tcp: bool = False
    copies: dict[str, dict[int, CopyRates]] = {}


class RunEvidence(msgspec.Struct, frozen=True):
    """One entry per network that launches were pinned to, in the launches' order."""

    networks: tuple[NetworkEvidence, ...] = ()

    @property
    def traffic(self) -> tuple[Traffic, ...]:
        """What the interfaces carried, of all that we measured ourselves."""
        return tuple(one.traffic for one in self.networks if one.traffic is not None)

    @property
    def placed(self) -> tuple[Placed, ...]:
        """Where ranks ran, by launch."""
        each = (launch.placed for one in self.networks for launch in one.launches)
        return tuple(sorted(each, key=lambda one: one.launch))

    def of(self, network: str | None) -> NetworkEvidence:
        """That of one network; without any where nothing was started on it."""
        found = (one for one in self.networks if one.network == network)
        return next(found, NetworkEvidence(network))
