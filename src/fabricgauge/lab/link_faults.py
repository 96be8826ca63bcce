"""What a link with faults should be, and the changes that make it so."""

from collections.abc import Sequence
from typing import TypeVar

from fabricgauge.lab import cabling, inside
from fabricgauge.lab.fault_kinds import (
    AddressChange,
    Fault,
    LinkDown,
    Loss,
    MtuChange,
    PortRate,
    RateLimit,
)
from fabricgauge.lab.shaping import Bucket, bucket, node_tbf, port_tbf
from fabricgauge.lab.state import Holder, LabNetwork, LabNode, LabState
from fabricgauge.model.errors import LabError

_F = TypeVar("_F", bound=Fault)


def apply(state: LabState, node: LabNode, network: LabNetwork, before: Sequence[Fault]) -> None:
    """Set all of a link by the faults in force; ``before`` are those that were until now.

    An address or a bucket of the node's is touched only where it changes: the node's
    connections would notice.
    """
    if state.switch is None:
        raise LabError(f"lab {state.name!r} has no switch; bring it down and up again")
    faults, old = (_of(some, node, network) for some in (state.faults, before))
    _set_address(node, network, _only(old, AddressChange), _only(faults, AddressChange))
    mtu = [fault.mtu_bytes for fault in _only(faults, MtuChange)]
    inside.batch(
        node.holder, "ip", [f"link set {network.interface} mtu {[network.mtu_bytes, *mtu][-1]}"]
    )
    if _port(faults, network) != _port(old, network):
        inside.batch(node.holder, "tc", [node_tbf(network.interface, _port(faults, network))])
    shape = bucket(_rate(faults, network, "in"), network.mtu_bytes)
    inside.batch(state.switch, "tc", [port_tbf(network.port(node), shape)])
    _limit_out(state.switch, node, network, _rate(faults, network, "out"))
    if _only(faults, Loss) or _only(old, Loss):
        _lose(state.switch, network.port(node), _only(faults, Loss))
    cut = bool(_only(faults, LinkDown))
    inside.batch(state.switch, "ip", [f"link set {network.port(node)} {'down' if cut else 'up'}"])


def _of(faults: Sequence[Fault], node: LabNode, network: LabNetwork) -> list[Fault]:
    return [fault for fault in faults if (fault.node, fault.network) == (node.name, network.name)]


def _only(faults: Sequence[Fault], kind: type[_F]) -> list[_F]:
    return [fault for fault in faults if isinstance(fault, kind)]


def _set_address(
    node: LabNode, network: LabNetwork, old: list[AddressChange], new: list[AddressChange]
) -> None:
    own = cabling.own_address(network, node)
    was, wanted = (([fault.address for fault in some] or [own])[-1] for some in (old, new))
    if was != wanted:
        interface = network.interface
        inside.batch(
            node.holder,
            "ip",
            [f"addr flush dev {interface}", f"addr add {wanted} brd + dev {interface}"],
        )


def _port(faults: Sequence[Fault], network: LabNetwork) -> Bucket:
    """The bucket that the node itself has."""
    rates = [fault.rate_bit_s for fault in _only(faults, PortRate)]
    return bucket(min([network.rate_bit_s, *rates]), network.mtu_bytes)


def _rate(faults: Sequence[Fault], network: LabNetwork, direction: str) -> float:
    """The line rate of one direction at the switch: the lowest of what is in force."""
    limits = [
        fault.rate_bit_s
        for fault in _only(faults, RateLimit)
        if fault.direction in (direction, "both")
    ]
    ports = [fault.rate_bit_s for fault in _only(faults, PortRate) if direction == "in"]
    return min([network.rate_bit_s, *limits, *ports])


def _lose(switch: Holder, port: str, loss: Sequence[Loss]) -> None:
    """Drop frames at random, both ways, or stop doing so.

    Classic BPF in a filter of the port: load a random 32-bit number; at or above the
    threshold the frame goes on (-1, TC_ACT_UNSPEC), else it is dropped (2, TC_ACT_SHOT).
    It needs neither netem nor nftables, and is allowed in a user namespace.
    """
    if inside.has_qdisc(switch, port, "clsact"):
        inside.batch(switch, "tc", [f"qdisc del dev {port} clsact"])
    for fault in loss:
        threshold = min(round(fault.share * 2**32), 2**32 - 1)
        code = f"4,32 0 0 {_RANDOM},53 0 1 {threshold},6 0 0 4294967295,6 0 0 2"
        lines = [f"qdisc add dev {port} clsact"] + [
            f"filter add dev {port} {way} protocol all bpf direct-action bytecode '{code}'"
            for way in ("ingress", "egress")
        ]
        inside.batch(switch, "tc", lines)


#: SKF_AD_OFF + SKF_AD_RANDOM of <linux/filter.h>, as an unsigned 32-bit number.
_RANDOM = 2**32 - 0x1000 + 56


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
