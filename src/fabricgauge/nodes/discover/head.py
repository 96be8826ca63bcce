"""Ask the machine that starts ``mpiexec`` for its addresses: a node may have one of them too."""

import ipaddress
import re
from collections.abc import Callable, Iterator
from contextlib import closing

from fabricgauge.model.fabric import Fabric, Interface, Node
from fabricgauge.model.host_access import Host, HostAccess
from fabricgauge.model.preflight import Head
from fabricgauge.nodes.discover.interface import parse_answer
from fabricgauge.nodes.discover.probe import ask_nodes

#: Like the limit of the nodes' own answers.
TIMEOUT_S = 20.0
#: Addresses to try on an interface; one that answers is enough.
MOST_TRIED = 3

#: Prints the neighbour of each address on an interface. Arguments: the interface, addresses.
_NEIGHBOURS = (
    'PATH=$PATH:/usr/sbin:/sbin; i=$1; shift; for a; do ping -c 1 -W 1 -I "$i" "$a" >/dev/null'
    ' 2>&1 & done; wait; for a; do ip neigh show to "$a" dev "$i"; done'
)
_LINK_ADDRESS = re.compile(r"\blladdr ([0-9a-f:]+)")


def discover_head(
    access: HostAccess, name: str, fabric: Fabric, keep: Callable[[str, str], None]
) -> Head | None:
    """Return the head if it is none of the nodes and has an address of one of them.

    ``keep(name, raw)`` gets its answer, unedited.
    """
    if any(host.prefix == access.head_prefix for host in access.hosts):
        return None
    host = Host(name, access.head_prefix)
    with closing(ask_nodes((host,), TIMEOUT_S)) as answers:
        (answer,) = answers
    keep(name, answer.raw)
    node = parse_answer(answer)
    if not isinstance(node, Node) or fabric.nodes_on(node.boot_id, node.net_namespace):
        return None
    node_addresses = {address for other in fabric.nodes for _, address, _ in _addresses(other)}
    shared = {
        interface.name: subnet for interface, ip, subnet in _addresses(node) if ip in node_addresses
    }  # fmt: skip
    if not shared:
        return None
    wires = (
        name for name, subnet in shared.items() if _reaches_nodes(host, name, subnet, fabric)
    )  # fmt: skip
    return Head(node, tuple(wires))


def _addresses(node: Node) -> Iterator[tuple[Interface, str, str]]:
    """Yield each address that is neither loopback nor link-local, with its subnet."""
    for interface in node.interfaces:
        for address in interface.addresses:
            ip = ipaddress.ip_interface(f"{address.ip}/{address.prefix_length}")
            if not (ip.is_loopback or ip.is_link_local):
                yield interface, address.ip, str(ip.network)


def _reaches_nodes(host: Host, name: str, subnet: str, fabric: Fabric) -> bool:
    """Check whether a node answers on the wire of an interface of the head, by its MAC address."""
    macs = {
        ip: interface.mac
        for node in fabric.nodes
        for interface, ip, place in _addresses(node)
        if place == subnet
    }
    if not macs:
        return False
    words = {host.node: (name, *list(macs)[: MOST_TRIED + 1])}
    with closing(ask_nodes((host,), TIMEOUT_S, words=words, text=_NEIGHBOURS)) as answers:
        (answer,) = answers
    return not set(_LINK_ADDRESS.findall(answer.raw.lower())).isdisjoint(macs.values())
