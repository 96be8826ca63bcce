"""The subnets that are wanted against those that are there; pure."""

import ipaddress
from collections.abc import Iterable, Iterator
from itertools import combinations

from fabricgauge.configure.description import NetworkDescription
from fabricgauge.configure.job import Draft
from fabricgauge.model.errors import UsageError
from fabricgauge.model.inventory import Inventory


def subnet_of(network: NetworkDescription, origin: str) -> ipaddress.IPv4Network:
    """The subnet that is planned for.

    A mask that leaves bits of the written base standing, as in 10.10.40.0/8, is a slip: the
    base names a network that is smaller by whole octets, and that one is meant.

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
    """Raises ValueError for 0.0.0.0/8, loopback, and multicast and above (RFC 6890)."""
    first = int(written.network.network_address) >> 24
    last = int(written.network.broadcast_address) >> 24
    if first == 0 or first <= 127 <= last or last >= 224:
        raise ValueError(f"{written} holds addresses that no interface can have")


def subnet_notes(job: Draft) -> Iterator[str]:
    """What a reviewer must know of overlapping subnets."""
    planned = {one.name: ipaddress.IPv4Network(one.subnet) for one in job.wanted}
    known = _known(job.inventories)
    for one in job.description.networks:
        yield from _mended(one, planned, known)
    for name, other in combinations(planned, 2):
        if planned[name].overlaps(planned[other]):
            yield (
                f"{name} ({planned[name]}) and {other} ({planned[other]}) overlap: a kernel sends"
                " both through one interface; give each a /24 of its own"
            )
    for name, subnet in planned.items():
        yield from _swallowed(name, subnet, known)


def _mended(
    network: NetworkDescription,
    planned: dict[str, ipaddress.IPv4Network],
    known: dict[ipaddress.IPv4Network, str],
) -> Iterator[str]:
    wide = ipaddress.IPv4Interface(network.subnet).network
    if wide == planned[network.name]:
        return
    inside = [f"{name} ({subnet})" for name, subnet in planned.items() if name != network.name
              and subnet.overlaps(wide)]  # fmt: skip
    inside += [f"{subnet} on {where}" for subnet, where in known.items() if subnet.overlaps(wide)]
    swallowed = f", which also holds {', '.join(inside[:4])}" if inside else ""
    yield (
        f"mended: {network.name} is written {network.subnet}, that is {wide}{swallowed}; planned"
        f" is {planned[network.name]}. With the wide mask the networks become one, and MPI uses"
        " whatever interface the kernel picks"
    )


def _swallowed(
    name: str, subnet: ipaddress.IPv4Network, known: dict[ipaddress.IPv4Network, str]
) -> Iterator[str]:
    """Addresses that the nodes have in another subnet which contains this one, or lies in it."""
    for other, where in known.items():
        if other == subnet or not other.overlaps(subnet):
            continue
        smaller = max(24, subnet.prefixlen)
        yield (
            f"{where} is in {other}, which overlaps {name} ({subnet}): traffic for {name} may"
            f" leave there; give it a mask of its own, such as /{smaller}"
        )


def _known(inventories: Iterable[Inventory]) -> dict[ipaddress.IPv4Network, str]:
    """Subnets that the nodes have already, each with the first place where it was seen."""
    found: dict[ipaddress.IPv4Network, str] = {}
    for inventory in inventories:
        for interface in inventory.interfaces:
            for one in interface.addresses:
                subnet = ipaddress.ip_interface(f"{one.ip}/{one.prefix_length}").network
                local = subnet.is_loopback or subnet.is_link_local
                if isinstance(subnet, ipaddress.IPv4Network) and not local:
                    found.setdefault(subnet, f"{inventory.name}:{interface.name} ({one.ip})")
    return found
