"""Have RDMA ports one path MTU, the largest that device and interface allow? pure.

A RoCE port takes it from its interface's MTU, an InfiniBand port from the subnet manager.
"""

from collections import Counter
from collections.abc import Iterator

from fabricgauge.doctor.check import found
from fabricgauge.doctor.places import Cluster, Port, by_network
from fabricgauge.model.absence import Skipped
from fabricgauge.model.adapter import roce_mtu
from fabricgauge.model.fabric import Interface
from fabricgauge.model.finding import Command, Finding, Severity

MANAGED = (
    "look at MtuCap and NeighborMTU of both ends of its link (smpquery portinfo LID PORT) and at"
    " what the subnet or fabric manager allows: the smaller end of each link counts"
)
AGAIN = (
    "take the interface down and up, or load its driver again: a RoCE port takes its MTU from the"
    " interface as that comes up"
)
ALIKE = "set the interface's MTU as on the other nodes, here and where it is configured"
JUMBO = (
    "set the MTU of the interfaces, and of the switch's ports on the way, to 4200 or 9000: RDMA"
    " packets then carry 4096"
)


class PathEnd(Port, frozen=True, kw_only=True):
    """A port in a network of ports, with the path MTU in force and what it could be, in bytes.

    ``device`` is the device's largest, ``room`` what the interface's MTU leaves; ``mtu`` where
    that is not known. Of InfiniBand nothing else bounds it.
    """

    interface: Interface | Skipped
    mtu: int
    device: int
    room: int

    @property
    def most(self) -> int:
        return min(self.device, self.room)

    @property
    def told(self) -> str:
        over = ""
        if isinstance(self.interface, Interface):
            over = f"; MTU {self.interface.mtu_bytes} of {self.interface.name}"
        return f"{self.where}: active MTU {self.mtu}, largest {self.device}{over}"


def path_ends(cluster: Cluster) -> tuple[tuple[PathEnd, ...], ...]:
    """The ports whose path MTU is known, by network."""
    groups = (tuple(filter(None, map(_end, ports))) for ports in cluster.joined_ports())
    return tuple(filter(None, groups))


def _end(one: Port) -> PathEnd | None:
    port = one.port
    if isinstance(mtu := port.path_mtu_bytes, Skipped):
        return None
    device = port.max_mtu_bytes if isinstance(port.max_mtu_bytes, int) else mtu
    interface = one.seen.node.interface(str(port.interface))
    room = device
    if port.protocol == "roce":
        room = mtu if isinstance(interface, Skipped) else roce_mtu(interface.mtu_bytes)
    return PathEnd(
        one.seen, port, one.net, interface=interface, mtu=mtu, device=device, room=room
    )  # fmt: skip


def path_mtus(cluster: Cluster) -> Iterator[Finding]:
    """An interface with another MTU than its network is reported, and its port is not."""
    differing = {
        (end.seen.name, end.interface.name)
        for members in by_network(cluster.ends)
        if len({end.interface.mtu_bytes for end in members}) > 1
        for end in members
    }
    for ends in path_ends(cluster):
        counts = Counter(one.mtu for one in ends)
        usual = max(counts, key=lambda mtu: (counts[mtu], mtu))
        like = next(one for one in ends if one.mtu == usual)
        for end in ends:
            follows = end.mtu >= end.most and (end.seen.name, end.port.interface) in differing
            if end.mtu != usual and not follows:
                yield _unlike(end, like)
            elif end.mtu < end.most or (end.mtu < end.device and not follows):
                yield _below(end)


def _unlike(end: PathEnd, like: PathEnd) -> Finding:
    others = f"other ports of {end.net}" if end.net else "like ports"
    what = f"has an active MTU of {end.mtu}, {others} have {like.mtu}"
    remedy, mends = MANAGED, list[Command]()
    if end.port.protocol == "roce":
        remedy = AGAIN if end.mtu < end.most else ALIKE
    if remedy == ALIKE and isinstance(like.interface, Interface):
        mtu = str(like.interface.mtu_bytes)
        argv = ("ip", "link", "set", "dev", str(end.port.interface), "mtu", mtu)
        mends = [Command(end.seen.name, argv)]
    return found(Severity.WARN, end, what, end.told, like.told, remedy=remedy, mends=mends)


def _below(end: PathEnd) -> Finding:
    """As all others are. Of InfiniBand the switch may have no more."""
    severity, remedy = Severity.NOTE, MANAGED
    why = f"though its device allows {end.device}"
    if end.port.protocol == "roce":
        severity, remedy = Severity.WARN, AGAIN
        why = f"though its device and interface allow {end.most}"
    if end.mtu >= end.most:
        severity, remedy = Severity.NOTE, JUMBO
        why = f"of {end.device}: its interface's MTU leaves no more"
        if isinstance(end.interface, Skipped):
            why = f"of {end.device}: its interface's MTU may leave no more"
    return found(severity, end, f"has an active MTU of {end.mtu}, {why}", end.told, remedy=remedy)
