"""Runs the probe on every node at once and keeps each answer as it came."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from importlib import resources

import msgspec

from fabricgauge import process
from fabricgauge.model.errors import ToolMissing
from fabricgauge.model.reach import Door

#: Each probe is one local process (ssh, nsenter); more at once only wait for processors.
MOST_AT_ONCE = 32


class Answer(msgspec.Struct, frozen=True):
    """A node's answer, unedited. ``trouble`` is a sentence, empty when the probe ended well."""

    node: str
    raw: str
    trouble: str


def answers(doors: Sequence[Door], timeout_s: float) -> Iterator[Answer]:
    """One answer per door, in the order in which they arrive."""
    if not doors:
        return
    script = resources.files(__package__).joinpath("probe.sh").read_text("utf-8")
    pool = ThreadPoolExecutor(min(MOST_AT_ONCE, len(doors)), thread_name_prefix="probe")
    try:
        waiting: list[Future[Answer]] = [
            pool.submit(_ask, door, script, timeout_s) for door in doors
        ]
        for done in as_completed(waiting):
            yield done.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _ask(door: Door, script: str, timeout_s: float) -> Answer:
    argv = process.behind(door, ["sh", "-s"])
    try:
        done = process.run(argv, timeout_s=timeout_s, stdin=script)
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
