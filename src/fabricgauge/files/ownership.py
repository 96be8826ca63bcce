"""Whose a file is, and whether nobody else can change it.

A file is the user's own if it belongs to the user, nobody else may write it, and nobody else can
put another file in its place: each folder and link on the way to it belongs to the user or to root,
and no folder is writable by others, unless it is sticky as /tmp is. OpenSSH asks the same of a
user's files.
"""

import grp
import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path


def not_own(path: Path, or_roots: bool = False) -> str:
    """Why a file or folder is not provably this user's own; empty where it is.

    ``or_roots`` accepts one that belongs to root, as a site's configuration does.
    """
    try:
        real = path.resolve(strict=True)
        states = [(one, one.lstat()) for one in _way(path.absolute(), real)]
    except (OSError, RuntimeError) as error:
        return f"{path} cannot be examined: {getattr(error, 'strerror', None) or error}"
    user = os.geteuid()
    trusted = {user, *_roots()}
    for place, state in states:
        is_it = place == real
        if state.st_uid not in ({user} if is_it and not or_roots else trusted):
            return f"{place} belongs to {_name(state.st_uid)}"
        is_sticky = not is_it and bool(state.st_mode & stat.S_ISVTX)
        if not stat.S_ISLNK(state.st_mode) and not is_sticky and _others_may_write(state):
            return f"{place} may be written by others"
    return ""


def _way(path: Path, real: Path) -> Iterator[Path]:
    """A file and all folders above it; for each link among them the same of its target.

    A user who may change one of them decides what is found.
    """
    left, seen = [real, path], set[Path]()
    while left:
        one = left.pop()
        for place in (one, *one.parents):
            if place in seen:
                continue
            seen.add(place)
            yield place
            if place.is_symlink():
                left.append(place.parent / place.readlink())


def _roots() -> set[int]:
    """Root's ids; in a user namespace that does not map it, root has the overflow id."""
    try:
        mapped = Path("/proc/self/uid_map").read_text().split()
        if mapped == ["0", "0", "4294967295"]:
            return {0}
        return {0, int(Path("/proc/sys/kernel/overflowuid").read_text())}
    except (OSError, ValueError):
        return {0}


def _others_may_write(state: os.stat_result) -> bool:
    """A group that holds its owner alone, as many systems give each user, counts as nobody."""
    if state.st_mode & stat.S_IWOTH:
        return True
    return bool(state.st_mode & stat.S_IWGRP) and not _is_private(state.st_gid, state.st_uid)


def _is_private(group: int, user: int) -> bool:
    try:
        owner, known = pwd.getpwuid(user), grp.getgrgid(group)
    except KeyError:
        return False
    return (
        owner.pw_gid == group
        and known.gr_name == owner.pw_name
        and set(known.gr_mem) <= {owner.pw_name}
    )


def _name(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"
