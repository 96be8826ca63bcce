"""Resolve groups of nodes: those of a site, of a user, and of Slurm.

Slurm's groups are ``@partition:NAME`` and ``@idle:PARTITION``. Source: sinfo(1) of Slurm 22.05.
ClusterShell has such sources too, but they run a shell; these do not.
"""

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from ClusterShell.NodeSet import ILLEGAL_GROUP_CHARS
from ClusterShell.NodeUtils import GroupResolverConfig, GroupSource

from fabricgauge.model.errors import ToolMissing, UsageError
from fabricgauge.nodes import process
from fabricgauge.store.files.ownership import not_own, place

TIMEOUT_S = 60.0

#: Directory of a site's ClusterShell configuration.
SITE = Path("/etc/clustershell")

#: Options of sinfo for each source of groups. ``idle`` nodes can run a job at once.
SOURCES: dict[str, tuple[str, ...]] = {
    "partition": (),
    "idle": ("--states=idle", "--responding"),
}


@cache
def resolver() -> GroupResolverConfig:
    """Return the resolver of groups; a site's source replaces Slurm's source of the same name.

    Raises:
        UsageError: others can change a file whose commands would be run.
    """
    config = GroupResolverConfig([str(file) for file in _config_files()], ILLEGAL_GROUP_CHARS)
    site_sources = set(config.sources())
    for name, options in SOURCES.items():
        if name not in site_sources:
            config.add_source(_SlurmSource(name, options))
    return config


def _config_files() -> Iterator[Path]:
    """Return ClusterShell's configuration files except the samples that pip installs.

    Source: ClusterShell.Defaults.config_paths of ClusterShell 1.10, groups.conf(5). The files hold
    commands that a shell runs.
    """
    variable = os.environ.get("CLUSTERSHELL_CFGDIR", "")
    user = place("XDG_CONFIG_HOME").parent / "clustershell"
    for folder in (SITE, user, *((Path(variable),) if variable else ())):
        file = folder / "groups.conf"
        if not file.exists():
            continue
        if foreign := not_own(file, or_roots=True):
            raise UsageError(
                f"{file} holds commands, and others can change it: {foreign}; only you or root"
                " may own and write it"
            )
        yield file


class _SlurmSource(GroupSource):  # type: ignore[misc]
    """The nodes of each partition, as sinfo reports them."""

    def __init__(self, name: str, options: tuple[str, ...]) -> None:
        super().__init__(name)
        self._options = options

    def resolv_map(self, group: str) -> str:
        return _run_sinfo(f"--partition={group}", *self._options, "--format=%N")

    def resolv_list(self) -> list[str]:
        return _run_sinfo("--format=%R").split(",")

    def resolv_all(self) -> str:
        return _run_sinfo(*self._options, "--format=%N")


def _run_sinfo(*words: str) -> str:
    """Return the output of sinfo, its lines joined by commas.

    Raises:
        UsageError: Slurm is not installed, or did not answer.
    """
    try:
        completed = process.run(("sinfo", "--noheader", *words), timeout_s=TIMEOUT_S)
    except ToolMissing as error:
        raise UsageError(f"@partition and @idle are groups of Slurm: {error}") from error
    if completed.exit_code != 0:
        raise UsageError(f"sinfo did not answer: {' '.join(completed.stderr.split())[:300]}")
    return ",".join(
        dict.fromkeys(line.strip() for line in completed.stdout.splitlines() if line.strip())
    )
