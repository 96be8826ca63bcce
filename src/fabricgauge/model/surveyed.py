"""A survey of nodes: its bundle of raw answers, its conclusions, and the classes of like nodes."""

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.fabric import DeclaredNetwork, Fabric, Member, Network
from fabricgauge.model.finding import Finding
from fabricgauge.model.inventory import Inventory, Subnet


class BundleIndex(msgspec.Struct, frozen=True, tag_field="format", tag="fabricgauge-bundle"):
    """bundle.json: the nodes, the time, and the nodes without a complete answer.

    ``nodes`` are in the order of the request. ``troubles`` is a sentence for each node whose answer
    is missing or incomplete; ``declared`` are the networks that the launcher knew. A reader accepts
    every index of the same major version. A bundle that was put together by hand has no index.
    """

    version: str = "1.0"
    gathered_utc: str = ""
    program: str = ""
    launcher: str = ""
    virtual: bool = False
    declared: tuple[DeclaredNetwork, ...] = ()
    nodes: tuple[str, ...] = ()
    troubles: dict[str, str] = {}


class BundleContent(msgspec.Struct, frozen=True):
    """The content of a bundle; ``unread`` are files without a reader, each with the reason."""

    inventories: tuple[Inventory, ...]
    fabric: Fabric
    subnet: Subnet = Subnet()
    unread: tuple[str, ...] = ()


class Oddity(msgspec.Struct, frozen=True):
    """Nodes whose ``attribute`` differs from that of most nodes like them.

    ``value`` and ``usual`` are texts for a person, empty if the attribute is missing.
    ``usual_count`` is the number of like nodes with the usual value.
    """

    attribute: str
    value: str
    nodes: tuple[str, ...]
    usual: str
    usual_count: int


class Split(msgspec.Struct, frozen=True):
    """An attribute in which like nodes differ without a majority; nodes by value."""

    attribute: str
    values: tuple[tuple[str, tuple[str, ...]], ...]


class InterfaceNaming(msgspec.Struct, frozen=True):
    """The names that the kernels of like nodes give to one adapter's interface; nodes by name."""

    adapter: str
    names: tuple[tuple[str, tuple[str, ...]], ...]


class LikeNodes(msgspec.Struct, frozen=True):
    """A class of like nodes: ``traits`` are the values of most of them, in the report's order.

    ``example`` is a node with all traits, if one has all. ``names`` are the kernels' names of an
    adapter's interfaces, or of its RDMA devices, if all nodes use the same; ``namings`` are
    adapters with several names.
    """

    nodes: tuple[str, ...]
    example: str
    traits: dict[str, str]
    oddities: tuple[Oddity, ...]
    splits: tuple[Split, ...]
    namings: tuple[InterfaceNaming, ...]
    names: dict[str, str] = {}


class PortClass(msgspec.Struct, frozen=True):
    """Like RDMA ports; ``network`` represents one link of a port.

    A port is a member with device and number as interface (``mlx5_0:1``), without an address.
    """

    network: Network
    ports: tuple[Member, ...]


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
