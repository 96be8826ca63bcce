"""Apply a plan step by step, or undo it from its journal."""

import sys
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from fabricgauge.features.configure import lifeline
from fabricgauge.features.configure.apply.hosts import (
    QUESTION_S,
    FailedCheck,
    PlanHosts,
    describe_end,
    find_failed_check,
    find_missing_programs,
    quote_command,
)
from fabricgauge.features.configure.job import HEAD, Configuration, Step, Verification, on
from fabricgauge.features.configure.journal import (
    Journal,
    JournalEntry,
    Planned,
    begin,
    journals_lock,
    read,
    require_own,
    root,
)
from fabricgauge.model.errors import UsageError
from fabricgauge.model.finding import Command
from fabricgauge.model.host_access import HostAccess
from fabricgauge.model.request import MeasurementRequest, describe_place
from fabricgauge.model.words import sentences
from fabricgauge.nodes.process import Completed
from fabricgauge.store.files.reading import shown

DONE, FAILED, NOT_APPLIED = 0, 1, 3

#: Missing programs that a message names.
_MAX_NAMED = 20

Report = Callable[[str], None]


def apply_plan(
    plan: Configuration,
    access: HostAccess,
    place: MeasurementRequest,
    journals: Path | None,
    consents: Collection[str],
    report: Report,
) -> int:
    """Apply the plan; return 0 if all holds, 1 if a step failed, 3 if it was not wholly applied.

    ``place`` is the request that ``access`` reaches. Nothing begins if a program of an open step is
    missing.

    Raises:
        StoreError: no journal can be kept, or another plan is being applied.
    """
    hosts = PlanHosts(access)
    todo = tuple(step for step in plan.steps if not step.fulfilled)
    if not todo:
        report("No changes needed: the network is already configured")
        return DONE
    if missing_programs := find_missing_programs(hosts, todo):
        for sentence in missing_programs[:_MAX_NAMED]:
            report(sentence)
        report("nothing was changed: install these programs first")
        return NOT_APPLIED
    under = journals or root()
    planned = Planned(plan, place.lab, tuple(map(shown, sys.argv)))
    with journals_lock(under), closing(begin(planned, under)) as journal:
        report(f"journal: {journal.path}")
        work = _PlanWork(hosts, journal, report)
        words = ("fabricgauge", "configure", "--undo", str(journal.path), *describe_place(place))
        undo = f"undo: {sentences.command((*words, '--apply'))}"
        try:
            status, stopped = work.apply(plan.steps, consents)
        except BaseException:  # an interrupt, a full disk
            report(f"interrupted; to {undo}")
            raise
        if stopped:
            report(f"stopped: {stopped}")
        steps = ", ".join(map(str, work.made)) or "none"
        report(f"{'steps made before' if stopped else 'done; steps made'}: {steps}; to {undo}")
        return status


def undo_journal(path: Path, access: HostAccess, lab: str, report: Report, *, apply: bool) -> int:
    """Undo a journal; return 0 if every step that began is undone, else 1.

    The commands and their nodes are reported first. They are run only with ``apply``: a journal may
    come from another user's archive. ``lab`` has the nodes of ``access``, if it is a lab.

    Raises:
        StoreError: the directory has no journal, or one that is being written, or one that others
            can change.
        UsageError: the plan was made elsewhere, or one of its nodes cannot be reached.
    """
    hosts, planned, entries = PlanHosts(access), *read(path)
    if planned.lab != lab:
        place = f"--lab {planned.lab}" if planned.lab else "no --lab"
        raise UsageError(f"the plan of {path} was made with {place}: use the same for --undo")
    steps = planned.configuration.steps
    for number in steps_to_undo(entries):
        report(f"to undo step {number} ({steps[number - 1].title}):")
        for command in steps[number - 1].undo:
            report(f"  {hosts.shown(command)}")
    require_own(path)
    if not apply:
        report("nothing was undone: add --apply to run these commands")
        return DONE
    with closing(Journal(path)) as journal:
        planned, entries = read(path)  # the files may have changed since they were shown
        steps = planned.configuration.steps
        undone, troubles = _PlanWork(hosts, journal, report).undo(steps, entries)
    for trouble in troubles:
        report(f"not undone: {trouble}")
    report(f"steps undone: {', '.join(map(str, undone)) or 'none'}")
    return FAILED if troubles else DONE


#: Time limits. The head fetches packages and packs images. A command on a node takes seconds, and
#: a dead connection must not block for an hour.
HEAD_S, NODE_S = 3600.0, 300.0

#: Prefix of a remark for the user from one of our commands that ended well.
REMARK_PREFIX = "fabricgauge: "

#: Seconds between two checks of a change that takes time.
POLL_S = 0.5


class _StepFailedError(Exception):
    """A step failed; the sentence describes how."""


class _PlanWork:
    """Apply or undo one step at a time.

    Every command and its output are in the journal before the next one starts.
    """

    def __init__(self, hosts: PlanHosts, journal: Journal, report: Report) -> None:
        self.step = 0
        self.made: list[int] = []
        self._hosts, self._journal, self._report = hosts, journal, report

    def apply(self, steps: Iterable[Step], consents: Collection[str]) -> tuple[int, str]:
        """Make every open step in order, up to the first that fails.

        Return the exit status, and why it stopped before the end, if it did.

        A step that the plan calls fulfilled is never made: it was not reviewed. A step begins only
        if its preconditions still hold; it is skipped if its verifications hold already.
        """
        for self.step, step in enumerate(steps, 1):
            step_name = f"step {self.step} ({step.title})"
            # A step that follows others is due once one of them was made.
            is_checked = step.verify and step.commands and not (step.follows and self.made)
            if step.fulfilled or (is_checked and self._failing(step.verify) is None):
                self._note("already", step.fulfilled)
                continue
            if step.consent and step.consent not in consents:
                self._note("left", f"no consent to {step.consent}")
                needs = f"{step_name} needs --consent {step.consent}"
                return NOT_APPLIED, f"{needs}; this step and the following steps were not made"
            self._report(f"step {self.step}: {step.title}")
            try:
                self._make(step)
            except _StepFailedError as stop:
                self._note("failed", str(stop))
                return FAILED, f"{step_name}: {stop}"
            self.made += [self.step] if step.commands else []
            self._note("made")
        return DONE, ""

    def undo(
        self, steps: Sequence[Step], entries: Sequence[JournalEntry]
    ) -> tuple[list[int], list[str]]:
        """Undo every step that began; one that cannot be undone does not keep the others.

        Return the undone steps, and a sentence for each that could not be undone. A change since
        then is reported before it is undone. Undoing again undoes the rest.
        """
        complete_steps = {entry.step for entry in entries if entry.event == "made"}
        undone: list[int] = []
        troubles: list[str] = []
        for number in steps_to_undo(entries):
            self.step, step = number, steps[number - 1]
            self._report(f"undoing step {number}: {step.title}")
            if not step.undo or step.undo_note:
                self._report(f"  {step.undo_note or 'this step cannot be undone'}")
            if step.undo and number in complete_steps and (changed := self._failing(step.verify)):
                self._report(f"  it has changed since this step: {changed.observed}")
            try:
                for command in step.undo:
                    self._require_way(command)
                    self._run(command, "undo")
            except _StepFailedError as stop:
                self._note("undone", str(stop))
                troubles.append(f"step {number} ({step.title}): {stop}")
            else:
                self._note("undone")
                undone.append(number)
        return undone, troubles

    def _note(self, event: str, note: str = "") -> None:
        self._journal.write(JournalEntry(event, self.step, note=note))

    def _run(self, command: Command, event: str) -> None:
        """Run a command that changes something."""
        self._journal.write(
            JournalEntry("starting", self.step, node=command.node, argv=command.argv)
        )
        completed = self._hosts.run(command, HEAD_S if command.node == HEAD else NODE_S)
        self._record(event, command, completed)
        if completed.exit_code != 0:
            raise _StepFailedError(f"{quote_command(command)} {describe_end(completed)}")
        for line in completed.stderr.splitlines():
            if line.startswith(REMARK_PREFIX):
                self._report(f"  {on(command.node)}: {line.removeprefix(REMARK_PREFIX)}")

    def _failing(self, checks: Sequence[Verification]) -> FailedCheck | None:
        return find_failed_check(self._hosts, checks, partial(self._record, "check"))

    def _record(self, event: str, command: Command, completed: Completed) -> None:
        self._journal.write(JournalEntry(
            event, self.step, node=command.node, argv=command.argv, stdin=command.stdin,
            exit_code=completed.exit_code, stdout=completed.stdout, stderr=completed.stderr,
            wall_s=completed.wall_s, timed_out=completed.timed_out,
        ))  # fmt: skip

    def _make(self, step: Step) -> None:
        if failed_check := self._failing(step.before):
            raise _StepFailedError(
                f"it has changed since the plan was made: {failed_check.observed}"
            )
        if step.commands:
            self._note("begun")
        for command in step.commands:
            self._run(command, "command")
        began = time.monotonic()
        while failed_check := self._failing(step.verify):  # up to the patience of the failed check
            if time.monotonic() >= began + failed_check.check.patience_s:
                raise _StepFailedError(f"verification failed: {failed_check.observed}")
            time.sleep(POLL_S)

    def _require_way(self, command: Command) -> None:
        """Refuse a command that would remove the address by which its node is reached."""
        address = lifeline.removed_address(command)
        if not address:
            return
        connection = self._hosts.run(lifeline.question(command.node), QUESTION_S)
        if lifeline.came_in_by(connection.stdout) == address:
            raise _StepFailedError(
                f"{on(command.node)} is reached by {address}, and {quote_command(command)} would"
                " cut it off; connect by another address, and undo again"
            )


def steps_to_undo(entries: Iterable[JournalEntry]) -> tuple[int, ...]:
    """Return the steps that ran a command and were not undone since, the last first."""
    open_: dict[int, None] = {}
    for entry in entries:
        if entry.event == "begun":
            open_[entry.step] = None
        elif entry.event == "undone" and not entry.note:
            open_.pop(entry.step, None)
    return tuple(reversed(open_))
