"""Run the probe on every node at once and keep each answer unedited."""

import time
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from importlib import resources
from queue import Empty, SimpleQueue
from threading import Thread

import msgspec

from fabricgauge.model.errors import ToolMissing
from fabricgauge.model.host_access import Host
from fabricgauge.nodes import process

#: Each probe is one local process (ssh, nsenter); more at once only wait for processors.
MAX_PARALLEL = 32

#: The long answer; the quick one is its beginning.
SURVEY = "survey.sh"

#: A node with 600 interfaces prints half of this; a node that prints without end is stopped here.
MAX_BYTES = 16_000_000

#: The longest wait before the program notices a signal that came just before the wait.
INTERRUPT_CHECK_S = 0.25

#: Length of the text that is searched for a refused shell's last line.
LAST_LINE_SEARCH = 300


class NodeAnswer(msgspec.Struct, frozen=True):
    """A node's answer, unedited. ``trouble`` is a sentence, "" if the probe ended well.

    ``began_s`` and ``ended_s`` are this machine's clock, in seconds since 1970, right before and
    after the node was asked; 0 if it was not read.
    """

    node: str
    raw: str
    trouble: str
    began_s: float = 0.0
    ended_s: float = 0.0


def ask_nodes(
    hosts: Sequence[Host],
    timeout_s: float,
    script_name: str = "probe.sh",
    words: Mapping[str, Sequence[str]] | None = None,
    parallel: int = MAX_PARALLEL,
    text: str = "",
) -> Generator[NodeAnswer, None, None]:
    """Yield one answer per host to a script of this package, in the order in which they arrive.

    A ``text`` is run instead of that script. ``words`` are the script's positional parameters by
    node; they are data to every shell.
    Closing the iterator early, as an interrupt does, ends the probes that still run.
    """
    script, group = text or read_script(script_name), process.ChildGroup()
    waiting = deque(hosts)
    arrived: SimpleQueue[NodeAnswer | BaseException] = SimpleQueue()

    def work() -> None:
        with suppress(IndexError):  # no host is left
            while not group.over:
                host = waiting.popleft()
                parameters = (words or {}).get(host.node, ())
                try:
                    arrived.put(_ask_node(host, script, parameters, timeout_s, group))
                except BaseException as error:
                    arrived.put(error)

    try:
        # Daemons: the program's end would wait for other threads.
        for _ in range(min(parallel, len(hosts))):
            Thread(target=work, name="probe", daemon=True).start()
        for _ in hosts:
            answer: NodeAnswer | BaseException | None = None
            while answer is None:
                with suppress(Empty):
                    answer = arrived.get(timeout=INTERRUPT_CHECK_S)
            if isinstance(answer, BaseException):
                raise answer
            yield answer
    finally:
        group.end()


def read_script(name: str = "probe.sh") -> str:
    """Return a script of this package, to be fed to ``sh -s`` on a node.

    The survey's script follows the quick probe's, whose functions it uses: the same shell runs
    both, so the first ends without its own ``exit``.
    """
    text = resources.files(__package__).joinpath(name).read_text("utf-8")
    return read_script().removesuffix("exit 0\n") + text if name == SURVEY else text


def _ask_node(
    host: Host, script: str, words: Sequence[str], timeout_s: float, group: process.ChildGroup
) -> NodeAnswer:
    argv = host.through(["sh", "-s", *(["--", *words] if words else [])])
    began_s = time.time()
    try:
        completed = process.run(
            argv, timeout_s=timeout_s, stdin=script, group=group, most_bytes=MAX_BYTES
        )
    except (ToolMissing, OSError, ValueError) as error:
        return NodeAnswer(host.node, "", f"{host.node} could not be asked: {error}")
    trouble = _describe_trouble(host.node, completed, timeout_s)
    # It follows the end mark.
    stderr = f"\n== standard error\n{completed.stderr}" if completed.stderr else ""
    return NodeAnswer(host.node, completed.stdout + stderr, trouble, began_s, time.time())


def _describe_trouble(node: str, completed: process.Completed, timeout_s: float) -> str:
    last_line = (
        _get_last_line(completed.stderr)
        or _get_last_line(completed.stdout[-LAST_LINE_SEARCH:])
        or "it printed nothing"
    )
    if completed.timed_out:
        return f"{node} did not finish its answer within {timeout_s:g} s; is it hung or overloaded?"
    if completed.is_full:
        return (
            f"{node} printed more than {MAX_BYTES / 1e6:g} MB and was cut off; check the output of "
            "its shell at the start"
        )
    if completed.exit_code != 0:
        return f"{node} could not be reached (exit status {completed.exit_code}): {last_line}"
    return ""


def _get_last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1].strip()
