"""Have ports a link, and do their managers and modes agree? pure."""

from collections.abc import Iterator, Sequence

from fabricgauge.doctor.check import Check, each, found, no_answer
from fabricgauge.doctor.places import (
    Cluster,
    KnownNode,
    MemberPort,
    Place,
    Port,
    by_network,
    has_cable,
    leads_out,
    told,
    unusual,
)
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Interface, IpoibPort
from fabricgauge.model.finding import Command, Finding, Severity

NO_CARRIER = "has no carrier: its cable, transceiver or other end is gone"
PLUG_IN = "plug in or exchange cable and transceiver; see whether the switch's port is enabled"
STATES_DOWN = ("down", "lowerlayerdown")


def _links(cluster: Cluster, _: object) -> Iterator[Finding]:
    for group in cluster.alike:
        for seen in group:
            for one in seen.node.interfaces:
                network = cluster.memberships.get((seen.name, one.name), "")
                if has_cable(one):
                    yield from _link_findings(Place(seen, one), network, group)


def _link_findings(place: Place, network: str, group: tuple[KnownNode, ...]) -> Iterator[Finding]:
    seen, interface = place.seen, place.interface
    if network or any(leads_out(address.ip) for address in interface.addresses):
        if isinstance(interface.carrier, Skipped):
            up = Command(seen.name, ("ip", "link", "set", "dev", interface.name, "up"))
            yield found(
                Severity.FAIL, place, "is switched off", f"{place.where} is not UP (ip link)",
                remedy="switch it on, and let the network configuration do so at each start",
                network=network, mends=[up],
            )  # fmt: skip
        elif not interface.carrier or interface.operstate in STATES_DOWN:
            yield found(Severity.FAIL, place, NO_CARRIER, _link_told(place), network=network)
    elif interface.carrier is False and seen.adapter_of(interface.name):
        yield _spare(place, group)


def _spare(place: Place, group: tuple[KnownNode, ...]) -> Finding:
    """A port without an address: nothing may ever have been meant to be plugged in."""
    others = [
        (one.name, port.carrier is True)
        for one in group
        if one is not place.seen
        and isinstance(port := one.node.interface(place.interface.name), Interface)
    ]
    plugged = [name for name, carrier in others if carrier]
    evidence = [f"{name}:{place.interface.name} has a carrier" for name in plugged[:2]]
    if plugged and 2 * len(plugged) >= len(others):
        what, severity, remedy = NO_CARRIER, Severity.WARN, ""
    else:
        what, severity = "is up and has no carrier", Severity.NOTE
        remedy = f"none, if nothing is meant to be plugged in; else {PLUG_IN}"
    return found(severity, place, what, _link_told(place), *evidence, remedy=remedy)


def _link_told(place: Place) -> str:
    interface = place.interface
    addresses = "".join(f" {one.ip}/{one.prefix_length}" for one in interface.addresses)
    carrier = "yes" if interface.carrier is True else "no"
    return f"{place.where}{addresses} is {interface.operstate}, carrier {carrier}"


LINK = Check(
    "link",
    "Every port with an address is up and has a carrier",
    "Nothing crosses a link without a carrier: MPI hangs, or takes another network.",
    lambda cluster: cluster.asked,
    no_answer,
    _links,
    PLUG_IN,
)

#: By protocol, the units that number the ports: opensm(8), which MLNX_OFED calls opensmd; opafm of
#: the Omni-Path suite.
MANAGERS = {"infiniband": ("opensm", "opensmd"), "omni-path": ("opafm",)}


def _ports(cluster: Cluster, every: Sequence[Port]) -> Iterator[Finding]:
    services = tuple(
        seen for seen in cluster.nodes if any(_manager(seen, protocol) for protocol in MANAGERS)
    )
    managed = {one.port.protocol for one in every if one.port.state == "ACTIVE" and one.port.lid}
    for one in every:
        yield from _port_findings(one, managed, services)


def _manager(seen: KnownNode, protocol: str) -> str:
    """The unit that is there, the one that runs first; empty without one."""
    states = {unit: seen.fact(f"service {unit}") for unit in MANAGERS[protocol]}
    there = [unit for unit, state in states.items() if state]
    return max(there, key=lambda unit: states[unit] == "active", default="")


def _port_findings(
    one: Port, managed: set[str], services: tuple[KnownNode, ...]
) -> Iterator[Finding]:
    """The check of links tells of an Ethernet port whose netdev has no carrier."""
    port, active = one.port, one.port.state == "ACTIVE"
    interface = one.seen.node.interface(one.seen.interface_of(port))
    netdev_down = isinstance(interface, Interface) and interface.carrier is not True
    manageable = port.protocol in MANAGERS
    if isinstance(port.state, Skipped) or (netdev_down and not manageable):
        return
    if manageable and port.state != "DOWN":
        numbered = active and isinstance(port.lid, int) and port.lid > 0
        if not numbered and (not active or port.lid == 0 or port.sm_lid == 0):
            yield _left_out(one) if port.protocol in managed else _unmanaged(one, services)
    elif not active:
        yield _down(one)


def _down(one: Port) -> Finding:
    """A port that few like nodes use is no fault, unless the node has no other."""
    used = sum(other.state == "ACTIVE" for other in one.same)
    others_here = any(port.state == "ACTIVE" for port in one.seen.inventory.rdma_ports)
    idle = others_here and 2 * used < max(1, len(one.same) - 1)
    physical = told(one.port.physical)
    what = f"has no link ({told(one.port.state)}, {physical})"
    remedy = (
        "plug in or exchange the cable; see whether the other end's port is enabled and up"
        if physical in ("Polling", "Down", "Sleep")
        else "enable the port (ibportstate, opaportconfig), then see its cable and its other end"
    )
    severity = Severity.NOTE if idle else Severity.FAIL
    remedy = f"none, if it is not in use; else {remedy}" if idle else remedy
    return found(severity, one, what, _port_told(one), remedy=remedy)


def _left_out(one: Port) -> Finding:
    """A manager is there, since it looks after other ports."""
    kind = _kind(one)
    return found(
        Severity.FAIL, one, f"has a link, and the {kind} manager has not made it active",
        _port_told(one),
        remedy=f"look for the port's GUID in the {kind} manager's log (duplicate GUID, partition,"
        " link errors), exchange the cable, and see whether it is in the same fabric as the others",
    )  # fmt: skip


def _unmanaged(one: Port, services: tuple[KnownNode, ...]) -> Finding:
    protocol = one.port.protocol
    units = {seen.name: unit for seen in services if (unit := _manager(seen, protocol))}
    manager = next(iter(units.values()), MANAGERS[protocol][0])
    what = f"has a link, and no {_kind(one)} manager has made it active"
    state = {
        seen.name: seen.facts[f"service {units[seen.name]}"].strip()
        for seen in services
        if seen.name in units
    }
    stopped = [name for name, told in state.items() if told.split()[-1:] != ["active"]]
    meant = [name for name in stopped if state[name].split()[0] in ("enabled", "failed")] or stopped
    mends = tuple(Command(name, ("systemctl", "enable", "--now", units[name])) for name in meant)
    remedy = (
        f"start {manager} on one node of the fabric, or on the switch that has a manager:"
        f" systemctl enable --now {manager}"
    )
    told = tuple(f"{name}: service {units[name]}: {state[name]}" for name in stopped)
    return found(
        Severity.FAIL, one, what, _port_told(one), *told, remedy=remedy,
        mends=mends if len(mends) == 1 else (),
    )  # fmt: skip


def _kind(one: Port) -> str:
    return "subnet" if one.port.protocol == "infiniband" else "fabric"


def _port_told(one: Port) -> str:
    port = one.port
    words = [f"{one.where}: {told(port.state)}, physical {told(port.physical)}"]
    words += [f"LID {port.lid}"] * isinstance(port.lid, int)
    words += [f"manager's LID {port.sm_lid}"] * isinstance(port.sm_lid, int)
    words += [port.reason] * bool(port.reason)
    return ", ".join(words)


PORT = Check(
    "port",
    "RDMA ports are active, and a subnet or fabric manager has numbered them",
    "A port that is not ACTIVE carries nothing; MPI then takes TCP over another network.",
    lambda cluster: cluster.ports,
    "no RDMA port is known",
    _ports,
)

#: The largest packet of connected mode (Linux, Documentation/infiniband/ipoib.rst).
CONNECTED_MTU_BYTES = 65520

#: The largest that datagram mode has on InfiniBand: 4096 less 4 octets of header (same).
DATAGRAM_MTU_BYTES = 4092


def _mode(end: MemberPort) -> str:
    port = end.interface.ipoib
    known = port.mode if isinstance(port, IpoibPort) and isinstance(port.mode, str) else ""
    return end.seen.fact(f"ipoib mode {end.interface.name}") or known


def _ipoib(members: tuple[MemberPort, ...]) -> Iterator[Finding]:
    common, _ = unusual({end.where: _mode(end) for end in members})
    wanted = common if isinstance(common, str) else "connected"
    for end in members:
        mode = _mode(end)
        mtu = end.interface.mtu_bytes
        told = f"{end.where}: {mode} mode, MTU {mtu}"
        on = ("ip", "link", "set", "dev", end.interface.name)
        if mode != wanted:
            what = f"is in {mode} mode, the others are in {wanted} mode"
            mend = Command(end.seen.name, (*on, "type", "ipoib", "mode", wanted))
            yield found(Severity.FAIL, end, what, told, mends=(mend,))
        elif mode == "connected" and mtu <= DATAGRAM_MTU_BYTES:
            mend = Command(end.seen.name, (*on, "mtu", str(CONNECTED_MTU_BYTES)))
            what = f"is in connected mode with the MTU of datagram mode ({mtu})"
            yield found(Severity.WARN, end, what, told, mends=(mend,))
        elif mode == "datagram" and mtu < DATAGRAM_MTU_BYTES:
            what = f"is in datagram mode with packets of {mtu} bytes"
            yield found(Severity.NOTE, end, what, told, remedy=LARGER)


#: Interfaces that mlx5's own driver offloads know datagram mode alone (Linux,
#: drivers/net/ethernet/mellanox/mlx5/core/ipoib).
LARGER = (
    f"connected mode has packets of {CONNECTED_MTU_BYTES} bytes; where the adapter's driver has"
    f" datagram mode alone, a partition of MTU 4096 (mtu=5 in the subnet manager's partitions.conf)"
    f" gives {DATAGRAM_MTU_BYTES}; none, if TCP over InfiniBand is not used"
)

IPOIB = Check(
    "ipoib",
    "IP over InfiniBand has one mode in a network, and the MTU of that mode",
    "In datagram mode packets are small, and a node in another mode cannot be sent large ones.",
    lambda cluster: by_network(end for end in cluster.ends if _mode(end)),
    "no IP interface of an InfiniBand or Omni-Path port is known",
    each(_ipoib),
    "set mode and MTU alike on all nodes, where the interface is configured as well",
)
