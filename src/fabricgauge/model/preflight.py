"""What a preflight looked at: inventories, and what the nodes could do to each other."""

from typing import Literal, get_args

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.connectivity import Connectivity
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.inventory import Inventory
from fabricgauge.model.subnet import Subnet

#: What nodes try: a few small echoes or many, echoes that fill a packet and echoes of many packets;
#: then what names mean, the time, counters of errors, and connections.
Trial = Literal["echoes", "losses", "wholes", "large", "names", "clocks", "counters", "connect"]
TRIALS: frozenset[Trial] = frozenset(get_args(Trial))


class Ping(msgspec.Struct, frozen=True):
    """Echo requests from one node's interface to an address of another's.

    ``payload_bytes`` are of the ICMP echo; ``whole`` forbids fragments on the way. Times in
    seconds, round trip. ``told`` is what ping printed last where nothing came back; ``heard``
    is whether the target's link answered ARP or neighbour discovery all the same.
    """

    network: str
    source: str
    source_interface: str
    source_ip: str
    target: str
    target_ip: str
    payload_bytes: int
    whole: bool
    sent: int
    received: int
    rtt_s: float | Skipped
    told: str = ""
    heard: bool = False


class Lookup(msgspec.Struct, frozen=True):
    """What a name means on a node; no addresses where it is not known there."""

    node: str
    name: str
    addresses: tuple[str, ...]


class Clock(msgspec.Struct, frozen=True):
    """A node's clock against the head's: it is ahead by ``low_s`` to ``high_s``."""

    node: str
    low_s: float
    high_s: float


class Rise(msgspec.Struct, frozen=True):
    """A counter of a node's interface or port that rose while the preflight looked."""

    node: str
    interface: str
    counter: str
    by: int
    seconds: float


class Preflight(msgspec.Struct, frozen=True):
    """Everything that the checks judge.

    What could not be tried is in ``untried``: a sentence under ``ping``, ``mtu``, ``names``,
    ``clocks``, ``counters`` or ``connect``. ``seconds`` is how long counters were watched.
    ``alike`` are the names of nodes that should be the same, class by class; empty where nobody
    sorted them. ``subnet`` is what printouts of a whole InfiniBand subnet say.
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
