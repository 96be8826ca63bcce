"""Whose a file is: what is provably this user's own may name programs, all else is data.

A file is the user's own if it belongs to the user, nobody else may write it, and nobody else can
put another file in its place: each folder above it belongs to the user or to root, and is not
writable by others, unless it is sticky as /tmp is. OpenSSH asks the same of a user's files.
"""

import grp
import os
import pwd
import stat
from pathlib import Path


def not_own(path: Path, or_roots: bool = False) -> str:
    """Why a file or folder is not provably this user's own; empty where it is.

    ``or_roots`` accepts one that belongs to root, as a site's configuration does. Links are
    followed first: what they lead to is asked about.
    """
    try:
        real = path.resolve(strict=True)
        states = [(one, one.lstat()) for one in (real, *real.parents)]
    except (OSError, RuntimeError) as error:
        return f"{path} cannot be examined: {getattr(error, 'strerror', None) or error}"
    user = os.geteuid()
    trusted = {user, *_roots()}
    for place, state in states:
        if state.st_uid not in (trusted if or_roots or place is not real else {user}):
            return f"{place} belongs to {_name(state.st_uid)}"
        is_sticky = place is not real and bool(state.st_mode & stat.S_ISVTX)
        if not is_sticky and _others_may_write(state):
            return f"{place} may be written by others"
    return ""


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
