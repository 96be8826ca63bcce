"""Faults on a standing lab's links and nodes, and their cure.

Every change works out what links and nodes should be from the faults in force and sets all of
it, so faults can be combined, repeated and healed in any order.
"""

import ipaddress

import msgspec

from fabricgauge.lab import inside, link_faults, node_faults
from fabricgauge.lab.fault_kinds import (
    AddressChange,
    Fault,
    HostsEntry,
    Loss,
    MemoryLock,
    MtuChange,
    PortRate,
    RateLimit,
    StrayFrames,
)
from fabricgauge.lab.spec import check_mtu, check_rate
from fabricgauge.lab.state import LabState, save
from fabricgauge.model.errors import LabError

#: A frame every 10 s is no fault, and one process sends no more than some thousands a second.
_STRAY_PER_S = (0.1, 10_000.0)


def inject(state: LabState, fault: Fault) -> LabState:
    """Put a fault in force; one of the same kind on the same link is replaced.

    Raises:
        LabError: no such node or network, an impossible value, or a refusal by the kernel.
    """
    _check(state, fault)
    kept = tuple(old for old in state.faults if not _replaces(fault, old))
    return _set(state, (*kept, fault))


def heal(
    state: LabState,
    node: str | None = None,
    network: str | None = None,
    kind: type[Fault] | None = None,
) -> LabState:
    """End the faults in force: all, or those of a node, of a network, of a kind.

    Raises:
        LabError: no such node or network, or a refusal by the kernel.
    """
    if node is not None:
        state.node(node)
    if network is not None:
        state.network(network)
    kept = tuple(
        fault
        for fault in state.faults
        if (node is not None and fault.node != node)
        or (network is not None and fault.network != network)
        or (kind is not None and not isinstance(fault, kind))
    )
    return _set(state, kept)


def _check(state: LabState, fault: Fault) -> None:
    state.node(fault.node)
    if isinstance(fault, MemoryLock):
        _check_within(fault.limit_bytes, (1024, 2**60), f"a memory limit of {fault.node}, in bytes")
        return
    state.network(fault.network)
    where = f"{fault.node} in {fault.network}"
    if isinstance(fault, RateLimit | PortRate):
        check_rate(fault.rate_bit_s, where)
    if isinstance(fault, MtuChange):
        check_mtu(fault.mtu_bytes, where)
    if isinstance(fault, AddressChange):
        _check_address(fault.address, where)
    if isinstance(fault, HostsEntry):
        state.node(fault.name)
        _check_address(fault.ip, where)
    if isinstance(fault, Loss):
        _check_within(fault.share, (1e-6, 1.0), f"the lost share of {where}")
    if isinstance(fault, StrayFrames):
        _check_within(fault.per_s, _STRAY_PER_S, f"the stray frames per second of {where}")


def _check_within(value: float, limits: tuple[float, float], what: str) -> None:
    if not limits[0] <= value <= limits[1]:
        raise LabError(f"{value:g} cannot be {what}: it is not {limits[0]:g} to {limits[1]:g}")


def _check_address(text: str, where: str) -> None:
    """An address goes into lines for ``ip -batch`` and /etc/hosts: nothing else may."""
    try:
        if str(ipaddress.IPv4Interface(text)).split("/")[0] == text.split("/")[0]:
            return
    except ValueError:
        pass
    raise LabError(f"{text!r} cannot be an address of {where}; write, e.g., 10.77.0.11/24")


def _replaces(new: Fault, old: Fault) -> bool:
    if type(new) is not type(old) or (new.node, new.network) != (old.node, old.network):
        return False
    if isinstance(new, RateLimit) and isinstance(old, RateLimit):
        return new.direction in ("both", old.direction)
    if isinstance(new, HostsEntry) and isinstance(old, HostsEntry):
        return new.name == old.name
    return True


def _set(state: LabState, faults: tuple[Fault, ...]) -> LabState:
    changed = msgspec.structs.replace(state, faults=faults)
    links = {(one.node, one.network) for one in (*state.faults, *faults) if one.network}
    for node, network in sorted(links):
        link_faults.apply(changed, changed.node(node), changed.network(network), state.faults)
    changed = node_faults.apply(changed)
    # Neighbours that were sought in vain are held to be unreachable for seconds.
    for lab_node in changed.nodes:
        inside.batch(lab_node.holder, "ip", ["neigh flush all"])
    save(changed)
    return changed
