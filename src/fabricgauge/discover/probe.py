"""Runs the probe on every node at once and keeps each answer as it came."""

import time
from collections.abc import Generator, Mapping, Sequence
from importlib import resources
from queue import Empty, SimpleQueue
from threading import Thread

import msgspec

from fabricgauge import process
from fabricgauge.model.errors import ToolMissing
from fabricgauge.model.host_access import Host

#: Each probe is one local process (ssh, nsenter); more at once only wait for processors.
MOST_AT_ONCE = 32

#: The long answer; the quick one is its beginning.
SURVEY = "survey.sh"

#: A node with 600 interfaces says half of one; one that prints without end is ended here.
MOST_BYTES = 16_000_000

#: The longest wait without a look at whether the program was interrupted.
LOOK_UP_S = 0.25

#: As much as is looked at for a refused shell's last words.
LAST_WORDS = 300


class NodeAnswer(msgspec.Struct, frozen=True):
    """A node's answer, unedited. ``trouble`` is a sentence, empty when the probe ended well.

    ``began_s`` and ``ended_s`` are this machine's clock, in seconds since 1970, right before and
    after the node was asked; 0 where it was not read.
    """

    node: str
    raw: str
    trouble: str
    began_s: float = 0.0
    ended_s: float = 0.0


def answers(
    hosts: Sequence[Host],
    timeout_s: float,
    script_name: str = "probe.sh",
    words: Mapping[str, Sequence[str]] | None = None,
    at_once: int = MOST_AT_ONCE,
) -> Generator[NodeAnswer, None, None]:
    """One answer per host to a script of this package, in the order in which they arrive.

    ``words`` are the script's positional parameters by node; they are data to every shell.
    Closing the iterator early, as an interrupt does, ends the probes that still run.
    """
    asking = _Asking(hosts, probe_script(script_name), timeout_s, words or {})
    try:
        asking.start(at_once)
        for _ in hosts:
            yield asking.next()
    finally:
        asking.group.end()


def probe_script(name: str = "probe.sh") -> str:
    """A script of this package, to be fed to ``sh -s`` on a node.

    The survey's stands behind the quick probe's, whose functions it uses: the same shell runs
    both, so that the first ends without its own ``exit``.
    """
    if name == SURVEY:
        return probe_script().removesuffix("exit 0\n") + _text(name)
    return _text(name)


def _text(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8")


class _Asking:
    """The threads that wait for nodes; daemons, since the program's end waits for others."""

    def __init__(
        self,
        hosts: Sequence[Host],
        script: str,
        timeout_s: float,
        words: Mapping[str, Sequence[str]],
    ) -> None:
        self.group = process.ChildGroup()
        self._answers: SimpleQueue[NodeAnswer | BaseException] = SimpleQueue()
        self._hosts: SimpleQueue[Host] = SimpleQueue()
        self._script, self._timeout_s, self._words = script, timeout_s, words
        for host in hosts:
            self._hosts.put(host)

    def start(self, at_once: int) -> None:
        threads = min(at_once, self._hosts.qsize())  # before the first takes a host
        for _ in range(threads):
            Thread(target=self._work, name="probe", daemon=True).start()

    def next(self) -> NodeAnswer:
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
                host = self._hosts.get_nowait()
            except Empty:
                return
            try:
                self._answers.put(self._ask(host))
            except BaseException as error:
                self._answers.put(error)

    def _ask(self, host: Host) -> NodeAnswer:
        own = self._words.get(host.node, ())
        argv = host.through(["sh", "-s", *(["--", *own] if own else [])])
        began_s = time.time()
        try:
            done = process.run(
                argv, timeout_s=self._timeout_s, stdin=self._script, group=self.group,
                most_bytes=MOST_BYTES,
            )  # fmt: skip
        except (ToolMissing, OSError, ValueError) as error:
            return NodeAnswer(host.node, "", f"{host.node} could not be asked: {error}")
        trouble = _trouble(host.node, done, self._timeout_s)
        return NodeAnswer(host.node, _raw(done), trouble, began_s, time.time())


def _raw(done: process.Completed) -> str:
    """Standard output as it came; what came on standard error follows the end mark."""
    if not done.stderr:
        return done.stdout
    return f"{done.stdout}\n== standard error\n{done.stderr}"


def _trouble(node: str, done: process.Completed, timeout_s: float) -> str:
    last = _last_line(done.stderr) or _last_line(done.stdout[-LAST_WORDS:]) or "it said nothing"
    if done.timed_out:
        return f"{node} did not finish its answer within {timeout_s:g} s; is it hung or overloaded?"
    if done.is_full:
        return (
            f"{node} printed more than {MOST_BYTES / 1e6:g} MB and was cut off; what does its "
            "shell print when it starts?"
        )
    if done.exit_code != 0:
        return f"{node} could not be reached (exit status {done.exit_code}): {last}"
    return ""


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1].strip()
