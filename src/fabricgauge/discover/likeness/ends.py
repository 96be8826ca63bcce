"""A node's end in each network as a trait; pure.

Nodes are compared by network here, whatever a kernel calls the interface: an address on another
adapter than its like have it on, a bond or VLAN that is down or has another MTU, an address that is
missing.
"""

from collections.abc import Iterable, Mapping

from fabricgauge.discover.likeness.links import link
from fabricgauge.model.fabric import Interface, Member, Network, Node
from fabricgauge.model.inventory import Adapter

#: A node's members by the network's name.
Ends = dict[str, list[Member]]


def ends(networks: Iterable[Network]) -> dict[str, Ends]:
    """By node its members of each network."""
    found: dict[str, Ends] = {}
    for network in networks:
        for member in network.members:
            found.setdefault(member.node, {}).setdefault(network.name, []).append(member)
    return found


def end_traits(node: Node, own: Ends, adapters: Mapping[str, Adapter]) -> dict[str, str]:
    """``adapters`` by the label that like nodes have in common."""
    on = {name: label for label, one in adapters.items() for name in one.interfaces}
    return {
        f"end in {network}": "; ".join(_end(node, member, on) for member in members)
        for network, members in own.items()
    }


def _end(node: Node, member: Member, on: Mapping[str, str]) -> str:
    """Link and MTU of an adapter's interface are compared with the adapter."""
    if member.interface in on:
        return f"on {on[member.interface]}"
    interface = node.interface(member.interface)
    state = f"{link(interface)}, " if isinstance(interface, Interface) else ""
    return f"{state}MTU {member.mtu_bytes}"
