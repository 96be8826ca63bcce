"""Define a backend, and check the names that its format can express."""

import re
from collections.abc import Callable, Iterable

import msgspec

from fabricgauge.features.configure.description import Image
from fabricgauge.features.configure.job import Draft
from fabricgauge.features.configure.values import Step
from fabricgauge.model.errors import UsageError
from fabricgauge.model.finding import Command

Steps = Callable[[Draft], Iterable[Step]]


class Backend(msgspec.Struct, frozen=True):
    """``define`` stores the description, ``activate`` applies it to running nodes.

    ``questions`` are read-only commands whose replies show what is there. ``from_head``: a head
    restarts the nodes. ``adapters_only``: it defines every interface as an adapter, never as a
    bond or VLAN. ``pack`` makes an image's changes ready for the nodes' next start.
    """

    name: str
    questions: Callable[[Draft], Iterable[Command]]
    define: Steps
    activate: Steps = lambda job: ()
    notes: Callable[[Draft], Iterable[str]] = lambda job: ()
    pack: Callable[[Draft, Image], Iterable[Step]] = lambda job, image: ()
    from_head: bool = False
    adapters_only: bool = True


#: Without separators of xCAT's tables, and no option.
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:@+-]{0,62}")


def require_plain(name: str, kind: str, backend: str) -> str:
    """Return the name.

    Raises:
        UsageError: the backend's format would read another name.
    """
    if not _PLAIN.fullmatch(name):
        raise UsageError(
            f"{kind} {name!r:.80} cannot be written for {backend}: it has special characters;"
            " use the backend ip, or give it another name"
        )
    return name
