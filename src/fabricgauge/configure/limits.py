"""The locked memory that RDMA needs, in limits.conf; pure.

Format: limits.conf(5) of Linux-PAM 1.5: domain, type (soft, hard or "-" for both), item, value;
of two lines for the same the later one counts, and those of limits.d come after.
"""

from collections.abc import Iterator

from fabricgauge.configure.files import edited, questions, step_of
from fabricgauge.configure.job import Job, on
from fabricgauge.configure.text_lines import fields, joined, split
from fabricgauge.model.absence import Skipped
from fabricgauge.model.configuration import Step
from fabricgauge.model.finding import Command

FILE = "etc/security/limits.conf"

#: The last line of the file as Linux-PAM ships it; what is added stands before it.
_END = "# End of file"


def path(root: str) -> str:
    """The file below a root directory; "/" is the head's own."""
    return f"{root.rstrip('/')}/{FILE}"


def lines(value: str) -> tuple[str, str]:
    return f"* soft memlock {value}", f"* hard memlock {value}"


def asks(node: str, root: str) -> Iterator[Command]:
    yield from questions(node, path(root))
    yield _later(node, root)


def notes(job: Job, node: str, root: str) -> Iterator[str]:
    """Lines of limits.d that win over what is written."""
    reply = job.reply(_later(node, root))
    for line in () if isinstance(reply, Skipped) else split(reply.output):
        if _is_everybodys_memlock(line):
            yield (
                f"{_folder(root)} of {on(node)} has {' '.join(fields(line))!r}, which is read"
                " later and wins: change it there"
            )


def _folder(root: str) -> str:
    return f"{path(root).removesuffix('.conf')}.d"


def _later(node: str, root: str) -> Command:
    return Command(
        node, ("find", _folder(root), "-name", "*.conf", "-exec", "cat", "--", "{}", "+")
    )


def steps(job: Job, node: str, root: str, value: str) -> Iterator[Step]:
    """One step, for the head's own file or for an image's."""
    file = path(root)
    where = on(node) if root == "/" else f"the image {root}"
    changed = edited(
        job, node, file, lambda text: with_memlock(text, value), lines(value), "fabricgauge"
    )
    yield step_of(
        changed, node, file,
        f"Let processes lock memory ({value}) in {where}",
        "RDMA registers its buffers by locking them; the usual limit is too small for MPI",
        lines(value),
    )  # fmt: skip


def with_memlock(text: str, value: str) -> str:
    """The text with exactly the two lines for everybody's memlock."""
    found = split(text)
    wanted = lines(value)
    ours = [line for line in found if _is_everybodys_memlock(line)]
    if [*map(fields, ours)] == [*map(fields, wanted)]:
        return text
    kept = [line for line in found if line not in ours]
    at = kept.index(_END) if _END in kept else len(kept)
    return joined((*kept[:at], *wanted, *kept[at:]))


def _is_everybodys_memlock(line: str) -> bool:
    words = fields(line.partition("#")[0])
    return len(words) == 4 and (words[0], words[2]) == ("*", "memlock")
