"""What the rest of the program asks of discovery."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing

import msgspec

from fabricgauge.discover.parse_probe import parse_probe
from fabricgauge.discover.ports import port_networks, with_host_links, with_wires
from fabricgauge.discover.probe import SURVEY, NodeAnswer, answers
from fabricgauge.discover.subnets import networks
from fabricgauge.discover.survey import understand
from fabricgauge.discover.survey.understand import ANSWER, Parse, not_asked
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
from fabricgauge.model.host_access import HostAccess
from fabricgauge.model.inventory import Inventory
from fabricgauge.model.run import NetworkChange
from fabricgauge.words.figures import link_rate

#: A node that answers at all answers in well under a second; ssh's own limit is 5 s.
TIMEOUT_S = 20.0

#: Of a survey: each tool on a node is ended after seconds.
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
    """Ask every node of ``access`` at once what it is, and join the answers to networks.

    ``keep(node, raw)`` is handed each answer, unedited, before it is parsed, always from
    the calling thread. A node that cannot be reached or understood within ``timeout_s``
    becomes an ``Unreached`` with the reason; it never ends the discovery of the others. ``by_rail``
    is as in ``networks``.

    Raises:
        UsageError: a declared subnet is none.
    """
    found: dict[str, Node | Unreached] = {}
    with closing(answers(access.hosts, timeout_s)) as arriving:
        for answer in arriving:
            keep(answer.node, answer.raw)
            found[answer.node] = understood(answer)
    every = [found[name] for name in access.nodes]
    return _fabric(every, declared, access.virtual, by_rail)


def fabric_of(
    raw: Mapping[str, str],
    nodes: Sequence[str],
    declared: tuple[DeclaredNetwork, ...],
    virtual: bool,
) -> Fabric:
    """The same from answers gathered elsewhere: ``raw`` is each node's own words.

    Raises:
        UsageError: a declared subnet is none.
    """
    silent = {node: "" if raw.get(node) else f"{node}: it gave no answer" for node in nodes}
    answered = [understood(NodeAnswer(one, raw.get(one, ""), why)) for one, why in silent.items()]
    return _fabric(answered, declared, virtual)


def _fabric(
    answered: Sequence[Node | Unreached], declared: tuple[DeclaredNetwork, ...], virtual: bool,
    by_rail: bool = False,
) -> Fabric:  # fmt: skip
    """With networks of IP addresses first, then those of RDMA ports."""
    nodes = tuple(node for node in answered if isinstance(node, Node))
    named = with_host_links(networks(nodes, declared, by_rail), nodes)
    return Fabric(
        nodes=nodes,
        unreached=tuple(node for node in answered if isinstance(node, Unreached)),
        networks=with_wires((*named, *port_networks(nodes, named)), nodes),
        virtual=virtual,
    )


def understood(answer: NodeAnswer) -> Node | Unreached:
    """The node behind an answer, or why there is none."""
    if answer.trouble:
        return Unreached(answer.node, answer.trouble)
    try:
        return parse_probe(answer.node, answer.raw)
    except ProbeError as error:
        return Unreached(answer.node, str(error))


#: Handed each answer as it came: node, raw text, and what was wrong with it or nothing.
Keep = Callable[[str, str, str], None]


def survey(
    access: HostAccess, *, timeout_s: float, keep: Keep, parse: Parse, partial: bool = False
) -> tuple[Inventory, ...]:
    """Ask every node of ``access`` for all that it can say; one inventory for each, in order.

    ``keep`` is called before an answer is parsed, always from the calling thread. What a node
    printed before ``timeout_s`` is used; the inventory's troubles say what is missing. With
    ``partial`` an interrupt ends the asking and not the program.
    """
    arrived: dict[str, NodeAnswer] = {}
    found: dict[str, Inventory] = {}
    try:
        with closing(answers(access.hosts, timeout_s, SURVEY)) as arriving:
            for answer in arriving:
                arrived[answer.node] = answer
                keep(answer.node, answer.raw, answer.trouble)
                found[answer.node] = _inventory(answer, parse)
    except KeyboardInterrupt:
        if not partial:
            raise
    for name in access.nodes:
        if name not in found:  # the interrupt came before it answered, or while it was parsed
            silent = NodeAnswer(name, "", f"{name} had not answered when it was interrupted")
            found[name] = _inventory(arrived.get(name, silent), parse)
    return tuple(found[name] for name in access.nodes)


def _inventory(answer: NodeAnswer, parse: Parse) -> Inventory:
    return understand.understood(answer.node, {ANSWER: answer.raw}, answer.trouble, parse)


def surveyed_fabric(
    inventories: Sequence[Inventory], declared: tuple[DeclaredNetwork, ...], virtual: bool
) -> Fabric:
    """The nodes that described themselves, joined to networks; the others with the reason.

    Raises:
        UsageError: a declared subnet is none.
    """
    asked = [one for one in inventories if one.node != not_asked(one.name)]
    return _fabric(list(map(_described, asked)), declared, virtual)


def _described(one: Inventory) -> Node | Unreached:
    """The node with what all sources together say of its adapters."""
    if isinstance(one.node, Skipped):
        return Unreached(one.name, one.node.reason)
    return msgspec.structs.replace(one.node, adapters=one.adapters, rdma_ports=one.rdma_ports)


def link_states(
    access: HostAccess, fabric: Fabric, network: Network, *, timeout_s: float = RECHECK_TIMEOUT_S
) -> tuple[NetworkChange, ...]:
    """Ask the members of ``network`` again: each thing that has changed.

    Names node and interface where a carrier, an interface, an address or a node is gone,
    or MTU or rate are not what discovery found. Empty when nothing has changed.
    """
    members = {member.node for member in network.members}
    hosts = tuple(host for host in access.hosts if host.node in members)
    with closing(answers(hosts, timeout_s)) as arriving:
        now = {answer.node: understood(answer) for answer in arriving}
    return tuple(
        dict.fromkeys(
            change
            for member in network.members
            for change in changes(network, member, fabric.node(member.node), now.get(member.node))
        )
    )


def changes(
    network: Network, member: Member, before: Node | Skipped, now: Node | Unreached | None
) -> Iterator[NetworkChange]:
    """What has changed of one member, each naming node, interface and network."""
    where = f"{member.node}:{member.interface} ({network.name})"
    if now is None:
        now = Unreached(member.node, f"{member.node}: its launcher does not list it")
    if isinstance(now, Unreached):
        yield NetworkChange(
            "node", f"{member.node} cannot be reached since discovery: {now.reason}"
        )
        return
    if isinstance(before, Node) and before.boot_id != now.boot_id:
        yield NetworkChange("node", f"{member.node} was rebooted since discovery")
    here = now.interface(member.interface)
    then = before.interface(member.interface) if isinstance(before, Node) else before
    if isinstance(here, Skipped):
        yield NetworkChange("link", f"{where} is gone since discovery")
        return
    if isinstance(here.carrier, Skipped):  # whatever discovery saw: it is why a launch broke
        yield NetworkChange("link", f"{where} is down: it was switched off")
    elif not here.carrier:
        yield NetworkChange(
            "link", f"{where} has lost its carrier: the cable or the other end is gone"
        )
    elif here.operstate in ("down", "lowerlayerdown"):
        yield NetworkChange("link", f"{where} is down (operstate {here.operstate})")
    if member.ip and all(address.ip != member.ip for address in here.addresses):
        yield NetworkChange("address", f"{where} has lost its address {member.ip}")
    if isinstance(then, Interface):
        for was, now_is, told in zip(_settings(then), _settings(here), _TOLD, strict=True):
            if was != now_is:
                yield NetworkChange("setting", f"{where} {told.format(now=now_is, was=was)}")


#: The sentence about each of ``_settings`` that has changed.
_TOLD = (
    "has MTU {now} now, discovery found {was}",
    "reports {now} now, discovery found {was}",
    "is {now} now, discovery found it {was}",
)


def _settings(interface: Interface) -> tuple[str, str, str]:
    """Its MTU in bytes, its rate, and whether it is shaped, in words."""
    rate, shaper = interface.speed_bit_s, interface.shaper
    return (
        str(interface.mtu_bytes),
        "no rate" if isinstance(rate, Skipped) else link_rate(rate),
        f"shaped to {link_rate(shaper.rate_bit_s)}" if isinstance(shaper, Shaper) else "unshaped",
    )
