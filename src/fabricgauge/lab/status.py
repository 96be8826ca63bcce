"""What labs there are and whether they stand."""

import msgspec

from fabricgauge.lab import state as states
from fabricgauge.lab.holder import boot_id, is_alive
from fabricgauge.lab.state import LabState
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import LabError


class LabStatus(msgspec.Struct, frozen=True):
    """A lab and what is left of it. ``dead`` names nodes whose holder process is gone."""

    name: str
    standing: bool
    state: LabState | Skipped
    dead: tuple[str, ...] = ()


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
        return LabStatus(name, False, state, tuple(node.name for node in state.nodes))
    dead = tuple(node.name for node in state.nodes if not is_alive(node.holder))
    if state.switch and not is_alive(state.switch):
        dead = ("switch", *dead)
    return LabStatus(name, state.complete and not dead, state, dead)
