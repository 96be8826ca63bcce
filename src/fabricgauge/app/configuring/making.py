"""A plan made step by step, or undone, from its journal's beginning to its exit status."""

import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

import msgspec

from fabricgauge.app.configuring.hosts import (
    QUESTION_S,
    Failing,
    PlanHosts,
    ended,
    failing,
    missing,
    named,
)
from fabricgauge.configure import lifeline
from fabricgauge.configure.job import HEAD, on
from fabricgauge.files.reading import shown
from fabricgauge.model.configuration import Configuration, Step, Verification
from fabricgauge.model.finding import Command
from fabricgauge.model.host_access import HostAccess
from fabricgauge.process import Completed
from fabricgauge.store.journal import (
    Journal,
    JournalEntry,
    Planned,
    alone,
    begin,
    read,
    require_own,
    root,
)

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
    hosts = PlanHosts(access)
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
    with (
        alone(under),
        closing(begin(Planned(plan, access, tuple(map(shown, sys.argv))), under)) as journal,
    ):
        tell(f"journal: {journal.path}")
        try:
            applied = apply(plan, hosts, journal, consents, tell)
        except BaseException:  # an interrupt, a full disk
            tell(f"broken off; to undo: fabricgauge configure --undo {journal.path}")
            raise
        return _told(applied, journal, tell)


class Applied(msgspec.Struct, frozen=True):
    """What became of a plan: numbers of steps, and why it stopped before its end, if it did.

    ``lacking`` is the consent that is missing; empty where a step failed.
    """

    made: tuple[int, ...]
    already: tuple[int, ...]
    stopped: str = ""
    lacking: str = ""


def _told(applied: Applied, journal: Journal, tell: Tell) -> int:
    steps = ", ".join(map(str, applied.made)) or "none"
    if not applied.stopped:
        tell(f"done; steps made: {steps}; to undo: fabricgauge configure --undo {journal.path}")
        return DONE
    tell(f"stopped: {applied.stopped}")
    tell(f"steps made before: {steps}; undo: fabricgauge configure --undo {journal.path}")
    return NOT_APPLIED if applied.lacking else FAILED


def unmake(path: Path, tell: Tell) -> int:
    """Undo a journal; 0 if everything that was begun is undone, else 1.

    What is about to be run, and where, is told first.

    Raises:
        StoreError: the directory holds no journal, one that is being written, or one that somebody
            else could have written.
    """
    read(path)  # so that nothing is written where no journal is
    require_own(path)
    with closing(Journal(path)) as journal:
        planned, entries = read(path)
        hosts = PlanHosts(planned.access)
        for line in _undoing(planned.configuration.steps, entries, hosts):
            tell(line)
        undone = undo(planned.configuration.steps, entries, hosts, journal, tell)
    for trouble in undone.troubles:
        tell(f"not undone: {trouble}")
    tell(f"steps undone: {', '.join(map(str, undone.steps)) or 'none'}")
    return FAILED if undone.troubles else DONE


def _undoing(
    steps: tuple[Step, ...], entries: Iterable[JournalEntry], hosts: PlanHosts
) -> Iterator[str]:
    """The commands that an undoing will run, with what leads to their nodes in front."""
    for number in begun(entries):
        yield f"to undo step {number} ({steps[number - 1].title}):"
        yield from (f"  {hosts.shown(command)}" for command in steps[number - 1].undo)


#: On the head packages are fetched and images packed within it; what runs on a node takes
#: seconds, and a connection that died must not hold everything up for an hour.
HEAD_S, NODE_S = 3600.0, 300.0

#: Begins what a command of ours says that a person should know though it ended well.
OUR_REMARK = "fabricgauge: "

#: Between two looks at something that takes its time.
LOOK_AGAIN_S = 0.5


class _StopError(Exception):
    """A step that did not come about; the sentence says how."""


def apply(
    configuration: Configuration,
    hosts: PlanHosts,
    journal: Journal,
    consents: Collection[str],
    tell: Callable[[str], None],
) -> Applied:
    """Make every step that is not fulfilled, in order, up to the first that fails.

    What the plan calls fulfilled is never made: it was not reviewed. A step is begun only if
    what it rests on still holds, and left alone if its verifications hold already. Everything is
    in ``journal`` before the next thing happens.
    """
    work = _Work(hosts, journal, tell)
    made: list[int] = []
    already: list[int] = []
    for number, step in enumerate(configuration.steps, 1):
        work.step = number
        if step.fulfilled or work.holds_already(step, made):
            already.append(number)
            work.note("already", step.fulfilled)
            continue
        if step.consent and step.consent not in consents:
            work.note("left", f"no consent to {step.consent}")
            return Applied(
                tuple(made), tuple(already),
                f"step {number} ({step.title}) needs --consent {step.consent}; it and what follows"
                " it were left", step.consent,
            )  # fmt: skip
        tell(f"step {number}: {step.title}")
        try:
            work.make(step)
        except _StopError as stop:
            work.note("failed", str(stop))
            return Applied(tuple(made), tuple(already), f"step {number} ({step.title}): {stop}")
        made += [number] if step.commands else []
        work.note("made")
    return Applied(tuple(made), tuple(already))


class _Work:
    """One step at a time, made or undone; every command and what it printed is in the journal."""

    def __init__(self, hosts: PlanHosts, journal: Journal, tell: Tell) -> None:
        self.step = 0
        self.hosts = hosts
        self._journal, self._tell = journal, tell

    def note(self, event: str, note: str = "") -> None:
        self._journal.write(JournalEntry(event, self.step, note=note))

    def run(self, command: Command, event: str) -> None:
        """Run a command that changes something.

        Raises:
            _StopError: it did not end well.
        """
        self._journal.write(
            JournalEntry("starting", self.step, node=command.node, argv=command.argv)
        )
        done = self.hosts.run(command, HEAD_S if command.node == HEAD else NODE_S)
        self._record(event, command, done)
        if done.exit_code != 0:
            raise _StopError(f"{named(command)} {ended(done)}")
        for line in done.stderr.splitlines():
            if line.startswith(OUR_REMARK):
                self._tell(f"  {on(command.node)}: {line.removeprefix(OUR_REMARK)}")

    def failing(self, checks: Sequence[Verification]) -> Failing | None:
        return failing(self.hosts, checks, partial(self._record, "check"))

    def _record(self, event: str, command: Command, done: Completed) -> None:
        self._journal.write(JournalEntry(
            event, self.step, node=command.node, argv=command.argv, stdin=command.stdin,
            exit_code=done.exit_code, stdout=done.stdout, stderr=done.stderr, wall_s=done.wall_s,
            timed_out=done.timed_out,
        ))  # fmt: skip

    def holds_already(self, step: Step, made: Collection[int]) -> bool:
        """Whether there is nothing to do; what only follows others is due once one was made."""
        if not step.verify or not step.commands or (step.follows and made):
            return False
        return self.failing(step.verify) is None

    def make(self, step: Step) -> None:
        if failing := self.failing(step.before):
            raise _StopError(f"it has changed since the plan was made: {failing.told}")
        if step.commands:
            self.note("begun")
        for command in step.commands:
            self.run(command, "command")
        self._await(step.verify)

    def _await(self, checks: Sequence[Verification]) -> None:
        """Until all hold, or one has had the time that it may take."""
        began = time.monotonic()
        while failing := self.failing(checks):
            if time.monotonic() >= began + failing.check.patience_s:
                raise _StopError(f"it does not hold: {failing.told}")
            time.sleep(LOOK_AGAIN_S)

    def undo(self, step: Step) -> None:
        """Raises _StopError; what cannot be undone at all is no trouble."""
        for command in step.undo:
            if cut := _cut_off(command, self.hosts):
                raise _StopError(cut)
            self.run(command, "undo")


class Undone(msgspec.Struct, frozen=True):
    """Numbers of the steps that were undone; ``troubles`` are sentences on what could not be."""

    steps: tuple[int, ...]
    troubles: tuple[str, ...]


def begun(entries: Iterable[JournalEntry]) -> tuple[int, ...]:
    """The steps of which a command was run and that were not undone since, the last first."""
    open_: dict[int, None] = {}
    for one in entries:
        if one.event == "begun":
            open_[one.step] = None
        elif one.event == "undone" and not one.note:
            open_.pop(one.step, None)
    return tuple(reversed(open_))


def undo(
    steps: tuple[Step, ...],
    entries: Iterable[JournalEntry],
    hosts: PlanHosts,
    journal: Journal,
    tell: Callable[[str], None],
) -> Undone:
    """Undo every step that was begun; one that cannot be undone does not keep the others.

    What changed since is said before it goes. Undoing once more does what is left.
    """
    entries = tuple(entries)
    whole = {one.step for one in entries if one.event == "made"}
    work = _Work(hosts, journal, tell)
    done: list[int] = []
    troubles: list[str] = []
    for number in begun(entries):
        work.step, step = number, steps[number - 1]
        tell(f"undoing step {number}: {step.title}")
        if not step.undo or step.undo_note:
            tell(f"  {step.undo_note or 'there is no undoing of it'}")
        if step.undo and number in whole and (changed := work.failing(step.verify)):
            tell(f"  it has changed since it was made: {changed.told}")
        try:
            work.undo(step)
        except _StopError as stop:
            work.note("undone", str(stop))
            troubles.append(f"step {number} ({step.title}): {stop}")
        else:
            work.note("undone")
            done.append(number)
    return Undone(tuple(done), tuple(troubles))


def _cut_off(command: Command, hosts: PlanHosts) -> str:
    """A sentence if the command takes the address away that its node is reached by now."""
    address = lifeline.takes(command)
    if not address:
        return ""
    asked = hosts.run(lifeline.question(command.node), QUESTION_S)
    if lifeline.came_in_by(asked.stdout) != address:
        return ""
    return (
        f"{on(command.node)} is reached by {address} now, and {named(command)} would cut it off;"
        " reach it by another way, and undo once more"
    )
