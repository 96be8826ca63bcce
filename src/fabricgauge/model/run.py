"""A finished or broken-off run as the later stages see it."""

import msgspec

from fabricgauge.model.fabric import Fabric
from fabricgauge.model.measurement import Header, Measurement, Placement
from fabricgauge.model.plan import Plan


class Ended(msgspec.Struct, frozen=True):
    """How a launch ended. ``message`` is for a person when it did not end well.

    ``changes`` are what a broken launch's network was found to have lost since discovery:
    one sentence each, naming node and interface.
    """

    status: str
    exit_code: int | None
    message: str
    argv: tuple[str, ...]
    wall_s: float
    changes: tuple[str, ...] = ()


class Launch(msgspec.Struct, frozen=True):
    """One start of the engine with everything it said."""

    number: int
    network: str | None
    nodes: tuple[str, ...]
    header: Header | None
    placements: tuple[Placement, ...]
    measurements: tuple[Measurement, ...]
    ended: Ended
    not_understood: tuple[str, ...] = ()


class Run(msgspec.Struct, frozen=True):
    """Everything that judging and reporting need to know of one run.

    ``environment`` is what was in force on the head: versions, command line, settings.
    """

    identity: str
    started_utc: str
    command: tuple[str, ...]
    environment: dict[str, str]
    fabric: Fabric
    plan: Plan
    launches: tuple[Launch, ...]
    complete: bool
    notes: tuple[str, ...] = ()
