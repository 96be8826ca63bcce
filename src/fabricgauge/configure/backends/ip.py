"""Plain ip(8): what a running node's kernel has, brought to what is wanted, until its next start.

Source: ip-link(8), ip-address(8) and ip-route(8) of iproute2 6.1.
"""

import ipaddress
from collections.abc import Iterator

from fabricgauge.configure import hosts, lifeline, links
from fabricgauge.configure.backends import ip_addresses
from fabricgauge.configure.backends.kind import Backend
from fabricgauge.configure.job import Draft
from fabricgauge.configure.links import State
from fabricgauge.model.absence import Skipped
from fabricgauge.model.configuration import Step, Verification, WantedNetwork, WantedPort
from fabricgauge.model.finding import Command
from fabricgauge.model.ip_link import IpLink


def define(job: Draft) -> Iterator[Step]:
    """Each node's addresses elsewhere go first, so that no address is on two interfaces.

    Raises:
        UsageError: a node would lose the address by which it is reached.
    """
    for node in job.nodes:
        state = links.state(job, node)
        for where, step in ip_addresses.strays(job, node, state):
            yield lifeline.asking(job, where, step)
        for wanted, port in job.ports_of(node):
            for step in _port(wanted, port, state):
                yield lifeline.asking(job, port, step)
    yield from hosts.steps(job)


def notes(job: Draft) -> Iterator[str]:
    yield "what ip(8) sets is gone after a node's next start; another backend keeps it"
    for wanted, port in job.ports:
        link = links.link_of(job, port)
        if isinstance(link, Skipped):
            continue
        if link.up and "NO-CARRIER" in link.flags:
            yield (
                f"{port.where} has no carrier: a cable, or the port at its other end; no command"
                " mends it"
            )
        for one in link.ipv4:
            ours = one.ip == port.ip or one.ip in job.owners
            if not ours and not ip_addresses.is_wrong(one, wanted, port):
                yield f"{port.where} has {one.cidr} as well, in another subnet; it stays"


def _port(wanted: WantedNetwork, port: WantedPort, state: State) -> Iterator[Step]:
    link = state.link(port.interface)
    if not isinstance(wanted.mtu_bytes, Skipped):
        yield _mtu(port, wanted.mtu_bytes, link)
    yield _up(port, link)
    yield ip_addresses.address_step(wanted, port, link, state.routes)
    if isinstance(link, IpLink) and not isinstance(state.routes, Skipped):
        yield from _route(wanted, port, link, state.routes)


def _mtu(port: WantedPort, mtu_bytes: int, link: IpLink | Skipped) -> Step:
    held = link.mtu_bytes if isinstance(link, IpLink) else 0

    def setting(value: int) -> Command:
        words = ("ip", "link", "set", "dev", port.interface, "mtu", str(value))
        return Command(port.node, words)

    return Step(
        f"Give {port.where} the MTU {mtu_bytes}",
        f"it is {held}: larger packets are dropped or cut on the way" if held
        else "all ends of a network need the same",
        (setting(mtu_bytes),),
        (ip_addresses.has_mtu(port, mtu_bytes, 0.0),),
        (setting(held),) if held else (),
        undo_note="" if held else "its former MTU is not known",
        fulfilled=f"{port.where} has MTU {held}" if held == mtu_bytes else "",
    )  # fmt: skip


def _up(port: WantedPort, link: IpLink | Skipped) -> Step:

    def setting(way: str) -> Command:
        return Command(port.node, ("ip", "link", "set", "dev", port.interface, way))

    shown = Command(port.node, ("ip", "-o", "link", "show", "dev", port.interface, "up"))
    known = isinstance(link, IpLink)
    return Step(
        f"Switch {port.where} on",
        "it is switched off" if known else "nothing passes an interface that is switched off",
        (setting("up"),),
        (Verification(shown, f": {port.interface}"),),
        (setting("down"),) if known else (),
        undo_note="" if known else "whether it was switched on before is not known",
        fulfilled=f"{port.where} is switched on" if isinstance(link, IpLink) and link.up else "",
    )


def _route(
    wanted: WantedNetwork, port: WantedPort, link: IpLink, routes: tuple[links.HeldRoute, ...]
) -> Iterator[Step]:
    """The kernel adds the subnet's route with the address; it is missing only if it was
    removed.
    """
    subnet = str(ipaddress.IPv4Network(wanted.subnet))
    there = any((one.dst, one.dev) == (subnet, port.interface) for one in routes)
    has = any(port.cidr == one.cidr for one in link.ipv4)
    if there or not has or not link.up:
        return
    words = (subnet, "dev", port.interface, "proto", "kernel", "scope", "link", "src", port.ip)
    shown = Command(port.node, ("ip", "route", "show", "dev", port.interface))
    yield Step(
        f"Route {subnet} over {port.where}",
        "the address is there, its subnet's route is not: packets leave over another interface",
        (Command(port.node, ("ip", "route", "replace", *words)),),
        (Verification(shown, f"{subnet} "),),
        (Command(port.node, ("ip", "route", "del", *words)),),
    )


IP = Backend("ip", hosts.asks, define, notes=notes, adapters_only=False)
