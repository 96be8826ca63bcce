"""Choose each node's interface and address in the described networks; pure."""

import ipaddress
from collections.abc import Iterator, Mapping

from fabricgauge.features.configure.description import Description, NetworkDescription
from fabricgauge.features.configure.matching import ChosenInterface, interface_of
from fabricgauge.features.configure.subnets import subnet_of
from fabricgauge.features.configure.values import WantedNetwork, WantedPort
from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import Inventory

ChosenPorts = tuple[tuple[WantedNetwork, ...], tuple[str, ...], tuple[str, ...]]


def ports_of(description: Description, inventories: Mapping[str, Inventory]) -> ChosenPorts:
    """Return networks with ports, sentences on nodes without a clear port, and doubts to note.

    Raises:
        UsageError: a subnet is not valid.
    """
    networks, troubles, doubts = [], [], []
    for network in description.networks:
        subnet = subnet_of(network, description.origin)
        ips = addresses_of(description, network, subnet, inventories)
        ports: list[WantedPort] = []
        for node in network.nodes:
            unknown = Skipped(f"{node} is unknown")
            inventory = inventories.get(node, unknown)
            chosen, ip = interface_of(network, str(subnet), node, inventory), ips[node]
            troubles += [choice.reason for choice in (chosen, ip) if isinstance(choice, Skipped)]
            if isinstance(chosen, ChosenInterface) and isinstance(ip, str):
                ports.append(WantedPort(node, chosen.interface, ip, subnet.prefixlen))
                doubts += [chosen.doubt] if chosen.doubt else []
        networks.append(WantedNetwork(
            network.name, str(subnet), network.kind, tuple(ports), network.rate_bit_s,
            network.mtu_bytes, network.suffix, network.plain, network.exclusive,
        ))  # fmt: skip
    troubles += [*_shared_interfaces(networks), *_clashing_names(networks, description.nodes)]
    return tuple(networks), tuple(dict.fromkeys(troubles)), tuple(dict.fromkeys(doubts))


def _clashing_names(networks: list[WantedNetwork], nodes: tuple[str, ...]) -> Iterator[str]:
    """Report names of two ends: ``c1`` with the suffix ``1`` must not be ``c11``."""
    first = {node: (f"the node {node}", "") for node in nodes}
    for network in networks:
        for port in network.ports:
            if not network.suffix:
                continue
            name = f"{port.node}{network.suffix}"
            other_name, ip = first.setdefault(name, (network.name, port.ip))
            if ip != port.ip:
                names = f"{network.name} and {other_name}"
                yield f"{name} would name an end of {names}; change the suffix"
    plain = [network.name for network in networks if network.plain]
    if len(plain) > 1:
        yield f"{' and '.join(plain)} cannot both have the nodes' plain names"


def _shared_interfaces(networks: list[WantedNetwork]) -> Iterator[str]:
    """Report interfaces with two networks: that is possible, but a mistake in a description."""
    first: dict[tuple[str, str], str] = {}
    for network in networks:
        for port in network.ports:
            other_name = first.setdefault((port.node, port.interface), network.name)
            if other_name != network.name:
                yield (
                    f"{port.where} would carry both {other_name} and {network.name};"
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
    """Return the address by node, or why there is none.

    It is the stated address, or counted from the first one, or has the node's host number in the
    management subnet.
    """
    addresses: dict[str, str | Skipped] = {}
    places = {node: place for place, node in enumerate(network.counted or network.nodes)}
    for node in network.nodes:
        if node in network.addresses:
            addresses[node] = _host_address(network.addresses[node], node, network, subnet)
        elif network.first:
            addresses[node] = _counted_address(network, places.get(node), node, subnet)
        else:
            addresses[node] = _keep_host_number(
                description, network, subnet, node, inventories.get(node)
            )
    return _require_unique(addresses, network)


def _host_address(
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


def _counted_address(
    network: NetworkDescription, place: int | None, node: str, subnet: ipaddress.IPv4Network
) -> str | Skipped:
    """Return the address at the node's place among all nodes of the network, planned or not."""
    if place is None:
        return Skipped(
            f"{node} is not among the nodes of {network.name} that its addresses are counted by;"
            f" put it behind them, or give it one: addresses = {{ {node} = … }}"
        )
    try:
        ip = Ip(network.first) + place
    except ValueError as error:
        return Skipped(f"first address of {network.name}: {error}")
    return _host_address(str(ip), node, network, subnet)


def _keep_host_number(
    description: Description,
    network: NetworkDescription,
    subnet: ipaddress.IPv4Network,
    node: str,
    inventory: Inventory | None,
) -> str | Skipped:
    """Return the address in this subnet with the node's host number in another one."""
    remedy = f"give {network.name} a first address, or addresses = {{ {node} = … }}"
    management_ip = _management_ip(description, subnet, inventory)
    if isinstance(management_ip, Skipped):
        return Skipped(f"{node}: {management_ip.reason}; {remedy}")
    ip = Ip(int(subnet.network_address) | (int(management_ip) & int(subnet.hostmask)))
    return _host_address(str(ip), node, network, subnet)


def _management_ip(
    description: Description, subnet: ipaddress.IPv4Network, inventory: Inventory | None
) -> Ip | Skipped:
    if inventory is None or isinstance(inventory.node, Skipped):
        return Skipped("it has no known address whose host number could be kept")
    stated = [ipaddress.IPv4Network(description.management)] if description.management else []
    addresses = [
        Ip(address.ip)
        for interface in inventory.node.interfaces
        for address in interface.addresses
        if ":" not in address.ip and not Ip(address.ip).is_loopback
    ]
    fitting = [ip for ip in addresses if (ip in stated[0] if stated else ip not in subnet)]
    if len(fitting) == 1:
        return fitting[0]
    several = ", ".join(map(str, fitting)) or "none"
    return Skipped(f"its management address is not clear ({several})")


def _require_unique(
    addresses: dict[str, str | Skipped], network: NetworkDescription
) -> dict[str, str | Skipped]:
    first: dict[str, str] = {}
    for node, ip in addresses.items():
        if not isinstance(ip, str):
            continue
        other_node = first.setdefault(ip, node)
        if other_node != node:
            addresses[node] = Skipped(
                f"{other_node} and {node} would both have {ip} in {network.name}"
            )
    return addresses
