"""What labs there are and whether they stand."""

import msgspec

from fabricgauge.lab import state as states
from fabricgauge.lab.holder import boot_id, is_alive
from fabricgauge.lab.state import LabState
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
    now = state.boot_id == boot_id()
    holders = {"switch": state.switch, **{node.name: node.holder for node in state.nodes}}
    dead = tuple(one for one, held in holders.items() if held and not (now and is_alive(held)))
    daemons = tuple(
        DaemonStatus(one.program, one.node, one.process.pid, now and is_alive(one.process))
        for one in state.slurm
    )
    return LabStatus(name, state.complete and not dead, state, dead, daemons)
