"""What the interfaces of a run's nodes carried: the account that stands beside the path proof."""

import msgspec

from fabricgauge.model.absence import Skipped


class Crossing(msgspec.Struct, frozen=True):
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
    crossings: tuple[Crossing, ...]

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
