"""A plan made step by step, or undone, from its journal's beginning to its exit status."""

import sys
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

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
from fabricgauge.model.errors import UsageError
from fabricgauge.model.finding import Command
from fabricgauge.model.host_access import HostAccess
from fabricgauge.model.request import MeasurementRequest, place_words
from fabricgauge.process import Completed
from fabricgauge.store.journal import (
    Journal,
    JournalEntry,
    Planned,
    begin,
    journals_lock,
    read,
    require_own,
    root,
)
from fabricgauge.words import sentences

DONE, FAILED, NOT_APPLIED = 0, 1, 3

#: How many missing programs a message names.
_NAMED = 20

Tell = Callable[[str], None]


def make(
    plan: Configuration,
    access: HostAccess,
    place: MeasurementRequest,
    journals: Path | None,
    consents: Collection[str],
    tell: Tell,
) -> int:
    """Make the plan; the exit status: 0 all holds, 1 a step failed, 3 not (wholly) applied.

    ``place`` is the request that ``access`` reaches. Nothing is begun if any program of a step that
    is to be made is missing.

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
    planned = Planned(plan, place.lab, tuple(map(shown, sys.argv)))
    with journals_lock(under), closing(begin(planned, under)) as journal:
        tell(f"journal: {journal.path}")
        work = _Work(hosts, journal, tell)
        words = ("fabricgauge", "configure", "--undo", str(journal.path), *place_words(place))
        undo = f"undo: {sentences.command((*words, '--apply'))}"
        try:
            status, stopped = work.apply(plan.steps, consents)
        except BaseException:  # an interrupt, a full disk
            tell(f"broken off; to {undo}")
            raise
        if stopped:
            tell(f"stopped: {stopped}")
        steps = ", ".join(map(str, work.made)) or "none"
        tell(f"{'steps made before' if stopped else 'done; steps made'}: {steps}; to {undo}")
        return status


def unmake(path: Path, access: HostAccess, lab: str, tell: Tell, *, apply: bool) -> int:
    """Undo a journal; 0 if everything that was begun is undone, else 1.

    The commands, with the way to their nodes, are told first. They are run with ``apply`` only:
    a journal may be out of somebody's archive. ``lab`` has the nodes of ``access``, if it is one's.

    Raises:
        StoreError: the directory holds no journal, one that is being written, or one that somebody
            else can change.
        UsageError: the plan was made elsewhere, or there is no way to one of its nodes.
    """
    hosts, planned, entries = PlanHosts(access), *read(path)
    if planned.lab != lab:
        place = f"--lab {planned.lab}" if planned.lab else "no --lab"
        raise UsageError(f"the plan of {path} was made with {place}: undo it with the same")
    steps = planned.configuration.steps
    for number in begun(entries):
        tell(f"to undo step {number} ({steps[number - 1].title}):")
        for command in steps[number - 1].undo:
            tell(f"  {hosts.shown(command)}")
    require_own(path)
    if not apply:
        tell("nothing was undone: add --apply to run these commands")
        return DONE
    with closing(Journal(path)) as journal:
        planned, entries = read(path)  # the files may have changed since they were shown
        steps = planned.configuration.steps
        done, troubles = _Work(hosts, journal, tell).undo(steps, entries)
    for trouble in troubles:
        tell(f"not undone: {trouble}")
    tell(f"steps undone: {', '.join(map(str, done)) or 'none'}")
    return FAILED if troubles else DONE


#: On the head packages are fetched and images packed within it; what runs on a node takes
#: seconds, and a connection that died must not hold everything up for an hour.
HEAD_S, NODE_S = 3600.0, 300.0

#: Begins what a command of ours says that a person should know though it ended well.
OUR_REMARK = "fabricgauge: "

#: Between two looks at something that takes its time.
LOOK_AGAIN_S = 0.5


class _StopError(Exception):
    """A step that did not come about; the sentence says how."""


class _Work:
    """One step at a time, made or undone; every command and what it printed is in the journal
    before the next thing happens.
    """

    def __init__(self, hosts: PlanHosts, journal: Journal, tell: Tell) -> None:
        self.step = 0
        self.made: list[int] = []
        self._hosts, self._journal, self._tell = hosts, journal, tell

    def apply(self, steps: Iterable[Step], consents: Collection[str]) -> tuple[int, str]:
        """Make every step that is not fulfilled, in order, up to the first that fails: the exit
        status, and why it stopped before the end, if it did.

        What the plan calls fulfilled is never made: it was not reviewed. A step is begun only if
        what it rests on still holds, and left alone if its verifications hold already.
        """
        for self.step, step in enumerate(steps, 1):
            named = f"step {self.step} ({step.title})"
            if step.fulfilled or self._holds_already(step):
                self._note("already", step.fulfilled)
                continue
            if step.consent and step.consent not in consents:
                self._note("left", f"no consent to {step.consent}")
                needs = f"{named} needs --consent {step.consent}"
                return NOT_APPLIED, f"{needs}; it and what follows it were left"
            self._tell(f"step {self.step}: {step.title}")
            try:
                self._make(step)
            except _StopError as stop:
                self._note("failed", str(stop))
                return FAILED, f"{named}: {stop}"
            self.made += [self.step] if step.commands else []
            self._note("made")
        return DONE, ""

    def undo(
        self, steps: Sequence[Step], entries: Sequence[JournalEntry]
    ) -> tuple[list[int], list[str]]:
        """Undo every step that was begun; one that cannot be undone does not keep the others.

        The steps that were undone, and sentences on what could not be. What changed since is said
        before it goes. Undoing once more does what is left.
        """
        whole = {one.step for one in entries if one.event == "made"}
        done: list[int] = []
        troubles: list[str] = []
        for number in begun(entries):
            self.step, step = number, steps[number - 1]
            self._tell(f"undoing step {number}: {step.title}")
            if not step.undo or step.undo_note:
                self._tell(f"  {step.undo_note or 'there is no undoing of it'}")
            if step.undo and number in whole and (changed := self._failing(step.verify)):
                self._tell(f"  it has changed since it was made: {changed.told}")
            try:
                for command in step.undo:
                    self._require_way(command)
                    self._run(command, "undo")
            except _StopError as stop:
                self._note("undone", str(stop))
                troubles.append(f"step {number} ({step.title}): {stop}")
            else:
                self._note("undone")
                done.append(number)
        return done, troubles

    def _note(self, event: str, note: str = "") -> None:
        self._journal.write(JournalEntry(event, self.step, note=note))

    def _run(self, command: Command, event: str) -> None:
        """Run a command that changes something.

        Raises:
            _StopError: it did not end well.
        """
        self._journal.write(
            JournalEntry("starting", self.step, node=command.node, argv=command.argv)
        )
        done = self._hosts.run(command, HEAD_S if command.node == HEAD else NODE_S)
        self._record(event, command, done)
        if done.exit_code != 0:
            raise _StopError(f"{named(command)} {ended(done)}")
        for line in done.stderr.splitlines():
            if line.startswith(OUR_REMARK):
                self._tell(f"  {on(command.node)}: {line.removeprefix(OUR_REMARK)}")

    def _failing(self, checks: Sequence[Verification]) -> Failing | None:
        return failing(self._hosts, checks, partial(self._record, "check"))

    def _record(self, event: str, command: Command, done: Completed) -> None:
        self._journal.write(JournalEntry(
            event, self.step, node=command.node, argv=command.argv, stdin=command.stdin,
            exit_code=done.exit_code, stdout=done.stdout, stderr=done.stderr, wall_s=done.wall_s,
            timed_out=done.timed_out,
        ))  # fmt: skip

    def _holds_already(self, step: Step) -> bool:
        """Whether there is nothing to do; what only follows others is due once one was made."""
        if not step.verify or not step.commands or (step.follows and self.made):
            return False
        return self._failing(step.verify) is None

    def _make(self, step: Step) -> None:
        if failing := self._failing(step.before):
            raise _StopError(f"it has changed since the plan was made: {failing.told}")
        if step.commands:
            self._note("begun")
        for command in step.commands:
            self._run(command, "command")
        began = time.monotonic()
        while failing := self._failing(step.verify):  # until one has had the time that it may take
            if time.monotonic() >= began + failing.check.patience_s:
                raise _StopError(f"it does not hold: {failing.told}")
            time.sleep(LOOK_AGAIN_S)

    def _require_way(self, command: Command) -> None:
        """Raises _StopError if it takes the address away that its node is reached by now."""
        address = lifeline.removed_address(command)
        if not address:
            return
        asked = self._hosts.run(lifeline.question(command.node), QUESTION_S)
        if lifeline.came_in_by(asked.stdout) == address:
            raise _StopError(
                f"{on(command.node)} is reached by {address} now, and {named(command)} would cut it"
                " off; reach it by another way, and undo once more"
            )


def begun(entries: Iterable[JournalEntry]) -> tuple[int, ...]:
    """The steps that ran a command and were not undone since, the last first."""
    open_: dict[int, None] = {}
    for one in entries:
        if one.event == "begun":
            open_[one.step] = None
        elif one.event == "undone" and not one.note:
            open_.pop(one.step, None)
    return tuple(reversed(open_))
