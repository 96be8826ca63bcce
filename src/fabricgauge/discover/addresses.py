"""Addresses of nodes that belong to no network yet, found by subnet; pure."""

import ipaddress
from bisect import bisect_left
from collections.abc import Sequence

import msgspec

from fabricgauge.model.fabric import Interface, Member, Node

Subnet = ipaddress.IPv4Network | ipaddress.IPv6Network
Ip = ipaddress.IPv4Address | ipaddress.IPv6Address


def is_narrow(subnet: Subnet) -> bool:
    """Whether it holds one address, or the two ends of a link (RFC 3021, 6164)."""
    return subnet.prefixlen >= subnet.max_prefixlen - 1


class End(msgspec.Struct, frozen=True):
    """One address of one interface of one node, with the subnet of its own mask."""

    node: Node
    interface: Interface
    ip: Ip
    subnet: Subnet

    @property
    def member(self) -> Member:
        return Member(self.node.name, self.interface.name, str(self.ip), self.interface.mtu_bytes)


class Free:
    """Ends that are free, in order of address: those of a subnet stand together.

    Where each link is routed there are as many subnets as ends, and each is asked for.
    """

    def __init__(self, ends: Sequence[End]) -> None:
        self._ends = ends
        self._taken = [False] * len(ends)
        self._places = sorted((one.ip.version, int(one.ip), n) for n, one in enumerate(ends))

    @property
    def left(self) -> list[End]:
        """Those that nobody took, in the order in which they came."""
        return [one for one, taken in zip(self._ends, self._taken, strict=True) if not taken]

    def inside(self, subnet: Subnet) -> list[End]:
        """Those of ``left`` in a subnet."""
        return [self._ends[n] for n in self._numbers(subnet)]

    def take(self, subnet: Subnet) -> list[End]:
        """The same, and they are free no longer."""
        numbers = self._numbers(subnet)
        for n in numbers:
            self._taken[n] = True
        return [self._ends[n] for n in numbers]

    def _numbers(self, subnet: Subnet) -> list[int]:
        version, first = subnet.version, int(subnet.network_address)
        begin = bisect_left(self._places, (version, first, 0))
        end = bisect_left(self._places, (version, first + subnet.num_addresses, 0))
        return sorted(n for _, _, n in self._places[begin:end] if not self._taken[n])
