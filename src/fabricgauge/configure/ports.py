"""The wanted networks with each node's own interface and address; pure."""

import ipaddress
from collections.abc import Iterator, Mapping

from fabricgauge.configure.description import Description, NetworkDescription
from fabricgauge.configure.matching import ChosenInterface, interface_of
from fabricgauge.configure.subnets import subnet_of
from fabricgauge.model.absence import Skipped
from fabricgauge.model.configuration import WantedNetwork, WantedPort
from fabricgauge.model.inventory import Inventory

Settled = tuple[tuple[WantedNetwork, ...], tuple[str, ...], tuple[str, ...]]


def ports_of(description: Description, inventories: Mapping[str, Inventory]) -> Settled:
    """Networks with ports, sentences on nodes that have no clear port, and doubts to note.

    Raises:
        UsageError: a subnet is none.
    """
    wanted, troubles, doubts = [], [], []
    for network in description.networks:
        subnet = subnet_of(network, description.origin)
        ips = addresses_of(description, network, subnet, inventories)
        ports: list[WantedPort] = []
        for node in network.nodes:
            unknown = Skipped(f"nothing is known of {node}")
            there = inventories.get(node, unknown)
            chosen, ip = interface_of(network, str(subnet), node, there), ips[node]
            troubles += [one.reason for one in (chosen, ip) if isinstance(one, Skipped)]
            if isinstance(chosen, ChosenInterface) and isinstance(ip, str):
                ports.append(WantedPort(node, chosen.interface, ip, subnet.prefixlen))
                doubts += [chosen.doubt] if chosen.doubt else []
        wanted.append(WantedNetwork(
            network.name, str(subnet), network.kind, tuple(ports), network.rate_bit_s,
            network.mtu_bytes, network.suffix, network.plain, network.exclusive,
        ))  # fmt: skip
    troubles += [*_taken_twice(wanted), *_named_twice(wanted, description.nodes)]
    return tuple(wanted), tuple(dict.fromkeys(troubles)), tuple(dict.fromkeys(doubts))


def _named_twice(wanted: list[WantedNetwork], nodes: tuple[str, ...]) -> Iterator[str]:
    """A name can mean one end only: ``c1`` with the suffix ``1`` is not to be ``c11``."""
    first = {node: (f"the node {node}", "") for node in nodes}
    for network in wanted:
        for port in network.ports:
            if not network.suffix:
                continue
            name = f"{port.node}{network.suffix}"
            other, ip = first.setdefault(name, (network.name, port.ip))
            if ip != port.ip:
                yield f"{name} would name an end of {network.name} and {other}; change the suffix"
    plain = [network.name for network in wanted if network.plain]
    if len(plain) > 1:
        yield f"{' and '.join(plain)} cannot both have the nodes' plain names"


def _taken_twice(wanted: list[WantedNetwork]) -> Iterator[str]:
    """One interface can carry two networks, but a description that says so is a mistake."""
    first: dict[tuple[str, str], str] = {}
    for network in wanted:
        for port in network.ports:
            other = first.setdefault((port.node, port.interface), network.name)
            if other != network.name:
                yield (
                    f"{port.where} would carry both {other} and {network.name};"
                    f" name the interface of one of them"
                )


Ip = ipaddress.IPv4Address

#: The two addresses of a /31 are both of hosts (RFC 3021), as the one of a /32 is.
_SMALLEST = 30


def addresses_of(
    description: Description,
    network: NetworkDescription,
    subnet: ipaddress.IPv4Network,
    inventories: Mapping[str, Inventory],
) -> dict[str, str | Skipped]:
    """By node: the stated address, or counted from the first, or with the host number that the
    node has in the management subnet; ``Skipped`` where that leads to none.
    """
    found: dict[str, str | Skipped] = {}
    places = {node: place for place, node in enumerate(network.counted or network.nodes)}
    for node in network.nodes:
        if node in network.addresses:
            found[node] = _checked(network.addresses[node], node, network, subnet)
        elif network.first:
            found[node] = _counted(network, places.get(node), node, subnet)
        else:
            found[node] = _kept(description, network, subnet, node, inventories.get(node))
    return _unique(found, network)


def _checked(
    text: str, node: str, network: NetworkDescription, subnet: ipaddress.IPv4Network
) -> str | Skipped:
    try:
        ip = Ip(text)
    except ValueError as error:
        return Skipped(f"address of {node} in {network.name}: {error}")
    ends = (subnet.network_address, subnet.broadcast_address)
    if ip not in subnet or (subnet.prefixlen <= _SMALLEST and ip in ends):
        return Skipped(f"{ip} cannot be {node}'s address in {network.name} ({subnet})")
    return str(ip)


def _counted(
    network: NetworkDescription, place: int | None, node: str, subnet: ipaddress.IPv4Network
) -> str | Skipped:
    """By the node's place among all that the network has: who plans for some renumbers none."""
    if place is None:
        return Skipped(
            f"{node} is not among the nodes of {network.name} that its addresses are counted by;"
            f" put it behind them, or give it one: addresses = {{ {node} = … }}"
        )
    try:
        ip = Ip(network.first) + place
    except ValueError as error:
        return Skipped(f"first address of {network.name}: {error}")
    return _checked(str(ip), node, network, subnet)


def _kept(
    description: Description,
    network: NetworkDescription,
    subnet: ipaddress.IPv4Network,
    node: str,
    inventory: Inventory | None,
) -> str | Skipped:
    """The node's host number elsewhere, in this subnet."""
    remedy = f"give {network.name} a first address, or addresses = {{ {node} = … }}"
    held = _management(description, subnet, inventory)
    if isinstance(held, Skipped):
        return Skipped(f"{node}: {held.reason}; {remedy}")
    ip = Ip(int(subnet.network_address) | (int(held) & int(subnet.hostmask)))
    return _checked(str(ip), node, network, subnet)


def _management(
    description: Description, subnet: ipaddress.IPv4Network, inventory: Inventory | None
) -> Ip | Skipped:
    if inventory is None or isinstance(inventory.node, Skipped):
        return Skipped("no address of it is known whose host number could be kept")
    wanted = [ipaddress.IPv4Network(description.management)] if description.management else []
    found = [
        Ip(address.ip)
        for interface in inventory.node.interfaces
        for address in interface.addresses
        if ":" not in address.ip and not Ip(address.ip).is_loopback
    ]
    fitting = [ip for ip in found if (ip in wanted[0] if wanted else ip not in subnet)]
    if len(fitting) == 1:
        return fitting[0]
    several = ", ".join(map(str, fitting)) or "none"
    return Skipped(f"its management address is not clear ({several})")


def _unique(
    found: dict[str, str | Skipped], network: NetworkDescription
) -> dict[str, str | Skipped]:
    first: dict[str, str] = {}
    for node, ip in found.items():
        if not isinstance(ip, str):
            continue
        other = first.setdefault(ip, node)
        if other != node:
            found[node] = Skipped(f"{other} and {node} would both have {ip} in {network.name}")
    return found
