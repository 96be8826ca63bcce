"""Check the planned subnets against those that nodes have; pure."""

import ipaddress
from collections.abc import Iterable, Iterator
from itertools import combinations

from fabricgauge.features.configure.description import NetworkDescription
from fabricgauge.features.configure.job import Draft
from fabricgauge.model.errors import UsageError
from fabricgauge.model.inventory import Inventory


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
        _require_unicast(written)
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


def _require_unicast(written: ipaddress.IPv4Interface) -> None:
    """Raise ValueError for 0.0.0.0/8, loopback, and multicast and above (RFC 6890)."""
    first = int(written.network.network_address) >> 24
    last = int(written.network.broadcast_address) >> 24
    if first == 0 or first <= 127 <= last or last >= 224:
        raise ValueError(f"{written} holds addresses that no interface can have")


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
    """Return the subnets that nodes have, each with its first interface."""
    present: dict[ipaddress.IPv4Network, str] = {}
    for inventory in inventories:
        for interface in inventory.interfaces:
            for address in interface.addresses:
                subnet = ipaddress.ip_interface(f"{address.ip}/{address.prefix_length}").network
                local = subnet.is_loopback or subnet.is_link_local
                if isinstance(subnet, ipaddress.IPv4Network) and not local:
                    present.setdefault(subnet, f"{inventory.name}:{interface.name} ({address.ip})")
    return present
