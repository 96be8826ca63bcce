"""A plan made, or undone, from its journal's beginning to its exit status."""

import sys
from collections.abc import Callable, Collection
from contextlib import closing
from pathlib import Path

from fabricgauge.app.configuring import apply as applying
from fabricgauge.app.configuring import undo as undoing
from fabricgauge.app.configuring.behind import Hosts
from fabricgauge.app.configuring.tools import missing
from fabricgauge.model.configuration import Configuration
from fabricgauge.model.host_access import HostAccess
from fabricgauge.store.journal import Journal, Planned, alone, begin, read, root

DONE, FAILED, NOT_APPLIED = 0, 1, 3

#: How many missing programs a message names.
_NAMED = 20

Tell = Callable[[str], None]


def make(
    plan: Configuration,
    access: HostAccess,
    journals: Path | None,
    consents: Collection[str],
    tell: Tell,
) -> int:
    """Make the plan; the exit status: 0 all holds, 1 a step failed, 3 not (wholly) applied.

    Nothing is begun if any program of a step that is to be made is missing.

    Raises:
        StoreError: no journal can be kept, or another making is under way.
    """
    hosts = Hosts(access)
    todo = tuple(step for step in plan.steps if not step.fulfilled)
    if not todo:
        tell("nothing is to be made: everything is as it is wanted")
        return DONE
    if lacking := missing(hosts, todo):
        for sentence in lacking[:_NAMED]:
            tell(sentence)
        tell("nothing was changed: the plan stays a plan until these programs are there")
        return NOT_APPLIED
    under = journals or root()
    with alone(under), closing(begin(Planned(plan, access, tuple(sys.argv)), under)) as journal:
        tell(f"journal: {journal.path}")
        try:
            applied = applying.apply(plan, hosts, journal, consents, tell)
        except BaseException:  # an interrupt, a full disk
            tell(f"broken off; to undo: fabricgauge configure --undo {journal.path}")
            raise
        return _told(applied, journal, tell)


def _told(applied: applying.Applied, journal: Journal, tell: Tell) -> int:
    steps = ", ".join(map(str, applied.made)) or "none"
    if not applied.stopped:
        tell(f"done; steps made: {steps}; to undo: fabricgauge configure --undo {journal.path}")
        return DONE
    tell(f"stopped: {applied.stopped}")
    tell(f"steps made before: {steps}; undo: fabricgauge configure --undo {journal.path}")
    return NOT_APPLIED if applied.lacking else FAILED


def unmake(path: Path, tell: Tell) -> int:
    """Undo a journal; 0 if everything that was begun is undone, else 1.

    Raises:
        StoreError: the directory holds no journal, or one that is being written.
    """
    read(path)  # so that nothing is written where no journal is
    with closing(Journal(path)) as journal:
        planned, entries = read(path)
        undone = undoing.undo(
            planned.configuration.steps, entries, Hosts(planned.access), journal, tell
        )
    for trouble in undone.troubles:
        tell(f"not undone: {trouble}")
    tell(f"steps undone: {', '.join(map(str, undone.steps)) or 'none'}")
    return FAILED if undone.troubles else DONE
