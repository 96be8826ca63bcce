"""Hold what all parts of a plan read and make: ports, facts, steps, fulfilled steps; pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import msgspec

from fabricgauge.features.configure.description import Description, Image, NetworkTraits
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Node
from fabricgauge.model.finding import Command
from fabricgauge.model.groups import group_by
from fabricgauge.model.inventory import Inventory


class WantedPort(msgspec.Struct, frozen=True):
    """One node's end of an intended network; ``interface`` is its name on the node."""

    node: str
    interface: str
    ip: str
    prefix_length: int

    @property
    def cidr(self) -> str:
        return f"{self.ip}/{self.prefix_length}"

    @property
    def where(self) -> str:
        return f"{self.node}:{self.interface}"


class WantedNetwork(NetworkTraits, frozen=True, kw_only=True):
    """A network to plan, and the ports that were chosen for it."""

    ports: tuple[WantedPort, ...]


class Verification(msgspec.Struct, frozen=True):
    """A command whose output must contain ``expected`` (or not, if ``absent``); exit status 0.

    It changes nothing, so it can run at any time. ``patience_s`` is the longest time from the
    change until it must hold.
    """

    command: Command
    expected: str
    absent: bool = False
    patience_s: float = 0.0


class Step(msgspec.Struct, frozen=True):
    """One change of an ordered plan.

    ``verify`` and ``undo`` are empty if the step has none; ``undo_note`` then gives the reason.
    ``consent`` is the action that a person must permit by name (``reboot``); empty otherwise.
    ``fulfilled`` is the evidence that no change is needed; empty for a step that is due.
    ``before`` are conditions that must still hold when the commands run. A step that ``follows`` is
    due after any earlier step was made, even if its verification holds.
    """

    title: str
    reason: str
    commands: tuple[Command, ...] = ()
    verify: tuple[Verification, ...] = ()
    undo: tuple[Command, ...] = ()
    undo_note: str = ""
    consent: str = ""
    fulfilled: str = ""
    before: tuple[Verification, ...] = ()
    follows: bool = False


class Configuration(msgspec.Struct, frozen=True):
    """An ordered plan by one backend; ``notes`` are advice for a reviewer."""

    backend: str
    wanted: tuple[WantedNetwork, ...]
    steps: tuple[Step, ...]
    notes: tuple[str, ...]


#: The head in a ``Command``.
HEAD = ""

UNASKED = Skipped("it was not asked")


class Reply(msgspec.Struct, frozen=True):
    """The answer to a command that changes nothing; exit code 127 is a missing program."""

    exit_code: int
    output: str


class Draft(msgspec.Struct, frozen=True, dict=True):
    """A job whose ports are chosen.

    ``troubles`` are sentences on nodes without a clear port, ``doubts`` on the others. ``replies``
    are the known answers to ``interface.questions`` and ``interface.checks``.
    """

    description: Description
    wanted: tuple[WantedNetwork, ...]
    inventories: tuple[Inventory, ...]
    replies: dict[Command, Reply] = {}
    troubles: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()

    def reply(self, command: Command) -> Reply | Skipped:
        return self.replies.get(command, UNASKED)

    def output(self, command: Command) -> str:
        """Return the output of a command; empty if it was not asked."""
        reply = self.reply(command)
        return "" if isinstance(reply, Skipped) else reply.output

    def inventory(self, node: str) -> Inventory | Skipped:
        return self._inventories.get(node, Skipped(f"{node} is unknown"))

    def node(self, name: str) -> Node | Skipped:
        inventory = self.inventory(name)
        return inventory if isinstance(inventory, Skipped) else inventory.node

    @cached_property
    def _inventories(self) -> dict[str, Inventory]:
        return {inventory.name: inventory for inventory in reversed(self.inventories)}

    @property
    def ports(self) -> Iterator[tuple[WantedNetwork, WantedPort]]:
        for network in self.wanted:
            for port in network.ports:
                yield network, port

    def ports_of(self, node: str) -> Sequence[tuple[WantedNetwork, WantedPort]]:
        """Return a node's ports, in the order of the networks."""
        return self._by_node.get(node, ())

    @cached_property
    def _by_node(self) -> dict[str, tuple[tuple[WantedNetwork, WantedPort], ...]]:
        return group_by(self.ports, lambda pair: pair[1].node)

    @cached_property
    def owners(self) -> dict[str, WantedPort]:
        return {port.ip: port for _, port in self.ports}

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(port.node for _, port in self.ports))


Steps = Callable[[Draft], Iterable[Step]]


class Backend(msgspec.Struct, frozen=True):
    """``define`` stores the description, ``activate`` applies it to running nodes.

    ``questions`` are read-only commands whose replies show what is there. ``from_head``: a head
    restarts the nodes. ``adapters_only``: it defines every interface as an adapter, never as a
    bond or VLAN. ``pack`` makes an image's changes ready for the nodes' next start.
    """

    name: str
    questions: Callable[[Draft], Iterable[Command]]
    define: Steps
    activate: Steps = lambda job: ()
    notes: Callable[[Draft], Iterable[str]] = lambda job: ()
    pack: Callable[[Draft, Image], Iterable[Step]] = lambda job, image: ()
    from_head: bool = False
    adapters_only: bool = True


def on(node: str) -> str:
    """Return a node's name for a sentence."""
    return node or "the head"


def holds(check: Verification, reply: Reply) -> bool:
    """Check that a reply is as expected.

    Every line counts as begun and ended by a newline, even if the last one has none. So the
    expected text can be a whole line or the beginning of one.
    """
    is_shown = check.expected in f"\n{reply.output}\n"
    return reply.exit_code == 0 and is_shown != check.absent


#: Evidence is quoted in a line of a report.
_EVIDENCE_SIGNS = 160


def with_evidence(steps: Iterable[Step], replies: Mapping[Command, Reply]) -> tuple[Step, ...]:
    """Add evidence to the steps that have nothing left to do.

    A step that only follows others has nothing to do if none of them is due and its own
    verification holds, as far as it was asked.
    """
    checked: list[Step] = []
    due = False
    for step in steps:
        evidence = step.fulfilled or _evidence(step, replies, due)
        due = due or not evidence
        checked.append(msgspec.structs.replace(step, fulfilled=evidence))
    return tuple(checked)


def _evidence(step: Step, replies: Mapping[Command, Reply], due: bool) -> str:
    if step.follows and due:
        return ""
    replies_by_check = [(check, replies.get(check.command)) for check in step.verify]
    if step.follows and not any(reply for _, reply in replies_by_check):
        return "no step before it is due"
    if not replies_by_check or not all(
        reply and holds(check, reply) for check, reply in replies_by_check
    ):
        return ""
    outputs = dict.fromkeys(
        " ".join(reply.output.split()) for _, reply in replies_by_check if reply
    )
    words = " ".join(outputs).strip()
    shortened = words if len(words) <= _EVIDENCE_SIGNS else f"{words[:_EVIDENCE_SIGNS]}…"
    return shortened or f"confirmed by {step.verify[0].command.argv[0]}"
