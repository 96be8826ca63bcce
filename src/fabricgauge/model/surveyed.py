"""A survey with all that follows from it."""

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.inventory import Inventory
from fabricgauge.model.likeness import LikeNodes, PortClass


class Surveyed(msgspec.Struct, frozen=True):
    """Nodes in full, the networks that join them, who is like whom, what is possible.

    ``ceilings`` are those of the fabric's networks and of ``ports``, by the network's name.
    """

    inventories: tuple[Inventory, ...]
    fabric: Fabric
    classes: tuple[LikeNodes, ...]
    ports: tuple[PortClass, ...]
    ceilings: dict[str, Ceiling | Skipped]
