"""Faults on a standing lab's links and nodes, and their cure.

Every change works out what links and nodes should be from the faults in force and sets all of
it, so faults can be combined, repeated and healed in any order.
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
from fabricgauge.lab.fault_kinds import KINDS, ON_A_NODE, LabFault
from fabricgauge.lab.holder import ENTERED_MARK, is_alive
from fabricgauge.lab.spec import check_mtu, check_rate
from fabricgauge.lab.state import LabNetwork, LabNode, LabState, NodeHolder, save
from fabricgauge.model.errors import LabError, UsageError


def inject(state: LabState, fault: LabFault) -> LabState:
    """Put a fault in force; one of the same kind on the same link is replaced.

    Raises:
        UsageError: no such node or network, or an impossible value.
        LabError: the kernel refused it.
    """
    _check(state, fault)
    kept = tuple(old for old in state.faults if not _replaces(fault, old))
    return _set(state, (*kept, fault))


def heal(
    state: LabState, node: str | None = None, network: str | None = None, kind: str | None = None
) -> LabState:
    """End the faults in force: all, or those of a node, of a network, of a kind.

    Raises:
        UsageError: no such node or network.
        LabError: the kernel refused it.
    """
    if node is not None:
        state.node(node)
    if network is not None:
        state.network(network)

    def is_meant(fault: LabFault) -> bool:
        of = node in (None, fault.node) and network in (None, fault.network)
        return of and kind in (None, fault.kind)

    return _set(state, tuple(fault for fault in state.faults if not is_meant(fault)))


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
        what = f"{kind.what} of {fault.where}"
        raise UsageError(f"{fault.amount:g} cannot be {what}: it is not {low:g} to {high:g}")


def _check_address(text: str, where: str) -> None:
    """An address goes into lines for ``ip -batch`` and /etc/hosts: nothing else may."""
    try:
        if str(ipaddress.IPv4Interface(text)).split("/")[0] == text.split("/")[0]:
            return
    except ValueError:
        pass
    raise UsageError(f"{text!r} cannot be an address of {where}; write, e.g., 10.77.0.11/24")


def _replaces(new: LabFault, old: LabFault) -> bool:
    """Both ways of a rate outrank either; names in a hosts file stand side by side."""
    if (new.node, new.network) != (old.node, old.network):
        return False
    if new.kind == "rate":
        return old.kind in ("rate", "rate-in", "rate-out")
    names = {one.text.partition("=")[0] for one in (new, old)} if new.kind == "hosts" else ()
    return new.kind == old.kind and len(names) < 2


def _set(state: LabState, faults: tuple[LabFault, ...]) -> LabState:
    if state.rdma:
        raise LabError(
            f"lab {state.name!r} is made of virtual machines, whose cable has no faults; "
            "use 'tc' or 'ip' on its nodes, or bring a lab up without --rdma"
        )
    changed = msgspec.structs.replace(state, faults=faults)
    links = {(one.node, one.network) for one in (*state.faults, *faults) if one.network}
    for node, network in sorted(links):
        _apply_to_link(changed, changed.node(node), changed.network(network), state.faults)
    changed = _apply_to_nodes(changed)
    for lab_node in changed.nodes:
        holder.forget_neighbours(lab_node.holder)
    save(changed)
    return changed


def _apply_to_link(
    state: LabState, node: LabNode, network: LabNetwork, before: Sequence[LabFault]
) -> None:
    """Set all of a link by the faults in force; ``before`` are those that were until now.

    An address or a bucket of the node's is touched only where it changes: the node's
    connections would notice.
    """
    switch, own, port = _switch(state), network.interface, network.port(node)
    faults, old = (
        [one for one in some if (one.node, one.network) == (node.name, network.name)]
        for some in (state.faults, before)
    )
    was, wanted = (_address(node, network, some) for some in (old, faults))
    if was != wanted:
        lines = [f"addr flush dev {own}", f"addr add {wanted} brd + dev {own}"]
        holder.batch(node.holder, "ip", lines)
    mtus = [network.mtu_bytes, *(fault.amount for fault in _only(faults, "mtu"))]
    holder.batch(node.holder, "ip", [f"link set {own} mtu {mtus[-1]:.0f}"])
    rated = bucket(_rate(faults, network, ""), network.mtu_bytes)
    if rated != bucket(_rate(old, network, ""), network.mtu_bytes):
        holder.batch(node.holder, "tc", [node_tbf(own, rated)])
    shape = bucket(_rate(faults, network, "in"), network.mtu_bytes)
    holder.batch(switch, "tc", [port_tbf(port, shape)])
    _limit_out(switch, node, network, _rate(faults, network, "out"))
    if _only(faults, "loss") or _only(old, "loss"):
        _lose(switch, port, _only(faults, "loss"))
    cut = "down" if _only(faults, "link-down") else "up"
    holder.batch(switch, "ip", [f"link set {port} {cut}"])


def _switch(state: LabState) -> NodeHolder:
    if state.switch is None:
        raise LabError(f"lab {state.name!r} has no switch; bring it down and up again")
    return state.switch


def _only(faults: Sequence[LabFault], *kinds: str) -> list[LabFault]:
    return [fault for fault in faults if fault.kind in kinds]


def _address(node: LabNode, network: LabNetwork, faults: Sequence[LabFault]) -> str:
    changed = [fault.text for fault in _only(faults, "address")]
    return [cabling.own_address(network, node), *changed][-1]


#: Kinds that lower the rate of a direction at the switch, or of the node's own port: "".
_LOWERING = {
    "in": ("rate", "rate-in", "port-rate"), "out": ("rate", "rate-out"), "": ("port-rate",),
}  # fmt: skip


def _rate(faults: Sequence[LabFault], network: LabNetwork, direction: str) -> float:
    """The line rate of a direction: the lowest of what is in force."""
    limits = (fault.amount for fault in _only(faults, *_LOWERING[direction]))
    return min([network.rate_bit_s, *limits])


def _lose(switch: NodeHolder, port: str, loss: Sequence[LabFault]) -> None:
    """Drop frames at random, both ways, or stop doing so.

    Classic BPF in a filter of the port: load a random 32-bit number; at or above the
    threshold the frame goes on (-1, TC_ACT_UNSPEC), else it is dropped (2, TC_ACT_SHOT).
    It needs neither netem nor nftables, and is allowed in a user namespace.
    """
    if holder.has_qdisc(switch, port, "clsact"):
        holder.batch(switch, "tc", [f"qdisc del dev {port} clsact"])
    for fault in loss:
        threshold = min(round(fault.amount * 2**32), 2**32 - 1)
        code = f"4,32 0 0 {_RANDOM},53 0 1 {threshold},6 0 0 4294967295,6 0 0 2"
        lines = [f"qdisc add dev {port} clsact"] + [
            f"filter add dev {port} {way} protocol all bpf direct-action bytecode '{code}'"
            for way in ("ingress", "egress")
        ]
        holder.batch(switch, "tc", lines)


#: SKF_AD_OFF + SKF_AD_RANDOM of <linux/filter.h>, as an unsigned 32-bit number.
_RANDOM = 2**32 - 0x1000 + 56


def _limit_out(switch: NodeHolder, node: LabNode, network: LabNetwork, rate_bit_s: float) -> None:
    """Limit what comes from a node without a trace on the node.

    A bridge port can only be shaped on its way out. So a length of slower cable is put
    between the node's port and the bridge: a second bridge, and a veth pair whose end on
    the node's side is shaped towards the switch.
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


#: A node's limit of locked memory in bytes, in a file of its name; ``enter`` reads it.
LIMITS = "memlock"

_STRAY = Path(__file__).with_name("stray.py")


def _apply_to_nodes(state: LabState) -> LabState:
    """Make the nodes what the faults in force say; the senders that run now are in the result.

    Raises:
        LabError: a sender cannot be started.
    """
    directory = Path(state.directory)
    networks = [network.name for network in state.networks]
    write_hosts(directory, networks, [node.name for node in state.nodes], state.faults)
    _limit(directory / LIMITS, state.faults)
    return msgspec.structs.replace(state, senders=_senders(state))


def _limit(folder: Path, faults: Sequence[LabFault]) -> None:
    limits = {one.node: int(one.amount) for one in _only(faults, "memlock")}
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        if old.name not in limits:
            old.unlink()
    for node, limit_bytes in limits.items():
        (folder / node).write_text(f"{limit_bytes // 1024}\n")


def _senders(state: LabState) -> tuple[NodeHolder, ...]:
    """All senders are started anew: a change of their rate is then nothing special."""
    for sender in state.senders:
        if is_alive(sender):
            with suppress(ProcessLookupError):
                os.kill(sender.pid, signal.SIGKILL)
    return tuple(_start(state, one) for one in _only(state.faults, "drops"))


def _start(state: LabState, fault: LabFault) -> NodeHolder:
    """Send from the switch's port: only this node gets the frames."""
    port = state.network(fault.network).port(state.node(fault.node))
    pid = holder.started(
        holder.network_prefix(_switch(state)), _STRAY, [port, f"{fault.amount:g}"],
        {ENTERED_MARK: state.token}, f"cannot send stray frames to {fault.where}",
    )  # fmt: skip
    return holder.identify(pid)
