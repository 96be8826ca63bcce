"""Classes of like nodes, and the differences of single nodes."""

import msgspec

from fabricgauge.model.fabric import Member, Network


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
