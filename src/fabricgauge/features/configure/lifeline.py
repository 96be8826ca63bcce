"""Find how a node is reached, so that no plan cuts it off without consent; pure.

sshd gives a session the address that it came in by (SSH_CONNECTION, ssh(1) of OpenSSH 9.2). Without
ssh the default route is the only sign. No plan removes that address: the connection for the rest of
the plan, and for its undoing, would be gone. Any other change of such an interface needs consent.
So does every change of a node that was asked for its links and routes and gave no valid answer.
"""

from collections.abc import Iterator

import msgspec

from fabricgauge.features.configure import links
from fabricgauge.features.configure.job import Draft, Step, WantedPort
from fabricgauge.features.configure.links import State
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import UsageError
from fabricgauge.model.finding import Command
from fabricgauge.model.ip_link import IpLink

CONSENT = "management"

_CAME_IN = ("sh", "-c", 'printf "%s\\n" "${SSH_CONNECTION-}"')


class Lifeline(msgspec.Struct, frozen=True):
    """The address by which a node is reached, and its interface; empty if they are unknown.

    ``interfaces`` are all that need consent, with a sentence each: also those that carry them.
    """

    ip: str
    at: str
    interfaces: dict[str, str]


def asks(job: Draft) -> Iterator[Command]:
    for node in job.nodes:
        yield question(node)
        yield from links.questions(node)


def lifeline(job: Draft, node: str) -> Lifeline:
    """Return the lifeline of a node, as far as it is known."""
    ip = came_in_by(job.output(question(node)))
    state = links.state(job, node)
    reasons = {name: f"{name} carries the default route of {node}"
             for name in _default_routes(job, node, state)}  # fmt: skip
    own_links = state.links if ip else ()
    interface = next(
        (link.name for link in own_links if any(address.ip == ip for address in link.addresses)), ""
    )
    if interface:
        reasons[interface] = f"{node} is reached by its address {ip} on {interface}"
    return Lifeline(ip, interface, _add_carriers(state, reasons))


def _add_carriers(state: State, reasons: dict[str, str]) -> dict[str, str]:
    """Add all interfaces that carry these, at any depth."""
    all_reasons, pending = dict(reasons), list(reasons)
    while pending:
        name = pending.pop()
        for below in state.below(name):
            if below not in all_reasons:
                all_reasons[below] = f"{below} carries {name}, and {all_reasons[name]}"
                pending.append(below)
    return all_reasons


def with_consent(job: Draft, port: WantedPort, step: Step) -> Step:
    """Return the step; it needs consent if its node may be reached by the port's interface.

    Raises:
        UsageError: it removes the address by which its node is reached, or one that carries it.
    """
    _require_address_kept(job, step)
    why = lifeline(job, port.node).interfaces.get(port.interface, "")
    if not why and (doubt := links.doubt(job, port.node)):
        why = (
            f"what {port.interface} is part of, and whether {port.node} is reached over it, is not"
            f" known ({doubt})"
        )
    if not why or step.fulfilled:
        return step
    return msgspec.structs.replace(step, reason=f"{step.reason}; {why}", consent=CONSENT)


def _require_address_kept(job: Draft, step: Step) -> None:
    for command in step.commands:
        if command.argv[1:3] != ("addr", "del"):
            continue
        node_lifeline = lifeline(job, command.node)
        if node_lifeline.ip and node_lifeline.ip in _removed_addresses(job, command):
            raise UsageError(
                f"{job.description.origin}: no plan is made: {command.node} is reached by its"
                f" address {node_lifeline.ip}, and {' '.join(command.argv)} would cut it off in the"
                " middle of the change; name another interface or subnet, or reach it otherwise"
            )


def _removed_addresses(job: Draft, command: Command) -> Iterator[str]:
    """Yield the addresses that ``ip addr del IP/LENGTH dev NAME`` removes."""
    address, name = command.argv[3], command.argv[5]
    yield address.partition("/")[0]
    link = links.state(job, command.node).link(name)
    held = link.ipv4 if isinstance(link, IpLink) else ()
    for removed in held:
        if removed.cidr == address:
            yield from (address.ip for address in links.carried_by(removed, held))


def require_only_address(job: Draft, port: WantedPort, service: str) -> None:
    """Check the lifeline for a service that gives an interface no other address.

    Raises:
        UsageError: the node is reached by another address of the interface.
    """
    node_lifeline = lifeline(job, port.node)
    if node_lifeline.at == port.interface and node_lifeline.ip != port.ip:
        reason = node_lifeline.interfaces[node_lifeline.at]
        raise UsageError(
            f"{job.description.origin}: no plan is made: {reason}, and"
            f" {service} would give it {port.ip} alone; name another interface"
        )


def removed_address(command: Command) -> str:
    """Return the address that a command of ip(8) removes; empty if it removes none."""
    words = command.argv
    if words[:3] == ("ip", "addr", "del"):
        return words[3].partition("/")[0]
    return words[-1].partition("/")[0] if words[:3] == ("ip", "addr", "flush") else ""


def question(node: str) -> Command:
    """Return a command that prints the address that an ssh session came in by."""
    return Command(node, _CAME_IN)


def came_in_by(printed: str) -> str:
    """Return the server's address: the third of four words; empty without an ssh session."""
    words = printed.split()
    return words[2].partition("%")[0] if len(words) == 4 else ""


def _default_routes(job: Draft, node: str, state: State) -> Iterator[str]:
    if not isinstance(state.routes, Skipped):
        yield from (dev for route in state.routes if route.dst == "default" for dev in route.devs)
        return
    inventory = job.inventory(node)
    if not isinstance(inventory, Skipped):
        yield from (route.interface for route in inventory.routes if route.destination == "default")
