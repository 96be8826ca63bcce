"""Nodes that have the same, and what sets single ones apart."""

import msgspec

from fabricgauge.model.fabric import Member, Network


class Oddity(msgspec.Struct, frozen=True):
    """Nodes whose ``attribute`` differs from that of most nodes like them.

    ``value`` and ``usual`` are as a person reads them; empty where the thing is missing there.
    ``usual_count`` of the like nodes have the usual one.
    """

    attribute: str
    value: str
    nodes: tuple[str, ...]
    usual: str
    usual_count: int


class Split(msgspec.Struct, frozen=True):
    """An attribute in which like nodes differ with no majority: who has which value."""

    attribute: str
    values: tuple[tuple[str, tuple[str, ...]], ...]


class InterfaceNaming(msgspec.Struct, frozen=True):
    """What the kernels of like nodes call the interface of one and the same adapter."""

    adapter: str
    names: tuple[tuple[str, tuple[str, ...]], ...]


class LikeNodes(msgspec.Struct, frozen=True):
    """A class of like nodes: ``traits`` is what most of them have, in the order of a report.

    ``example`` is a node that has all of it, as far as there is one. ``names`` are what the
    kernels call an adapter's interfaces, else its RDMA devices, where all call them the same;
    ``namings`` are those that have several names.
    """

    nodes: tuple[str, ...]
    example: str
    traits: dict[str, str]
    oddities: tuple[Oddity, ...]
    splits: tuple[Split, ...]
    namings: tuple[InterfaceNaming, ...]
    names: dict[str, str] = {}


class PortClass(msgspec.Struct, frozen=True):
    """RDMA ports that are alike; ``network`` stands for one link of theirs.

    A port is a member whose interface is device and number (``mlx5_0:1``); it has no address.
    """

    network: Network
    ports: tuple[Member, ...]
