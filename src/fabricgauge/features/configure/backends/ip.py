"""Configure running nodes by plain ip(8), until their next start.

Source: ip-link(8), ip-address(8) and ip-route(8) of iproute2 6.1.
"""

import ipaddress
from collections.abc import Iterator

from fabricgauge.features.configure import hosts, lifeline, links
from fabricgauge.features.configure.backends import ip_addresses
from fabricgauge.features.configure.backends.kind import Backend
from fabricgauge.features.configure.job import Draft
from fabricgauge.features.configure.links import State
from fabricgauge.features.configure.values import Step, Verification, WantedNetwork, WantedPort
from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Command
from fabricgauge.model.ip_link import IpLink


def define(job: Draft) -> Iterator[Step]:
    """Yield the steps of all nodes. Addresses on wrong interfaces are removed first.

    Raises:
        UsageError: a node would lose the address by which it is reached.
    """
    for node in job.nodes:
        state = links.state(job, node)
        for place, step in ip_addresses.misplaced_addresses(job, node, state):
            yield lifeline.with_consent(job, place, step)
        for network, port in job.ports_of(node):
            for step in _port_steps(network, port, state):
                yield lifeline.with_consent(job, port, step)
    yield from hosts.steps(job)


def notes(job: Draft) -> Iterator[str]:
    yield "settings by ip(8) are lost at a node's next start; the backend xcat keeps them"
    for network, port in job.ports:
        link = links.link_of(job, port)
        if isinstance(link, Skipped):
            continue
        if link.up and "NO-CARRIER" in link.flags:
            yield (
                f"{port.where} has no carrier: check the cable and the port at its other end; no"
                " command repairs that"
            )
        for address in link.ipv4:
            is_planned = address.ip == port.ip or address.ip in job.owners
            if not is_planned and not ip_addresses.is_wrong(address, network, port):
                yield f"{port.where} also has {address.cidr} in another subnet; it stays"


def _port_steps(network: WantedNetwork, port: WantedPort, state: State) -> Iterator[Step]:
    link = state.link(port.interface)
    if not isinstance(network.mtu_bytes, Skipped):
        yield _mtu_step(port, network.mtu_bytes, link)
    yield _up_step(port, link)
    yield ip_addresses.address_step(network, port, link, state.routes)
    if isinstance(link, IpLink) and not isinstance(state.routes, Skipped):
        yield from _route_step(network, port, link, state.routes)


def _mtu_step(port: WantedPort, mtu_bytes: int, link: IpLink | Skipped) -> Step:
    present_mtu = link.mtu_bytes if isinstance(link, IpLink) else 0

    def setting(value: int) -> Command:
        words = ("ip", "link", "set", "dev", port.interface, "mtu", str(value))
        return Command(port.node, words)

    return Step(
        f"Give {port.where} the MTU {mtu_bytes}",
        f"it is {present_mtu}: larger packets are dropped or fragmented" if present_mtu
        else "all ends of a network need the same",
        (setting(mtu_bytes),),
        (ip_addresses.has_mtu(port, mtu_bytes, 0.0),),
        (setting(present_mtu),) if present_mtu else (),
        undo_note="" if present_mtu else "its former MTU is not known",
        fulfilled=f"{port.where} has MTU {present_mtu}" if present_mtu == mtu_bytes else "",
    )  # fmt: skip


def _up_step(port: WantedPort, link: IpLink | Skipped) -> Step:

    def setting(state: str) -> Command:
        return Command(port.node, ("ip", "link", "set", "dev", port.interface, state))

    shown = Command(port.node, ("ip", "-o", "link", "show", "dev", port.interface, "up"))
    is_known = isinstance(link, IpLink)
    return Step(
        f"Switch {port.where} on",
        "it is switched off" if is_known else "nothing passes an interface that is switched off",
        (setting("up"),),
        (Verification(shown, f": {port.interface}"),),
        (setting("down"),) if is_known else (),
        undo_note="" if is_known else "whether it was switched on before is not known",
        fulfilled=f"{port.where} is switched on" if isinstance(link, IpLink) and link.up else "",
    )


def _route_step(
    network: WantedNetwork, port: WantedPort, link: IpLink, routes: tuple[links.HeldRoute, ...]
) -> Iterator[Step]:
    """Yield a step if the subnet's route was removed: the kernel adds it with the address."""
    subnet = str(ipaddress.IPv4Network(network.subnet))
    is_present = any((route.dst, route.dev) == (subnet, port.interface) for route in routes)
    has_address = any(port.cidr == address.cidr for address in link.ipv4)
    if is_present or not has_address or not link.up:
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
