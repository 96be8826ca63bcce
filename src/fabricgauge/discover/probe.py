"""Runs the probe on every node at once and keeps each answer as it came."""

import time
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
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
    script, group = probe_script(script_name), process.ChildGroup()
    waiting = deque(hosts)
    arrived: SimpleQueue[NodeAnswer | BaseException] = SimpleQueue()

    def work() -> None:
        with suppress(IndexError):  # none is left
            while not group.over:
                host = waiting.popleft()
                own = (words or {}).get(host.node, ())
                try:
                    arrived.put(_asked(host, script, own, timeout_s, group))
                except BaseException as error:
                    arrived.put(error)

    try:
        for _ in range(min(at_once, len(hosts))):  # daemons: the program's end waits for others
            Thread(target=work, name="probe", daemon=True).start()
        for _ in hosts:
            yield _next(arrived)
    finally:
        group.end()


def _next(arrived: "SimpleQueue[NodeAnswer | BaseException]") -> NodeAnswer:
    """The next one. A signal that comes just before a wait is seen after LOOK_UP_S."""
    while True:
        with suppress(Empty):
            answer = arrived.get(timeout=LOOK_UP_S)
            if isinstance(answer, BaseException):
                raise answer
            return answer


def probe_script(name: str = "probe.sh") -> str:
    """A script of this package, to be fed to ``sh -s`` on a node.

    The survey's stands behind the quick probe's, whose functions it uses: the same shell runs
    both, so that the first ends without its own ``exit``.
    """
    text = resources.files(__package__).joinpath(name).read_text("utf-8")
    return probe_script().removesuffix("exit 0\n") + text if name == SURVEY else text


def _asked(
    host: Host, script: str, words: Sequence[str], timeout_s: float, group: process.ChildGroup
) -> NodeAnswer:
    argv = host.through(["sh", "-s", *(["--", *words] if words else [])])
    began_s = time.time()
    try:
        done = process.run(
            argv, timeout_s=timeout_s, stdin=script, group=group, most_bytes=MOST_BYTES
        )
    except (ToolMissing, OSError, ValueError) as error:
        return NodeAnswer(host.node, "", f"{host.node} could not be asked: {error}")
    trouble = _trouble(host.node, done, timeout_s)
    late = f"\n== standard error\n{done.stderr}" if done.stderr else ""  # behind the end mark
    return NodeAnswer(host.node, done.stdout + late, trouble, began_s, time.time())


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
