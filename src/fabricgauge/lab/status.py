"""Report which labs exist and whether they are complete."""

import msgspec

from fabricgauge.lab import state as states
from fabricgauge.lab.holder import boot_id, is_alive
from fabricgauge.lab.state import LabState
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import LabError


class DaemonStatus(msgspec.Struct, frozen=True):
    """A daemon of the lab's Slurm; ``pid`` is the process of its last start."""

    program: str
    node: str
    pid: int
    running: bool


class LabStatus(msgspec.Struct, frozen=True):
    """A lab and its present state.

    ``dead`` names nodes whose holder process has ended. ``slurm`` is empty for a lab without Slurm.
    A user may have stopped a daemon, so the lab is ``standing`` without it.
    """

    name: str
    standing: bool
    state: LabState | Skipped
    dead: tuple[str, ...] = ()
    slurm: tuple[DaemonStatus, ...] = ()


def status(name: str | None = None) -> tuple[LabStatus, ...]:
    """Return the status of one lab, or of all labs of this user.

    Raises:
        LabError: no lab has the name ``name``.
    """
    if name is not None and name not in states.names():
        states.load(name)
    return tuple(_status(lab) for lab in ([name] if name is not None else states.names()))


def _status(name: str) -> LabStatus:
    try:
        state = states.load(name)
    except LabError as error:
        return LabStatus(name, False, Skipped(str(error)))
    same_boot = state.boot_id == boot_id()
    holders = {"switch": state.switch, **{node.name: node.holder for node in state.nodes}}
    dead = tuple(
        name for name, holder in holders.items() if holder and not (same_boot and is_alive(holder))
    )
    daemons = tuple(
        DaemonStatus(
            daemon.program, daemon.node, daemon.process.pid, same_boot and is_alive(daemon.process)
        )
        for daemon in state.slurm
    )
    return LabStatus(name, state.complete and not dead, state, dead, daemons)
