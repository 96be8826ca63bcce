"""What a node's kernel has now: links, addresses and routes; pure.

Source: ``ip -j -d addr`` and ``ip -j route`` of iproute2 6.1. Where they were not asked,
discovery's interfaces stand for them, which know no broadcast address and no label. What it prints
as null, as the ``link`` of tunl0, is as if it were left out.
"""

import ipaddress
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from fabricgauge.configure.job import PlanInput, Reply, on
from fabricgauge.model.absence import Skipped
from fabricgauge.model.configuration import WantedPort
from fabricgauge.model.fabric import Interface
from fabricgauge.model.finding import Command

_T = TypeVar("_T")


class HeldAddress(
    msgspec.Struct, frozen=True, rename={"ip": "local", "prefix_length": "prefixlen"}
):
    """An address with all that is needed to add it again just so."""

    family: str = ""
    ip: str = ""
    prefix_length: int = 0
    broadcast: str = ""
    label: str = ""
    scope: str = "global"

    @property
    def cidr(self) -> str:
        return f"{self.ip}/{self.prefix_length}"


class LinkInfo(msgspec.Struct, frozen=True):
    """What a driver says of a link that is made of others; ``info_kind`` is ip-link(8)'s word."""

    info_kind: str = ""


_NAMES = {"name": "ifname", "mtu_bytes": "mtu", "addresses": "addr_info", "below": "link",
          "most_mtu_bytes": "max_mtu", "info": "linkinfo"}  # fmt: skip


class Link(msgspec.Struct, frozen=True, rename=_NAMES):
    """An interface; its flags are the kernel's words."""

    name: str = ""
    flags: tuple[str, ...] = ()
    mtu_bytes: int = 0
    addresses: tuple[HeldAddress, ...] = ()
    #: The bridge or bond that it belongs to.
    master: str = ""
    #: The interface that it lies upon, as a VLAN on its adapter, or a veth's other end.
    below: str = ""
    #: 0 where the driver says nothing of it.
    most_mtu_bytes: int = 0
    info: LinkInfo = LinkInfo()

    @property
    def kind(self) -> str:
        """``bond``, ``vlan``; empty for an adapter's own interface."""
        return self.info.info_kind

    @property
    def up(self) -> bool:
        """Whether it is switched on, with or without a cable."""
        return "UP" in self.flags

    @property
    def carrier(self) -> bool:
        return "NO-CARRIER" not in self.flags

    @property
    def ipv4(self) -> tuple[HeldAddress, ...]:
        return tuple(one for one in self.addresses if one.family == "inet" and _subnet(one))


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
    flags: tuple[str, ...] = ()
    #: Of a route with several ways, which then has no ``dev`` of its own.
    nexthops: tuple[NextHop, ...] = ()

    @property
    def devs(self) -> tuple[str, ...]:
        """Every interface that packets on this route may leave by."""
        return tuple(dev for dev in (self.dev, *(one.dev for one in self.nexthops)) if dev)


class State(msgspec.Struct, frozen=True):
    """One node's: no links where nothing is known of it; ``routes`` are absent where only
    discovery told of it.
    """

    links: tuple[Link, ...]
    routes: tuple[HeldRoute, ...] | Skipped

    def link(self, name: str) -> Link | Skipped:
        missing = Skipped(f"there is no interface {name}")
        return next((link for link in self.links if link.name == name), missing)

    def below(self, name: str) -> tuple[str, ...]:
        """The interfaces of this node that ``name`` rests on: a VLAN's adapter, a bond's slaves.
        A veth's other end carries nothing of it.
        """
        link = self.link(name)
        if isinstance(link, Skipped):
            return ()
        upon = "" if link.kind == "veth" else link.below
        return tuple(one.name for one in self.links if one.name == upon or one.master == name)


def questions(node: str) -> tuple[Command, Command]:
    return (
        Command(node, ("ip", "-j", "-d", "addr", "show")),
        Command(node, ("ip", "-j", "route", "show")),
    )


def state(job: PlanInput, node: str) -> State:
    """What the node answered, else what discovery saw; ``doubt`` says what was not understood."""
    addresses, routes = (job.reply(question) for question in questions(node))
    links = _links(addresses)
    if not isinstance(links, Skipped):
        return State(links, _routes(routes))
    known = job.node(node)
    if isinstance(known, Skipped):
        return State((), known)
    return State(tuple(map(_link, known.interfaces)), Skipped("discovery did not read its routes"))


def doubt(job: PlanInput, node: str) -> str:
    """Why the node's interfaces or routes are not known, though it was asked:
    an iproute2 without ``-j``, or a reply that is not understood. Empty where it was not asked.
    """
    for question, read in zip(questions(node), (_links, _routes), strict=True):
        reply = job.reply(question)
        found = read(reply)
        if isinstance(reply, Reply) and isinstance(found, Skipped):
            return f"{' '.join(question.argv)} on {on(node)}: {found.reason}"
    return ""


def link_of(job: PlanInput, port: WantedPort) -> Link | Skipped:
    """The port's interface."""
    return state(job, port.node).link(port.interface)


def carried(first: HeldAddress, held: Sequence[HeldAddress]) -> tuple[HeldAddress, ...]:
    """The addresses that go where ``first`` goes: the later ones of its subnet, if it is that
    subnet's first (net.ipv4.conf.*.promote_secondaries = 0). Any that is no address carries none.
    """
    alike = [one for one in held if _subnet(one) == _subnet(first)]
    return tuple(alike[1:]) if alike[:1] == [first] else ()


def _subnet(one: HeldAddress) -> str:
    """Empty for what is no IPv4 address."""
    try:
        return str(ipaddress.IPv4Interface(one.cidr).network)
    except ValueError:
        return ""


def _links(reply: Reply | Skipped) -> tuple[Link, ...] | Skipped:
    return _answer(reply, tuple[Link, ...])


def _routes(reply: Reply | Skipped) -> tuple[HeldRoute, ...] | Skipped:
    """iproute2 prints nothing at all for an empty table."""
    return _answer(reply, tuple[HeldRoute, ...], empty="[]")


def _answer(reply: Reply | Skipped, kind: type[_T], empty: str = "") -> _T | Skipped:
    if isinstance(reply, Skipped):
        return reply
    if reply.exit_code != 0:
        return Skipped(f"exit status {reply.exit_code}")
    try:
        found = msgspec.json.decode((reply.output or empty).encode())
        return msgspec.convert(_without_null(found), kind)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        return Skipped(f"not what ip -j prints: {error}")


def _without_null(value: object) -> object:
    if isinstance(value, list):
        return [_without_null(one) for one in value]
    if isinstance(value, dict):
        return {key: _without_null(one) for key, one in value.items() if one is not None}
    return value


def _link(interface: Interface) -> Link:
    """A carrier can only be read of an interface that is switched on (sysfs-class-net)."""
    up = () if isinstance(interface.carrier, Skipped) else ("UP",)
    cable = ("NO-CARRIER",) if interface.carrier is False else ()
    addresses = tuple(
        HeldAddress("inet6" if ":" in one.ip else "inet", one.ip, one.prefix_length)
        for one in interface.addresses
    )
    return Link(interface.name, (*up, *cable), interface.mtu_bytes, addresses)
