"""Choose the networks that a check measures, and name those that it cannot measure."""

from collections.abc import Iterable, Iterator, Sequence
from ipaddress import ip_address, ip_network

from fabricgauge.check.plan.plan import Targets
from fabricgauge.judge.ceiling.technologies import ceiling
from fabricgauge.model.absence import Skipped
from fabricgauge.model.adapter import RdmaPort
from fabricgauge.model.errors import CannotRun, UsageError
from fabricgauge.model.fabric import (
    NO_CABLE,
    Address,
    DeclaredNetwork,
    Fabric,
    Interface,
    Network,
    Node,
)
from fabricgauge.model.groups import group_by
from fabricgauge.model.nccl import SUITES
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.model.words.networks import whole_of
from fabricgauge.model.words.sentences import folded, listed

#: Technologies to measure only on request: many Ethernet adapters have RDMA ports without use.
ON_REQUEST = ("roce-v1", "roce-v2", "iwarp")

#: Ports that a message describes at most.
_MOST_PORTS = 4


def choose_targets(
    request: MeasurementRequest, fabric: Fabric, place: tuple[str, ...], partly: bool = False
) -> Targets:
    """Return the networks that join the nodes of ``place`` with their ceilings, or MPI's own
    choice.

    RDMA over Ethernet is measured only on request. A suite of ``--tool`` needs addresses. The name
    or subnet of a network whose rails are measured one by one means all its rails. A statement as
    for imports (``opa100 rails=2``) means the network of that kind with as many rails, or as many
    such networks at once, which MPI's own choice uses. With ``partly`` a network counts that joins
    most of the nodes; if none does, those that join the most nodes count.

    Raises:
        CannotRun: no network joins the nodes.
        UsageError: a requested network does not exist.
    """
    if request.unpinned:
        return ((None, Skipped("MPI chose the network itself")),)
    usable = _usable(request, fabric)
    mixed = dict(_mixed(request, fabric))
    unmixed = [network for network in usable if network.name not in mixed]
    joining = _joining(unmixed, place) if partly else [
        network for network in unmixed if not find_absent_nodes(network, place)
    ]  # fmt: skip
    if not joining and fabric.unreached:
        raise CannotRun(_no_network(fabric))
    chosen: list[Network] = []
    for name in request.network:
        matching = [network for network in joining if _has_name(network, name)] or [
            network for network in joining if network.has_rdma_ports and network.technology == name
        ]
        if not matching and (stated := _stated_rails(name)):
            of_kind = [network for network in joining if _is_kind(network, stated)]
            matching = [network for network in of_kind if network.rails == stated.rails]
            # Networks of one rail each count by their wires.
            wires = {network.wire or network.name for network in of_kind if network.rails == 1}
            at_once = not (request.tool or request.transport)
            if not matching and at_once and len(wires) == stated.rails:
                if len(request.network) > 1:
                    raise UsageError(f"{name!r} is several networks at once; name it alone")
                return ((None, Skipped(f"MPI chose among {stated.rails} networks itself")),)
        chosen += [network for network in matching if network not in chosen]
        if not matching:
            available = ", ".join(network.name for network in joining) or "none"
            kind = " of RDMA ports" * _needs_ports(request)
            message = f"no network{kind} {name!r} joins {folded(place)}; available: {available}"
            ports = describe_unjoined_ports(fabric, (name,))
            raise UsageError("; ".join(filter(None, (message, ports, *mixed.values()))))
    if _needs_ports(request) and not joining:
        ports = describe_unjoined_ports(fabric, ())
        raise UsageError(
            f"--transport {request.transport} needs RDMA ports of one kind on all nodes: none"
            f" join {' and '.join(place)}; leave it out to measure over MPI"
            f"{'; ' * bool(ports)}{ports}"
        )
    if not joining:
        ports = describe_unjoined_ports(fabric, request.network)
        parts = (_no_network(fabric), ports, *mixed.values())
        raise CannotRun("; ".join(filter(None, parts)))
    return tuple((network, ceiling(network)) for network in chosen or _usual(joining) or joining)


def _joining(networks: Sequence[Network], place: tuple[str, ...]) -> list[Network]:
    """Return the networks that join most of the nodes; if none does, those that join the most."""
    count = len(set(place))
    joined = {network.name: count - len(find_absent_nodes(network, place)) for network in networks}
    least = min(count // 2 + 1, max(2, max(joined.values(), default=0)))
    return [network for network in networks if joined[network.name] >= least]


def _usable(request: MeasurementRequest, fabric: Fabric) -> tuple[Network, ...]:
    if request.transport:
        from fabricgauge.nodes.launch.transports import can_use

        return tuple(network for network in fabric.networks if can_use(request.transport, network))
    return fabric.ip_networks if request.tool else fabric.networks


def _needs_ports(request: MeasurementRequest) -> bool:
    """Check whether the transport of a request uses RDMA ports and no addresses."""
    if not request.transport:
        return False
    from fabricgauge.nodes.launch.transports import needs_ports

    return needs_ports(request.transport)


def _usual(networks: Iterable[Network]) -> list[Network]:
    """Return the networks that are measured without a request."""
    return [
        network
        for network in networks
        if not (network.has_rdma_ports and network.technology in ON_REQUEST)
    ]


def _has_name(network: Network, word: str) -> bool:
    """Check if a word names a network.

    All rails of RDMA ports together are a network of their own; the rails of a subnet are not.
    """
    whole_name = network.name if network.has_rdma_ports else whole_of(network.name)
    return word in (network.name, network.subnet, whole_name)


def _stated_rails(text: str) -> Network | None:
    """Return the network of several rails that a text states; None for any other text."""
    from fabricgauge.judge.ceiling.stated import stated_network

    try:
        stated = stated_network(text)
    except UsageError:
        return None
    return stated if stated.rails > 1 else None


def _is_kind(network: Network, stated: Network) -> bool:
    """Check if a found network has the stated technology and rate; an unknown rate is any."""
    rate = network.rate_bit_s
    return network.technology == stated.technology and (
        isinstance(rate, Skipped) or rate == stated.rate_bit_s
    )


def _mixed(request: MeasurementRequest, fabric: Fabric) -> Iterator[tuple[str, str]]:
    """Yield networks that a suite cannot measure rail by rail, each with a sentence.

    It is unknown which interfaces of two nodes are one rail.
    """
    for network in fabric.ip_networks if request.tool in SUITES else ():
        interfaces_of: dict[str, set[str]] = {}
        for member in network.members:
            interfaces_of.setdefault(member.node, set()).add(member.interface)
        ends = sorted((len(names), sorted(names), node) for node, names in interfaces_of.items())
        if ends[-1][0] > 1:
            have = [f"{node} has {listed(names)}" for _, names, node in (ends[-1], ends[0])]
            sentence = (
                f"{_with_subnet(network)} was not measured: {' and '.join(have)} in it, and it is"
                " unknown which of them are one rail. Give rails the same interface names on all"
                " nodes, or a subnet each"
            )
            yield network.name, sentence


def find_unjoined_networks(
    request: MeasurementRequest,
    declared: Sequence[DeclaredNetwork],
    fabric: Fabric,
    place: tuple[str, ...],
) -> tuple[str, ...]:
    """Return a sentence for each network that was meant for these nodes and does not join them.

    A declared network that reaches none of the nodes belongs to another cluster.
    """
    if request.unpinned:
        return ()
    usable = _usable(request, fabric)
    if not request.network and _joins_all(_usual(usable), place):
        usable = tuple(_usual(usable))
    requested = [network for network in usable if _is_requested(request, network.name)]
    known_names = {whole_of(network.name) for network in fabric.networks}
    lonely = []
    for stated in declared:
        if stated.name in known_names or not _is_requested(request, stated.name):
            continue
        subnet, label = ip_network(stated.subnet, strict=False), f"{stated.name} ({stated.subnet})"
        for node in fabric.nodes:
            if any(ip_address(a.ip) in subnet for i in node.interfaces for a in i.addresses):
                lonely.append(f"{label} was declared, but only {node.name} of the nodes is in it")
                break
    missing = [
        _missing_sentence(network, place)
        for network in _incomplete(requested, place)
        if _is_meant(request, declared, network, place) or not _joins_all(usable, place)
    ]
    mixed = [sentence for name, sentence in _mixed(request, fabric) if _is_requested(request, name)]
    return (*lonely, *missing, *mixed)


def find_partial_networks(
    request: MeasurementRequest,
    declared: Sequence[DeclaredNetwork],
    fabric: Fabric,
    place: tuple[str, ...],
) -> tuple[str, ...]:
    """Return a sentence for each network that some nodes lack, and may lack on purpose.

    These networks were neither requested nor declared. They join half of the nodes at most, or all
    but nodes whose interface of the same kind has a link and no address.
    """
    if request.unpinned or request.network:
        return ()
    usable = _usable(request, fabric)
    missing = [
        _missing_sentence(network, place)
        for network in _incomplete(_usual(usable), place)
        if not _is_meant(request, declared, network, place) and _joins_all(usable, place)
    ]
    return (*missing, *(sentence for _, sentence in _without_address(fabric, place)))


def find_lone_interfaces(
    request: MeasurementRequest, fabric: Fabric, place: tuple[str, ...]
) -> tuple[str, ...]:
    """Return interfaces with a link and an address outside the networks: ``c1:eth1 10.0.1.11/24``.

    A head has such interfaces by design. Those that ``partial`` reports are left out.
    """
    if request.unpinned or request.network:
        return ()
    bare_names = {name for name, _ in _without_address(fabric, place)}
    return tuple(
        f"{node.name}:{interface.name} {addresses[0].ip}/{addresses[0].prefix_length}"
        for node, interface in _unused_interfaces(fabric, place)
        if interface.name not in bare_names and (addresses := _reachable_addresses(interface))
    )


def _without_address(fabric: Fabric, place: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield interface names with an address on some nodes and, with a link, none on others.

    Each comes with a sentence. It is no fault if more nodes are without an address than with one.
    """
    for name, ends in group_by(_unused_interfaces(fabric, place), lambda end: end[1].name).items():
        having = [(node, interface) for node, interface in ends if _reachable_addresses(interface)]
        if not having:
            continue
        like = {_kind(interface) for _, interface in having}
        bare = [
            f"{node.name}:{name}"
            for node, interface in ends
            if not _reachable_addresses(interface) and _kind(interface) in like
        ]
        if bare and len(bare) <= len(having):
            with_address = [
                f"{node.name}:{name} ({_reachable_addresses(interface)[0].ip})"
                for node, interface in having
            ]
            verb = "has" if len(bare) == 1 else "have"
            no_address = f"{listed(bare)} {verb} a link and no address"
            yield name, f"{no_address}, unlike {listed(with_address)}"


def _unused_interfaces(fabric: Fabric, place: tuple[str, ...]) -> Iterator[tuple[Node, Interface]]:
    """Yield interfaces of the nodes that have a link to the outside and are in no network."""
    members = {
        (member.node, member.interface) for network in fabric.networks for member in network.members
    }
    for node in fabric.nodes:
        below = {under for interface in node.interfaces for under in node.below(interface.name)}
        for interface in node.interfaces if node.name in place else ():
            has_link = interface.driver not in NO_CABLE and interface.carrier is True
            is_used = interface.name in below or (node.name, interface.name) in members
            if has_link and not (is_used or interface.master):
                yield node, interface


def _kind(interface: Interface) -> tuple[str, float]:
    """Return driver and rate in bit/s; 0 if the driver does not report a rate."""
    rate = interface.speed_bit_s
    return str(interface.driver), 0.0 if isinstance(rate, Skipped) else rate


def _reachable_addresses(interface: Interface) -> tuple[Address, ...]:
    addresses = ((address, ip_address(address.ip)) for address in interface.addresses)
    return tuple(address for address, ip in addresses if not (ip.is_loopback or ip.is_link_local))


def _joins_all(networks: Iterable[Network], place: tuple[str, ...]) -> bool:
    return any(not find_absent_nodes(network, place) for network in networks)


def _incomplete(networks: Iterable[Network], place: tuple[str, ...]) -> list[Network]:
    return [network for network in networks if find_absent_nodes(network, place)]


def _is_meant(
    request: MeasurementRequest,
    declared: Sequence[DeclaredNetwork],
    network: Network,
    place: tuple[str, ...],
) -> bool:
    stated = bool(request.network or request.transport) or whole_of(network.name) in {
        declared_network.name for declared_network in declared
    }
    return stated or 2 * len(find_absent_nodes(network, place)) < len(set(place))


def _missing_sentence(network: Network, place: tuple[str, ...]) -> str:
    return f"{_with_subnet(network)} does not reach {listed(find_absent_nodes(network, place))}"


def _with_subnet(network: Network) -> str:
    if network.subnet in ("", network.name):
        return network.name
    return f"{network.name} ({network.subnet})"


def _is_requested(request: MeasurementRequest, name: str) -> bool:
    return not request.network or not {name, whole_of(name)}.isdisjoint(request.network)


def find_absent_nodes(network: Network, place: tuple[str, ...]) -> tuple[str, ...]:
    """Return the nodes of ``place`` that have no member in a network, in order."""
    member_nodes = {member.node for member in network.members}
    return tuple(dict.fromkeys(node for node in place if node not in member_nodes))


def describe_unjoined_ports(fabric: Fabric, names: Sequence[str]) -> str:
    """Return the state of RDMA ports of the named technologies that are in no network.

    All technologies count if nothing is named. Empty if no port is meant.
    """
    protocols = {protocol for name in names if (protocol := _protocol_of(name))}
    members = {
        (member.node, member.interface) for network in fabric.networks for member in network.members
    }
    meant = [
        (node.name, port)
        for node in fabric.nodes
        for port in node.rdma_ports
        if port.protocol in protocols or not names
    ]
    if protocols and not meant:
        return f"no node has a port of {' or '.join(sorted(protocols))}"
    ports = [
        f"{node}:{port.name} is {_describe_port(port)}"
        for node, port in meant
        if (node, port.name) not in members
    ]
    more = [f"{len(ports) - _MOST_PORTS} more ports"] if len(ports) > _MOST_PORTS else []
    return "; ".join((*ports[:_MOST_PORTS], *more))


def _protocol_of(name: str) -> str:
    """Return the protocol of the ports that a network's name means; empty if it means none."""
    from fabricgauge.nodes.discover.ports import USUAL_MTU

    protocol = whole_of(name).removesuffix("-v1").removesuffix("-v2")
    return protocol if protocol in USUAL_MTU else ""


def _describe_port(port: RdmaPort) -> str:
    if port.state != "ACTIVE":
        physical = f" ({port.physical})" if isinstance(port.physical, str) else ""
        return f"{port.state if isinstance(port.state, str) else 'in an unknown state'}{physical}"
    if port.protocol in ("roce", "iwarp"):
        return f"ACTIVE on {port.interface}, whose IP network no other node has"
    subnet = f"subnet {port.subnet_prefix}" if isinstance(port.subnet_prefix, str) else ""
    manager = f"subnet manager {port.sm_lid}" if isinstance(port.sm_lid, int) else ""
    keys = f"partitions {', '.join(port.pkeys)}" if port.pkeys else ""
    where = ", ".join(filter(None, (subnet, manager, keys)))
    return f"ACTIVE{' in ' * bool(where)}{where}"


def _no_network(fabric: Fabric) -> str:
    lost = "".join(f"; {node.reason}" for node in fabric.unreached)
    names = ", ".join(node.name for node in fabric.nodes)
    read = f"the nodes that were read ({names})" if names else "the nodes: no node was read"
    shared = "".join(
        f"; {listed(nodes)} have the same address {ip}: give each its own"
        for ip, nodes in _shared_addresses(fabric)
    )
    advice = "; name at least two nodes with -w, or measure a virtual cluster: --lab"
    return f"no network joins {read}{lost or shared or advice}"


def _shared_addresses(fabric: Fabric) -> Iterator[tuple[str, list[str]]]:
    """Yield addresses that adapters of several nodes have; bridges inside nodes may share one."""
    holders: dict[str, list[str]] = {}
    for node in fabric.nodes:
        for interface in node.interfaces:
            for address in interface.addresses:
                ip = ip_address(address.ip)
                inside = ip.is_loopback or ip.is_link_local or interface.driver == "bridge"
                if not inside and interface.carrier is True:
                    holders.setdefault(address.ip, []).append(node.name)
    yield from ((ip, nodes) for ip, nodes in holders.items() if len(set(nodes)) > 1)
