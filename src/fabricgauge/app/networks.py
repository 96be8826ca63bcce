"""Which networks a check measures, and which it was meant to but cannot."""

from collections.abc import Iterable, Iterator, Sequence
from ipaddress import ip_address, ip_network

from fabricgauge.ceiling.technologies import ceiling
from fabricgauge.model.absence import Skipped
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
from fabricgauge.model.groups import grouped
from fabricgauge.model.nccl import SUITES
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.plan.plan import Targets
from fabricgauge.run.transports import can_use, needs_ports
from fabricgauge.words.networks import whole_of
from fabricgauge.words.sentences import listed

#: Which MPI may not speak: many Ethernet adapters have RDMA ports that nobody uses.
ON_REQUEST = ("roce-v1", "roce-v2", "iwarp")


def targets(
    request: MeasurementRequest, fabric: Fabric, place: tuple[str, ...], partly: bool = False
) -> Targets:
    """The networks that join the nodes of ``place`` with their ceilings, or MPI's own choice.

    RDMA over Ethernet is measured where it is asked for. A suite of ``--tool`` needs addresses. The
    name or subnet of a network whose rails are measured one by one means all of them. With
    ``partly`` a network counts that joins most of the nodes; where none does, those that join as
    many as any.

    Raises:
        CannotRun: no network joins the nodes.
        UsageError: a network that was asked for does not exist.
    """
    if request.unpinned:
        return ((None, Skipped("MPI was left its own choice of network")),)
    usable = _usable(request, fabric)
    mixed = dict(_mixed(request, fabric))
    unmixed = [one for one in usable if one.name not in mixed]
    joining = _joining(unmixed, place) if partly else [
        one for one in unmixed if not absent(one, place)
    ]  # fmt: skip
    if not joining and fabric.unreached:
        raise CannotRun(_no_network(fabric))
    chosen: list[Network] = []
    for name in request.network:
        meant = [one for one in joining if _is_called(one, name)]
        chosen += [one for one in meant if one not in chosen]
        if not meant:
            there = ", ".join(network.name for network in joining) or "none"
            kind = " of RDMA ports" * needs_ports(request.transport)
            told = f"no network{kind} {name!r} joins {' and '.join(place)}; there is: {there}"
            raise UsageError("; ".join((told, *mixed.values())))
    if needs_ports(request.transport) and not joining:
        raise UsageError(
            f"--transport {request.transport} needs RDMA ports, one on each node and alike: none"
            f" join {' and '.join(place)}; leave it out to measure over MPI"
        )
    if not joining:
        raise CannotRun("; ".join((_no_network(fabric), *mixed.values())))
    return tuple((network, ceiling(network)) for network in chosen or _usual(joining) or joining)


def _joining(networks: Sequence[Network], place: tuple[str, ...]) -> list[Network]:
    """Those that join most of the nodes; where none does, those that join as many as any."""
    count = len(set(place))
    joined = {one.name: count - len(absent(one, place)) for one in networks}
    least = min(count // 2 + 1, max(2, max(joined.values(), default=0)))
    return [one for one in networks if joined[one.name] >= least]


def _usable(request: MeasurementRequest, fabric: Fabric) -> tuple[Network, ...]:
    if request.transport:
        return tuple(one for one in fabric.networks if can_use(request.transport, one))
    return fabric.ip_networks if request.tool else fabric.networks


def _usual(networks: Iterable[Network]) -> list[Network]:
    """Those that are measured although nobody asked for them."""
    return [one for one in networks if not (one.of_ports and one.technology in ON_REQUEST)]


def _is_called(network: Network, word: str) -> bool:
    """All rails of RDMA ports together are a network of their own; those of a subnet are none."""
    whole = network.name if network.of_ports else whole_of(network.name)
    return word in (network.name, network.subnet, whole)


def _mixed(request: MeasurementRequest, fabric: Fabric) -> Iterator[tuple[str, str]]:
    """Networks that a suite cannot measure rail by rail, since nobody knows which interfaces of two
    nodes are one rail: each with a sentence.
    """
    for network in fabric.ip_networks if request.tool in SUITES else ():
        own: dict[str, list[str]] = {}
        for one in network.members:
            own.setdefault(one.node, []).append(one.interface)
        ends = sorted((len({*each}), sorted({*each}), node) for node, each in own.items())
        if ends[-1][0] > 1:
            have = [f"{node} has {listed(each)}" for _, each, node in (ends[-1], ends[0])]
            told = (
                f"{_with_subnet(network)} was not measured: {' and '.join(have)} in it, and which"
                " of them are one rail is not known; give rails the same interface names on all"
                " nodes, or a subnet each"
            )
            yield network.name, told


def unjoined(
    request: MeasurementRequest,
    declared: Sequence[DeclaredNetwork],
    fabric: Fabric,
    place: tuple[str, ...],
) -> tuple[str, ...]:
    """Networks that were meant for these nodes and do not join them, a sentence each.

    A network that was declared but reaches none of the nodes is another cluster's.
    """
    if request.unpinned:
        return ()
    usable = _usable(request, fabric)
    if not request.network and _joins_all(_usual(usable), place):
        usable = tuple(_usual(usable))
    wanted = [network for network in usable if _asked(request, network.name)]
    found = {whole_of(network.name) for network in fabric.networks}
    lonely = [
        f"{one.name} ({one.subnet}) was declared, but of the nodes only {here[0]} is in it"
        for one in declared
        if one.name not in found and _asked(request, one.name) and (here := _within(fabric, one))
    ]
    missing = [
        _does_not_reach(network, place)
        for network in _lacked(wanted, place)
        if _is_meant(request, declared, network, place) or not _joins_all(usable, place)
    ]
    mixed = [told for name, told in _mixed(request, fabric) if _asked(request, name)]
    return (*lonely, *missing, *mixed)


def partial(
    request: MeasurementRequest,
    declared: Sequence[DeclaredNetwork],
    fabric: Fabric,
    place: tuple[str, ...],
) -> tuple[str, ...]:
    """Networks that some of the nodes lack, and may well be without, a sentence each.

    Nobody asked for them or declared them, and they join half of the nodes at most, or one of them
    while an interface of others that is alike has a link and no address.
    """
    if request.unpinned or request.network:
        return ()
    few = [
        _does_not_reach(network, place)
        for network in _lacked(_usual(_usable(request, fabric)), place)
        if not _is_meant(request, declared, network, place)
        and _joins_all(_usable(request, fabric), place)
    ]
    return (*few, *(told for _, told in _bare(fabric, place)))


def lone(request: MeasurementRequest, fabric: Fabric, place: tuple[str, ...]) -> tuple[str, ...]:
    """Interfaces with a link whose address is in no network of the nodes: ``c1:eth1 10.0.1.11/24``.

    A head has such ones by right. Those that ``partial`` tells of are left out.
    """
    if request.unpinned or request.network:
        return ()
    told = {name for name, _ in _bare(fabric, place)}
    return tuple(
        f"{node.name}:{one.name} {addresses[0].ip}/{addresses[0].prefix_length}"
        for node, one in _outside(fabric, place)
        if one.name not in told and (addresses := _leading_out(one))
    )


def _bare(fabric: Fabric, place: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Interfaces that have an address on some nodes and, with a link, none on others: the name,
    and a sentence. It is no fault where more nodes are without."""
    for name, every in grouped(_outside(fabric, place), lambda end: end[1].name).items():
        having = [(node, one) for node, one in every if _leading_out(one)]
        if not having:
            continue
        like = {_kind(one) for _, one in having}
        bare = [
            f"{node.name}:{name}"
            for node, one in every
            if not _leading_out(one) and _kind(one) in like
        ]
        if bare and len(bare) <= len(having):
            ends = listed(
                [f"{node.name}:{name} ({_leading_out(one)[0].ip})" for node, one in having]
            )
            is_are = "has" if len(bare) == 1 else "have"
            yield name, f"{listed(bare)} {is_are} a link and no address, unlike {ends}"


def _outside(fabric: Fabric, place: tuple[str, ...]) -> Iterator[tuple[Node, Interface]]:
    """Interfaces of the nodes with a link to something outside them that are in no network."""
    members = {(one.node, one.interface) for network in fabric.networks for one in network.members}
    for node in fabric.nodes:
        below = {under for one in node.interfaces for under in node.below(one.name)}
        for one in node.interfaces if node.name in place else ():
            cabled = one.driver not in NO_CABLE and one.carrier is True and not one.master
            if cabled and (node.name, one.name) not in members and one.name not in below:
                yield node, one


def _kind(interface: Interface) -> tuple[str, float]:
    """Driver and rate in bit/s, 0 where the driver does not report one."""
    rate = interface.speed_bit_s
    return str(interface.driver), 0.0 if isinstance(rate, Skipped) else rate


def _leading_out(interface: Interface) -> tuple[Address, ...]:
    """The addresses by which others can reach it."""
    found = ((one, ip_address(one.ip)) for one in interface.addresses)
    return tuple(one for one, ip in found if not (ip.is_loopback or ip.is_link_local))


def _joins_all(networks: Iterable[Network], place: tuple[str, ...]) -> bool:
    return any(not absent(one, place) for one in networks)


def _lacked(networks: Iterable[Network], place: tuple[str, ...]) -> list[Network]:
    return [one for one in networks if absent(one, place)]


def _is_meant(
    request: MeasurementRequest,
    declared: Sequence[DeclaredNetwork],
    network: Network,
    place: tuple[str, ...],
) -> bool:
    """Whether a network was asked for or declared, or most of the nodes are in it."""
    stated = bool(request.network or request.transport) or whole_of(network.name) in {
        one.name for one in declared
    }
    return stated or 2 * len(absent(network, place)) < len(set(place))


def _does_not_reach(network: Network, place: tuple[str, ...]) -> str:
    return f"{_with_subnet(network)} does not reach {listed(absent(network, place))}"


def _with_subnet(network: Network) -> str:
    if network.subnet in ("", network.name):
        return network.name
    return f"{network.name} ({network.subnet})"


def _asked(request: MeasurementRequest, name: str) -> bool:
    return not request.network or not {name, whole_of(name)}.isdisjoint(request.network)


def absent(network: Network, place: tuple[str, ...]) -> tuple[str, ...]:
    """The nodes of ``place`` that have no member in a network, in order."""
    here = {member.node for member in network.members}
    return tuple(dict.fromkeys(node for node in place if node not in here))


def _within(fabric: Fabric, declared: DeclaredNetwork) -> tuple[str, ...]:
    """Nodes with an address in a declared subnet."""
    subnet = ip_network(declared.subnet, strict=False)
    return tuple(
        node.name
        for node in fabric.nodes
        if any(ip_address(a.ip) in subnet for i in node.interfaces for a in i.addresses)
    )


def _no_network(fabric: Fabric) -> str:
    lost = "".join(f"; {node.reason}" for node in fabric.unreached)
    names = ", ".join(node.name for node in fabric.nodes)
    read = f"the nodes that were read ({names})" if names else "the nodes: none was read"
    shared = "".join(
        f"; {listed(nodes)} have the same address {ip}: give each its own"
        for ip, nodes in _shared_addresses(fabric)
    )
    advice = "; name at least two nodes with -w, or measure a virtual cluster: --lab"
    return f"no network joins {read}{lost or shared or advice}"


def _shared_addresses(fabric: Fabric) -> Iterator[tuple[str, list[str]]]:
    """Addresses that adapters of several nodes have; bridges inside nodes may well share one."""
    holders: dict[str, list[str]] = {}
    for node in fabric.nodes:
        for interface in node.interfaces:
            for address in interface.addresses:
                ip = ip_address(address.ip)
                inside = ip.is_loopback or ip.is_link_local or interface.driver == "bridge"
                if not inside and interface.carrier is True:
                    holders.setdefault(address.ip, []).append(node.name)
    yield from ((ip, nodes) for ip, nodes in holders.items() if len(set(nodes)) > 1)
