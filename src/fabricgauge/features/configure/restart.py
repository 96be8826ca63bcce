"""Plan restarts of nodes, which need consent, and the lanes of QSFP+ adapters; pure.

The lanes of such an adapter are one port of 40 Gb/s or four of 10. Source: Intel QSFP+
Configuration Utility (QCU) 2.34.17, readme and output: ``/NIC=n /INFO`` shows the lanes, ``/NIC=n
/SET 1x40`` changes them. QCU counts adapters from 1. A change takes effect after a restart, on some
boards after a power cycle. ``/INFO`` shows the new setting even before that: a later plan cannot
detect that a restart is due. So lanes are only set with consent to the restart.
"""

from collections.abc import Iterator, Sequence

import msgspec

from fabricgauge.features.configure.job import HEAD, Draft, Step, Verification
from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Command

CONSENT = "reboot"

#: A large server's firmware takes minutes before the kernel starts.
PATIENCE_S = 900.0

_BOOT_ID = ("cat", "/proc/sys/kernel/random/boot_id")


def asks(nodes: Sequence[str]) -> Iterator[Command]:
    """Ask each node for its boot id, to recognise a later start."""
    yield from (Command(node, _BOOT_ID) for node in nodes)


def step(
    job: Draft,
    nodes: Sequence[str],
    reason: str,
    verify: Sequence[Verification],
    from_head: bool,
) -> Step:
    """Return one restart of all nodes; ``verify`` holds after it and not before.

    With ``from_head`` pdsh restarts them, as on clusters with a head. Otherwise every node restarts
    itself a minute later, so that it can still answer.
    """
    commands = (
        (Command(HEAD, ("pdsh", "-w", ",".join(nodes), "reboot")),)
        if from_head
        else tuple(Command(node, ("shutdown", "-r", "+1")) for node in nodes)
    )
    patient = [msgspec.structs.replace(check, patience_s=PATIENCE_S) for check in verify]
    return Step(
        f"Restart {', '.join(nodes)}",
        reason,
        commands,
        tuple(patient or boot_checks(job, nodes)),
        undo_note="a restart cannot be undone; jobs on the nodes end",
        consent=CONSENT,
    )


def boot_checks(job: Draft, nodes: Sequence[str]) -> list[Verification]:
    """Return checks that each node has another boot id than before, if that one is known.

    It is the node's answer, or else that of discovery.
    """
    checks = []
    for node in nodes:
        question, discovered = Command(node, _BOOT_ID), job.node(node)
        reply = job.reply(question)
        number = "" if isinstance(discovered, Skipped) else discovered.boot_id
        if not isinstance(reply, Skipped):
            number = reply.output.strip() if reply.exit_code == 0 else ""
        if number:
            checks.append(Verification(question, number, True, PATIENCE_S))
    return checks


FORTY_GIGABIT = 40e9


def lanes_steps(job: Draft) -> tuple[Step, ...]:
    """Return a step for every adapter with known or described lanes, each once."""
    steps: dict[Step, None] = {}
    for network in job.description.networks:
        for node in network.nodes:
            inventory = job.inventory(node)
            known = () if isinstance(inventory, Skipped) else inventory.adapters
            qsfp = [adapter for adapter in known if isinstance(adapter.lane_mode, str)]
            # QCU's numbers follow the bus.
            adapters = sorted(qsfp, key=lambda adapter: str(adapter.bus))
            for number, adapter in enumerate(adapters, 1):
                forty = network.rate_bit_s == FORTY_GIGABIT and "1x40" in adapter.lane_modes
                if lane_mode := network.lane_mode or "1x40" * forty:
                    steps[_lanes_step(job, node, number, adapter.lane_mode, lane_mode)] = None
            if network.lane_mode and not adapters:
                unasked = Skipped("the node was not asked")
                steps[_lanes_step(job, node, 1, unasked, network.lane_mode)] = None
    return tuple(steps)


def _lanes_step(job: Draft, node: str, number: int, mode: str | Skipped, lane_mode: str) -> Step:
    program = job.description.qcu

    def qcu(*words: str) -> Command:
        return Command(node, (program, f"/NIC={number}", *words))

    is_known = isinstance(mode, str)
    return Step(
        f"Set QSFP+ adapter {number} of {node} to {lane_mode}",
        f"it is {mode}: its ports do not run at the planned rate"
        if is_known and mode != lane_mode
        else "its ports run at the planned rate with these lanes only",
        (qcu("/SET", lane_mode),),
        (Verification(qcu("/INFO"), f"Current Configuration: {lane_mode}\n"),),
        (qcu("/SET", mode),) if isinstance(mode, str) else (),
        consent=CONSENT,
        undo_note="takes effect after a restart, on some boards after the power was off"
        if is_known else "its former lanes are not known",
        fulfilled="" if mode != lane_mode
        else f"qcu64e reports for {node}: Current Configuration: {lane_mode}",
    )  # fmt: skip
