"""Groups of nodes that Slurm knows: ``@partition:NAME`` and ``@idle:PARTITION``.

Source: sinfo(1) of Slurm 22.05. ClusterShell's own sources of the kind run a shell; these do not.
"""

from functools import cache

from ClusterShell.NodeSet import std_group_resolver
from ClusterShell.NodeUtils import GroupSource

from fabricgauge import process
from fabricgauge.model.errors import ToolMissing, UsageError

TIMEOUT_S = 60.0

#: Name of the source, and what sinfo is asked besides: nodes that could run a job at once.
SOURCES: dict[str, tuple[str, ...]] = {
    "partition": (),
    "idle": ("--states=idle", "--responding"),
}


@cache
def add_sources() -> None:
    """Let ClusterShell resolve these groups; a site's own source of the same name stays."""
    resolver = std_group_resolver()
    there = set(resolver.sources())
    for name, words in SOURCES.items():
        if name not in there:
            resolver.add_source(_OfSlurm(name, words))


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
