"""Make the steps of a plan one after the other, and see after each that it holds."""

import time
from collections.abc import Callable, Collection, Sequence

import msgspec

from fabricgauge.app.configuring.behind import Hosts
from fabricgauge.app.configuring.verifying import Failing, ended, failing, named
from fabricgauge.configure.job import HEAD
from fabricgauge.model.configuration import Configuration, Step, Verification
from fabricgauge.model.finding import Command
from fabricgauge.process import Completed
from fabricgauge.store.journal import Entry, Journal

#: On the head packages are fetched and images packed within it; what runs on a node takes
#: seconds, and a connection that died must not hold everything up for an hour.
HEAD_S, NODE_S = 3600.0, 300.0

#: Between two looks at something that takes its time.
LOOK_AGAIN_S = 0.5


class Applied(msgspec.Struct, frozen=True):
    """What became of a plan: numbers of steps, and why it stopped before its end, if it did.

    ``lacking`` is the consent for want of which it stopped; empty where a step failed.
    """

    made: tuple[int, ...]
    already: tuple[int, ...]
    stopped: str = ""
    lacking: str = ""


class _StopError(Exception):
    """A step that did not come about; the sentence says how."""


def apply(
    configuration: Configuration,
    hosts: Hosts,
    journal: Journal,
    consents: Collection[str],
    tell: Callable[[str], None],
) -> Applied:
    """Make every step that is not fulfilled, in order, up to the first that fails.

    What the plan calls fulfilled is never made: nobody has reviewed it. A step is begun only if
    what it rests on still holds, and left alone if its verifications hold already. Everything is
    in ``journal`` before the next thing happens.
    """
    work = _Work(hosts, journal)
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
    """One step at a time."""

    def __init__(self, hosts: Hosts, journal: Journal) -> None:
        self.step = 0
        self._hosts, self._journal = hosts, journal

    def note(self, event: str, note: str = "") -> None:
        self._journal.write(Entry(event, self.step, note=note))

    def holds_already(self, step: Step, made: Collection[int]) -> bool:
        """Whether there is nothing to do; what only follows others is due once one was made."""
        if not step.verify or not step.commands or (step.follows and made):
            return False
        return self._failing(step.verify) is None

    def make(self, step: Step) -> None:
        if failing := self._failing(step.before):
            raise _StopError(f"it has changed since the plan was made: {failing.told}")
        if step.commands:
            self.note("begun")
        for command in step.commands:
            self._journal.write(Entry("starting", self.step, node=command.node, argv=command.argv))
            done = self._hosts.run(command, limit_s(command))
            self._journal.write(entry("command", self.step, command, done))
            if done.exit_code != 0:
                raise _StopError(f"{named(command)} {ended(done)}")
        self._await(step.verify)

    def _await(self, checks: Sequence[Verification]) -> None:
        """Until all hold, or one has had the time that it may take."""
        began = time.monotonic()
        while failing := self._failing(checks):
            if time.monotonic() >= began + failing.check.patience_s:
                raise _StopError(f"it does not hold: {failing.told}")
            time.sleep(LOOK_AGAIN_S)

    def _failing(self, checks: Sequence[Verification]) -> Failing | None:
        def record(command: Command, done: Completed) -> None:
            self._journal.write(entry("check", self.step, command, done))

        return failing(self._hosts, checks, record)


def limit_s(command: Command) -> float:
    """Within which a command that changes something must end."""
    return HEAD_S if command.node == HEAD else NODE_S


def entry(event: str, step: int, command: Command, done: Completed) -> Entry:
    """A command's line in the journal."""
    return Entry(
        event, step, node=command.node, argv=command.argv, stdin=command.stdin,
        exit_code=done.exit_code, stdout=done.stdout, stderr=done.stderr, wall_s=done.wall_s,
        timed_out=done.timed_out,
    )  # fmt: skip
