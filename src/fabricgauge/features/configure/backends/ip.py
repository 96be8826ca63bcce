"""Configure running nodes by plain ip(8), until their next start.

Source: ip-link(8), ip-address(8) and ip-route(8) of iproute2 6.1.

If an interface's first address in a subnet is removed, the later ones go with it
(net.ipv4.conf.*.promote_secondaries = 0). So wrong addresses are removed first, and the right one
is then set again. The undoing removes the right one only if it was not there before, or went with a
wrong one before it: another address, or the connection to the node, may depend on it. The undoing
also serves a step that broke off between its commands. So each of its commands succeeds even with
nothing left to do: ``addr flush … to IP/32`` where ``addr del`` would fail, ``replace`` where
``add`` would.
"""

import ipaddress
from collections.abc import Iterable, Iterator

from fabricgauge.features.configure import hosts, lifeline, links
from fabricgauge.features.configure.job import (
    Backend,
    Draft,
    Step,
    Verification,
    WantedNetwork,
    WantedPort,
)
from fabricgauge.features.configure.links import HeldRoute, State, carried_by, is_ipv4
from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Command
from fabricgauge.model.ip_link import IpAddress, IpLink

Routes = tuple[HeldRoute, ...] | Skipped


def is_wrong(held: IpAddress, network: WantedNetwork, port: WantedPort) -> bool:
    """Check whether the port's interface must not have this address."""
    if held.cidr == port.cidr or held.family != "inet":
        return False
    inside = ipaddress.IPv4Address(held.ip) in ipaddress.IPv4Network(network.subnet)
    return inside or (network.exclusive and held.scope == "global")


def address_step(
    network: WantedNetwork, port: WantedPort, link: IpLink | Skipped, routes: Routes
) -> Step:
    held = link.ipv4 if isinstance(link, IpLink) else ()
    wrong = [address for address in held if is_wrong(address, network, port)]
    right = [address for address in held if address.cidr == port.cidr]
    add = _ip(port, "addr", "replace", port.cidr, "brd", "+", "dev", port.interface)
    lost_routes = _lost_routes(port, wrong, routes)
    is_kept = bool(right) and not any(right[0] in carried_by(address, held) for address in wrong)
    nothing = "no address in it" if isinstance(link, IpLink) else ""
    cidrs = ", ".join(address.cidr for address in (*right, *wrong)) or nothing
    former = [address for address in held if address in wrong or (address in right and not is_kept)]
    return Step(
        f"Give {port.where} the address {port.cidr} in {network.name}",
        f"{port.where} has {cidrs}" if cidrs else "its addresses are not known",
        (
            *(_delete(port, address) for address in wrong),
            add,
            *_restore_routes(port, _kept_routes(lost_routes, network)),
        ),
        (has_address(port, 0.0), *(_absent_check(port, address) for address in wrong)),
        (
            *(() if is_kept else (flush_address(port),)),
            *(_restore(port, address) for address in former),
            *_restore_routes(port, lost_routes),
        ),
        undo_note="" if isinstance(link, IpLink) else "its former addresses are not known",
        fulfilled=f"{port.where} has {port.cidr}" if right and not wrong else "",
    )


def misplaced_addresses(job: Draft, node: str, state: State) -> Iterator[tuple[WantedPort, Step]]:
    """Yield planned addresses that other interfaces have, with the steps that remove them.

    The step of an interface's own network removes those that are wrong in it.
    """
    own_ports = {port.interface: (network, port) for network, port in job.ports_of(node)}
    for link in state.links:
        for address in link.ipv4:
            owner = job.owners.get(address.ip)
            if owner is None or (owner.node, owner.interface) == (node, link.name):
                continue
            if link.name in own_ports and is_wrong(address, *own_ports[link.name]):
                continue
            place = WantedPort(node, link.name, address.ip, address.prefix_length)
            lost = _lost_routes(place, [address], state.routes)
            yield (
                place,
                Step(
                    f"Take {address.cidr} from {node}:{link.name}",
                    f"it is planned for {owner.where}, and only one interface can have it",
                    (_delete(place, address),),
                    (_absent_check(place, address),),
                    (_restore(place, address), *_restore_routes(place, lost)),
                ),
            )


def _ip(port: WantedPort, *words: str) -> Command:
    return Command(port.node, ("ip", *words))


def _delete(port: WantedPort, address: IpAddress) -> Command:
    return _ip(port, "addr", "del", address.cidr, "dev", port.interface)


def flush_address(port: WantedPort) -> Command:
    """Return the command that removes the port's address if the interface has it."""
    return _ip(port, "addr", "flush", "dev", port.interface, "to", f"{port.ip}/32")


def _restore(port: WantedPort, address: IpAddress) -> Command:
    words = ["addr", "replace", address.cidr]
    words += ["brd", address.broadcast] if address.broadcast else []
    words += ["dev", port.interface]
    words += ["label", address.label] if address.label and address.label != port.interface else []
    words += ["scope", address.scope] if address.scope != "global" else []
    return _ip(port, *words)


def _absent_check(port: WantedPort, address: IpAddress) -> Verification:
    shown = has_address(port, 0.0).command
    return Verification(shown, f" {address.cidr} ", absent=True)


def _lost_routes(port: WantedPort, wrong: Iterable[IpAddress], routes: Routes) -> list[HeldRoute]:
    """Return routes that are removed with these addresses and that the kernel does not add."""
    if isinstance(routes, Skipped):
        return []
    removed = [ipaddress.IPv4Interface(address.cidr) for address in wrong]
    return [
        route
        for route in routes
        if route.dev == port.interface and route.protocol != "kernel"
        and any(
            route.prefsrc == str(address.ip) or _is_inside(route.gateway, address.network)
            for address in removed
        )
    ]  # fmt: skip


def _kept_routes(routes: Iterable[HeldRoute], network: WantedNetwork) -> list[HeldRoute]:
    """Return the routes that the right address can carry, without their former source."""
    subnet = ipaddress.IPv4Network(network.subnet)
    return [
        HeldRoute(
            route.dst, route.gateway, route.dev, route.protocol, route.scope, "", route.metric
        )
        for route in routes
        if _is_inside(route.gateway, subnet)
    ]


def _is_inside(gateway: str, subnet: ipaddress.IPv4Network) -> bool:
    return is_ipv4(gateway) and ipaddress.IPv4Address(gateway) in subnet


def _restore_routes(port: WantedPort, routes: Iterable[HeldRoute]) -> Iterator[Command]:
    for route in routes:
        words = ["route", "replace", route.dst]
        for key, value in (
            ("via", route.gateway), ("dev", route.dev), ("proto", route.protocol),
            ("scope", route.scope), ("src", route.prefsrc), ("metric", str(route.metric or "")),
        ):  # fmt: skip
            words += [key, value] if value else []
        yield _ip(port, *words)


#: A node's network service brings an interface up within seconds.
PATIENCE_S = 30.0


def has_address(port: WantedPort, patience_s: float = PATIENCE_S) -> Verification:
    shown = Command(port.node, ("ip", "-o", "-4", "addr", "show", "dev", port.interface))
    return Verification(shown, f" {port.cidr} ", patience_s=patience_s)


def has_mtu(port: WantedPort, mtu_bytes: int, patience_s: float = PATIENCE_S) -> Verification:
    shown = Command(port.node, ("ip", "-o", "link", "show", "dev", port.interface))
    return Verification(shown, f" mtu {mtu_bytes} ", patience_s=patience_s)


def port_checks(network: WantedNetwork, port: WantedPort) -> Iterator[Verification]:
    yield has_address(port)
    if not isinstance(network.mtu_bytes, Skipped):
        yield has_mtu(port, network.mtu_bytes)


def define(job: Draft) -> Iterator[Step]:
    """Yield the steps of all nodes. Addresses on wrong interfaces are removed first.

    Raises:
        UsageError: a node would lose the address by which it is reached.
    """
    for node in job.nodes:
        state = links.state(job, node)
        for place, step in misplaced_addresses(job, node, state):
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
            if not is_planned and not is_wrong(address, network, port):
                yield f"{port.where} also has {address.cidr} in another subnet; it stays"


def _port_steps(network: WantedNetwork, port: WantedPort, state: State) -> Iterator[Step]:
    link = state.link(port.interface)
    if not isinstance(network.mtu_bytes, Skipped):
        yield _mtu_step(port, network.mtu_bytes, link)
    yield _up_step(port, link)
    yield address_step(network, port, link, state.routes)
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
        (has_mtu(port, mtu_bytes, 0.0),),
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
