"""Adapters and their RDMA ports, as read from a node or a printout.

Every value that the source lacks is a ``Skipped`` with the reason, never an empty guess.
Rates are per direction.
"""

import msgspec

from fabricgauge.model.absence import Skipped

#: Path MTUs of InfiniBand and RoCE in bytes (InfiniBand Architecture Specification Volume 1, 9.2).
PATH_MTUS = (256, 512, 1024, 2048, 4096)

#: One lane on the wire in bit/s by the name that the kernel gives its speed.
#: InfiniBand Architecture Specification Volume 2 Release 1.5; FDR10 is Mellanox's.
LANE_BIT_S: dict[str, float] = {
    "SDR": 2.5e9, "DDR": 5e9, "QDR": 10e9, "FDR10": 10.3125e9, "FDR": 14.0625e9,
    "EDR": 25.78125e9, "HDR": 53.125e9, "NDR": 106.25e9, "XDR": 212.5e9,
}  # fmt: skip

#: Bytes of an interface's MTU that Linux reserves for RoCE's headers: GRH 40, UDP 8, BTH 12, XRC 4,
#: atomics 28, ICRC 4 (include/rdma/ib_addr.h, iboe_get_mtu).
ROCE_HEADER_BYTES = 96


def roce_mtu(interface_mtu_bytes: int) -> int:
    """Return RoCE's largest path MTU in bytes within an interface's MTU; 0 if none fits."""
    room = interface_mtu_bytes - ROCE_HEADER_BYTES
    return max((mtu for mtu in PATH_MTUS if mtu <= room), default=0)


class PcieLink(msgspec.Struct, frozen=True, tag="pcie"):
    """A PCI Express link: giga-transfers per second of each lane (8.0), and its lanes (16)."""

    gt_s: float
    lanes: int

    def __str__(self) -> str:
        return f"{self.gt_s:g} GT/s x{self.lanes}"

    @property
    def data_bit_s(self) -> float:
        """Per direction: 8b/10b up to 5 GT/s, 128b/130b above (Base Specification 3.0)."""
        return self.gt_s * 1e9 * self.lanes * (0.8 if self.gt_s <= 5 else 128 / 130)


class LinkModes(msgspec.Struct, frozen=True, tag="modes"):
    """The rates that a port supports, advertises and gets from its partner; bit/s, ascending."""

    supported_bit_s: tuple[float, ...]
    advertised_bit_s: tuple[float, ...]
    partner_bit_s: tuple[float, ...]
    autonegotiation: bool | Skipped
    duplex: str | Skipped


class Adapter(msgspec.Struct, frozen=True):
    """One network adapter's function on a bus.

    ``bus`` is the PCI address ``0000:61:00.0``. ``product`` is the name in the PCI database
    if a tool knew it, else the numbers ``8086:1583``. ``kind`` is the technology of its ports:
    ``ethernet``, ``infiniband``, ``omni-path``, ``efa``,
    ``slingshot``; RoCE and iWARP adapters are ``ethernet`` with an RDMA device. ``interfaces``
    and ``rdma_devices`` are the kernel's names of the interfaces and devices on it.
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
    #: The arrangement of a QSFP+ adapter's lanes, e.g. ``1x40``; ``lane_modes`` are all possible.
    lane_mode: str | Skipped = Skipped("no source gave the lane mode")
    lane_modes: tuple[str, ...] = ()


class Gid(msgspec.Struct, frozen=True):
    """An address in a port's table. Programs select it by ``index``.

    ``kind`` is in the kernel's words (``RoCE v2``), ``address`` in eight groups of hexadecimal
    digits; an IPv4 address is mapped. ``interface`` is empty if no interface belongs to it.
    """

    index: int
    address: str
    interface: str
    kind: str


class Priorities(msgspec.Struct, frozen=True, tag="priorities"):
    """The marks on a RoCE port's packets, and the priorities that its interface maps them to.

    ``traffic_class`` is the device's, ``cm_tos`` that of rdma_cm's connections, 0 to 255: the octet
    in the IP header, DSCP above two bits of ECN. A device without a traffic class has ``UNSET``.
    ``pfc`` are the priorities with PFC. ``mapped`` are pairs of DSCP and priority; a DSCP may have
    several.
    """

    traffic_class: int | str | Skipped
    cm_tos: int | Skipped
    pfc: tuple[int, ...] | Skipped
    mapped: tuple[tuple[int, int], ...]

    def find_priorities(self, dscp: int) -> tuple[int, ...]:
        """Return the priorities of a DSCP; empty if only other DSCPs are mapped.

        Without any mapping it is the upper three bits: the default of adapters that trust DSCP.
        """
        if not self.mapped:
            return (dscp >> 3,)
        return tuple(priority for mapped_dscp, priority in self.mapped if mapped_dscp == dscp)


#: The traffic class of a device to which none was assigned.
UNSET = "unset"


class RdmaPort(msgspec.Struct, frozen=True):
    """One port of an RDMA device.

    ``link_layer`` is ``InfiniBand``, ``Ethernet`` or ``Omni-Path``; ``protocol`` is
    ``infiniband``, ``roce``, ``iwarp``, ``omni-path``, ``efa`` or ``slingshot``. ``state`` is
    ``ACTIVE``, ``INIT``, ``ARMED`` or ``DOWN``; ``physical`` the port's own word (``LinkUp``,
    ``Polling``, ``Offline``). Speeds are of one lane in bit/s on the wire; widths count lanes.
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
    #: The reason why it is offline, in the tool's words; empty if unknown.
    reason: str = ""
    #: The upper half of its first GID as 16 hexadecimal digits: ``fe80000000000000``.
    subnet_prefix: str | Skipped = Skipped("no source gave a GID")
    #: Partitions in hexadecimal (``0xffff``): the highest bit is full membership.
    pkeys: tuple[str, ...] = ()
    #: Distinct kinds of its GIDs in the kernel's words, e.g. ``RoCE v2``.
    gid_types: tuple[str, ...] = ()
    #: The first 16 used entries of its GID table.
    gids: tuple[Gid, ...] = ()
    #: The largest path MTU that the device has; ``mtu_bytes`` is the one in force.
    max_mtu_bytes: int | Skipped = Skipped("no source gave the largest MTU")
    priorities: Priorities | Skipped = Skipped("no source gave traffic class and priorities")

    @property
    def name(self) -> str:
        """``mlx5_0:1``, as its counters are called."""
        return f"{self.device}:{self.number}"

    @property
    def path_mtu_bytes(self) -> int | Skipped:
        """The MTU in force, if verbs report that of the link's packets.

        Verbs report at most 4096 for Omni-Path, even if the port has 10240 (Linux 6.12,
        drivers/infiniband/hw/hfi1/verbs.c, query_port). iWARP's packets are the interface's.
        """
        capped = self.protocol == "omni-path" and self.mtu_bytes == PATH_MTUS[-1]
        if self.protocol not in ("infiniband", "roce", "omni-path") or capped:
            return Skipped(f"verbs do not report the MTU of {self.protocol}")
        return self.mtu_bytes
