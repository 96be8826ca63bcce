"""Commands of a plan, run behind the doors of the nodes and of the head."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from fabricgauge import process
from fabricgauge.configure.job import HEAD, Reply
from fabricgauge.model.errors import ToolMissing, UsageError
from fabricgauge.model.finding import Command
from fabricgauge.model.reach import Door, Reach
from fabricgauge.process import Completed

#: A question reads a file or a table; ssh's own limit is 5 s.
QUESTION_S = 30.0

#: Each is one local process (ssh, nsenter); more at once only wait for processors.
MOST_AT_ONCE = 32

#: What a shell says of a program that is not there.
NOT_THERE = 127


class Doors:
    """The doors by node; the head's has what its launcher puts in front."""

    def __init__(self, reach: Reach) -> None:
        self._doors = {door.node: door for door in reach.doors}
        self._doors[HEAD] = Door(HEAD, reach.head_prefix)

    def run(
        self, command: Command, timeout_s: float, group: process.Group | None = None
    ) -> Completed:
        """Run it to its end; a program that this machine lacks ends with 127.

        Raises:
            UsageError: no door leads to the command's node.
        """
        argv = process.behind(self._door(command.node), command.argv)
        try:
            return process.run(argv, timeout_s=timeout_s, stdin=command.stdin, group=group)
        except (ToolMissing, OSError, ValueError) as error:
            return Completed(tuple(argv), NOT_THERE, "", str(error), 0.0)

    def _door(self, node: str) -> Door:
        if node not in self._doors:
            raise UsageError(f"no door leads to {node}; name the nodes of the plan with -w")
        return self._doors[node]


def ask(doors: Doors, commands: Iterable[Command]) -> dict[Command, Reply]:
    """The replies to commands that change nothing."""
    found = run_all(doors, commands, QUESTION_S)
    return {command: Reply(done.exit_code, done.stdout) for command, done in found.items()}


def run_all(
    doors: Doors, commands: Iterable[Command], timeout_s: float
) -> dict[Command, Completed]:
    """Run commands that do not wait for each other, many at once; all have ended on return.

    An interrupt ends those that still run.
    """
    group = process.Group()

    def one(command: Command) -> tuple[Command, Completed]:
        return command, doors.run(command, timeout_s, group)

    with ThreadPoolExecutor(max_workers=MOST_AT_ONCE) as pool:
        try:
            return dict(pool.map(one, commands))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            group.end()
            raise
