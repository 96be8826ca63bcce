"""The input of a preflight: inventories, connections and other trials between the nodes."""

from typing import Literal, get_args

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Fabric, Node
from fabricgauge.model.inventory import Inventory, Subnet

#: Trials of the nodes: a few small echoes or many, echoes that fill a packet and echoes of many
#: packets; then name lookups, clocks, error counters, and connections.
Trial = Literal["echoes", "losses", "wholes", "large", "names", "clocks", "counters", "connect"]
TRIALS: frozenset[Trial] = frozenset(get_args(Trial))


class EchoPath(msgspec.Struct, frozen=True):
    """Echo requests from one node's interface to an address of another's.

    ``payload_bytes`` are those of the ICMP echo; ``whole`` forbids fragmentation.
    """

    network: str
    source: str
    interface: str
    source_ip: str
    target: str
    target_ip: str
    payload_bytes: int
    whole: bool


class Ping(EchoPath, frozen=True):
    """The answers to echo requests. Times are round trips in seconds.

    ``told`` is ping's last line if no echo came back; ``heard`` is true if the target's link still
    answered ARP or neighbour discovery.
    """

    sent: int
    received: int
    rtt_s: float | Skipped
    told: str = ""
    heard: bool = False


class Lookup(msgspec.Struct, frozen=True):
    """The addresses of a name on a node; empty if the node does not know it."""

    node: str
    name: str
    addresses: tuple[str, ...]


class Clock(msgspec.Struct, frozen=True):
    """A node's clock against the head's: it is ahead by ``low_s`` to ``high_s``."""

    node: str
    low_s: float
    high_s: float


class Rise(msgspec.Struct, frozen=True):
    """A counter of a node's interface or port that rose during the preflight."""

    node: str
    interface: str
    counter: str
    by: int
    seconds: float


class Head(msgspec.Struct, frozen=True):
    """The machine that starts ``mpiexec``; it is none of the nodes.

    ``wires`` are its interfaces with an address of a node on which other nodes answer.
    """

    node: Node
    wires: tuple[str, ...] = ()


#: ``no answer``: no connection in time. ``refused``: no program listened. ``error``: the kernel
#: reported an error, e.g. "No route to host". ``other node``: another node, or another program,
#: answered. ``no data``: connected, but no bytes arrived.
How = Literal["no answer", "refused", "error", "other node", "no data"]


class FailedConnection(msgspec.Struct, frozen=True):
    """A connection from ``source`` to ``target`` that carried nothing.

    ``said`` is the kernel's error, if any. ``answered_by`` is the node that answered instead of the
    target, if any.
    """

    source: str
    target: str
    source_ip: str
    target_ip: str
    how: How
    said: str = ""
    answered_by: str = ""


class Connectivity(msgspec.Struct, frozen=True):
    """One round over one network.

    ``tried`` is, by node, the number of other nodes that it was paired with, in both directions.
    ``silent`` are nodes that could not take part, with the reason: their connections are unknown.
    ``start_s`` is each node's time from the command until its program listened, if known; no
    connection is tried before.
    """

    network: str
    tried: dict[str, int]
    failures: tuple[FailedConnection, ...]
    silent: dict[str, str] = {}
    start_s: dict[str, float] = {}


class Preflight(msgspec.Struct, frozen=True):
    """The complete input of the checks.

    ``untried`` are trials that could not run: a sentence under ``ping``, ``mtu``, ``names``,
    ``clocks``, ``counters`` or ``connect``. ``seconds`` is the time that counters were watched.
    ``alike`` are the names of nodes that should be the same, class by class; empty if the nodes
    were not classified. ``subnet`` are the links and errors in printouts of an InfiniBand subnet.
    ``head`` is known if it has an address that a node has too.
    """

    fabric: Fabric
    inventories: tuple[Inventory, ...]
    pings: tuple[Ping, ...] = ()
    lookups: tuple[Lookup, ...] = ()
    clocks: tuple[Clock, ...] = ()
    rises: tuple[Rise, ...] = ()
    seconds: float = 0.0
    untried: dict[str, str] = {}
    alike: tuple[tuple[str, ...], ...] = ()
    connectivity: tuple[Connectivity, ...] = ()
    subnet: Subnet = Subnet()
    head: Head | None = None
