"""Choose each node's interface and address in the described networks; pure. Nothing is guessed."""

import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

import msgspec

from fabricgauge.features.configure.description import Description, Match, NetworkDescription
from fabricgauge.features.configure.job import Draft, WantedNetwork, WantedPort
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import UsageError
from fabricgauge.model.fabric import Interface
from fabricgauge.model.inventory import Adapter, Inventory
from fabricgauge.model.words.figures import link_rate


def subnet_of(network: NetworkDescription, origin: str) -> ipaddress.IPv4Network:
    """Return the subnet to plan.

    A mask that leaves host bits in the written base, as in 10.10.40.0/8, is a slip: the base names
    a network that is smaller by whole octets, which is planned.

    Raises:
        UsageError: not an IPv4 subnet, or one that no interface can have.
    """
    if ":" in network.subnet:
        raise UsageError(
            f"{origin}: subnet of network {network.name}: {network.subnet:.80} is IPv6, which is"
            " not planned; expected an IPv4 subnet such as 10.10.40.0/24"
        )
    try:
        written = ipaddress.IPv4Interface(network.subnet)
        first = int(written.network.network_address) >> 24
        last = int(written.network.broadcast_address) >> 24
        # 0.0.0.0/8, loopback, and multicast and above (RFC 6890).
        if first == 0 or first <= 127 <= last or last >= 224:
            raise ValueError(f"{written} holds addresses that no interface can have")
    except ValueError as error:
        raise UsageError(
            f"{origin}: subnet of network {network.name}: {error};"
            " expected an IPv4 subnet such as 10.10.40.0/24"
        ) from error
    if written.ip == written.network.network_address:
        return written.network
    natural = (
        length
        for length in (8, 16)
        if length > written.network.prefixlen and int(written.ip) % (1 << (32 - length)) == 0
    )
    prefix = next(natural, max(24, written.network.prefixlen))
    return ipaddress.IPv4Network(f"{written.ip}/{prefix}", strict=False)


def subnet_notes(job: Draft) -> Iterator[str]:
    planned = {network.name: ipaddress.IPv4Network(network.subnet) for network in job.wanted}
    present = _present_subnets(job.inventories)
    for network in job.description.networks:
        yield from _mask_notes(network, planned, present)
    for name, other_name in combinations(planned, 2):
        if planned[name].overlaps(planned[other_name]):
            yield (
                f"{name} ({planned[name]}) and {other_name} ({planned[other_name]}) overlap: a"
                " kernel sends both through one interface; give each a /24 of its own"
            )
    for name, subnet in planned.items():
        yield from _overlap_notes(name, subnet, present)


def _mask_notes(
    network: NetworkDescription,
    planned: dict[str, ipaddress.IPv4Network],
    present: dict[ipaddress.IPv4Network, str],
) -> Iterator[str]:
    wide = ipaddress.IPv4Interface(network.subnet).network
    if wide == planned[network.name]:
        return
    inside = [f"{name} ({subnet})" for name, subnet in planned.items() if name != network.name
              and subnet.overlaps(wide)]  # fmt: skip
    inside += [f"{subnet} on {place}" for subnet, place in present.items() if subnet.overlaps(wide)]
    swallowed = f", which also holds {', '.join(inside[:4])}" if inside else ""
    yield (
        f"mended: {network.name} is written {network.subnet}, that is {wide}{swallowed}; planned"
        f" is {planned[network.name]}. With the wide mask the networks become one, and MPI uses"
        " whatever interface the kernel picks"
    )


def _overlap_notes(
    name: str, subnet: ipaddress.IPv4Network, present: dict[ipaddress.IPv4Network, str]
) -> Iterator[str]:
    """Report nodes' addresses in another subnet that contains this one or lies in it."""
    for other_subnet, place in present.items():
        if other_subnet == subnet or not other_subnet.overlaps(subnet):
            continue
        smaller = max(24, subnet.prefixlen)
        yield (
            f"{place} is in {other_subnet}, which overlaps {name} ({subnet}): traffic for {name}"
            f" may leave there; give it a mask of its own, such as /{smaller}"
        )


def _present_subnets(inventories: Iterable[Inventory]) -> dict[ipaddress.IPv4Network, str]:
    present: dict[ipaddress.IPv4Network, str] = {}
    for inventory in inventories:
        for interface in inventory.interfaces:
            for address in interface.addresses:
                subnet = ipaddress.ip_interface(f"{address.ip}/{address.prefix_length}").network
                local = subnet.is_loopback or subnet.is_link_local
                if isinstance(subnet, ipaddress.IPv4Network) and not local:
                    present.setdefault(subnet, f"{inventory.name}:{interface.name} ({address.ip})")
    return present


#: Usual names of virtual interfaces (systemd.netdev(5), ip-link(8)).
_VIRTUAL_NAME = re.compile(r".+\.[0-9]+|(bond|team|br|vlan)-?[0-9]*")

#: How many candidates a sentence names.
_NAMED = 6


class Candidate(msgspec.Struct, frozen=True):
    """An interface and its adapter; an unknown text is empty.

    ``kinds`` are its possible kinds, ``rates_bit_s`` its present rate and those that it supports.
    """

    name: str
    kinds: tuple[str, ...]
    product: str
    driver: str
    bus: str
    rates_bit_s: tuple[float, ...]
    ips: tuple[str, ...]


class ChosenInterface(msgspec.Struct, frozen=True):
    """``doubt`` is empty, or a sentence: the name was stated, and no source confirms it."""

    interface: str
    doubt: str = ""


def interface_of(
    network: NetworkDescription, subnet: str, node: str, inventory: Inventory | Skipped
) -> ChosenInterface | Skipped:
    """Return a node's interface for a network, or why there is not exactly one.

    In this order: the name in the description; the interface that matches its adapter. Without
    either, the interface with an address in the subnet, or the only one of the kind without any
    address: the node may be reached by an interface with another address.
    """
    interfaces = candidates(inventory) if isinstance(inventory, Inventory) else ()
    if node in network.interfaces:
        return _stated_interface(network.interfaces[node], node, interfaces, inventory)
    if isinstance(inventory, Skipped):
        return Skipped(f"{inventory.reason}; name its interface for {network.name}")
    fitting = tuple(candidate for candidate in interfaces if _fits(candidate, network))
    if network.match == Match():
        inside = ipaddress.ip_network(subnet)
        fitting = tuple(
            candidate
            for candidate in fitting
            if any(ipaddress.ip_address(ip) in inside for ip in candidate.ips)
        ) or tuple(candidate for candidate in fitting if all(":" in ip for ip in candidate.ips))
    if len(fitting) == 1:
        return ChosenInterface(fitting[0].name)
    return _no_choice(network, node, fitting, interfaces)


def candidates(inventory: Inventory) -> tuple[Candidate, ...]:
    """Return every interface but the loopback, of any source."""
    adapters = {name: adapter for adapter in inventory.adapters for name in adapter.interfaces}
    visible = (interface for interface in inventory.interfaces if interface.driver != "loopback")
    by_name = {interface.name: interface for interface in visible if interface.name != "lo"}
    names = dict.fromkeys((*by_name, *adapters))
    return tuple(_candidate(name, adapters.get(name), by_name.get(name)) for name in names)


def _candidate(name: str, adapter: Adapter | None, interface: Interface | None) -> Candidate:
    """Join interface and adapter. IPoIB's driver does not show whether it runs on Omni-Path."""
    drivers = [
        device.driver
        for device in (adapter, interface)
        if device and isinstance(device.driver, str)
    ]
    kinds = ("infiniband", "omni-path") if "ipoib" in "".join(drivers) else ("ethernet",)
    words = (adapter.vendor, adapter.product) if adapter else ()
    rates: list[float] = []
    if adapter and not isinstance(adapter.modes, Skipped):
        rates += adapter.modes.supported_bit_s
    if interface and isinstance(interface.speed_bit_s, float):
        rates.append(interface.speed_bit_s)
    return Candidate(
        name, (adapter.kind,) if adapter else kinds,
        " ".join(word for word in words if isinstance(word, str)),
        drivers[0] if drivers else "",
        adapter.bus if adapter and isinstance(adapter.bus, str) else "",
        tuple(rates), tuple(address.ip for address in interface.addresses) if interface else (),
    )  # fmt: skip


def _stated_interface(
    name: str, node: str, interfaces: Sequence[Candidate], inventory: Inventory | Skipped
) -> ChosenInterface | Skipped:
    if any(candidate.name == name for candidate in interfaces):
        return ChosenInterface(name)
    if isinstance(inventory, Inventory) and not isinstance(inventory.node, Skipped):
        first = "; make it first: configure makes no bond, bridge or VLAN"
        return Skipped(
            f"{node} has no interface {name}; it has {_names(interfaces)}"
            f"{first if _VIRTUAL_NAME.fullmatch(name) else ''}"
        )
    return ChosenInterface(name, f"no source shows {name} of {node}; the name is used as stated")


def _fits(candidate: Candidate, network: NetworkDescription) -> bool:
    match = network.match
    rate = match.rate_bit_s
    if isinstance(rate, Skipped):
        rate = network.rate_bit_s if match == Match() and candidate.rates_bit_s else rate
    return (
        (match.kind or network.kind) in candidate.kinds
        and match.product.casefold() in candidate.product.casefold()
        and match.driver in ("", candidate.driver)
        and match.bus in ("", candidate.bus)
        and (isinstance(rate, Skipped) or rate in candidate.rates_bit_s)
    )


def _no_choice(
    network: NetworkDescription,
    node: str,
    fitting: Sequence[Candidate],
    interfaces: Sequence[Candidate],
) -> Skipped:
    sought = ", ".join(_criteria(network)) or f"kind {network.kind}"
    if not fitting:
        return Skipped(
            f"{node} has no interface for {network.name} ({sought}); it has {_names(interfaces)}"
        )
    return Skipped(
        f"{node} has {len(fitting)} interfaces for {network.name} ({sought}): {_names(fitting)};"
        f' name one: interface = {{ {node} = "{fitting[0].name}" }}'
    )


def _criteria(network: NetworkDescription) -> Iterator[str]:
    for word in ("product", "driver", "bus"):
        if value := getattr(network.match, word):
            yield f"{word} {value}"
    yield f"kind {network.match.kind or network.kind}"
    rate = network.match.rate_bit_s
    if not isinstance(rate, Skipped):
        yield f"rate {link_rate(rate)}"


def _names(interfaces: Sequence[Candidate]) -> str:
    more = f" and {len(interfaces) - _NAMED} more" if len(interfaces) > _NAMED else ""
    return (", ".join(candidate.name for candidate in interfaces[:_NAMED]) or "none") + more


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
            network.name, str(subnet), network.kind, network.rate_bit_s, network.mtu_bytes,
            network.suffix, network.plain, network.exclusive, ports=tuple(ports),
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
            kept = _management_ip(description, subnet, inventories.get(node))
            if isinstance(kept, Skipped):
                remedy = f"give {network.name} a first address, or addresses = {{ {node} = … }}"
                addresses[node] = Skipped(f"{node}: {kept.reason}; {remedy}")
            else:  # the node's host number in another subnet
                ip = Ip(int(subnet.network_address) | (int(kept) & int(subnet.hostmask)))
                addresses[node] = _host_address(str(ip), node, network, subnet)
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
