"""Runs the probe on every node at once and keeps each answer as it came."""

from collections.abc import Generator, Sequence
from importlib import resources
from queue import Empty, SimpleQueue
from threading import Thread

import msgspec

from fabricgauge import process
from fabricgauge.model.errors import ToolMissing
from fabricgauge.model.reach import Door

#: Each probe is one local process (ssh, nsenter); more at once only wait for processors.
MOST_AT_ONCE = 32

#: The longest wait without a look at whether the program was interrupted.
LOOK_UP_S = 0.25


class Answer(msgspec.Struct, frozen=True):
    """A node's answer, unedited. ``trouble`` is a sentence, empty when the probe ended well."""

    node: str
    raw: str
    trouble: str


def answers(
    doors: Sequence[Door], timeout_s: float, script_name: str = "probe.sh"
) -> Generator[Answer, None, None]:
    """One answer per door to a script of this package, in the order in which they arrive.

    Closing the iterator early, as an interrupt does, ends the probes that still run.
    """
    asking = _Asking(doors, probe_script(script_name), timeout_s)
    try:
        asking.start()
        for _ in doors:
            yield asking.next()
    finally:
        asking.group.end()


def probe_script(name: str = "probe.sh") -> str:
    """A script of this package, to be fed to ``sh -s`` on a node."""
    return resources.files(__package__).joinpath(name).read_text("utf-8")


class _Asking:
    """The threads that wait for nodes; daemons, since the program's end waits for others."""

    def __init__(self, doors: Sequence[Door], script: str, timeout_s: float) -> None:
        self.group = process.Group()
        self._answers: SimpleQueue[Answer | BaseException] = SimpleQueue()
        self._doors: SimpleQueue[Door] = SimpleQueue()
        self._script, self._timeout_s = script, timeout_s
        for door in doors:
            self._doors.put(door)

    def start(self) -> None:
        threads = min(MOST_AT_ONCE, self._doors.qsize())  # before the first takes a door
        for _ in range(threads):
            Thread(target=self._work, name="probe", daemon=True).start()

    def next(self) -> Answer:
        """The next answer. A signal that comes just before a wait is seen after LOOK_UP_S."""
        while True:
            try:
                answer = self._answers.get(timeout=LOOK_UP_S)
            except Empty:
                continue
            if isinstance(answer, BaseException):
                raise answer
            return answer

    def _work(self) -> None:
        while not self.group.over:
            try:
                door = self._doors.get_nowait()
            except Empty:
                return
            try:
                self._answers.put(_ask(door, self._script, self._timeout_s, self.group))
            except BaseException as error:
                self._answers.put(error)


def _ask(door: Door, script: str, timeout_s: float, group: process.Group) -> Answer:
    argv = process.behind(door, ["sh", "-s"])
    try:
        done = process.run(argv, timeout_s=timeout_s, stdin=script, group=group)
    except (ToolMissing, OSError, ValueError) as error:
        return Answer(door.node, "", f"{door.node} could not be asked: {error}")
    return Answer(door.node, _raw(done), _trouble(door.node, done, timeout_s))


def _raw(done: process.Completed) -> str:
    """Standard output as it came; what came on standard error follows the end mark."""
    if not done.stderr:
        return done.stdout
    return f"{done.stdout}\n== standard error\n{done.stderr}"


def _trouble(node: str, done: process.Completed, timeout_s: float) -> str:
    last = (done.stderr.strip().splitlines() or ["nothing on standard error"])[-1].strip()
    if done.timed_out:
        return f"{node} did not finish its answer within {timeout_s:g} s; is it hung or overloaded?"
    if done.exit_code != 0:
        return f"{node} could not be reached (exit status {done.exit_code}): {last}"
    return ""
