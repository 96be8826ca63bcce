"""Put faults on a lab's links and nodes, and end them.

Each change derives the settings of links and nodes from all active faults and sets them all. So
faults can be combined, repeated and ended in any order.
"""

import ipaddress
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from fabricgauge.lab import cabling, holder
from fabricgauge.lab.cabling import bucket, node_tbf, port_tbf, write_hosts
from fabricgauge.lab.holder import ENTERED_MARK, is_alive
from fabricgauge.lab.spec import KINDS, ON_A_NODE, check_mtu, check_rate
from fabricgauge.lab.state import LabFault, LabNetwork, LabNode, LabState, NodeHolder, save
from fabricgauge.model.errors import LabError, UsageError


def inject(state: LabState, fault: LabFault) -> LabState:
    """Start a fault; it replaces a fault of the same kind on the same link.

    Raises:
        UsageError: no such node or network, or an impossible value.
        LabError: the kernel refused the change.
    """
    _check(state, fault)
    remaining = tuple(old for old in state.faults if not _replaces(fault, old))
    return _set_faults(state, (*remaining, fault))


def heal(
    state: LabState, node: str | None = None, network: str | None = None, kind: str | None = None
) -> LabState:
    """End active faults: all, or those of a node, of a network, of a kind.

    Raises:
        UsageError: no such node or network.
        LabError: the kernel refused the change.
    """
    if node is not None:
        state.node(node)
    if network is not None:
        state.network(network)

    def is_selected(fault: LabFault) -> bool:
        on_link = node in (None, fault.node) and network in (None, fault.network)
        return on_link and kind in (None, fault.kind)

    return _set_faults(state, tuple(fault for fault in state.faults if not is_selected(fault)))


def _check(state: LabState, fault: LabFault) -> None:
    state.node(fault.node)
    if fault.network or fault.kind not in ON_A_NODE:
        state.network(fault.network)
    kind = KINDS[fault.kind]
    low, high = kind.limits
    if kind.value == "RATE":
        check_rate(fault.amount, fault.where)
    elif kind.value == "IP/LEN":
        _check_address(fault.text, fault.where)
    elif kind.value == "NAME=IP":
        name, _, ip = fault.text.partition("=")
        state.node(name)
        _check_address(ip, fault.where)
    elif fault.kind == "mtu":
        check_mtu(fault.amount, fault.where)
    elif kind.what and not low <= fault.amount <= high:
        raise UsageError(
            f"{fault.amount:g} cannot be {kind.what} of {fault.where}: use {low:g} to {high:g}"
        )


def _check_address(text: str, link: str) -> None:
    """Refuse text that is no address: it goes into lines for ``ip -batch`` and /etc/hosts."""
    try:
        if str(ipaddress.IPv4Interface(text)).split("/")[0] == text.split("/")[0]:
            return
    except ValueError:
        pass
    raise UsageError(f"{text!r} cannot be an address of {link}; write, e.g., 10.77.0.11/24")


def _replaces(new: LabFault, old: LabFault) -> bool:
    """Check whether a fault replaces another; entries of a hosts file differ by their names.

    A rate for both directions replaces a rate for one direction.
    """
    if (new.node, new.network) != (old.node, old.network):
        return False
    if new.kind == "rate":
        return old.kind in ("rate", "rate-in", "rate-out")
    names = {fault.text.partition("=")[0] for fault in (new, old)} if new.kind == "hosts" else ()
    return new.kind == old.kind and len(names) < 2


def _set_faults(state: LabState, faults: tuple[LabFault, ...]) -> LabState:
    if state.rdma:
        raise LabError(
            f"lab {state.name!r} consists of virtual machines, whose cable can have no faults; "
            "use 'tc' or 'ip' on its nodes, or bring a lab up without --rdma"
        )
    changed = msgspec.structs.replace(state, faults=faults)
    links = {(fault.node, fault.network) for fault in (*state.faults, *faults) if fault.network}
    for node, network in sorted(links):
        _apply_to_link(changed, changed.node(node), changed.network(network), state.faults)
    changed = _apply_to_nodes(changed)
    for lab_node in changed.nodes:
        holder.forget_neighbours(lab_node.holder)
    save(changed)
    return changed


def _apply_to_link(
    state: LabState, node: LabNode, network: LabNetwork, old_faults: Sequence[LabFault]
) -> None:
    """Set a link by the active faults; ``old_faults`` are those before the change.

    Address and bucket of the node are set only if they change, since the node's connections
    would notice.
    """
    switch, interface, port = _switch(state), network.interface, network.port(node)
    faults, old = (
        [fault for fault in fault_set if (fault.node, fault.network) == (node.name, network.name)]
        for fault_set in (state.faults, old_faults)
    )
    address = _address(node, network, faults)
    if address != _address(node, network, old):
        lines = [f"addr flush dev {interface}", f"addr add {address} brd + dev {interface}"]
        holder.batch(node.holder, "ip", lines)
    mtus = [network.mtu_bytes, *(fault.amount for fault in _select(faults, "mtu"))]
    holder.batch(node.holder, "ip", [f"link set {interface} mtu {mtus[-1]:.0f}"])
    node_bucket = bucket(_rate(faults, network, ""), network.mtu_bytes)
    if node_bucket != bucket(_rate(old, network, ""), network.mtu_bytes):
        holder.batch(node.holder, "tc", [node_tbf(interface, node_bucket)])
    port_bucket = bucket(_rate(faults, network, "in"), network.mtu_bytes)
    holder.batch(switch, "tc", [port_tbf(port, port_bucket)])
    _limit_sending(switch, node, network, _rate(faults, network, "out"))
    if _select(faults, "loss") or _select(old, "loss"):
        _set_loss(switch, port, _select(faults, "loss"))
    link_state = "down" if _select(faults, "link-down") else "up"
    holder.batch(switch, "ip", [f"link set {port} {link_state}"])


def _switch(state: LabState) -> NodeHolder:
    if state.switch is None:
        raise LabError(f"lab {state.name!r} has no switch; bring it down and up again")
    return state.switch


def _select(faults: Sequence[LabFault], *kinds: str) -> list[LabFault]:
    return [fault for fault in faults if fault.kind in kinds]


def _address(node: LabNode, network: LabNetwork, faults: Sequence[LabFault]) -> str:
    changes = [fault.text for fault in _select(faults, "address")]
    return [cabling.nominal_address(network, node), *changes][-1]


#: Kinds that lower the rate of a direction at the switch, or of the node's port ("").
_LOWERING = {
    "in": ("rate", "rate-in", "port-rate"), "out": ("rate", "rate-out"), "": ("port-rate",),
}  # fmt: skip


def _rate(faults: Sequence[LabFault], network: LabNetwork, direction: str) -> float:
    """Return the lowest active line rate of a direction."""
    limits = (fault.amount for fault in _select(faults, *_LOWERING[direction]))
    return min([network.rate_bit_s, *limits])


def _set_loss(switch: NodeHolder, port: str, losses: Sequence[LabFault]) -> None:
    """Drop frames at random in both directions, or stop it if ``losses`` is empty.

    Classic BPF in a filter of the port loads a random 32-bit number. At or above the threshold the
    frame goes on (-1, TC_ACT_UNSPEC), else the filter drops it (2, TC_ACT_SHOT). This needs
    neither netem nor nftables, and works in a user namespace.
    """
    if holder.has_qdisc(switch, port, "clsact"):
        holder.batch(switch, "tc", [f"qdisc del dev {port} clsact"])
    for fault in losses:
        threshold = min(round(fault.amount * 2**32), 2**32 - 1)
        code = f"4,32 0 0 {_RANDOM},53 0 1 {threshold},6 0 0 4294967295,6 0 0 2"
        lines = [f"qdisc add dev {port} clsact"] + [
            f"filter add dev {port} {direction} protocol all bpf direct-action bytecode '{code}'"
            for direction in ("ingress", "egress")
        ]
        holder.batch(switch, "tc", lines)


#: SKF_AD_OFF + SKF_AD_RANDOM of <linux/filter.h>, as an unsigned 32-bit number.
_RANDOM = 2**32 - 0x1000 + 56


def _limit_sending(
    switch: NodeHolder, node: LabNode, network: LabNetwork, rate_bit_s: float
) -> None:
    """Limit what a node sends, invisibly to the node.

    The kernel shapes only what a bridge port sends. So a slower cable goes between the node's port
    and the bridge: a second bridge, and a veth pair whose end on the node's side is shaped towards
    the switch.
    """
    port, bridge = network.port(node), network.bridge
    near, far, joint = f"{port}a", f"{port}b", f"{port}j"
    if holder.has_interface(switch, joint):
        lines = [f"link set {port} master {bridge}", f"link del {near}", f"link del {joint}"]
        holder.batch(switch, "ip", lines)
    if rate_bit_s >= network.rate_bit_s:
        return
    mtu = network.mtu_bytes
    lines = [
        f"link add {joint} mtu {mtu} type bridge mcast_snooping 0",
        f"link set {joint} up",
        f"link add {near} mtu {mtu} type veth peer name {far} mtu {mtu}",
        f"link set {near} gso_max_size {cabling.nominal(network).gso_bytes} master {joint} up",
        f"link set {far} master {bridge} up",
        f"link set {port} master {joint}",
    ]
    holder.batch(switch, "ip", lines)
    holder.batch(switch, "tc", [port_tbf(near, bucket(rate_bit_s, mtu))])


#: Folder with each node's limit of locked memory in KiB; ``enter`` reads it.
LIMITS = "memlock"

_STRAY = Path(__file__).with_name("stray.py")


def _apply_to_nodes(state: LabState) -> LabState:
    """Set the nodes by the active faults; the result holds the senders that now run.

    Raises:
        LabError: a sender cannot be started.
    """
    directory = Path(state.directory)
    networks = [network.name for network in state.networks]
    write_hosts(directory, networks, [node.name for node in state.nodes], state.faults)
    limits = {fault.node: int(fault.amount) for fault in _select(state.faults, "memlock")}
    folder = directory / LIMITS
    folder.mkdir(exist_ok=True)
    for file in folder.iterdir():
        if file.name not in limits:
            file.unlink()
    for node, limit_bytes in limits.items():
        (folder / node).write_text(f"{limit_bytes // 1024}\n")
    for sender in state.senders:  # they start anew, so that a changed rate takes effect
        if is_alive(sender):
            with suppress(ProcessLookupError):
                os.kill(sender.pid, signal.SIGKILL)
    senders = (_start_sender(state, fault) for fault in _select(state.faults, "drops"))
    return msgspec.structs.replace(state, senders=tuple(senders))


def _start_sender(state: LabState, fault: LabFault) -> NodeHolder:
    """Send from the switch's port: only this node gets the frames."""
    port = state.network(fault.network).port(state.node(fault.node))
    pid = holder.start_script(
        holder.network_prefix(_switch(state)), _STRAY, [port, f"{fault.amount:g}"],
        {ENTERED_MARK: state.token}, f"cannot send stray frames to {fault.where}",
    )  # fmt: skip
    return holder.identify(pid)
