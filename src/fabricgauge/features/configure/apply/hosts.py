"""Run commands of a plan on its nodes and on the head: questions and verifications."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec

from fabricgauge.features.configure.job import HEAD, Reply, Step, Verification, holds, on
from fabricgauge.model.errors import ToolMissing, UsageError
from fabricgauge.model.finding import Command
from fabricgauge.model.host_access import Host, HostAccess
from fabricgauge.model.words.sentences import brief
from fabricgauge.nodes import process
from fabricgauge.nodes.process import Completed

#: Time limit of a question, which reads a file or a table; ssh's own limit is 5 s.
QUESTION_S = 30.0

#: Each command is one local process (ssh, nsenter); more would only wait for processors.
MAX_PARALLEL_COMMANDS = 32

#: Exit status of a shell for a missing program.
NOT_FOUND = 127


class PlanHosts:
    """The hosts by node; the head has its launcher's prefix."""

    def __init__(self, access: HostAccess) -> None:
        self._hosts = {host.node: host for host in access.hosts}
        self._hosts[HEAD] = Host(HEAD, access.head_prefix)

    def run(
        self, command: Command, timeout_s: float, group: process.ChildGroup | None = None
    ) -> Completed:
        """Run a command to its end; a missing program ends with 127.

        Raises:
            UsageError: the command's node cannot be reached.
        """
        argv = self._host(command.node).through(command.argv)
        try:
            return process.run(argv, timeout_s=timeout_s, stdin=command.stdin, group=group)
        except (ToolMissing, OSError, ValueError) as error:
            return Completed(tuple(argv), NOT_FOUND, "", str(error), 0.0)

    def shown(self, command: Command) -> str:
        """Return the command as it is started, with the prefix that leads to its node.

        Raises:
            UsageError: the command's node cannot be reached.
        """
        return brief((*self._host(command.node).prefix, *command.argv))

    def _host(self, node: str) -> Host:
        if node not in self._hosts:
            raise UsageError(f"{node} cannot be reached; name the nodes of the plan with -w")
        return self._hosts[node]


def ask_hosts(hosts: PlanHosts, commands: Iterable[Command]) -> dict[Command, Reply]:
    """Return the replies to commands that change nothing."""
    completed = run_all(hosts, commands, QUESTION_S)
    return {
        command: Reply(result.exit_code, result.stdout) for command, result in completed.items()
    }


def run_all(
    hosts: PlanHosts, commands: Iterable[Command], timeout_s: float
) -> dict[Command, Completed]:
    """Run independent commands, many at once; all have ended on return.

    An interrupt ends those that still run.
    """
    group = process.ChildGroup()

    def run_command(command: Command) -> tuple[Command, Completed]:
        return command, hosts.run(command, timeout_s, group)

    with ThreadPoolExecutor(max_workers=MAX_PARALLEL_COMMANDS) as pool:
        try:
            return dict(pool.map(run_command, commands))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            group.end()
            raise


_MAX_CHARACTERS = 300

#: Receives each command that was run, in the order of the verifications.
Record = Callable[[Command, Completed], None]


class FailedCheck(msgspec.Struct, frozen=True):
    """A verification that does not hold, and what was observed instead."""

    check: Verification
    observed: str


def find_failed_check(
    hosts: PlanHosts, checks: Sequence[Verification], record: Record
) -> FailedCheck | None:
    """Return the first verification that does not hold; each command is run once."""
    completed = run_all(hosts, dict.fromkeys(check.command for check in checks), QUESTION_S)
    for command, result in completed.items():
        record(command, result)
    for check in checks:
        result = completed[check.command]
        if not holds(check, Reply(result.exit_code, result.stdout)):
            return FailedCheck(check, _describe_difference(check, result))
    return None


def quote_command(command: Command) -> str:
    return f"'{brief(command.argv)}' on {on(command.node)}"


def describe_end(completed: Completed) -> str:
    how = "took too long" if completed.timed_out else f"ended with {completed.exit_code}"
    output = _short(completed.stderr or completed.stdout)
    return f"{how}: {output}" if output else how


def _describe_difference(check: Verification, completed: Completed) -> str:
    if completed.exit_code != 0:
        return f"{quote_command(check.command)} {describe_end(completed)}"
    expected = f"{'no ' if check.absent else ''}{check.expected.strip()!r}"
    return (
        f"{quote_command(check.command)} shows {_short(completed.stdout)!r} instead of {expected}"
    )


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _MAX_CHARACTERS else f"…{words[-_MAX_CHARACTERS:]}"


#: Prints each argument that is no program; POSIX sh.
_LOOK_FOR_PROGRAMS = (
    'for name; do command -v "$name" >/dev/null 2>&1 || printf "%s\\n" "$name"; done'
)


def find_missing_programs(hosts: PlanHosts, steps: Iterable[Step]) -> tuple[str, ...]:
    """Return a sentence for each program that is missing on a node or on the head."""
    programs_by_node: dict[str, dict[str, None]] = {}
    for step in steps:
        for command in (*step.commands, *(check.command for check in step.verify)):
            programs_by_node.setdefault(command.node, {})[command.argv[0]] = None
    questions = {
        node: Command(node, ("sh", "-c", _LOOK_FOR_PROGRAMS, "sh", *programs))
        for node, programs in programs_by_node.items()
    }
    replies = ask_hosts(hosts, questions.values())
    sentences = []
    for node, question in questions.items():
        reply = replies[question]
        if reply.exit_code != 0:
            sentences.append(
                f"{on(node)} could not be asked for {', '.join(programs_by_node[node])}"
            )
        sentences += [f"{on(node)} has no {name}" for name in reply.output.splitlines()]
    return tuple(sentences)
