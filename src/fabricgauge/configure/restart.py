"""Restarting nodes, which a person must agree to; pure."""

from collections.abc import Iterator, Sequence

from fabricgauge.configure.job import HEAD, Job
from fabricgauge.model.absence import Skipped
from fabricgauge.model.configuration import Step, Verification
from fabricgauge.model.finding import Command

CONSENT = "reboot"

#: A large server's firmware takes minutes before the kernel starts.
PATIENCE_S = 900.0

_BOOT_ID = ("cat", "/proc/sys/kernel/random/boot_id")


def asks(nodes: Sequence[str]) -> Iterator[Command]:
    """The number of each node's start, so that a later one can be told from it."""
    yield from (Command(node, _BOOT_ID) for node in nodes)


def step(
    job: Job, nodes: Sequence[str], reason: str, verify: Sequence[Verification], from_head: bool
) -> Step:
    """One restart of all nodes; ``verify`` is what a node has afterwards that it lacks before.

    ``from_head`` starts them by pdsh as clusters with a head do; else every node is told
    itself, to restart a minute later, so that it can still answer.
    """
    commands = (
        (Command(HEAD, ("pdsh", "-w", ",".join(nodes), "reboot")),)
        if from_head
        else tuple(Command(node, ("shutdown", "-r", "+1")) for node in nodes)
    )
    return Step(
        f"Restart {', '.join(nodes)}",
        reason,
        commands,
        tuple(_patient(verify) or booted_anew(job, nodes)),
        (),
        undo_note="a restart cannot be undone; jobs on the nodes end",
        consent=CONSENT,
    )


def _patient(verify: Sequence[Verification]) -> list[Verification]:
    return [
        Verification(one.command, one.expected, one.absent, patience_s=PATIENCE_S) for one in verify
    ]


def booted_anew(job: Job, nodes: Sequence[str]) -> list[Verification]:
    """The kernel's number of this start is another, where the one before is known."""
    return [
        Verification(Command(node, _BOOT_ID), number, True, PATIENCE_S)
        for node in nodes
        if (number := _boot_id(job, node))
    ]


def _boot_id(job: Job, node: str) -> str:
    """Empty where nobody asked; the answer is newer than what discovery or a bundle has."""
    reply = job.reply(Command(node, _BOOT_ID))
    if not isinstance(reply, Skipped):
        return reply.output.strip() if reply.exit_code == 0 else ""
    inventory = job.inventory(node)
    if isinstance(inventory, Skipped) or isinstance(inventory.node, Skipped):
        return ""
    return inventory.node.boot_id
