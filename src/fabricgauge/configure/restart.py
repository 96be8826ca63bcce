"""Restarting nodes, which a person must agree to, and the lanes of QSFP+ adapters; pure.

The lanes of such an adapter are one port of 40 Gb/s or four of 10. Source: Intel QSFP+
Configuration Utility (QCU) 2.34.17, readme and output: ``/NIC=n /INFO`` shows
the arrangement, ``/NIC=n /SET 1x40`` changes it; it counts adapters from 1 and takes effect after
a restart, on some boards after the power was off. ``/INFO`` shows what was set, in effect or not:
a later plan cannot see that a restart is due. So nothing is set without consent to the restart.
"""

from collections.abc import Iterator, Sequence

import msgspec

from fabricgauge.configure.job import HEAD, Draft
from fabricgauge.model.absence import Skipped
from fabricgauge.model.configuration import Step, Verification
from fabricgauge.model.finding import Command
from fabricgauge.model.inventory import Adapter, Inventory

CONSENT = "reboot"

#: A large server's firmware takes minutes before the kernel starts.
PATIENCE_S = 900.0

_BOOT_ID = ("cat", "/proc/sys/kernel/random/boot_id")


def asks(nodes: Sequence[str]) -> Iterator[Command]:
    """The number of each node's start, so that a later one can be told from it."""
    yield from (Command(node, _BOOT_ID) for node in nodes)


def step(
    job: Draft,
    nodes: Sequence[str],
    reason: str,
    verify: Sequence[Verification],
    from_head: bool,
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
    patient = [msgspec.structs.replace(one, patience_s=PATIENCE_S) for one in verify]
    return Step(
        f"Restart {', '.join(nodes)}",
        reason,
        commands,
        tuple(patient or booted_anew(job, nodes)),
        undo_note="a restart cannot be undone; jobs on the nodes end",
        consent=CONSENT,
    )


def booted_anew(job: Draft, nodes: Sequence[str]) -> list[Verification]:
    """The kernel's number of this start is another, where the one before is known."""
    return [
        Verification(Command(node, _BOOT_ID), number, True, PATIENCE_S)
        for node in nodes
        if (number := _boot_id(job, node))
    ]


def _boot_id(job: Draft, node: str) -> str:
    """Empty where it was not asked; the answer is newer than what discovery or a bundle has."""
    reply = job.reply(Command(node, _BOOT_ID))
    if not isinstance(reply, Skipped):
        return reply.output.strip() if reply.exit_code == 0 else ""
    known = job.node(node)
    return "" if isinstance(known, Skipped) else known.boot_id


FORTY_GIGABIT = 40e9


def lanes_steps(job: Draft) -> tuple[Step, ...]:
    """Once for all networks."""
    return tuple(dict.fromkeys(_lanes_steps(job)))


def _lanes_steps(job: Draft) -> Iterator[Step]:
    """A step for every adapter whose lanes are known or described."""
    for network in job.description.networks:
        for node in network.nodes:
            inventory = job.inventory(node)
            for number, adapter in numbered(inventory):
                forty = network.rate_bit_s == FORTY_GIGABIT and "1x40" in adapter.lane_modes
                if wanted := network.lane_mode or "1x40" * forty:
                    yield _lanes_step(job, node, number, adapter.lane_mode, wanted)
            if network.lane_mode and not list(numbered(inventory)):
                yield _lanes_step(job, node, 1, Skipped("nobody asked it"), network.lane_mode)


def numbered(inventory: Inventory | Skipped) -> Iterator[tuple[int, Adapter]]:
    """The adapters that QCU lists, by its number, which follows the bus."""
    if isinstance(inventory, Skipped):
        return
    qsfp = [one for one in inventory.adapters if isinstance(one.lane_mode, str)]
    yield from enumerate(sorted(qsfp, key=lambda one: str(one.bus)), 1)


def _lanes_step(job: Draft, node: str, number: int, mode: str | Skipped, wanted: str) -> Step:
    program = job.description.qcu

    def qcu(*words: str) -> Command:
        return Command(node, (program, f"/NIC={number}", *words))

    known = isinstance(mode, str)
    return Step(
        f"Set QSFP+ adapter {number} of {node} to {wanted}",
        f"it is {mode}: its ports do not run at the rate that is wanted"
        if known and mode != wanted
        else "its ports run at the wanted rate only so",
        (qcu("/SET", wanted),),
        (Verification(qcu("/INFO"), f"Current Configuration: {wanted}\n"),),
        (qcu("/SET", mode),) if isinstance(mode, str) else (),
        consent=CONSENT,
        undo_note="takes effect after a restart, on some boards after the power was off"
        if known else "its former arrangement is not known",
        fulfilled=f"qcu64e says of {node}: Current Configuration: {wanted}" if mode == wanted
        else "",
    )  # fmt: skip
