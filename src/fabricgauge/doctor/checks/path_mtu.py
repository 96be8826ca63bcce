"""Do RDMA ports have one path MTU, the largest that device and interface allow? pure.

A RoCE port takes it from its interface's MTU, an InfiniBand port from the subnet manager.
"""

from collections import Counter
from collections.abc import Iterator

from fabricgauge.doctor.checks import make_finding
from fabricgauge.doctor.places import Cluster, Port, group_by_network
from fabricgauge.model.absence import Skipped
from fabricgauge.model.adapter import roce_mtu
from fabricgauge.model.fabric import Interface
from fabricgauge.model.finding import Command, Finding, Severity

MANAGED = (
    "look at MtuCap and NeighborMTU of both ends of its link (smpquery portinfo LID PORT) and at"
    " the limit of the subnet or fabric manager: the smaller end of each link counts"
)
RESTART = (
    "take the interface down and up, or load its driver again: a RoCE port takes its MTU from the"
    " interface when that comes up"
)
SAME_MTU = "set the interface's MTU as on the other nodes, now and in its configuration"
JUMBO = (
    "set the MTU of the interfaces, and of the switch's ports on the path, to 4200 or 9000: RDMA"
    " packets then carry 4096"
)


class MtuPort(Port, frozen=True, kw_only=True):
    """A port in a network of ports, with its path MTU and the limits of it, in bytes.

    ``device_mtu`` is the device's largest; ``interface_mtu`` the largest within the interface's
    MTU, or ``mtu`` if that is unknown. On InfiniBand the interface is no limit.
    """

    interface: Interface | Skipped
    mtu: int
    device_mtu: int
    interface_mtu: int

    @property
    def max_mtu(self) -> int:
        return min(self.device_mtu, self.interface_mtu)

    @property
    def description(self) -> str:
        interface = ""
        if isinstance(self.interface, Interface):
            interface = f"; MTU {self.interface.mtu_bytes} of {self.interface.name}"
        return f"{self.label}: active MTU {self.mtu}, largest {self.device_mtu}{interface}"


def group_mtu_ports(cluster: Cluster) -> tuple[tuple[MtuPort, ...], ...]:
    """Return the ports whose path MTU is known, by network."""
    groups = (
        tuple(filter(None, map(_make_mtu_port, ports))) for ports in cluster.group_joined_ports()
    )
    return tuple(filter(None, groups))


def _make_mtu_port(port: Port) -> MtuPort | None:
    rdma_port = port.port
    if isinstance(mtu := rdma_port.path_mtu_bytes, Skipped):
        return None
    device_mtu = rdma_port.max_mtu_bytes if isinstance(rdma_port.max_mtu_bytes, int) else mtu
    interface = port.node.probe.interface(str(rdma_port.interface))
    interface_mtu = device_mtu
    if rdma_port.protocol == "roce":
        interface_mtu = mtu if isinstance(interface, Skipped) else roce_mtu(interface.mtu_bytes)
    return MtuPort(
        port.node, rdma_port, port.network_name, interface=interface, mtu=mtu,
        device_mtu=device_mtu, interface_mtu=interface_mtu,
    )  # fmt: skip


def examine_path_mtus(cluster: Cluster) -> Iterator[Finding]:
    """Report odd and low path MTUs, but not those of interfaces that ``mtu`` reports."""
    mismatched = {
        (endpoint.node.name, endpoint.interface.name)
        for endpoints in group_by_network(cluster.endpoints)
        if len({endpoint.interface.mtu_bytes for endpoint in endpoints}) > 1
        for endpoint in endpoints
    }
    for ports in group_mtu_ports(cluster):
        counts = Counter(port.mtu for port in ports)
        usual_mtu = max(counts, key=lambda mtu: (counts[mtu], mtu))
        example = next(port for port in ports if port.mtu == usual_mtu)
        for port in ports:
            key = (port.node.name, port.port.interface)
            follows_interface = port.mtu >= port.max_mtu and key in mismatched
            if port.mtu != usual_mtu and not follows_interface:
                yield _report_odd_mtu(port, example)
            elif port.mtu < port.max_mtu or (port.mtu < port.device_mtu and not follows_interface):
                yield _report_low_mtu(port)


def _report_odd_mtu(port: MtuPort, example: MtuPort) -> Finding:
    peers = f"other ports of {port.network_name}" if port.network_name else "like ports"
    summary = f"has an active MTU of {port.mtu}, {peers} have {example.mtu}"
    remedy, mends = MANAGED, list[Command]()
    if port.port.protocol == "roce":
        remedy = RESTART if port.mtu < port.max_mtu else SAME_MTU
    if remedy == SAME_MTU and isinstance(example.interface, Interface):
        mtu = str(example.interface.mtu_bytes)
        argv = ("ip", "link", "set", "dev", str(port.port.interface), "mtu", mtu)
        mends = [Command(port.node.name, argv)]
    return make_finding(
        Severity.WARN, port, summary, port.description, example.description, remedy=remedy,
        mends=mends,
    )  # fmt: skip


def _report_low_mtu(port: MtuPort) -> Finding:
    """Report an MTU that all ports share. On InfiniBand the switch may have no more."""
    severity, remedy = Severity.NOTE, MANAGED
    limit = f"its device allows {port.device_mtu}"
    if port.port.protocol == "roce":
        severity, remedy = Severity.WARN, RESTART
        limit = f"its device and interface allow {port.max_mtu}"
    if port.mtu >= port.max_mtu:
        severity, remedy = Severity.NOTE, JUMBO
        verb = "may leave" if isinstance(port.interface, Skipped) else "leaves"
        limit = f"its device allows {port.device_mtu}, its interface's MTU {verb} no more"
    summary = f"has an active MTU of {port.mtu}, {limit}"
    return make_finding(severity, port, summary, port.description, remedy=remedy)
