"""What a backend offers to the plan."""

from collections.abc import Callable, Iterable

import msgspec

from fabricgauge.configure.description import Image
from fabricgauge.configure.job import Job
from fabricgauge.model.configuration import Step
from fabricgauge.model.finding import Command

Steps = Callable[[Job], Iterable[Step]]


def nothing(job: Job) -> Iterable[Step]:
    """No step at all."""
    return ()


def no_pack(job: Job, image: Image) -> Iterable[Step]:
    """Nodes that are no copies of an image."""
    return ()


class Backend(msgspec.Struct, frozen=True):
    """``define`` writes down what is wanted, ``activate`` brings it about on running nodes.

    ``questions`` are read-only commands whose replies show what is there. With ``at_boot`` nodes
    only take a definition up when they start. ``from_head`` says that a head restarts them.
    ``adapters_only``: it writes every interface down as an adapter, no bond or VLAN. ``replaces``:
    what it writes takes the place of what defined an interface before. ``pack`` makes an image's
    changes ready for the nodes' next start.
    """

    name: str
    source: str
    questions: Callable[[Job], Iterable[Command]]
    define: Steps
    activate: Steps = nothing
    notes: Callable[[Job], Iterable[str]] = lambda job: ()
    pack: Callable[[Job, Image], Iterable[Step]] = no_pack
    from_head: bool = False
    at_boot: bool = False
    adapters_only: bool = True
    replaces: bool = False
