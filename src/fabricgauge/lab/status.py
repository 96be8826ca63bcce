"""What labs there are and whether they stand."""

from collections.abc import Callable

import msgspec

from fabricgauge.lab import state as states
from fabricgauge.lab.holder import boot_id, is_alive
from fabricgauge.lab.state import LabState, NodeHolder
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import LabError


class DaemonStatus(msgspec.Struct, frozen=True):
    """A daemon of the lab's Slurm; ``pid`` is that of its last start, running or not."""

    program: str
    node: str
    pid: int
    running: bool


class LabStatus(msgspec.Struct, frozen=True):
    """A lab and what is left of it.

    ``dead`` names nodes whose holder process is gone. ``slurm`` is empty for a lab without
    Slurm; a daemon that does not run may have been stopped on purpose, so the lab stands.
    """

    name: str
    standing: bool
    state: LabState | Skipped
    dead: tuple[str, ...] = ()
    slurm: tuple[DaemonStatus, ...] = ()


def status(name: str | None = None) -> tuple[LabStatus, ...]:
    """One lab, or all of this user's labs.

    Raises:
        LabError: ``name`` was given and there is no such lab.
    """
    if name is not None and name not in states.names():
        states.load(name)
    return tuple(_status(lab) for lab in ([name] if name is not None else states.names()))


def _status(name: str) -> LabStatus:
    try:
        state = states.load(name)
    except LabError as error:
        return LabStatus(name, False, Skipped(str(error)))
    if state.boot_id != boot_id():
        everything = tuple(node.name for node in state.nodes)
        return LabStatus(name, False, state, everything, _slurm(state, lambda _: False))
    dead = tuple(node.name for node in state.nodes if not is_alive(node.holder))
    if state.switch and not is_alive(state.switch):
        dead = ("switch", *dead)
    return LabStatus(name, state.complete and not dead, state, dead, _slurm(state, is_alive))


def _slurm(state: LabState, alive: Callable[[NodeHolder], bool]) -> tuple[DaemonStatus, ...]:
    return tuple(
        DaemonStatus(daemon.program, daemon.node, daemon.process.pid, alive(daemon.process))
        for daemon in state.slurm
    )
