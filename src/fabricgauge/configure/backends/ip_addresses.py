"""Addresses of an interface, brought to what is wanted and back just as they were; pure.

An interface's first address in a subnet carries the later ones: where it goes, they go with it
(net.ipv4.conf.*.promote_secondaries = 0). So wrong addresses go first, and the right one is then
set anew. The undoing only takes the right one away where it was not there, or where it went with a
wrong one before it: another's address, or the way to the node, may hang on it. It also serves a
step that broke off between its commands, so each of its commands succeeds whether or not there is
anything left to do: ``addr flush … to IP/32`` where ``addr del`` would fail, ``replace`` where
``add`` would. What a node shows that has what is wanted is as ip(8) of iproute2 shows it.
"""

import ipaddress
from collections.abc import Iterable, Iterator, Sequence

from fabricgauge.configure.job import Draft
from fabricgauge.configure.links import HeldRoute, State, carried
from fabricgauge.model.absence import Skipped
from fabricgauge.model.configuration import Step, Verification, WantedNetwork, WantedPort
from fabricgauge.model.finding import Command
from fabricgauge.model.ip_link import IpAddress, IpLink

Routes = tuple[HeldRoute, ...] | Skipped


def is_wrong(held: IpAddress, wanted: WantedNetwork, port: WantedPort) -> bool:
    """Whether the port's interface must not have this address."""
    if held.cidr == port.cidr or held.family != "inet":
        return False
    inside = ipaddress.IPv4Address(held.ip) in ipaddress.IPv4Network(wanted.subnet)
    return inside or (wanted.exclusive and held.scope == "global")


def address_step(
    wanted: WantedNetwork, port: WantedPort, link: IpLink | Skipped, routes: Routes
) -> Step:
    """One step for all addresses of one interface."""
    held = link.ipv4 if isinstance(link, IpLink) else ()
    wrong = [one for one in held if is_wrong(one, wanted, port)]
    right = [one for one in held if one.cidr == port.cidr]
    add = _ip(port, "addr", "replace", port.cidr, "brd", "+", "dev", port.interface)
    lost = _lost(port, wrong, routes)
    stays = bool(right) and not any(right[0] in carried(one, held) for one in wrong)
    old = [one for one in held if one in wrong or (one in right and not stays)]
    return Step(
        f"Give {port.where} the address {port.cidr} in {wanted.name}",
        _reason(port, wrong, right, known=isinstance(link, IpLink)),
        (*(_del(port, one) for one in wrong), add, *_again(port, _reachable(lost, wanted))),
        (has_address(port, 0.0), *(_gone(port, one) for one in wrong)),
        (
            *(() if stays else (taken(port),)),
            *(_back(port, one) for one in old),
            *_again(port, lost),
        ),
        undo_note="" if isinstance(link, IpLink) else "its former addresses are not known",
        fulfilled=f"{port.where} has {port.cidr}" if right and not wrong else "",
    )


def strays(job: Draft, node: str, state: State) -> Iterator[tuple[WantedPort, Step]]:
    """Wanted addresses on interfaces for which they are not wanted, with the places they have.

    Those that are wrong in the interface's own network are left to that network's step.
    """
    own = {port.interface: (wanted, port) for wanted, port in job.ports_of(node)}
    for link in state.links:
        for one in link.ipv4:
            owner = job.owners.get(one.ip)
            if owner is None or (owner.node, owner.interface) == (node, link.name):
                continue
            if link.name in own and is_wrong(one, *own[link.name]):
                continue
            where = WantedPort(node, link.name, one.ip, one.prefix_length)
            lost = _lost(where, [one], state.routes)
            yield (
                where,
                Step(
                    f"Take {one.cidr} from {node}:{link.name}",
                    f"it is wanted on {owner.where}, and can be on one only",
                    (_del(where, one),),
                    (_gone(where, one),),
                    (_back(where, one), *_again(where, lost)),
                ),
            )


def _reason(
    port: WantedPort, wrong: Sequence[IpAddress], right: Sequence[IpAddress], known: bool
) -> str:
    has = ", ".join(one.cidr for one in (*right, *wrong))
    if has:
        return f"{port.where} has {has}"
    return f"{port.where} has no address in it" if known else "what it has is not known"


def _ip(port: WantedPort, *words: str) -> Command:
    return Command(port.node, ("ip", *words))


def _del(port: WantedPort, one: IpAddress) -> Command:
    return _ip(port, "addr", "del", one.cidr, "dev", port.interface)


def taken(port: WantedPort) -> Command:
    """The port's address taken from its interface, if it is there."""
    return _ip(port, "addr", "flush", "dev", port.interface, "to", f"{port.ip}/32")


def _back(port: WantedPort, one: IpAddress) -> Command:
    words = ["addr", "replace", one.cidr]
    words += ["brd", one.broadcast] if one.broadcast else []
    words += ["dev", port.interface]
    words += ["label", one.label] if one.label and one.label != port.interface else []
    words += ["scope", one.scope] if one.scope != "global" else []
    return _ip(port, *words)


def _gone(port: WantedPort, one: IpAddress) -> Verification:
    shown = has_address(port, 0.0).command
    return Verification(shown, f" {one.cidr} ", absent=True)


def _lost(port: WantedPort, wrong: Iterable[IpAddress], routes: Routes) -> list[HeldRoute]:
    """Routes that go with these addresses and are not the kernel's own."""
    if isinstance(routes, Skipped):
        return []
    gone = [ipaddress.IPv4Interface(one.cidr) for one in wrong]
    return [
        route
        for route in routes
        if route.dev == port.interface and route.protocol != "kernel"
        and any(route.prefsrc == str(one.ip) or _in(route.gateway, one.network) for one in gone)
    ]  # fmt: skip


def _reachable(routes: Iterable[HeldRoute], wanted: WantedNetwork) -> list[HeldRoute]:
    """Those that the right address can carry, without a source that is gone."""
    subnet = ipaddress.IPv4Network(wanted.subnet)
    return [
        HeldRoute(one.dst, one.gateway, one.dev, one.protocol, one.scope, "", one.metric)
        for one in routes
        if _in(one.gateway, subnet)
    ]


def _in(gateway: str, subnet: ipaddress.IPv4Network) -> bool:
    try:
        return ipaddress.IPv4Address(gateway) in subnet
    except ValueError:
        return False


def _again(port: WantedPort, routes: Iterable[HeldRoute]) -> Iterator[Command]:
    for one in routes:
        words = ["route", "replace", one.dst]
        for key, value in (
            ("via", one.gateway), ("dev", one.dev), ("proto", one.protocol), ("scope", one.scope),
            ("src", one.prefsrc), ("metric", str(one.metric or "")),
        ):  # fmt: skip
            words += [key, value] if value else []
        yield _ip(port, *words)


#: A node's network service brings an interface up within seconds.
PATIENCE_S = 30.0


def has_address(port: WantedPort, patience_s: float = PATIENCE_S) -> Verification:
    """The interface has the wanted address."""
    shown = Command(port.node, ("ip", "-o", "-4", "addr", "show", "dev", port.interface))
    return Verification(shown, f" {port.cidr} ", patience_s=patience_s)


def has_mtu(port: WantedPort, mtu_bytes: int, patience_s: float = PATIENCE_S) -> Verification:
    shown = Command(port.node, ("ip", "-o", "link", "show", "dev", port.interface))
    return Verification(shown, f" mtu {mtu_bytes} ", patience_s=patience_s)


def all_of(wanted: WantedNetwork, port: WantedPort) -> Iterator[Verification]:
    yield has_address(port)
    if not isinstance(wanted.mtu_bytes, Skipped):
        yield has_mtu(port, wanted.mtu_bytes)
