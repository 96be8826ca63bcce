"""The evidence in a run's records, as values that the rules and every report read."""

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.measurement import Placement
from fabricgauge.model.memory import CopyRates


class LaunchTraffic(msgspec.Struct, frozen=True):
    """One node over a launch's ok cases: payload of all its ranks, octets per interface.

    ``rank`` read the counters. ``by_tcp`` is true if TCP carried the payload; ``by_address`` are
    the bytes that the ranks' TCP connections sent, by local address. ``left_out`` are sentences on
    counters that could not be used. ``received_payload_bytes`` are those of cases in which only one
    other node can have sent them.
    """

    node: str
    rank: int
    payload_bytes: int
    sent_bytes: dict[str, int]
    received_bytes: dict[str, int]
    by_tcp: bool
    by_address: dict[str, int]
    left_out: tuple[str, ...]
    received_payload_bytes: int = 0

    @property
    def total_bytes(self) -> int:
        return sum(self.sent_bytes.values())


class ErrorCount(msgspec.Struct, frozen=True):
    """An error counter that rose by ``count`` while ``frames`` passed in its direction.

    ``model/words/port_counters.py`` lists the counters: errors, drops, pauses,
    congestion or retries.
    ``strays`` is the number that a quiet interface would have counted in that time.
    """

    node: str
    interface: str
    counter: str
    count: int
    frames: int
    strays: float = 0.0


class LostSegments(msgspec.Struct, frozen=True):
    """TCP segments of one direction: ``count`` of ``segments`` were lost and sent again."""

    origin: str
    target: str
    count: int
    segments: float

    @property
    def share(self) -> float:
        return self.count / self.segments if self.segments > 0 else 0.0


class MisplacedRank(msgspec.Struct, frozen=True):
    """A rank that ran on the wrong node; ``meant`` is the planned one.

    ``host`` is its host name, ``node`` its node's name, empty if discovery did not read that node.
    ``difference`` says how it differs from the planned node, empty if that is unknown. It is
    ``restarted`` if its name is right, and discovery read no node of its boot id.
    """

    rank: int
    host: str
    meant: str
    node: str = ""
    difference: str = ""
    restarted: bool = False


class LaunchPlacement(msgspec.Struct, frozen=True):
    """The nodes on which the ranks of a launch ran, and the faults of that placement.

    ``expected`` is the number of ranks that had to report their node. ``shared`` are groups of
    ranks that ran on one node and were meant for several, or all ranks if there was one node.
    ``machines`` are the first ranks of the nodes, grouped by boot id: one group for each machine.
    """

    launch: int
    ranks: tuple[Placement, ...]
    expected: int
    shared: tuple[tuple[Placement, ...], ...] = ()
    machines: tuple[tuple[Placement, ...], ...] = ()
    misplaced: tuple[MisplacedRank, ...] = ()


class InterfaceTraffic(msgspec.Struct, frozen=True):
    """One interface's traffic during the cases, in octets as the interface counts them.

    ``share`` is its part of all octets that the node sent, over all its interfaces. ``serves``
    names the networks that the interface belongs to; ``pinned`` is true if the launches were pinned
    to one of them.
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
    """A node's interfaces, busiest first; ``payload_bytes`` are the bytes that its ranks sent."""

    node: str
    payload_bytes: int
    crossings: tuple[InterfaceTraffic, ...]

    @property
    def pinned_share(self) -> float:
        """The share of the node's sent octets that went over the pinned network, 0 to 1."""
        shares = (crossing.share for crossing in self.crossings if crossing.pinned)
        return sum(share for share in shares if not isinstance(share, Skipped))


class Traffic(msgspec.Struct, frozen=True):
    """All launches that were pinned to the same network, or to none."""

    network: str | None
    launches: int
    nodes: tuple[NodeTraffic, ...]


class ForeignTraffic(msgspec.Struct, frozen=True):
    """Octets of other programs that crossed a node's links while cases measured.

    ``line_bytes`` are the octets that the links could carry per direction in that time.
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
        """The share of the busier direction."""
        return max(self.sent_share, self.received_share)


class WireShares(msgspec.Struct, frozen=True):
    """The uses of one direction of a link, as shares of its line rate; the sum is 1.

    ``mpi`` are the bytes that MPI adds to the payload: envelopes and control messages. ``other``
    are all further octets that the interface counted.
    """

    payload: float
    headers: float
    acknowledgements: float
    resent: float
    mpi: float
    other: float
    idle: float


class WireLedger(msgspec.Struct, frozen=True):
    """The use of the wire that leaves ``sender`` in a stream, over ``cases`` cases.

    The time is that of whole cases. It includes warm-up, agreement between blocks and control.
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
    """The evidence of one launch; ``figures`` is true if it measured anything."""

    launch: int
    figures: bool
    moved: tuple[LaunchTraffic, ...]
    placed: LaunchPlacement


class NetworkEvidence(msgspec.Struct, frozen=True):
    """All launches that were pinned to the same network, or to none.

    ``counted`` is true if interface counters were read. ``lost`` are the lost segments of the
    network's connections, or of all connections if the launches were not pinned.
    ``sent_again`` is the share of its segments that each node sent again while many pairs had
    streams at once; the link that lost them is unknown.
    ``largest_segments`` are the bytes of the largest segment of each member's busy connections, by
    ``node:interface``. ``over_tcp`` is true if TCP carried the payload. ``copies`` are the rates of
    copies between a node's host and its GPU, by node and size in bytes.
    """

    network: str | None
    launches: tuple[LaunchEvidence, ...] = ()
    traffic: Traffic | None = None
    troubles: tuple[ErrorCount, ...] = ()
    lost: tuple[LostSegments, ...] = ()
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
        """The traffic of the interfaces, by network; imported logs have none."""
        return tuple(evidence.traffic for evidence in self.networks if evidence.traffic is not None)

    @property
    def placed(self) -> tuple[LaunchPlacement, ...]:
        placements = (launch.placed for evidence in self.networks for launch in evidence.launches)
        return tuple(sorted(placements, key=lambda placed: placed.launch))

    def find_network(self, network: str | None) -> NetworkEvidence:
        """Return the evidence of one network; it is empty if no launch used the network."""
        matches = (evidence for evidence in self.networks if evidence.network == network)
        return next(matches, NetworkEvidence(network))
