"""A survey as one JSON document for other programs."""

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.fabric import Network, Unreached
from fabricgauge.model.inventory import Inventory
from fabricgauge.model.likeness import LikeNodes, PortClass
from fabricgauge.model.surveyed import Surveyed

VERSION = "1.0"


class Document(msgspec.Struct, frozen=True, tag_field="format", tag="fabricgauge-discovery"):
    """Everything that was found; quantities are bytes and bit/s, as in the model.

    A reader accepts every document of the same major version.
    """

    version: str
    virtual: bool
    nodes: tuple[Inventory, ...]
    unreached: tuple[Unreached, ...]
    networks: tuple[Network, ...]
    ports: tuple[PortClass, ...]
    ceilings: dict[str, Ceiling | Skipped]
    classes: tuple[LikeNodes, ...]


def render(surveyed: Surveyed, _verbose: bool) -> str:
    """The document with one space per level."""
    document = Document(
        version=VERSION,
        virtual=surveyed.fabric.virtual,
        nodes=surveyed.inventories,
        unreached=surveyed.fabric.unreached,
        networks=surveyed.fabric.networks,
        ports=surveyed.ports,
        ceilings=surveyed.ceilings,
        classes=surveyed.classes,
    )
    return msgspec.json.format(msgspec.json.encode(document), indent=1).decode() + "\n"
