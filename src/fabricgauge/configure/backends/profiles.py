"""Backends that keep a file for each interface: written, taken up, and removed again; pure."""

from collections.abc import Callable, Iterator

import msgspec

from fabricgauge.configure import files, hosts, lifeline, links
from fabricgauge.configure.backends import ip_addresses, seen
from fabricgauge.configure.job import Job
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
    if not isinstance(held, str) and links.has(job, port) is False:
        undo.append(ip_addresses.taken(port))  # not every service takes it when its file is gone
    lifeline.require_own(job, port, service)
    step = Step(
        f"Give {node}:{port.interface} the address {seen.address(port)} in {wanted.name}",
        f"{service} keeps it in {wish.path}, so that it is there after every start",
        (*change.commands, *commands),
        (*change.verify, *seen.all_of(wanted, port)),
        (*change.undo, *undo),
        before=change.before,
    )
    yield lifeline.asking(job, port, step)
