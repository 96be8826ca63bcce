"""Whether what a step shall bring about is so, asked of all its nodes at once."""

from collections.abc import Callable, Sequence

import msgspec

from fabricgauge.app.configuring.behind import QUESTION_S, Hosts, run_all
from fabricgauge.configure.job import Reply, holds, on
from fabricgauge.model.configuration import Verification
from fabricgauge.model.finding import Command
from fabricgauge.process import Completed

_TOLD_SIGNS = 300

#: Told of each command that was run, in the order of the verifications.
Record = Callable[[Command, Completed], None]


class Failing(msgspec.Struct, frozen=True):
    """A verification that does not hold, and what was seen instead."""

    check: Verification
    told: str


def failing(hosts: Hosts, checks: Sequence[Verification], record: Record) -> Failing | None:
    """The first that does not hold; each command is run once."""
    seen = run_all(hosts, dict.fromkeys(check.command for check in checks), QUESTION_S)
    for command, done in seen.items():
        record(command, done)
    for check in checks:
        done = seen[check.command]
        if not holds(check, Reply(done.exit_code, done.stdout)):
            return Failing(check, _instead(check, done))
    return None


def named(command: Command) -> str:
    """A command for a sentence."""
    return f"'{' '.join(command.argv)}' on {on(command.node)}"


def ended(done: Completed) -> str:
    """How a command ended and what it said, shortly."""
    how = "took too long" if done.timed_out else f"ended with {done.exit_code}"
    said = _short(done.stderr or done.stdout)
    return f"{how}: {said}" if said else how


def _instead(check: Verification, done: Completed) -> str:
    """What was seen instead of what was expected."""
    if done.exit_code != 0:
        return f"{named(check.command)} {ended(done)}"
    wanted = f"{'no ' if check.absent else ''}{check.expected.strip()!r}"
    return f"{named(check.command)} shows {_short(done.stdout)!r} instead of {wanted}"


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _TOLD_SIGNS else f"…{words[-_TOLD_SIGNS:]}"
