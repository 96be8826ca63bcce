"""One node's adapters, ports, GPUs, MPI stacks and limits, as read from it or from printouts.

Every value that the source lacks is a ``Skipped`` with the reason, never an empty guess.
Rates are per direction. A whole InfiniBand subnet is as its diagnostic tools print it: rates are in
bit/s of one lane on the wire, as in ``RdmaPort``.
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
    pcie_now: PcieLink | Skipped = Skipped("no source gave its PCI Express link")
    pcie_capable: PcieLink | Skipped = Skipped("no source gave its PCI Express link")


class GpuLink(msgspec.Struct, frozen=True):
    """The link between two GPUs in the tool's words.

    nvidia-smi prints NV4 (four NVLinks), PIX, PXB, …, SYS; rocm-smi prints the type and the weight
    of the link: XGMI 15, PCIE 72.
    """

    gpu: int
    other: int
    word: str


class Nearness(msgspec.Struct, frozen=True):
    """A GPU's distance from an adapter in nvidia-smi's words: PIX, PXB, PHB, NODE, SYS."""

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
    """A line of the routing policy (``ip rule``).

    Packets from ``source`` to ``destination`` (subnets or ``all``) use ``table``. Rules apply in
    ascending order of ``priority``.
    """

    priority: int
    source: str
    destination: str
    table: str


class Stack(msgspec.Struct, frozen=True):
    """An MPI or provider on a node: ``kind`` (``openmpi``), its version, and its path."""

    kind: str
    version: str
    path: str


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """The values of a printout, a section, or all of a node; empty if they are not mentioned.

    ``routes`` are those of the main table, ``tables`` those of all others, which ``rules`` may
    name; rules are in the order in which they apply. ``facts`` are further facts under the names in
    docs/development/facts.md. ``troubles`` are sentences on values that could not be read.
    ``printed_interfaces`` are those of ``ip addr``.
    """

    adapters: tuple[Adapter, ...] = ()
    rdma_ports: tuple[RdmaPort, ...] = ()
    gpus: tuple[Gpu, ...] = ()
    nearness: tuple[Nearness, ...] = ()
    gpu_links: tuple[GpuLink, ...] = ()
    routes: tuple[Route, ...] = ()
    rules: tuple[RoutingRule, ...] = ()
    tables: tuple[Route, ...] = ()
    stacks: tuple[Stack, ...] = ()
    modules: tuple[str, ...] = ()
    printed_interfaces: tuple[Interface, ...] = ()
    facts: dict[str, str] = {}
    troubles: tuple[str, ...] = ()


class Inventory(Parts, frozen=True):
    """One node with all values of its answers.

    ``node`` is the result of the quick probe, a ``Skipped`` if there are only printouts of single
    tools; its interfaces have more weight than printed ones. ``sources`` are the sections or files
    that were read, so that a reader can look up a figure in the bundle.
    """

    name: str
    node: Node | Skipped
    sources: tuple[str, ...] = ()

    @property
    def interfaces(self) -> tuple[Interface, ...]:
        """The interfaces of the node; if it was not asked, those of a printout."""
        return self.printed_interfaces if isinstance(self.node, Skipped) else self.node.interfaces

    @property
    def printed_node(self) -> Node:
        """The part of a node that was not asked which printouts show."""
        return Node(
            self.name, "", "", "", 0, "", self.printed_interfaces, {},
            adapters=self.adapters, rdma_ports=self.rdma_ports,
        )  # fmt: skip


class SubnetPort(msgspec.Struct, frozen=True):
    """A port by its node's GUID in hexadecimal, its description (``n2 mlx5_0``) and its number.

    The GUID is empty if the tool does not print it.
    """

    guid: str
    description: str
    number: int
    switch: bool = False

    @property
    def name(self) -> str:
        """``n2 mlx5_0 port 1``."""
        return f"{self.description or self.guid} port {self.number}"


class SubnetLink(msgspec.Struct, frozen=True):
    """A link that is up, from ``port`` to ``peer``.

    The supported values are those that both ends support, if larger than the active ones; otherwise
    they equal the active ones.
    """

    port: SubnetPort
    peer: SubnetPort
    lanes: int
    lane_bit_s: float
    lanes_supported: int
    lane_bit_s_supported: float

    @property
    def rate_bit_s(self) -> float:
        return self.lanes * self.lane_bit_s

    @property
    def rate_supported_bit_s(self) -> float:
        return self.lanes_supported * self.lane_bit_s_supported


class PortErrors(msgspec.Struct, frozen=True):
    """A port's counts since its counters were cleared, by the tool's names."""

    port: SubnetPort
    counters: dict[str, int]


class Subnet(msgspec.Struct, frozen=True):
    """All links and errors that were read; each link once for each printed end.

    ``read`` are the kinds of printout that were read (``links``, ``errors``). They distinguish a
    subnet without errors from one whose errors are unknown.
    """

    links: tuple[SubnetLink, ...] = ()
    errors: tuple[PortErrors, ...] = ()
    read: frozenset[str] = frozenset()
