"""Backends that keep a file for each interface: written, taken up, and removed again; pure."""

from collections.abc import Callable, Iterator

import msgspec

from fabricgauge.configure import files, hosts, lifeline, links
from fabricgauge.configure.backends import ip_addresses, seen
from fabricgauge.configure.job import Job
from fabricgauge.configure.links import Link, State
from fabricgauge.model.absence import Skipped
from fabricgauge.model.configuration import Step, Wanted, WantedPort
from fabricgauge.model.finding import Command

Argvs = tuple[tuple[str, ...], ...]


class Profile(msgspec.Struct, frozen=True):
    """A file of a node's network service: ``take_up`` makes the service follow it, ``let_go``
    follows the removal of a file that was not there before.
    """

    path: str
    text: str
    mode: str
    take_up: Argvs
    let_go: Argvs


Profiles = Callable[[Wanted, WantedPort], Profile]


def questions(job: Job, profile: Profiles) -> Iterator[Command]:
    for wanted, port in job.ports:
        yield from files.questions(port.node, profile(wanted, port).path)
    yield from hosts.asks(job)


def steps(job: Job, profile: Profiles, service: str) -> Iterator[Step]:
    """For each interface its file, then the service's following it; names at the end."""
    for wanted, port in job.ports:
        yield from _of_port(job, wanted, port, profile(wanted, port), service)
    yield from hosts.steps(job)


def _of_port(
    job: Job, wanted: Wanted, port: WantedPort, wish: Profile, service: str
) -> Iterator[Step]:
    node = port.node
    held = files.content(job, node, wish.path)
    change = files.written(node, wish.path, wish.text, held, wish.mode)
    again = wish.take_up if isinstance(held, str) else wish.let_go
    commands = tuple(Command(node, argv) for argv in wish.take_up)
    undo = [Command(node, argv) for argv in again]
    link = _link(job, port)
    if not isinstance(held, str):
        undo += _as_before(wanted, port, link)
    lifeline.require_own(job, port, service)
    step = Step(
        f"Give {node}:{port.interface} the address {seen.address(port)} in {wanted.name}",
        f"{service} keeps it in {wish.path}, so that it is there after every start",
        (*change.commands, *commands),
        (*change.verify, *seen.all_of(wanted, port)),
        (*change.undo, *undo),
        undo_note="" if isinstance(held, str) else _not_restored(wanted, link),
        before=change.before,
    )
    yield lifeline.asking(job, port, step)


def _link(job: Job, port: WantedPort) -> Link | Skipped:
    state = links.state(job, port.node)
    return state.link(port.interface) if isinstance(state, State) else state


def _as_before(wanted: Wanted, port: WantedPort, link: Link | Skipped) -> Iterator[Command]:
    """What not every service takes back when its file is gone: the address, the MTU, and that it
    switched the interface on (networkd lets it go as it is).
    """
    if not isinstance(link, Link):
        return
    if all(one.ip != port.ip for one in link.ipv4):
        yield ip_addresses.taken(port)
    setting = ("ip", "link", "set", "dev", port.interface)
    if wanted.kind != "ethernet" and seen.needs_connections(link.mtu_bytes):
        yield Command(port.node, (*setting, "type", "ipoib", "mode", "connected"))
    if link.mtu_bytes:
        yield Command(port.node, (*setting, "mtu", str(link.mtu_bytes)))
    if not link.up:
        yield Command(port.node, (*setting, "down"))


def _not_restored(wanted: Wanted, link: Link | Skipped) -> str:
    if not isinstance(link, Link):
        return "the interface's former MTU, and whether it was switched on, are not known"
    if wanted.kind != "ethernet" and not seen.needs_connections(link.mtu_bytes):
        return "which IPoIB mode it had is not known"
    return ""
