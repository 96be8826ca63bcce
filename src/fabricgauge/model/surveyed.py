"""A survey with its conclusions."""

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.finding import Finding
from fabricgauge.model.inventory import Inventory
from fabricgauge.model.likeness import LikeNodes, PortClass
from fabricgauge.model.subnet import Subnet


class BundleContent(msgspec.Struct, frozen=True):
    """The content of a bundle; ``unread`` are files without a reader, each with the reason."""

    inventories: tuple[Inventory, ...]
    fabric: Fabric
    subnet: Subnet = Subnet()
    unread: tuple[str, ...] = ()


class Surveyed(msgspec.Struct, frozen=True):
    """The nodes' inventories, their networks, the classes of like nodes, and the ceilings.

    ``ceilings`` are those of the fabric's networks and of ``ports``, by the network's name.
    ``limits`` are findings on adapters and ports that run below their possible rate. ``unread`` are
    files of a bundle without a reader.
    """

    inventories: tuple[Inventory, ...]
    fabric: Fabric
    classes: tuple[LikeNodes, ...]
    ports: tuple[PortClass, ...]
    ceilings: dict[str, Ceiling | Skipped]
    limits: tuple[Finding, ...] = ()
    unread: tuple[str, ...] = ()
