"""Are InfiniBand and Omni-Path ports active, and does a manager look after them?"""

from collections.abc import Iterator

import msgspec

from fabricgauge.doctor.places import Port, Seen, nodes, ports
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Interface
from fabricgauge.model.finding import Command, Finding, Severity
from fabricgauge.model.preflight import Preflight

ID = "port"
TITLE = "RDMA ports are active, and a subnet or fabric manager has numbered them"
WHY = "A port that is not ACTIVE carries nothing; MPI then takes TCP over another network."

#: By protocol, the units that number the ports: opensm(8), which MLNX_OFED calls opensmd; opafm of
#: the Omni-Path suite.
MANAGERS = {"infiniband": ("opensm", "opensmd"), "omni-path": ("opafm",)}


def look(preflight: Preflight) -> tuple[Finding, ...] | Skipped:
    every = ports(preflight)
    if not every:
        return Skipped("no RDMA port is known")
    services = tuple(seen for seen in nodes(preflight) if _has_manager(seen))
    managed = {one.port.protocol for one in every if one.port.state == "ACTIVE" and one.port.lid}
    return tuple(found for one in every for found in _look(one, managed, services))


def _has_manager(seen: Seen) -> bool:
    return any(_manager(seen, protocol) for protocol in MANAGERS)


def _manager(seen: Seen, protocol: str) -> str:
    """The unit that is there, the one that runs first; empty without one."""
    states = {unit: seen.facts.get(f"service {unit}", "").strip() for unit in MANAGERS[protocol]}
    there = [unit for unit, state in states.items() if state]
    return max(there, key=lambda unit: states[unit] == "active", default="")


def _look(one: Port, managed: set[str], services: tuple[Seen, ...]) -> Iterator[Finding]:
    port = one.port
    if isinstance(port.state, Skipped) or _explained(one):
        return
    if port.state == "DOWN":
        yield _down(one)
    elif port.protocol in MANAGERS and (
        port.state != "ACTIVE" or port.lid == 0 or port.sm_lid == 0
    ):
        yield _left_out(one) if port.protocol in managed else _unmanaged(one, services)
    elif port.state != "ACTIVE":
        yield _down(one)


def _explained(one: Port) -> bool:
    """The check of links tells of an Ethernet port whose netdev has no carrier."""
    interface = one.seen.node.interface(one.seen.interface_of(one.port))
    netdev_down = isinstance(interface, Interface) and interface.carrier is not True
    return one.port.protocol not in MANAGERS and netdev_down


def _down(one: Port) -> Finding:
    """A port that few like nodes use is no fault, unless the node has no other."""
    used = sum(other.state == "ACTIVE" for other in one.same)
    others_here = any(port.state == "ACTIVE" for port in one.seen.inventory.rdma_ports)
    idle = others_here and 2 * used < max(1, len(one.same) - 1)
    physical = _word(one.port.physical)
    what = f"has no link ({_word(one.port.state)}, {physical})"
    remedy = (
        "plug in or exchange the cable; see whether the other end's port is enabled and up"
        if physical in ("Polling", "Down", "Sleep")
        else "enable the port (ibportstate, opaportconfig), then see its cable and its other end"
    )
    if idle:
        return _finding(one, Severity.NOTE, what, f"none, if it is not in use; else {remedy}")
    return _finding(one, Severity.FAIL, what, remedy)


def _left_out(one: Port) -> Finding:
    """A manager is there, since it looks after other ports."""
    kind = _kind(one)
    return _finding(
        one, Severity.FAIL, f"has a link, and the {kind} manager has not made it active",
        f"look for the port's GUID in the {kind} manager's log (duplicate GUID, partition, link"
        " errors), exchange the cable, and see whether it is in the same fabric as the others",
    )  # fmt: skip


def _unmanaged(one: Port, services: tuple[Seen, ...]) -> Finding:
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
    found = _finding(one, Severity.FAIL, what, remedy)
    return msgspec.structs.replace(
        found, evidence=(_told(one), *told), mends=mends if len(mends) == 1 else ()
    )


def _kind(one: Port) -> str:
    return "subnet" if one.port.protocol == "infiniband" else "fabric"


def _told(one: Port) -> str:
    port = one.port
    words = [f"{one.where}: {_word(port.state)}, physical {_word(port.physical)}"]
    words += [f"LID {port.lid}"] * isinstance(port.lid, int)
    words += [f"manager's LID {port.sm_lid}"] * isinstance(port.sm_lid, int)
    words += [port.reason] * bool(port.reason)
    return ", ".join(words)


def _word(value: str | Skipped) -> str:
    return value if isinstance(value, str) else "not told"


def _finding(one: Port, severity: Severity, what: str, remedy: str) -> Finding:
    return Finding(
        ID, severity, one.where, what, (_told(one),), WHY, remedy, (one.seen.name,), one.network
    )
