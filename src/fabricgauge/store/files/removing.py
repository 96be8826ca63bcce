"""Remove folders that this program made: only names that it uses, and never across a mount."""

import re
import shutil
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

_OCTAL = re.compile(r"\\([0-7]{3})")


def remove_folder(folder: Path, names: Sequence[str] = ("*",)) -> tuple[str, ...]:
    """Remove a folder with all that is in it, or return why nothing was removed.

    ``names`` are shell patterns of what may stand directly in the folder. A file system that is
    mounted on the folder or below it keeps its files: the folder then stays whole.

    Raises:
        OSError: the folder cannot be read or removed.
    """
    mounts = mounts_below(folder, Path("/proc/self/mountinfo").read_text(errors="surrogateescape"))
    reasons = [f"{mount} is a mount: unmount it first" for mount in mounts]
    strays = [
        entry.name
        for entry in sorted(folder.iterdir())
        if not any(fnmatchcase(entry.name, name) for name in names)
    ]
    reasons += [f"{folder / stray} was not made by this program: move it away" for stray in strays]
    if not reasons:
        shutil.rmtree(folder)
    return tuple(reasons)


def mounts_below(folder: Path, mountinfo: str) -> tuple[str, ...]:
    """Return the mount points at a folder or below it; ``mountinfo`` is proc(5)'s text.

    Field 5 is the mount point, with blanks and backslashes in octal.
    """
    top = str(folder.resolve())
    points = (
        _OCTAL.sub(lambda match: chr(int(match[1], 8)), line.split()[4])
        for line in mountinfo.splitlines()
        if len(line.split()) > 4
    )
    return tuple(point for point in points if point == top or point.startswith(f"{top}/"))
