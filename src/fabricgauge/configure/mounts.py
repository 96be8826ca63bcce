"""What an image mounts, in its fstab; pure.

Format: fstab(5), util-linux 2.38: blanks and backslashes in a field are written as octal escapes.
"""

from collections.abc import Iterator, Sequence

from fabricgauge.configure.description import Mount
from fabricgauge.configure.escapes import octal
from fabricgauge.configure.files import edited, questions, step_of
from fabricgauge.configure.job import HEAD, Job
from fabricgauge.configure.text_lines import fields, joined, split
from fabricgauge.model.configuration import Step
from fabricgauge.model.errors import UsageError
from fabricgauge.model.finding import Command


def path(root: str) -> str:
    return f"{root.rstrip('/')}/etc/fstab"


def line(mount: Mount) -> str:
    fields = (mount.source, mount.target, mount.kind, mount.options)
    return " ".join((*map(octal, fields), "0", "0"))


def asks(root: str) -> Iterator[Command]:
    yield from questions(HEAD, path(root))


def steps(job: Job, root: str, mounts: Sequence[Mount]) -> Iterator[Step]:
    """One step for all mounts of the image.

    Raises:
        UsageError: something else is mounted there already.
    """
    file, wanted = path(root), [line(mount) for mount in mounts]
    changed = edited(
        job, HEAD, file, lambda text: with_mounts(text, mounts, file), wanted, "fabricgauge"
    )
    yield step_of(
        changed, HEAD, file,
        f"Mount {', '.join(mount.target for mount in mounts)} in the image {root}",
        "what is shared by NFS takes no memory of a node without disks",
        wanted,
    )  # fmt: skip


def with_mounts(text: str, mounts: Sequence[Mount], file: str) -> str:
    """The text with a line for each mount that it lacks.

    Raises:
        UsageError: something else is mounted there already.
    """
    there = {words[1]: words for words in map(fields, split(text))
             if len(words) >= 4 and not words[0].startswith("#")}  # fmt: skip
    missing = []
    for mount in mounts:
        held = there.get(octal(mount.target))
        if held is None:
            missing.append(line(mount))
        elif held[:4] != fields(line(mount))[:4]:
            raise UsageError(
                f"{file} mounts {held[0]} on {mount.target} with {held[3]} already; the description"
                f" wants {mount.source} with {mount.options}: change one of them"
            )
    if not missing:
        return text
    return joined((*split(text), *missing))
