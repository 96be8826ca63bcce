"""Find a user's own folders; check whose a file is, and that no other user can change it.

A file is the user's own if it belongs to the user, no other user may write it, and no other user
can put another file in its place. Each folder and link on the path to it must belong to the user or
to root, and no folder may be writable by others, unless it is sticky as /tmp is. OpenSSH asks the
same of a user's files. The folders are those of the XDG Base Directory Specification, version 0.8.
"""

import grp
import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path

#: The variables, and the default of each, below the user's home.
_USUAL = {
    "XDG_CACHE_HOME": ".cache",
    "XDG_CONFIG_HOME": ".config",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
}


def place(variable: str) -> Path:
    """Return this program's folder. A relative path is ignored, as the specification asks."""
    folder = Path(os.environ.get(variable, ""))
    return (folder if folder.is_absolute() else Path.home() / _USUAL[variable]) / "fabricgauge"


def not_own(path: Path, or_roots: bool = False) -> str:
    """Return why a file or folder is not provably this user's own; empty if it is.

    ``or_roots`` accepts one that belongs to root, as a site's configuration does.
    """
    try:
        real = path.resolve(strict=True)
        states = [(part, part.lstat()) for part in _path_parts(path.absolute(), real)]
    except (OSError, RuntimeError) as error:
        return f"{path} cannot be examined: {getattr(error, 'strerror', None) or error}"
    user = os.geteuid()
    trusted = {user, *_root_ids()}
    for place, state in states:
        is_file = place == real
        if state.st_uid not in ({user} if is_file and not or_roots else trusted):
            return f"{place} belongs to {_user_name(state.st_uid)}"
        is_sticky = not is_file and bool(state.st_mode & stat.S_ISVTX)
        if not stat.S_ISLNK(state.st_mode) and not is_sticky and _others_may_write(state):
            return f"{place} may be written by others"
    return ""


def _path_parts(path: Path, real: Path) -> Iterator[Path]:
    """Yield a file and all folders above it; for each link among them, the same of its target.

    A user who may change one of them decides which file the path leads to.
    """
    pending, visited = [real, path], set[Path]()
    while pending:
        current = pending.pop()
        for place in (current, *current.parents):
            if place in visited:
                continue
            visited.add(place)
            yield place
            if place.is_symlink():
                pending.append(place.parent / place.readlink())


def _root_ids() -> set[int]:
    """Return root's ids; in a user namespace that does not map root, it has the overflow id."""
    try:
        mapped = Path("/proc/self/uid_map").read_text().split()
        if mapped == ["0", "0", "4294967295"]:
            return {0}
        return {0, int(Path("/proc/sys/kernel/overflowuid").read_text())}
    except (OSError, ValueError):
        return {0}


def _others_may_write(state: os.stat_result) -> bool:
    """Check the mode. A private group, which many systems give each user, does not count."""
    if state.st_mode & stat.S_IWOTH:
        return True
    return bool(state.st_mode & stat.S_IWGRP) and not _is_private(state.st_gid, state.st_uid)


def _is_private(group: int, user: int) -> bool:
    try:
        owner, holder = pwd.getpwuid(user), grp.getgrgid(group)
    except KeyError:
        return False
    return (
        owner.pw_gid == group
        and holder.gr_name == owner.pw_name
        and set(holder.gr_mem) <= {owner.pw_name}
    )


def _user_name(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"
