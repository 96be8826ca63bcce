"""What a node's kernel has now: links, addresses and routes; pure.

Source: ``ip -j -d addr`` and ``ip -j route`` of iproute2 6.1. Where they were not asked,
discovery's interfaces stand for them, which know no broadcast address and no label.
"""

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from fabricgauge.configure.job import Draft, Reply, on
from fabricgauge.model.absence import Skipped
from fabricgauge.model.configuration import WantedPort
from fabricgauge.model.fabric import Interface
from fabricgauge.model.finding import Command
from fabricgauge.model.ip_link import IpAddress, IpLink, printed

_T = TypeVar("_T")


class NextHop(msgspec.Struct, frozen=True):
    """One way of a route that has several."""

    dev: str = ""


class HeldRoute(msgspec.Struct, frozen=True):
    """A line of the main routing table, under iproute2's own names."""

    dst: str = ""
    gateway: str = ""
    dev: str = ""
    protocol: str = ""
    scope: str = ""
    prefsrc: str = ""
    metric: int = 0
    #: Of a route with several ways, which then has no ``dev`` of its own.
    nexthops: tuple[NextHop, ...] = ()

    @property
    def devs(self) -> tuple[str, ...]:
        """Every interface that packets on this route may leave by."""
        return tuple(dev for dev in (self.dev, *(one.dev for one in self.nexthops)) if dev)


class State(msgspec.Struct, frozen=True):
    """One node's links and routes. There are no links where nothing is known of the node;
    ``routes`` are absent where discovery alone describes it.
    """

    links: tuple[IpLink, ...]
    routes: tuple[HeldRoute, ...] | Skipped

    def link(self, name: str) -> IpLink | Skipped:
        missing = Skipped(f"there is no interface {name}")
        return next((link for link in self.links if link.name == name), missing)

    def below(self, name: str) -> tuple[str, ...]:
        """The interfaces of this node that ``name`` rests on: a VLAN's adapter, a bond's slaves.
        A veth's other end carries nothing of it.
        """
        link = self.link(name)
        if isinstance(link, Skipped):
            return ()
        upon = "" if link.kind == "veth" else link.parent
        return tuple(one.name for one in self.links if one.name == upon or one.master == name)


def questions(node: str) -> tuple[Command, Command]:
    return (
        Command(node, ("ip", "-j", "-d", "addr", "show")),
        Command(node, ("ip", "-j", "route", "show")),
    )


def state(job: Draft, node: str) -> State:
    """What the node answered, else what discovery saw; ``doubt`` says what was not understood."""
    addresses, routes = (job.reply(question) for question in questions(node))
    links = _links(addresses)
    if not isinstance(links, Skipped):
        return State(links, _routes(routes))
    known = job.node(node)
    if isinstance(known, Skipped):
        return State((), known)
    return State(tuple(map(_link, known.interfaces)), Skipped("discovery did not read its routes"))


def doubt(job: Draft, node: str) -> str:
    """Why the node's interfaces or routes are not known, though it was asked:
    an iproute2 without ``-j``, or a reply that is not understood. Empty where it was not asked.
    """
    for question, read in zip(questions(node), (_links, _routes), strict=True):
        reply = job.reply(question)
        found = read(reply)
        if isinstance(reply, Reply) and isinstance(found, Skipped):
            return f"{' '.join(question.argv)} on {on(node)}: {found.reason}"
    return ""


def link_of(job: Draft, port: WantedPort) -> IpLink | Skipped:
    """The port's interface."""
    return state(job, port.node).link(port.interface)


def carried(first: IpAddress, held: Sequence[IpAddress]) -> tuple[IpAddress, ...]:
    """The addresses that go where ``first`` goes: the later ones of its subnet, if it is that
    subnet's first (net.ipv4.conf.*.promote_secondaries = 0). Any that is no address carries none.
    """
    alike = [one for one in held if one.ipv4_subnet == first.ipv4_subnet]
    return tuple(alike[1:]) if alike[:1] == [first] else ()


def _links(reply: Reply | Skipped) -> tuple[IpLink, ...] | Skipped:
    return _answer(reply, tuple[IpLink, ...])


def _routes(reply: Reply | Skipped) -> tuple[HeldRoute, ...] | Skipped:
    """iproute2 prints nothing at all for an empty table."""
    return _answer(reply, tuple[HeldRoute, ...], empty="[]")


def _answer(reply: Reply | Skipped, kind: type[_T], empty: str = "") -> _T | Skipped:
    if isinstance(reply, Skipped):
        return reply
    if reply.exit_code != 0:
        return Skipped(f"exit status {reply.exit_code}")
    try:
        return printed((reply.output or empty).encode(), kind)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        return Skipped(f"not what ip -j prints: {error}")


def _link(interface: Interface) -> IpLink:
    """A carrier can only be read of an interface that is switched on (sysfs-class-net)."""
    up = () if isinstance(interface.carrier, Skipped) else ("UP",)
    cable = ("NO-CARRIER",) if interface.carrier is False else ()
    addresses = tuple(
        IpAddress("inet6" if ":" in one.ip else "inet", one.ip, one.prefix_length)
        for one in interface.addresses
    )
    return IpLink(
        interface.name, flags=(*up, *cable), mtu_bytes=interface.mtu_bytes, addresses=addresses
    )
