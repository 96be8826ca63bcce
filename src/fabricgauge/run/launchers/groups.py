"""Groups of nodes: a site's, a user's, and those that Slurm knows.

The latter are ``@partition:NAME`` and ``@idle:PARTITION``. Source: sinfo(1) of Slurm 22.05.
ClusterShell's own sources of the kind run a shell; these do not.
"""

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from ClusterShell.NodeSet import ILLEGAL_GROUP_CHARS
from ClusterShell.NodeUtils import GroupResolverConfig, GroupSource

from fabricgauge import process
from fabricgauge.files.ownership import not_own
from fabricgauge.files.places import place
from fabricgauge.model.errors import ToolMissing, UsageError

TIMEOUT_S = 60.0

#: Where a site has ClusterShell's configuration.
SITE = Path("/etc/clustershell")

#: Sources by name, each with its options of sinfo. ``idle`` are nodes that could run a job at once.
SOURCES: dict[str, tuple[str, ...]] = {
    "partition": (),
    "idle": ("--states=idle", "--responding"),
}


@cache
def resolver() -> GroupResolverConfig:
    """What resolves groups; a site's own source of the same name as one of Slurm's stays.

    Raises:
        UsageError: others can change a file whose commands would be run.
    """
    found = GroupResolverConfig([str(one) for one in _configurations()], ILLEGAL_GROUP_CHARS)
    there = set(found.sources())
    for name, words in SOURCES.items():
        if name not in there:
            found.add_source(_OfSlurm(name, words))
    return found


def _configurations() -> Iterator[Path]:
    """ClusterShell's own list without what pip installs: samples, whose nodes nobody has.

    Source: ClusterShell.Defaults.config_paths of ClusterShell 1.10, groups.conf(5). The files hold
    commands that a shell runs.
    """
    own = os.environ.get("CLUSTERSHELL_CFGDIR", "")
    user = place("XDG_CONFIG_HOME").parent / "clustershell"
    for folder in (SITE, user, *((Path(own),) if own else ())):
        file = folder / "groups.conf"
        if not file.exists():
            continue
        if foreign := not_own(file, or_roots=True):
            raise UsageError(
                f"{file} holds commands, and others can change it: {foreign}; give it to yourself"
                " or root alone"
            )
        yield file


class _OfSlurm(GroupSource):  # type: ignore[misc]
    """Nodes of a partition, as sinfo says when they are asked for."""

    def __init__(self, name: str, words: tuple[str, ...]) -> None:
        super().__init__(name)
        self._words = words

    def resolv_map(self, group: str) -> str:
        return _ask(f"--partition={group}", *self._words, "--format=%N")

    def resolv_list(self) -> list[str]:
        return _ask("--format=%R").split(",")

    def resolv_all(self) -> str:
        return _ask(*self._words, "--format=%N")


def _ask(*words: str) -> str:
    """What sinfo prints, its lines joined by commas.

    Raises:
        UsageError: there is no Slurm, or it did not answer.
    """
    try:
        done = process.run(("sinfo", "--noheader", *words), timeout_s=TIMEOUT_S)
    except ToolMissing as error:
        raise UsageError(f"@partition and @idle are groups of Slurm's: {error}") from error
    if done.exit_code != 0:
        raise UsageError(f"sinfo did not answer: {' '.join(done.stderr.split())[:300]}")
    return ",".join(
        dict.fromkeys(line.strip() for line in done.stdout.splitlines() if line.strip())
    )
