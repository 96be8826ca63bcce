"""Commands of a plan, run on the nodes and of the head."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from fabricgauge import process
from fabricgauge.configure.job import HEAD, Reply
from fabricgauge.model.errors import ToolMissing, UsageError
from fabricgauge.model.finding import Command
from fabricgauge.model.host_access import Host, HostAccess
from fabricgauge.process import Completed

#: A question reads a file or a table; ssh's own limit is 5 s.
QUESTION_S = 30.0

#: Each is one local process (ssh, nsenter); more at once only wait for processors.
MOST_AT_ONCE = 32

#: What a shell says of a program that is not there.
NOT_THERE = 127


class Hosts:
    """The hosts by node; the head's has what its launcher puts in front."""

    def __init__(self, access: HostAccess) -> None:
        self._hosts = {host.node: host for host in access.hosts}
        self._hosts[HEAD] = Host(HEAD, access.head_prefix)

    def run(
        self, command: Command, timeout_s: float, group: process.Group | None = None
    ) -> Completed:
        """Run it to its end; a program that this machine lacks ends with 127.

        Raises:
            UsageError: there is no way to the command's node.
        """
        argv = process.behind(self._host(command.node), command.argv)
        try:
            return process.run(argv, timeout_s=timeout_s, stdin=command.stdin, group=group)
        except (ToolMissing, OSError, ValueError) as error:
            return Completed(tuple(argv), NOT_THERE, "", str(error), 0.0)

    def _host(self, node: str) -> Host:
        if node not in self._hosts:
            raise UsageError(f"there is no way to {node}; name the nodes of the plan with -w")
        return self._hosts[node]


def ask(hosts: Hosts, commands: Iterable[Command]) -> dict[Command, Reply]:
    """The replies to commands that change nothing."""
    found = run_all(hosts, commands, QUESTION_S)
    return {command: Reply(done.exit_code, done.stdout) for command, done in found.items()}


def run_all(
    hosts: Hosts, commands: Iterable[Command], timeout_s: float
) -> dict[Command, Completed]:
    """Run commands that do not wait for each other, many at once; all have ended on return.

    An interrupt ends those that still run.
    """
    group = process.Group()

    def one(command: Command) -> tuple[Command, Completed]:
        return command, hosts.run(command, timeout_s, group)

    with ThreadPoolExecutor(max_workers=MOST_AT_ONCE) as pool:
        try:
            return dict(pool.map(one, commands))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            group.end()
            raise
