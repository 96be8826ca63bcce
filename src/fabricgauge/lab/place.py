"""Where labs keep their state: a directory per lab, on this machine and for this user."""

import os
import re
import stat
from contextlib import suppress
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


def existing(name: str) -> Path | None:
    """The directory of a lab; None when there is no such lab.

    Raises:
        LabError: the directory, or one that it is in, is not ours alone: what it says of
            processes must not be believed.
    """
    directory = lab_directory(name)
    for place in (*_way_to_labs(), directory):
        if not os.path.lexists(place):
            return None
        _assert_ours(place)
    return directory


def lab_names() -> tuple[str, ...]:
    """The names of all labs of this user, whole or broken; none where others may write."""
    if not all(_ours(place) for place in _way_to_labs()):
        return ()
    return tuple(sorted(entry.name for entry in labs_root().iterdir() if _ours(entry)))


def create(name: str) -> Path:
    """Make the directory of a new lab, for this user alone.

    Raises:
        LabError: the lab exists, or the directory is not ours alone.
    """
    directory = lab_directory(name)
    try:
        for place in _way_to_labs():
            with suppress(FileExistsError):
                place.mkdir(mode=0o700)
            _assert_ours(place)
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
    return Path(f"/tmp/fabricgauge-{uid}")  # noqa: S108 -- whose it is, is checked


def _way_to_labs() -> tuple[Path, Path]:
    """The directories to go through to a lab. Anyone may have made them under /tmp."""
    return labs_root().parent, labs_root()


def _assert_ours(directory: Path) -> None:
    if not _ours(directory):
        raise LabError(
            f"{directory} is not a directory that belongs to this user alone, so it is not "
            "used; remove it, or set XDG_RUNTIME_DIR to a directory of your own"
        )


def _ours(directory: Path) -> bool:
    """Whether it is a real directory, no link, that nobody else may write."""
    try:
        found = directory.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022


def _noexec(place: str) -> bool:
    return bool(os.statvfs(place).f_flag & os.ST_NOEXEC)
