"""The entrance to discovery for the rest of the program."""

import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import ProbeError
from fabricgauge.model.fabric import (
    DeclaredNetwork,
    Fabric,
    Interface,
    Member,
    Network,
    Node,
    Shaper,
    Unreached,
)
from fabricgauge.model.host_access import Host, HostAccess
from fabricgauge.model.inventory import Inventory
from fabricgauge.model.preflight import Head
from fabricgauge.model.run import NetworkChange
from fabricgauge.model.words.figures import link_rate
from fabricgauge.nodes.discover.parse_probe import parse_probe
from fabricgauge.nodes.discover.ports import add_host_links, add_wires, join_port_networks
from fabricgauge.nodes.discover.probe import SURVEY, NodeAnswer, ask_nodes
from fabricgauge.nodes.discover.subnets import join_networks

if TYPE_CHECKING:
    from fabricgauge.nodes.discover.survey.understand import Parse

#: A node that answers at all answers in well under a second; ssh's own limit is 5 s.
TIMEOUT_S = 20.0

#: Limit of a survey, in which each tool on a node is ended after some seconds.
SURVEY_TIMEOUT_S = 30.0

#: After a broken launch: long enough for a loaded node, short enough to wait for.
RECHECK_TIMEOUT_S = 8.0


def discover(
    access: HostAccess,
    declared: tuple[DeclaredNetwork, ...],
    *,
    timeout_s: float = TIMEOUT_S,
    keep: Callable[[str, str], None],
    by_rail: bool = False,
) -> Fabric:
    """Ask every node of ``access`` at once to describe itself, and join the answers to networks.

    ``keep(node, raw)`` gets each answer, unedited, before it is parsed, always in the calling
    thread. A node that cannot be reached or understood within ``timeout_s`` becomes an
    ``Unreached`` with the reason; it never ends the discovery of the other nodes. ``by_rail`` is
    as in ``join_networks``.

    Raises:
        UsageError: a declared subnet is not valid.
    """
    nodes: dict[str, Node | Unreached] = {}
    with closing(ask_nodes(access.hosts, timeout_s)) as answers:
        for answer in answers:
            keep(answer.node, answer.raw)
            nodes[answer.node] = parse_answer(answer)
    return _build_fabric([nodes[name] for name in access.nodes], declared, access.virtual, by_rail)


def parse_fabric(
    raw: Mapping[str, str],
    nodes: Sequence[str],
    declared: tuple[DeclaredNetwork, ...],
    virtual: bool,
) -> Fabric:
    """Return the fabric from answers gathered elsewhere; ``raw`` is each node's answer.

    Raises:
        UsageError: a declared subnet is not valid.
    """
    troubles = {node: "" if raw.get(node) else f"{node}: it gave no answer" for node in nodes}
    parsed = [
        parse_answer(NodeAnswer(node, raw.get(node, ""), trouble))
        for node, trouble in troubles.items()
    ]
    return _build_fabric(parsed, declared, virtual)


def _build_fabric(
    parsed: Sequence[Node | Unreached], declared: tuple[DeclaredNetwork, ...], virtual: bool,
    by_rail: bool = False,
) -> Fabric:  # fmt: skip
    """Return the fabric; networks of IP addresses come before those of RDMA ports."""
    nodes = tuple(node for node in parsed if isinstance(node, Node))
    ip_networks = add_host_links(join_networks(nodes, declared, by_rail), nodes)
    return Fabric(
        nodes=nodes,
        unreached=tuple(node for node in parsed if isinstance(node, Unreached)),
        networks=add_wires((*ip_networks, *join_port_networks(nodes, ip_networks)), nodes),
        virtual=virtual,
    )


def parse_answer(answer: NodeAnswer) -> Node | Unreached:
    """Return the node that an answer describes, or the reason why there is none."""
    if answer.trouble:
        return Unreached(answer.node, answer.trouble)
    try:
        return parse_probe(answer.node, answer.raw)
    except ProbeError as error:
        return Unreached(answer.node, str(error))


#: Gets each answer as it came: node, raw text, and its trouble or "".
Keep = Callable[[str, str, str], None]


def survey(
    access: HostAccess, *, timeout_s: float, keep: Keep, parse: "Parse", partial: bool = False
) -> tuple[Inventory, ...]:
    """Ask every node of ``access`` for a survey; return one inventory for each, in order.

    ``keep`` is called before an answer is parsed, always in the calling thread. If ``timeout_s``
    ends, the printed part is used, and the inventory's troubles name the missing part. With
    ``partial`` an interrupt ends the survey and not the program.
    """
    arrived: dict[str, NodeAnswer] = {}
    inventories: dict[str, Inventory] = {}
    try:
        with closing(ask_nodes(access.hosts, timeout_s, SURVEY)) as answers:
            for answer in answers:
                arrived[answer.node] = answer
                keep(answer.node, answer.raw, answer.trouble)
                inventories[answer.node] = _parse_inventory(answer, parse)
    except KeyboardInterrupt:
        if not partial:
            raise
    for name in access.nodes:
        if name not in inventories:  # interrupted before it answered, or while it was parsed
            silent = NodeAnswer(name, "", f"{name} had not answered before the interrupt")
            inventories[name] = _parse_inventory(arrived.get(name, silent), parse)
    return tuple(inventories[name] for name in access.nodes)


def _parse_inventory(answer: NodeAnswer, parse: "Parse") -> Inventory:
    from fabricgauge.nodes.discover.survey.understand import ANSWER, build_inventory

    return build_inventory(answer.node, {ANSWER: answer.raw}, answer.trouble, parse)


def build_surveyed_fabric(
    inventories: Sequence[Inventory], declared: tuple[DeclaredNetwork, ...], virtual: bool
) -> Fabric:
    """Join the nodes with known interfaces to networks; keep the reason of the other nodes.

    Raises:
        UsageError: a declared subnet is not valid.
    """
    from fabricgauge.nodes.discover.survey.understand import explain_unasked

    parsed: list[Node | Unreached] = []
    for inventory in inventories:
        if isinstance(node := inventory.node, Node):
            # All sources together know its adapters and ports.
            parts = {"adapters": inventory.adapters, "rdma_ports": inventory.rdma_ports}
            parsed.append(msgspec.structs.replace(node, **parts))
        elif node != explain_unasked(inventory.name):
            parsed.append(Unreached(inventory.name, node.reason))
        elif inventory.printed_interfaces:
            parsed.append(inventory.printed_node)
    return _build_fabric(parsed, declared, virtual)


def find_network_changes(
    access: HostAccess, fabric: Fabric, network: Network, *, timeout_s: float = RECHECK_TIMEOUT_S
) -> tuple[NetworkChange, ...]:
    """Ask the members of ``network`` again, and return each change since discovery.

    A change names node and interface if a carrier, an interface, an address or a node is gone,
    or if MTU or rate differ.
    """
    member_nodes = {member.node for member in network.members}
    hosts = tuple(host for host in access.hosts if host.node in member_nodes)
    with closing(ask_nodes(hosts, timeout_s)) as answers:
        nodes = {answer.node: parse_answer(answer) for answer in answers}
    changes: dict[NetworkChange, None] = {}
    for member in network.members:
        before, now = fabric.node(member.node), nodes.get(member.node)
        changes |= dict.fromkeys(find_member_changes(network, member, before, now))
    return tuple(changes)


def find_member_changes(
    network: Network, member: Member, before: Node | Skipped, now: Node | Unreached | None
) -> Iterator[NetworkChange]:
    label = f"{member.node}:{member.interface} ({network.name})"
    if now is None:
        now = Unreached(member.node, f"{member.node}: its launcher does not list it")
    if isinstance(now, Unreached):
        yield NetworkChange(
            "node", f"{member.node} cannot be reached since discovery: {now.reason}"
        )
        return
    if isinstance(before, Node) and before.boot_id != now.boot_id:
        yield NetworkChange("node", f"{member.node} was rebooted since discovery")
    interface = now.interface(member.interface)
    old_interface = before.interface(member.interface) if isinstance(before, Node) else before
    if isinstance(interface, Skipped):
        yield NetworkChange("link", f"{label} is gone since discovery")
        return
    # The state counts, even if discovery had it: it is why a launch broke.
    if isinstance(interface.carrier, Skipped):
        yield NetworkChange("link", f"{label} is down: it was switched off")
    elif not interface.carrier:
        yield NetworkChange(
            "link", f"{label} has lost its carrier: the cable or the other end is gone"
        )
    elif interface.operstate in ("down", "lowerlayerdown"):
        yield NetworkChange("link", f"{label} is down (operstate {interface.operstate})")
    if member.ip and all(address.ip != member.ip for address in interface.addresses):
        yield NetworkChange("address", f"{label} has lost its address {member.ip}")
    if isinstance(old_interface, Interface):
        old_settings, settings = _list_settings(old_interface), _list_settings(interface)
        for old, new, sentence in zip(old_settings, settings, _SENTENCES, strict=True):
            if old != new:
                yield NetworkChange("setting", f"{label} {sentence.format(now=new, was=old)}")


#: The sentences about changes of ``_list_settings``.
_SENTENCES = (
    "has MTU {now} now, discovery found {was}",
    "reports {now} now, discovery found {was}",
    "is {now} now, discovery found it {was}",
)


def _list_settings(interface: Interface) -> tuple[str, str, str]:
    """Return its MTU in bytes, its rate, and its shaper, in words."""
    rate, shaper = interface.speed_bit_s, interface.shaper
    return (
        str(interface.mtu_bytes),
        "no rate" if isinstance(rate, Skipped) else link_rate(rate),
        f"shaped to {link_rate(shaper.rate_bit_s)}" if isinstance(shaper, Shaper) else "unshaped",
    )


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
