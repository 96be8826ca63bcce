"""Undo what a journal says was done, the last first."""

from collections.abc import Callable, Iterable

import msgspec

from fabricgauge.app.configuring.apply import entry, limit_s
from fabricgauge.app.configuring.behind import QUESTION_S, Hosts
from fabricgauge.app.configuring.verifying import ended, failing, named
from fabricgauge.configure import lifeline
from fabricgauge.configure.job import on
from fabricgauge.model.configuration import Step
from fabricgauge.model.finding import Command
from fabricgauge.process import Completed
from fabricgauge.store.journal import Entry, Journal


class Undone(msgspec.Struct, frozen=True):
    """Numbers of the steps that were undone; ``troubles`` are sentences on what could not be."""

    steps: tuple[int, ...]
    troubles: tuple[str, ...]


def begun(entries: Iterable[Entry]) -> tuple[int, ...]:
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
    entries: Iterable[Entry],
    hosts: Hosts,
    journal: Journal,
    tell: Callable[[str], None],
) -> Undone:
    """Undo every step that was begun; one that cannot be undone does not keep the others.

    What somebody changed since is said before it goes. Undoing once more does what is left.
    """
    entries = tuple(entries)
    whole = {one.step for one in entries if one.event == "made"}
    done: list[int] = []
    troubles: list[str] = []
    for number in begun(entries):
        step = steps[number - 1]
        tell(f"undoing step {number}: {step.title}")
        if not step.undo or step.undo_note:
            tell(f"  {step.undo_note or 'there is no undoing of it'}")
        if step.undo and number in whole and (changed := _changed(number, step, hosts, journal)):
            tell(f"  it has changed since it was made: {changed}")
        trouble = _undo(number, step, hosts, journal)
        journal.write(Entry("undone", number, note=trouble))
        if trouble:
            troubles.append(f"step {number} ({step.title}): {trouble}")
        else:
            done.append(number)
    return Undone(tuple(done), tuple(troubles))


def _changed(number: int, step: Step, hosts: Hosts, journal: Journal) -> str:
    """What no longer holds of a step that once held; empty if everything does."""

    def record(command: Command, seen: Completed) -> None:
        journal.write(entry("check", number, command, seen))

    found = failing(hosts, step.verify, record)
    return found.told if found else ""


def _cut_off(command: Command, hosts: Hosts) -> str:
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


def _undo(number: int, step: Step, hosts: Hosts, journal: Journal) -> str:
    """Empty, or what went wrong; what cannot be undone at all is no trouble."""
    for command in step.undo:
        if cut := _cut_off(command, hosts):
            return cut
        result = hosts.run(command, limit_s(command))
        journal.write(entry("undo", number, command, result))
        if result.exit_code != 0:
            return f"{named(command)} {ended(result)}"
    return ""
