"""Do ports have a link, and do their managers and modes agree? pure."""

from collections.abc import Iterator, Sequence

from fabricgauge.doctor.checks import (
    Check,
    examine_separately,
    explain_no_answer,
    make_finding,
)
from fabricgauge.doctor.places import (
    Cluster,
    KnownNode,
    MemberInterface,
    Place,
    Port,
    find_outliers,
    get_text,
    group_by_network,
    has_cable,
    is_routable,
)
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Interface, IpoibPort
from fabricgauge.model.finding import Command, Finding, Severity

NO_CARRIER = "has no carrier: its cable, transceiver or other end is gone"
PLUG_IN = "plug in or exchange cable and transceiver; check that the switch's port is enabled"
STATES_DOWN = ("down", "lowerlayerdown")


def _examine_links(cluster: Cluster, _: object) -> Iterator[Finding]:
    for group in cluster.peer_groups:
        for node in group:
            for interface in node.probe.interfaces:
                network = cluster.memberships.get((node.name, interface.name), "")
                if has_cable(interface):
                    yield from _examine_link(Place(node, interface), network, group)


def _examine_link(place: Place, network: str, group: tuple[KnownNode, ...]) -> Iterator[Finding]:
    node, interface = place.node, place.interface
    if network or any(is_routable(address.ip) for address in interface.addresses):
        if isinstance(interface.carrier, Skipped):
            up = Command(node.name, ("ip", "link", "set", "dev", interface.name, "up"))
            yield make_finding(
                Severity.FAIL, place, "is switched off", f"{place.label} is not UP (ip link)",
                remedy="switch it on now, and at each start by the network configuration",
                network=network, mends=[up],
            )  # fmt: skip
        elif not interface.carrier or interface.operstate in STATES_DOWN:
            yield make_finding(
                Severity.FAIL, place, NO_CARRIER, _describe_link(place), network=network
            )
    elif interface.carrier is False and node.find_adapter(interface.name):
        yield _report_spare_port(place, group)


def _report_spare_port(place: Place, group: tuple[KnownNode, ...]) -> Finding:
    """Report a port without an address, which may have no cable on purpose."""
    peer_carriers = [
        (peer.name, interface.carrier is True)
        for peer in group
        if peer is not place.node
        and isinstance(interface := peer.probe.interface(place.interface.name), Interface)
    ]
    plugged_in = [name for name, has_carrier in peer_carriers if has_carrier]
    evidence = [f"{name}:{place.interface.name} has a carrier" for name in plugged_in[:2]]
    evidence.insert(0, _describe_link(place))
    if plugged_in and 2 * len(plugged_in) >= len(peer_carriers):
        return make_finding(Severity.WARN, place, NO_CARRIER, *evidence)
    remedy, summary = f"none, if the port is not in use; else {PLUG_IN}", "is up and has no carrier"
    return make_finding(Severity.NOTE, place, summary, *evidence, remedy=remedy)


def _describe_link(place: Place) -> str:
    interface = place.interface
    addresses = "".join(f" {address.ip}/{address.prefix_length}" for address in interface.addresses)
    carrier = "yes" if interface.carrier is True else "no"
    return f"{place.label}{addresses} is {interface.operstate}, carrier {carrier}"


LINK = Check(
    "link",
    "Every port with an address is up and has a carrier",
    "Nothing crosses a link without a carrier: MPI hangs, or takes another network.",
    lambda cluster: cluster.addressed_nodes,
    explain_no_answer,
    _examine_links,
    PLUG_IN,
)

#: By protocol, the units that number the ports: opensm(8), which MLNX_OFED calls opensmd; opafm of
#: the Omni-Path suite.
MANAGERS = {"infiniband": ("opensm", "opensmd"), "omni-path": ("opafm",)}


def _examine_ports(cluster: Cluster, ports: Sequence[Port]) -> Iterator[Finding]:
    manager_nodes = tuple(
        node for node in cluster.nodes if any(_find_manager(node, name) for name in MANAGERS)
    )
    managed = {
        port.port.protocol for port in ports if port.port.state == "ACTIVE" and port.port.lid
    }
    for port in ports:
        yield from _examine_port(port, managed, manager_nodes)


def _find_manager(node: KnownNode, protocol: str) -> str:
    """Return the node's manager unit, preferably one that runs; "" without one."""
    states = {unit: node.get_fact(f"service {unit}") for unit in MANAGERS[protocol]}
    units = [unit for unit, state in states.items() if state]
    return max(units, key=lambda unit: states[unit] == "active", default="")


def _examine_port(
    port: Port, managed: set[str], manager_nodes: tuple[KnownNode, ...]
) -> Iterator[Finding]:
    """Report a port that is not active; ``link`` reports a netdev without carrier."""
    rdma_port, is_active = port.port, port.port.state == "ACTIVE"
    interface = port.node.probe.interface(port.node.find_interface(rdma_port))
    is_netdev_down = isinstance(interface, Interface) and interface.carrier is not True
    is_manageable = rdma_port.protocol in MANAGERS
    if isinstance(rdma_port.state, Skipped) or (is_netdev_down and not is_manageable):
        return
    if is_manageable and rdma_port.state != "DOWN":
        is_numbered = is_active and isinstance(rdma_port.lid, int) and rdma_port.lid > 0
        if not is_numbered and (not is_active or rdma_port.lid == 0 or rdma_port.sm_lid == 0):
            if rdma_port.protocol in managed:
                yield _report_skipped_port(port)
            else:
                yield _report_unmanaged_port(port, manager_nodes)
    elif not is_active:
        yield _report_down_port(port)


def _report_down_port(port: Port) -> Finding:
    """A port that few like nodes use is not a fault, unless the node has no other active port."""
    used = sum(peer.state == "ACTIVE" for peer in port.like_ports)
    has_active_port = any(peer.state == "ACTIVE" for peer in port.node.inventory.rdma_ports)
    is_idle = has_active_port and 2 * used < max(1, len(port.like_ports) - 1)
    physical = get_text(port.port.physical)
    summary = f"has no link ({get_text(port.port.state)}, {physical})"
    remedy = (
        "plug in or exchange the cable; check that the other end's port is enabled and up"
        if physical in ("Polling", "Down", "Sleep")
        else "enable the port (ibportstate, opaportconfig), then check its cable and its other end"
    )
    severity = Severity.NOTE if is_idle else Severity.FAIL
    remedy = f"none, if it is not in use; else {remedy}" if is_idle else remedy
    return make_finding(severity, port, summary, _describe_port(port), remedy=remedy)


def _report_skipped_port(port: Port) -> Finding:
    """A manager runs: it has numbered other ports."""
    kind = _get_manager_kind(port)
    return make_finding(
        Severity.FAIL, port, f"has a link, and the {kind} manager has not made it active",
        _describe_port(port),
        remedy=f"look for the port's GUID in the {kind} manager's log (duplicate GUID, partition,"
        " link errors), exchange the cable, and check that it is in the same fabric as the other"
        " ports",
    )  # fmt: skip


def _report_unmanaged_port(port: Port, manager_nodes: tuple[KnownNode, ...]) -> Finding:
    protocol = port.port.protocol
    units = {node.name: unit for node in manager_nodes if (unit := _find_manager(node, protocol))}
    manager = next(iter(units.values()), MANAGERS[protocol][0])
    states = {
        node.name: node.get_fact(f"service {units[node.name]}")
        for node in manager_nodes
        if node.name in units
    }
    stopped = [name for name, state in states.items() if state.split()[-1:] != ["active"]]
    configured = [name for name in stopped if states[name].split()[0] in ("enabled", "failed")]
    mends = [
        Command(name, ("systemctl", "enable", "--now", units[name]))
        for name in configured or stopped
    ]
    return make_finding(
        Severity.FAIL, port,
        f"has a link, and no {_get_manager_kind(port)} manager has made it active",
        _describe_port(port),
        *(f"{name}: service {units[name]}: {states[name]}" for name in stopped),
        remedy=f"start {manager} on one node of the fabric, or on the switch that has a manager:"
        f" systemctl enable --now {manager}",
        mends=mends if len(mends) == 1 else (),
    )  # fmt: skip


def _get_manager_kind(port: Port) -> str:
    return "subnet" if port.port.protocol == "infiniband" else "fabric"


def _describe_port(port: Port) -> str:
    rdma_port = port.port
    parts = [f"{port.label}: {get_text(rdma_port.state)}, physical {get_text(rdma_port.physical)}"]
    parts += [f"LID {rdma_port.lid}"] * isinstance(rdma_port.lid, int)
    parts += [f"manager's LID {rdma_port.sm_lid}"] * isinstance(rdma_port.sm_lid, int)
    parts += [rdma_port.reason] * bool(rdma_port.reason)
    return ", ".join(parts)


PORT = Check(
    "port",
    "RDMA ports are active, and a subnet or fabric manager has numbered them",
    "A port that is not ACTIVE carries nothing; MPI then takes TCP over another network.",
    lambda cluster: cluster.ports,
    "no RDMA port is known",
    _examine_ports,
)

#: The largest packet of connected mode (Linux, Documentation/infiniband/ipoib.rst).
CONNECTED_MTU_BYTES = 65520

#: The largest packet of datagram mode on InfiniBand: 4096 less 4 octets of header (same source).
DATAGRAM_MTU_BYTES = 4092


def _get_mode(endpoint: MemberInterface) -> str:
    port = endpoint.interface.ipoib
    probe_mode = port.mode if isinstance(port, IpoibPort) and isinstance(port.mode, str) else ""
    return endpoint.node.get_fact(f"ipoib mode {endpoint.interface.name}") or probe_mode


def _examine_ipoib(endpoints: tuple[MemberInterface, ...]) -> Iterator[Finding]:
    common, _ = find_outliers({endpoint.label: _get_mode(endpoint) for endpoint in endpoints})
    right_mode = common if isinstance(common, str) else "connected"
    for endpoint in endpoints:
        mode, node = _get_mode(endpoint), endpoint.node.name
        mtu = endpoint.interface.mtu_bytes
        evidence = f"{endpoint.label}: {mode} mode, MTU {mtu}"
        set_link = ("ip", "link", "set", "dev", endpoint.interface.name)
        if mode != right_mode:
            summary = f"is in {mode} mode, the other members are in {right_mode} mode"
            mend = Command(node, (*set_link, "type", "ipoib", "mode", right_mode))
            yield make_finding(Severity.FAIL, endpoint, summary, evidence, mends=(mend,))
        elif mode == "connected" and mtu <= DATAGRAM_MTU_BYTES:
            mend = Command(node, (*set_link, "mtu", str(CONNECTED_MTU_BYTES)))
            summary = f"is in connected mode with the MTU of datagram mode ({mtu})"
            yield make_finding(Severity.WARN, endpoint, summary, evidence, mends=(mend,))
        elif mode == "datagram" and mtu < DATAGRAM_MTU_BYTES:
            limit = f"at most {DATAGRAM_MTU_BYTES} is possible"
            summary = f"is in datagram mode with MTU {mtu}, {limit}"
            yield make_finding(Severity.NOTE, endpoint, summary, evidence, remedy=LARGER_MTU)


#: Interfaces that mlx5's own driver offloads have datagram mode only (Linux,
#: drivers/net/ethernet/mellanox/mlx5/core/ipoib).
LARGER_MTU = (
    f"use connected mode, which has packets of {CONNECTED_MTU_BYTES} bytes; if the adapter's driver"
    " has datagram mode only, a partition of MTU 4096 (mtu=5 in the subnet manager's"
    f" partitions.conf) gives {DATAGRAM_MTU_BYTES}; none, if TCP over InfiniBand is not used"
)

IPOIB = Check(
    "ipoib",
    "IP over InfiniBand has one mode in a network, and the MTU of that mode",
    "In datagram mode packets are small, and a node in another mode cannot receive large ones.",
    lambda cluster: group_by_network(
        endpoint for endpoint in cluster.endpoints if _get_mode(endpoint)
    ),
    "no IP interface of an InfiniBand or Omni-Path port is known",
    examine_separately(_examine_ipoib),
    "set the same mode and MTU on all nodes, also in the interfaces' configuration",
)
