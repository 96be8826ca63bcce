"""Read a node's links, addresses and routes; pure.

Source: ``ip -j -d addr`` and ``ip -j route`` of iproute2 6.1. If a node was not asked, discovery's
interfaces replace the answer; they have no broadcast address and no label.
"""

import ipaddress
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from fabricgauge.features.configure.job import Draft, Reply, WantedPort, on
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Interface
from fabricgauge.model.finding import Command
from fabricgauge.model.ip_link import IpAddress, IpLink, read_ip_json

_T = TypeVar("_T")


def is_ipv4(word: str) -> bool:
    try:
        ipaddress.IPv4Address(word)
    except ValueError:
        return False
    return True


class NextHop(msgspec.Struct, frozen=True):
    """One of several next hops of a route."""

    dev: str = ""


class HeldRoute(msgspec.Struct, frozen=True):
    """A line of the main routing table, with iproute2's names."""

    dst: str = ""
    gateway: str = ""
    dev: str = ""
    protocol: str = ""
    scope: str = ""
    prefsrc: str = ""
    metric: int = 0
    #: A route with several next hops has no ``dev`` of its own.
    nexthops: tuple[NextHop, ...] = ()

    @property
    def devs(self) -> tuple[str, ...]:
        """Return every interface by which packets on this route may leave."""
        return tuple(dev for dev in (self.dev, *(hop.dev for hop in self.nexthops)) if dev)


class State(msgspec.Struct, frozen=True):
    """One node's links and routes. An unknown node has no links.

    ``routes`` are absent if discovery alone describes the node.
    """

    links: tuple[IpLink, ...]
    routes: tuple[HeldRoute, ...] | Skipped

    def link(self, name: str) -> IpLink | Skipped:
        missing = Skipped(f"there is no interface {name}")
        return next((link for link in self.links if link.name == name), missing)

    def below(self, name: str) -> tuple[str, ...]:
        """Return the interfaces that carry ``name``: a VLAN's adapter, a bond's slaves.

        A veth's other end carries nothing of it.
        """
        link = self.link(name)
        if isinstance(link, Skipped):
            return ()
        parent = "" if link.kind == "veth" else link.parent
        return tuple(link.name for link in self.links if link.name == parent or link.master == name)


def questions(node: str) -> tuple[Command, Command]:
    return (
        Command(node, ("ip", "-j", "-d", "addr", "show")),
        Command(node, ("ip", "-j", "route", "show")),
    )


def state(job: Draft, node: str) -> State:
    """Return the node's answer, or else discovery's; ``doubt`` reports an invalid answer."""
    addresses, routes = (job.reply(question) for question in questions(node))
    links = _parse(addresses, tuple[IpLink, ...])
    if not isinstance(links, Skipped):
        return State(links, _parse(routes, tuple[HeldRoute, ...]))
    discovered = job.node(node)
    if isinstance(discovered, Skipped):
        return State((), discovered)
    return State(
        tuple(map(_as_link, discovered.interfaces)), Skipped("discovery did not read its routes")
    )


def doubt(job: Draft, node: str) -> str:
    """Return why the interfaces or routes of a node are unknown although it was asked.

    The reason is an iproute2 without ``-j``, or an invalid reply. Empty if the node was not asked.
    """
    kinds: tuple[Any, ...] = (tuple[IpLink, ...], tuple[HeldRoute, ...])
    for question, kind in zip(questions(node), kinds, strict=True):
        reply = job.reply(question)
        answer = _parse(reply, kind)
        if isinstance(reply, Reply) and isinstance(answer, Skipped):
            return f"{' '.join(question.argv)} on {on(node)}: {answer.reason}"
    return ""


def link_of(job: Draft, port: WantedPort) -> IpLink | Skipped:
    return state(job, port.node).link(port.interface)


def carried_by(first: IpAddress, held: Sequence[IpAddress]) -> tuple[IpAddress, ...]:
    """Return the addresses that the kernel removes with ``first``.

    These are the later ones of its subnet, if it is that subnet's first address
    (net.ipv4.conf.*.promote_secondaries = 0).
    """
    of_subnet = [address for address in held if address.ipv4_subnet == first.ipv4_subnet]
    return tuple(of_subnet[1:]) if of_subnet[:1] == [first] else ()


def _parse(reply: Reply | Skipped, kind: type[_T]) -> _T | Skipped:
    """Parse links or routes; iproute2 prints nothing for an empty table of routes."""
    empty = "[]" if kind == tuple[HeldRoute, ...] else ""
    if isinstance(reply, Skipped):
        return reply
    if reply.exit_code != 0:
        return Skipped(f"exit status {reply.exit_code}")
    try:
        return read_ip_json((reply.output or empty).encode(), kind)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        return Skipped(f"not what ip -j prints: {error}")


def _as_link(interface: Interface) -> IpLink:
    """Convert discovery's interface. Only one that is up has a known carrier (sysfs-class-net)."""
    up = () if isinstance(interface.carrier, Skipped) else ("UP",)
    cable = ("NO-CARRIER",) if interface.carrier is False else ()
    addresses = tuple(
        IpAddress("inet6" if ":" in address.ip else "inet", address.ip, address.prefix_length)
        for address in interface.addresses
    )
    return IpLink(
        interface.name, flags=(*up, *cable), mtu_bytes=interface.mtu_bytes, addresses=addresses
    )
