"""The wanted networks with each node's own interface and address; pure."""

from collections.abc import Iterator, Mapping

from fabricgauge.configure.addresses import addresses_of
from fabricgauge.configure.description import Description, NetworkDescription
from fabricgauge.configure.matching import Chosen, interface_of
from fabricgauge.configure.subnets import subnet_of
from fabricgauge.model.absence import Skipped
from fabricgauge.model.configuration import Wanted, WantedPort
from fabricgauge.model.inventory import Inventory

Settled = tuple[tuple[Wanted, ...], tuple[str, ...], tuple[str, ...]]


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
            if isinstance(chosen, Chosen) and isinstance(ip, str):
                ports.append(WantedPort(node, chosen.interface, ip, subnet.prefixlen))
                doubts += [chosen.doubt] if chosen.doubt else []
        wanted.append(_wanted(network, str(subnet), tuple(ports)))
    troubles += [*_taken_twice(wanted), *_named_twice(wanted, description.nodes)]
    return tuple(wanted), tuple(dict.fromkeys(troubles)), tuple(dict.fromkeys(doubts))


def _wanted(network: NetworkDescription, subnet: str, ports: tuple[WantedPort, ...]) -> Wanted:
    return Wanted(
        network.name, subnet, network.kind, ports, network.rate_bit_s, network.mtu_bytes,
        network.suffix, network.plain, network.exclusive,
    )  # fmt: skip


def _named_twice(wanted: list[Wanted], nodes: tuple[str, ...]) -> Iterator[str]:
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


def _taken_twice(wanted: list[Wanted]) -> Iterator[str]:
    """One interface can carry two networks, but nobody describes that by accident."""
    first: dict[tuple[str, str], str] = {}
    for network in wanted:
        for port in network.ports:
            other = first.setdefault((port.node, port.interface), network.name)
            if other != network.name:
                yield (
                    f"{port.node}:{port.interface} would carry both {other} and {network.name};"
                    f" name the interface of one of them"
                )
