"""Where labs keep their state: a directory per lab, on this machine and for this user."""

import os
import re
import stat
from pathlib import Path

from fabricgauge.model.errors import LabError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def lab_directory(name: str) -> Path:
    """The directory of one lab; it need not exist.

    Raises:
        LabError: the name cannot be a directory's name.
    """
    if not _NAME.fullmatch(name):
        raise LabError(
            f"{name!r} cannot name a lab: use up to 64 letters, digits, dots, underscores "
            "and hyphens, beginning with a letter or digit"
        )
    return labs_root() / name


def labs_root() -> Path:
    """The directory that holds all labs of this user."""
    return _runtime_directory() / "labs"


def create(name: str) -> Path:
    """Make the directory of a new lab, for this user alone.

    Raises:
        LabError: the lab exists, or the directory is not ours alone.
    """
    directory = lab_directory(name)
    runtime = directory.parent.parent
    try:
        runtime.mkdir(mode=0o700, exist_ok=True)
        if not _ours(runtime):
            raise LabError(
                f"{runtime} does not belong to this user alone; remove it, or set "
                "XDG_RUNTIME_DIR to a directory of your own"
            )
        directory.parent.mkdir(mode=0o700, exist_ok=True)
        directory.mkdir(mode=0o700)
    except FileExistsError as error:
        raise LabError(
            f"a lab named {name!r} exists in {directory}; remove it with "
            f"'fabricgauge lab down --name {name}', or choose another --name"
        ) from error
    except OSError as error:
        raise LabError(f"cannot make {directory}: {error.strerror}; make room there") from error
    return directory


def _runtime_directory() -> Path:
    """The first of the usual places that is this user's and lets programs run.

    The agent is executed from there, so a file system mounted noexec does not serve.
    """
    uid = os.getuid()
    for place in (os.environ.get("XDG_RUNTIME_DIR", ""), f"/run/user/{uid}"):
        if place.startswith("/") and _ours(Path(place)) and not _noexec(place):
            return Path(place) / "fabricgauge"
    return Path(f"/tmp/fabricgauge-{uid}")  # noqa: S108 -- create() checks whose it is


def _ours(directory: Path) -> bool:
    try:
        found = directory.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022


def _noexec(place: str) -> bool:
    return bool(os.statvfs(place).f_flag & os.ST_NOEXEC)
