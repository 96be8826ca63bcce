"""By what a node is reached, so that no plan cuts it off unasked; pure.

sshd tells a session by which address it came in (SSH_CONNECTION, ssh(1) of OpenSSH 9.2); where
nothing came by ssh, the default route is the only sign. A change that takes that address away ends
the plan: the connection that should carry the rest of it would be gone, and the undoing with it.
Any other change of such an interface asks for consent; so does every change of a node that was
asked for its links and routes and did not tell them.
"""

from collections.abc import Iterator

import msgspec

from fabricgauge.configure import links
from fabricgauge.configure.job import Draft
from fabricgauge.configure.links import State
from fabricgauge.model.absence import Skipped
from fabricgauge.model.configuration import Step, WantedPort
from fabricgauge.model.errors import UsageError
from fabricgauge.model.finding import Command
from fabricgauge.model.ip_link import IpLink

CONSENT = "management"

_CAME_IN = ("sh", "-c", 'printf "%s\\n" "${SSH_CONNECTION-}"')


class Lifeline(msgspec.Struct, frozen=True):
    """The address that the node is reached by and the interface that has it, empty where they are
    not known. ``interfaces`` are all that must not be touched unasked, those below it as well, with
    a sentence on each.
    """

    ip: str
    at: str
    interfaces: dict[str, str]


def asks(job: Draft) -> Iterator[Command]:
    for node in job.nodes:
        yield question(node)
        yield from links.questions(node)


def lifeline(job: Draft, node: str) -> Lifeline:
    """What is known of it."""
    ip = came_in_by(job.output(question(node)))
    state = links.state(job, node)
    found = {name: f"{name} carries the default route of {node}"
             for name in _default_routes(job, node, state)}  # fmt: skip
    own = state.links if ip else ()
    at = next((link.name for link in own if any(one.ip == ip for one in link.addresses)), "")
    if at:
        found[at] = f"{node} is reached by its address {ip} on {at}"
    return Lifeline(ip, at, _with_below(state, found))


def _with_below(state: State, found: dict[str, str]) -> dict[str, str]:
    """These interfaces and all that they rest on, however deep."""
    every, due = dict(found), list(found)
    while due:
        name = due.pop()
        for below in state.below(name):
            if below not in every:
                every[below] = f"{below} carries {name}, and {every[name]}"
                due.append(below)
    return every


def asking(job: Draft, port: WantedPort, step: Step) -> Step:
    """The step; it asks for consent if its node is, or may be, reached by the port's interface.

    Raises:
        UsageError: it takes the address away by which its node is reached, or one that carries it.
    """
    _require_kept(job, step)
    why = lifeline(job, port.node).interfaces.get(port.interface, "")
    if not why and (doubt := links.doubt(job, port.node)):
        why = (
            f"what {port.interface} is part of, and whether {port.node} is reached over it, is not"
            f" known ({doubt})"
        )
    if not why or step.fulfilled:
        return step
    return msgspec.structs.replace(step, reason=f"{step.reason}; {why}", consent=CONSENT)


def _require_kept(job: Draft, step: Step) -> None:
    for command in step.commands:
        if command.argv[1:3] != ("addr", "del"):
            continue
        known = lifeline(job, command.node)
        if known.ip and known.ip in _going(job, command):
            raise UsageError(
                f"{job.description.origin}: no plan is made: {command.node} is reached by its"
                f" address {known.ip}, and {' '.join(command.argv)} would cut it off in the middle"
                " of the change; name another interface or subnet, or reach it by another way"
            )


def _going(job: Draft, command: Command) -> Iterator[str]:
    """Addresses that ``ip addr del IP/LENGTH dev NAME`` takes away."""
    address, name = command.argv[3], command.argv[5]
    yield address.partition("/")[0]
    link = links.state(job, command.node).link(name)
    held = link.ipv4 if isinstance(link, IpLink) else ()
    for first in held:
        if first.cidr == address:
            yield from (one.ip for one in links.carried(first, held))


def require_own(job: Draft, port: WantedPort, service: str) -> None:
    """For a service that gives the interface the wanted address and no other.

    Raises:
        UsageError: the node is reached by another address of it.
    """
    known = lifeline(job, port.node)
    if known.at == port.interface and known.ip != port.ip:
        raise UsageError(
            f"{job.description.origin}: no plan is made: {known.interfaces[known.at]}, and"
            f" {service} would give it {port.ip} alone; name another interface"
        )


def takes(command: Command) -> str:
    """The address that a command of ip(8) takes from an interface; empty if it takes none."""
    words = command.argv
    if words[:3] == ("ip", "addr", "del"):
        return words[3].partition("/")[0]
    return words[-1].partition("/")[0] if words[:3] == ("ip", "addr", "flush") else ""


def question(node: str) -> Command:
    """Asks by which address an ssh session came in."""
    return Command(node, _CAME_IN)


def came_in_by(printed: str) -> str:
    """The server's address: the third of four words; empty without an ssh session."""
    words = printed.split()
    return words[2].partition("%")[0] if len(words) == 4 else ""


def _default_routes(job: Draft, node: str, state: State) -> Iterator[str]:
    if not isinstance(state.routes, Skipped):
        yield from (dev for one in state.routes if one.dst == "default" for dev in one.devs)
        return
    inventory = job.inventory(node)
    if not isinstance(inventory, Skipped):
        yield from (one.interface for one in inventory.routes if one.destination == "default")
