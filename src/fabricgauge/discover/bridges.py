"""Bridges of containers and guests, which join a node with nobody but what runs on it; pure."""

from collections.abc import Sequence

from fabricgauge.discover.addresses import End
from fabricgauge.model.fabric import Interface, Node

#: Drivers of a bridge's ports behind which is a container or a guest of the node. Linux 6.12,
#: drivers/net: veth.c, tun.c, dummy.c, ifb.c. A tunnel (vxlan) may lead to other nodes.
INSIDE = frozenset({"veth", "tun", "tap", "dummy", "ifb"})


def joins_none(ends: Sequence[End]) -> bool:
    """Whether these ends are all bridges that lead out of no node.

    Where a bridge's ports are not known, one address on bridges of several nodes tells it.
    """
    if any(end.interface.driver != "bridge" for end in ends):
        return False
    leading = [_leads_out(end.node, end.interface) for end in ends]
    if True in leading:
        return False
    return not any(one is None for one in leading) or len({end.ip for end in ends}) < len(ends)


def _leads_out(node: Node, bridge: Interface) -> bool | None:
    """``None`` where the node does not say what the bridge's ports are. One without any has no
    carrier."""
    ports = [one for one in node.interfaces if one.master == bridge.name]
    if ports:
        return any(one.driver not in INSIDE for one in ports)
    return None if bridge.carrier is True else False
