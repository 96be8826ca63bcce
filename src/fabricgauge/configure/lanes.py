"""The lanes of a QSFP+ adapter: one port of 40 Gb/s or four of 10; pure.

Source: Intel QSFP+ Configuration Utility (QCU) 2.34.17, readme and output: ``/NIC=n /INFO`` shows
the arrangement, ``/NIC=n /SET 1x40`` changes it; it counts adapters from 1 and takes effect after
a restart, on some boards after the power was off. ``/INFO`` shows what was set, in effect or not:
so nothing is set without consent to the restart, of which a later plan would not know.
"""

from collections.abc import Iterator

from fabricgauge.configure import restart
from fabricgauge.configure.job import Job
from fabricgauge.model.absence import Skipped
from fabricgauge.model.configuration import Step, Verification
from fabricgauge.model.finding import Command
from fabricgauge.model.inventory import Adapter, Inventory

FORTY_GIGABIT = 40e9


def steps(job: Job) -> Iterator[Step]:
    """A step for every adapter whose lanes are known or described, once for all networks."""
    return iter(dict.fromkeys(_steps(job)))


def _steps(job: Job) -> Iterator[Step]:
    for network in job.description.networks:
        for node in network.nodes:
            inventory = job.inventory(node)
            for number, adapter in numbered(inventory):
                if wanted := _wanted(network.lane_mode, network.rate_bit_s, adapter):
                    yield _step(job, node, number, adapter.lane_mode, wanted)
            if network.lane_mode and not list(numbered(inventory)):
                yield _step(job, node, 1, Skipped("nobody asked it"), network.lane_mode)


def numbered(inventory: Inventory | Skipped) -> Iterator[tuple[int, Adapter]]:
    """The adapters that QCU lists, by its number, which follows the bus."""
    if isinstance(inventory, Skipped):
        return
    qsfp = [one for one in inventory.adapters if isinstance(one.lane_mode, str)]
    yield from enumerate(sorted(qsfp, key=lambda one: str(one.bus)), 1)


def _wanted(stated: str, rate_bit_s: float | Skipped, adapter: Adapter) -> str:
    """The arrangement that the adapter shall have; empty where nothing is said of it."""
    if stated:
        return stated
    return "1x40" if rate_bit_s == FORTY_GIGABIT and "1x40" in adapter.lane_modes else ""


def _step(job: Job, node: str, number: int, mode: str | Skipped, wanted: str) -> Step:
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
        consent=restart.CONSENT,
        undo_note="takes effect after a restart, on some boards after the power was off"
        if known else "its former arrangement is not known",
        fulfilled=f"qcu64e says of {node}: Current Configuration: {wanted}" if mode == wanted
        else "",
    )  # fmt: skip
