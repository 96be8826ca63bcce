"""Which networks a check measures, and which it was meant to but cannot."""

from collections.abc import Iterable, Iterator, Sequence
from ipaddress import ip_address, ip_network

from fabricgauge.ceiling.technologies import ceiling
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import CannotRun, UsageError
from fabricgauge.model.fabric import DeclaredNetwork, Fabric, Network
from fabricgauge.model.nccl import SUITES
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.plan.plan import Targets
from fabricgauge.run.transports import carries, needs_ports
from fabricgauge.words.networks import whole_of
from fabricgauge.words.sentences import listed

#: Which MPI may not speak: many Ethernet adapters have RDMA ports that nobody uses.
ON_REQUEST = ("roce-v1", "roce-v2", "iwarp")


def targets(request: MeasurementRequest, fabric: Fabric, place: tuple[str, ...]) -> Targets:
    """The networks that join the nodes of ``place`` with their ceilings, or MPI's own choice.

    RDMA over Ethernet is measured where it is asked for. A suite of ``--tool`` needs addresses. The
    name or subnet of a network whose rails are measured one by one means all of them.

    Raises:
        CannotRun: no network joins the nodes.
        UsageError: a network that was asked for does not exist.
    """
    if request.unpinned:
        return ((None, Skipped("MPI was left its own choice of network")),)
    usable = _usable(request, fabric)
    mixed = dict(_mixed(request, fabric))
    joining = [one for one in usable if one.name not in mixed and not _absent(one, place)]
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


def _usable(request: MeasurementRequest, fabric: Fabric) -> tuple[Network, ...]:
    if request.transport:
        return tuple(one for one in fabric.networks if carries(request.transport, one))
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
    if not request.network and any(not _absent(one, place) for one in _usual(usable)):
        usable = tuple(_usual(usable))
    wanted = [network for network in usable if _asked(request, network.name)]
    found = {whole_of(network.name) for network in fabric.networks}
    lonely = [
        f"{one.name} ({one.subnet}) was declared, but of the nodes only {here[0]} is in it"
        for one in declared
        if one.name not in found and _asked(request, one.name) and (here := _within(fabric, one))
    ]
    missing = [
        f"{_with_subnet(network)} does not reach {' and '.join(absent)}"
        for network in wanted
        if (absent := _absent(network, place))
    ]
    mixed = [told for name, told in _mixed(request, fabric) if _asked(request, name)]
    return (*lonely, *missing, *mixed)


def _with_subnet(network: Network) -> str:
    return f"{network.name} ({network.subnet})" if network.subnet else network.name


def _asked(request: MeasurementRequest, name: str) -> bool:
    return not request.network or not {name, whole_of(name)}.isdisjoint(request.network)


def _absent(network: Network, place: tuple[str, ...]) -> tuple[str, ...]:
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
