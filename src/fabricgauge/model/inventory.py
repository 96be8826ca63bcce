"""What one node has: adapters, ports, GPUs, MPI stacks, limits; as the node or a printout says it.

Every value that a source did not give is a ``Skipped`` with the reason, never an empty guess.
Rates are per direction.
"""

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.adapter import Adapter as Adapter
from fabricgauge.model.adapter import Gid as Gid
from fabricgauge.model.adapter import LinkModes as LinkModes
from fabricgauge.model.adapter import PcieLink as PcieLink
from fabricgauge.model.adapter import RdmaPort as RdmaPort
from fabricgauge.model.fabric import Interface, Node


class Gpu(msgspec.Struct, frozen=True):
    """One GPU; ``links_bit_s`` are its NVLinks' rates per direction, one for each that is up.

    ``pcie_now`` is slower than the slot while the GPU is idle; its number of lanes is not.
    """

    index: int
    product: str
    bus: str
    numa_node: int | Skipped
    links_bit_s: tuple[float, ...]
    pcie_now: PcieLink | Skipped = Skipped("no source told its PCI Express link")
    pcie_capable: PcieLink | Skipped = Skipped("no source told its PCI Express link")


class GpuLink(msgspec.Struct, frozen=True):
    """What is between two GPUs, in nvidia-smi's words: NV4 (four NVLinks), PIX, PXB, …, SYS; or in
    rocm-smi's with the way's weight: XGMI 15, PCIE 72."""

    gpu: int
    other: int
    word: str


class Nearness(msgspec.Struct, frozen=True):
    """How far a GPU is from an adapter, in nvidia-smi's words: PIX, PXB, PHB, NODE, SYS."""

    gpu: int
    adapter: str
    distance: str


class Route(msgspec.Struct, frozen=True):
    """A line of a routing table; ``gateway`` is empty for a subnet on the link."""

    destination: str
    interface: str
    gateway: str
    source: str
    metric: int
    table: str = "main"


class RoutingRule(msgspec.Struct, frozen=True):
    """A line of the routing policy (``ip rule``): packets from ``source`` to ``destination``,
    subnets or ``all``, are looked up in ``table``. Lower priorities are asked first."""

    priority: int
    source: str
    destination: str
    table: str


class Stack(msgspec.Struct, frozen=True):
    """An MPI or provider that a node has: ``kind`` ``openmpi``, its version, where it is."""

    kind: str
    version: str
    path: str


class Inventory(msgspec.Struct, frozen=True):
    """One node with all that its answers say.

    ``node`` is what the quick probe knows; a ``Skipped`` where only printouts of single tools are
    at hand. ``facts`` are further facts under the names in docs/development/facts.md.
    ``troubles`` are sentences on what could not be read. ``sources`` names the sections or
    files behind it, so that a figure can be looked up in the bundle. ``routes`` are those of the
    main table.
    """

    name: str
    node: Node | Skipped
    adapters: tuple[Adapter, ...]
    rdma_ports: tuple[RdmaPort, ...]
    gpus: tuple[Gpu, ...]
    nearness: tuple[Nearness, ...]
    routes: tuple[Route, ...]
    stacks: tuple[Stack, ...]
    modules: tuple[str, ...]
    facts: dict[str, str]
    troubles: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    #: In the order in which they are asked; empty where nothing said them.
    rules: tuple[RoutingRule, ...] = ()
    #: Routes of other tables than the main one, which rules may name.
    tables: tuple[Route, ...] = ()

    @property
    def interfaces(self) -> tuple[Interface, ...]:
        """Those of the node; none where only printouts are at hand."""
        return () if isinstance(self.node, Skipped) else self.node.interfaces
