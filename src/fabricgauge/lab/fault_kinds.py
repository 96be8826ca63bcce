"""What can be made wrong with a lab: one value for each kind of fault."""

from typing import Literal

import msgspec

Direction = Literal["in", "out", "both"]


class _OnLink(msgspec.Struct, frozen=True):
    node: str
    network: str


class LinkDown(_OnLink, frozen=True, tag="link-down"):
    """A pulled cable between a node and the switch of a network."""


class RateLimit(_OnLink, frozen=True, tag="rate"):
    """A link that carries less than its nominal rate; ``direction`` as the node sees it.

    The node's own settings stay nominal: nothing on it shows the fault.
    """

    rate_bit_s: float
    direction: Direction = "both"


class PortRate(_OnLink, frozen=True, tag="port-rate"):
    """A port that came up at a lower rate, and says so: the node's own bucket is lowered."""

    rate_bit_s: float


class MtuChange(_OnLink, frozen=True, tag="mtu"):
    """A node's interface with an MTU of its own, in bytes."""

    mtu_bytes: int


class AddressChange(_OnLink, frozen=True, tag="address"):
    """A node's interface with another address, ``IP/LENGTH``, instead of its own.

    Another node's address makes a duplicate, a short length makes subnets overlap.
    """

    address: str


class HostsEntry(_OnLink, frozen=True, tag="hosts"):
    """On ``node``, the names of node ``name`` in a network mean ``ip``."""

    name: str
    ip: str


class Loss(_OnLink, frozen=True, tag="loss"):
    """A link that loses frames at random: ``share`` of them, 0 to 1, in each direction."""

    share: float


class StrayFrames(_OnLink, frozen=True, tag="drops"):
    """Frames of a protocol that the node does not know, so that it drops them; per second."""

    per_s: float


class MemoryLock(msgspec.Struct, frozen=True, tag="memlock"):
    """What a program on the node may lock in memory, in bytes; it belongs to no network."""

    node: str
    limit_bytes: int
    network: str = ""


Fault = (
    LinkDown | RateLimit | PortRate | MtuChange | AddressChange | HostsEntry | Loss | StrayFrames
    | MemoryLock
)  # fmt: skip
