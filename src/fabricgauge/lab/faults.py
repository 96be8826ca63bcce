"""Faults on a standing lab's links, and their cure.

Every change works out what a link should be from the faults in force and sets all of
it, so faults can be combined, repeated and healed in any order.
"""

import msgspec

from fabricgauge.lab import cabling, inside
from fabricgauge.lab.shaping import bucket, port_tbf
from fabricgauge.lab.spec import check_mtu, check_rate
from fabricgauge.lab.state import (
    Fault,
    Holder,
    LabNetwork,
    LabNode,
    LabState,
    LinkDown,
    MtuChange,
    RateLimit,
    save,
)
from fabricgauge.model.errors import LabError


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
    state.network(fault.network)
    where = f"{fault.node} in {fault.network}"
    if isinstance(fault, RateLimit):
        check_rate(fault.rate_bit_s, where)
    if isinstance(fault, MtuChange):
        check_mtu(fault.mtu_bytes, where)


def _replaces(new: Fault, old: Fault) -> bool:
    if type(new) is not type(old) or (new.node, new.network) != (old.node, old.network):
        return False
    if isinstance(new, RateLimit) and isinstance(old, RateLimit):
        return new.direction in ("both", old.direction)
    return True


def _set(state: LabState, faults: tuple[Fault, ...]) -> LabState:
    links = {(fault.node, fault.network) for fault in (*state.faults, *faults)}
    changed = msgspec.structs.replace(state, faults=faults)
    for node, network in sorted(links):
        _apply(changed, changed.node(node), changed.network(network))
    # Neighbours that were sought in vain are held to be unreachable for seconds.
    for lab_node in changed.nodes:
        inside.batch(lab_node.holder, "ip", ["neigh flush all"])
    save(changed)
    return changed


def _apply(state: LabState, node: LabNode, network: LabNetwork) -> None:
    if state.switch is None:
        raise LabError(f"lab {state.name!r} has no switch; bring it down and up again")
    faults = [f for f in state.faults if (f.node, f.network) == (node.name, network.name)]
    mtu = [f.mtu_bytes for f in faults if isinstance(f, MtuChange)]
    inside.batch(
        node.holder, "ip", [f"link set {network.interface} mtu {[network.mtu_bytes, *mtu][-1]}"]
    )
    shape = bucket(_rate(faults, network, "in"), network.mtu_bytes)
    inside.batch(state.switch, "tc", [port_tbf(network.port(node), shape)])
    _limit_out(state.switch, node, network, _rate(faults, network, "out"))
    cut = any(isinstance(fault, LinkDown) for fault in faults)
    inside.batch(state.switch, "ip", [f"link set {network.port(node)} {'down' if cut else 'up'}"])


def _rate(faults: list[Fault], network: LabNetwork, direction: str) -> float:
    """The line rate of one direction: the lowest of what is in force."""
    limits = [
        fault.rate_bit_s
        for fault in faults
        if isinstance(fault, RateLimit) and fault.direction in (direction, "both")
    ]
    return min([network.rate_bit_s, *limits])


def _limit_out(switch: Holder, node: LabNode, network: LabNetwork, rate_bit_s: float) -> None:
    """Limit what comes from a node without a trace on the node.

    A bridge port can only be shaped on its way out. So a length of slower cable is put
    between the node's port and the bridge: a second bridge, and a veth pair whose end on
    the node's side is shaped towards the switch.
    """
    port, bridge = network.port(node), network.bridge
    near, far, joint = f"{port}a", f"{port}b", f"{port}j"
    if inside.has_interface(switch, joint):
        inside.batch(
            switch,
            "ip",
            [f"link set {port} master {bridge}", f"link del {near}", f"link del {joint}"],
        )
    if rate_bit_s >= network.rate_bit_s:
        return
    mtu, shape = network.mtu_bytes, bucket(rate_bit_s, network.mtu_bytes)
    inside.batch(
        switch,
        "ip",
        [
            f"link add {joint} mtu {mtu} type bridge mcast_snooping 0",
            f"link set {joint} up",
            f"link add {near} mtu {mtu} type veth peer name {far} mtu {mtu}",
            f"link set {near} gso_max_size {cabling.nominal(network).gso_bytes} master {joint} up",
            f"link set {far} master {bridge} up",
            f"link set {port} master {joint}",
        ],
    )
    inside.batch(switch, "tc", [port_tbf(near, shape)])
