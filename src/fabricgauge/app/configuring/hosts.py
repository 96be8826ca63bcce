"""Commands of a plan, run on its nodes and on the head: questions and verifications."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec

from fabricgauge import process
from fabricgauge.configure.job import HEAD, Reply, holds, on
from fabricgauge.model.configuration import Step, Verification
from fabricgauge.model.errors import ToolMissing, UsageError
from fabricgauge.model.finding import Command
from fabricgauge.model.host_access import Host, HostAccess
from fabricgauge.process import Completed
from fabricgauge.words.sentences import brief

#: A question reads a file or a table; ssh's own limit is 5 s.
QUESTION_S = 30.0

#: Each is one local process (ssh, nsenter); more at once only wait for processors.
MOST_AT_ONCE = 32

#: What a shell says of a program that is not there.
NOT_THERE = 127


class PlanHosts:
    """The hosts by node; the head's has what its launcher puts in front."""

    def __init__(self, access: HostAccess) -> None:
        self._hosts = {host.node: host for host in access.hosts}
        self._hosts[HEAD] = Host(HEAD, access.head_prefix)

    def run(
        self, command: Command, timeout_s: float, group: process.ChildGroup | None = None
    ) -> Completed:
        """Run it to its end; a program that this machine lacks ends with 127.

        Raises:
            UsageError: there is no way to the command's node.
        """
        argv = self._host(command.node).through(command.argv)
        try:
            return process.run(argv, timeout_s=timeout_s, stdin=command.stdin, group=group)
        except (ToolMissing, OSError, ValueError) as error:
            return Completed(tuple(argv), NOT_THERE, "", str(error), 0.0)

    def shown(self, command: Command) -> str:
        """The command as it is started, with what leads to its node in front.

        Raises:
            UsageError: there is no way to the command's node.
        """
        return brief((*self._host(command.node).prefix, *command.argv))

    def _host(self, node: str) -> Host:
        if node not in self._hosts:
            raise UsageError(f"there is no way to {node}; name the nodes of the plan with -w")
        return self._hosts[node]


def ask(hosts: PlanHosts, commands: Iterable[Command]) -> dict[Command, Reply]:
    """The replies to commands that change nothing."""
    found = run_all(hosts, commands, QUESTION_S)
    return {command: Reply(done.exit_code, done.stdout) for command, done in found.items()}


def run_all(
    hosts: PlanHosts, commands: Iterable[Command], timeout_s: float
) -> dict[Command, Completed]:
    """Run commands that do not wait for each other, many at once; all have ended on return.

    An interrupt ends those that still run.
    """
    group = process.ChildGroup()

    def one(command: Command) -> tuple[Command, Completed]:
        return command, hosts.run(command, timeout_s, group)

    with ThreadPoolExecutor(max_workers=MOST_AT_ONCE) as pool:
        try:
            return dict(pool.map(one, commands))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            group.end()
            raise


_TOLD_SIGNS = 300

#: Called with each command that was run, in the order of the verifications.
Record = Callable[[Command, Completed], None]


class Failing(msgspec.Struct, frozen=True):
    """A verification that does not hold, and what was seen instead."""

    check: Verification
    told: str


def failing(hosts: PlanHosts, checks: Sequence[Verification], record: Record) -> Failing | None:
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
    return f"'{brief(command.argv)}' on {on(command.node)}"


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


#: Prints each of its arguments that is no program; POSIX sh.
_LOOK = 'for name; do command -v "$name" >/dev/null 2>&1 || printf "%s\\n" "$name"; done'


def missing(hosts: PlanHosts, steps: Iterable[Step]) -> tuple[str, ...]:
    """A sentence for each program that is missing on a node or on the head."""
    wanted: dict[str, dict[str, None]] = {}
    for step in steps:
        for command in (*step.commands, *(check.command for check in step.verify)):
            wanted.setdefault(command.node, {})[command.argv[0]] = None
    questions = {
        node: Command(node, ("sh", "-c", _LOOK, "sh", *programs))
        for node, programs in wanted.items()
    }
    replies = ask(hosts, questions.values())
    found = []
    for node, question in questions.items():
        reply = replies[question]
        if reply.exit_code != 0:
            found.append(f"{on(node)} could not be asked for {', '.join(wanted[node])}")
        found += [f"{on(node)} has no {name}" for name in reply.output.splitlines()]
    return tuple(found)
