"""What all parts of a plan look at: description, ports, facts, fulfilled steps; pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import msgspec

from fabricgauge.configure.description import Description
from fabricgauge.model.absence import Skipped
from fabricgauge.model.configuration import Step, Verification, WantedNetwork, WantedPort
from fabricgauge.model.fabric import Node
from fabricgauge.model.finding import Command
from fabricgauge.model.groups import grouped
from fabricgauge.model.inventory import Inventory

#: The head in a ``Command``.
HEAD = ""

UNASKED = Skipped("it was not asked")


class Reply(msgspec.Struct, frozen=True):
    """What a command that changes nothing answered; 127 is a program that is not there."""

    exit_code: int
    output: str


class Draft(msgspec.Struct, frozen=True, dict=True):
    """A job whose ports are chosen; ``troubles`` are the nodes for which that was not possible,
    ``doubts`` sentences on the others. ``replies`` are the answers to ``interface.questions`` and
    ``interface.checks`` so far.
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
        """What it printed; empty where it was not asked."""
        reply = self.reply(command)
        return "" if isinstance(reply, Skipped) else reply.output

    def inventory(self, node: str) -> Inventory | Skipped:
        return self._inventories.get(node, Skipped(f"nothing is known of {node}"))

    def node(self, name: str) -> Node | Skipped:
        inventory = self.inventory(name)
        return inventory if isinstance(inventory, Skipped) else inventory.node

    @cached_property
    def _inventories(self) -> dict[str, Inventory]:
        return {one.name: one for one in reversed(self.inventories)}

    @property
    def ports(self) -> Iterator[tuple[WantedNetwork, WantedPort]]:
        for wanted in self.wanted:
            for port in wanted.ports:
                yield wanted, port

    def ports_of(self, node: str) -> Sequence[tuple[WantedNetwork, WantedPort]]:
        """The node's own ports, in the order of the networks."""
        return self._by_node.get(node, ())

    @cached_property
    def _by_node(self) -> dict[str, tuple[tuple[WantedNetwork, WantedPort], ...]]:
        return grouped(self.ports, lambda pair: pair[1].node)

    @cached_property
    def owners(self) -> dict[str, WantedPort]:
        """The port for which each address is wanted."""
        return {port.ip: port for _, port in self.ports}

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """The nodes of all ports, each once."""
        return tuple(dict.fromkeys(port.node for _, port in self.ports))


def on(node: str) -> str:
    """A node's name for a sentence."""
    return node or "the head"


def holds(check: Verification, reply: Reply) -> bool:
    """Whether a reply is as expected. Every line counts as begun and ended by a newline, even where
    the last one lost it, so that what is expected can be a whole line or the begin of one.
    """
    found = check.expected in f"\n{reply.output}\n"
    return reply.exit_code == 0 and found != check.absent


#: Evidence is quoted in a line of a report.
_EVIDENCE_SIGNS = 160


def with_evidence(steps: Iterable[Step], replies: Mapping[Command, Reply]) -> tuple[Step, ...]:
    """The steps, with evidence for those that have nothing left to do.

    A step that only follows others has nothing to do where none of them is to be made and
    its own verification, as far as it was asked, holds.
    """
    done: list[Step] = []
    due = False
    for step in steps:
        evidence = step.fulfilled or _evidence(step, replies, due)
        due = due or not evidence
        done.append(msgspec.structs.replace(step, fulfilled=evidence))
    return tuple(done)


def _evidence(step: Step, replies: Mapping[Command, Reply], due: bool) -> str:
    if step.follows and due:
        return ""
    asked = [(check, replies.get(check.command)) for check in step.verify]
    if step.follows and not any(reply for _, reply in asked):
        return "nothing before it is to be changed"
    if not asked or not all(reply and holds(check, reply) for check, reply in asked):
        return ""
    said = dict.fromkeys(" ".join(reply.output.split()) for _, reply in asked if reply)
    words = " ".join(said).strip()
    told = words if len(words) <= _EVIDENCE_SIGNS else f"{words[:_EVIDENCE_SIGNS]}…"
    return told or f"{step.verify[0].command.argv[0]} finds it so"
