"""A survey with all that follows from it."""

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.finding import Finding
from fabricgauge.model.inventory import Inventory
from fabricgauge.model.likeness import LikeNodes, PortClass
from fabricgauge.model.subnet import Subnet


class BundleContent(msgspec.Struct, frozen=True):
    """All that a bundle holds; ``unread`` are files that nothing reads, each with the reason."""

    inventories: tuple[Inventory, ...]
    fabric: Fabric
    subnet: Subnet = Subnet()
    unread: tuple[str, ...] = ()


class Surveyed(msgspec.Struct, frozen=True):
    """Nodes in full, the networks that join them, who is like whom, what is possible.

    ``ceilings`` are those of the fabric's networks and of ``ports``, by the network's name.
    ``limits`` are what holds adapters and ports below what they could carry, ``unread`` files of a
    bundle that nothing reads.
    """

    inventories: tuple[Inventory, ...]
    fabric: Fabric
    classes: tuple[LikeNodes, ...]
    ports: tuple[PortClass, ...]
    ceilings: dict[str, Ceiling | Skipped]
    limits: tuple[Finding, ...] = ()
    unread: tuple[str, ...] = ()
