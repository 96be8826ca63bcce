"""What one node has: adapters, ports, GPUs, MPI stacks, limits; as the node or a printout says it.

Every value that a source did not give is a ``Skipped`` with the reason, never an empty guess.
Rates are per direction.
"""

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Interface, Node


class PcieLink(msgspec.Struct, frozen=True, tag="pcie"):
    """A PCI Express link: giga-transfers per second of each lane (8.0), and lanes (16)."""

    gt_s: float
    lanes: int


class LinkModes(msgspec.Struct, frozen=True, tag="modes"):
    """What a port can, offers and hears from its partner; rates in bit/s, ascending."""

    supported_bit_s: tuple[float, ...]
    advertised_bit_s: tuple[float, ...]
    partner_bit_s: tuple[float, ...]
    autonegotiation: bool | Skipped
    duplex: str | Skipped


class Adapter(msgspec.Struct, frozen=True):
    """One network adapter's function on a bus.

    ``bus`` is the PCI address ``0000:61:00.0``. ``product`` is the name in the PCI database
    where a tool knew it, else the numbers ``8086:1583``. ``kind`` is the technology of its
    ports in the field's word: ``ethernet``, ``infiniband``, ``omni-path``, ``efa``,
    ``slingshot``; RoCE and iWARP adapters are ``ethernet`` with an RDMA device. ``interfaces``
    and ``rdma_devices`` are the names that the kernel gave to what is on it.
    """

    bus: str | Skipped
    vendor: str | Skipped
    product: str | Skipped
    kind: str
    driver: str | Skipped
    driver_version: str | Skipped
    firmware: str | Skipped
    numa_node: int | Skipped
    pcie_now: PcieLink | Skipped
    pcie_capable: PcieLink | Skipped
    interfaces: tuple[str, ...] = ()
    rdma_devices: tuple[str, ...] = ()
    modes: LinkModes | Skipped = Skipped("no source gave the link modes")
    #: The arrangement of a QSFP+ adapter's lanes, ``1x40``, and those that it could have.
    lane_mode: str | Skipped = Skipped("no source gave the lane mode")
    lane_modes: tuple[str, ...] = ()


class RdmaPort(msgspec.Struct, frozen=True):
    """One port of an RDMA device.

    ``link_layer`` is ``InfiniBand``, ``Ethernet`` or ``Omni-Path``; ``protocol`` is
    ``infiniband``, ``roce``, ``iwarp``, ``omni-path`` or ``efa``. ``state`` is ``ACTIVE``,
    ``INIT``, ``ARMED`` or ``DOWN``; ``physical`` the port's own word (``LinkUp``, ``Polling``,
    ``Offline``). Speeds are of one lane in bit/s on the wire; widths count lanes.
    """

    device: str
    number: int
    link_layer: str
    protocol: str
    state: str | Skipped
    physical: str | Skipped
    rate_bit_s: float | Skipped
    lane_bit_s: float | Skipped
    lane_bit_s_enabled: tuple[float, ...]
    lane_bit_s_supported: tuple[float, ...]
    lanes: int | Skipped
    lanes_enabled: tuple[int, ...]
    lanes_supported: tuple[int, ...]
    lid: int | Skipped
    sm_lid: int | Skipped
    guid: str | Skipped
    mtu_bytes: int | Skipped
    interface: str | Skipped
    #: Why it is offline, in the tool's own words; empty where nothing said it.
    reason: str = ""


class Gpu(msgspec.Struct, frozen=True):
    """One GPU; ``links_bit_s`` are its NVLinks' rates per direction, one for each that is up."""

    index: int
    product: str
    bus: str
    numa_node: int | Skipped
    links_bit_s: tuple[float, ...]


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
    at hand. ``facts`` are further facts under the names in docs/reference/facts.md.
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
