"""Find a suite's programs."""

import os
import re
import shutil
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from fabricgauge.logs.tools.table import Tool
from fabricgauge.model.errors import ToolMissing

#: Variables of environment modules (Lmod, EasyBuild, Spack) and Intel's vars.sh with the directory
#: of a package.
HOMES = re.compile(
    r"I_MPI_ROOT|EBROOT(OSU|IMB|PERFTEST|IPERF|[NR]CCL|NETPIPE).*"
    r"|(OSU|OMB|IMB|[NR]CCL_TESTS)_(DIR|HOME|ROOT)"
)

#: Maximum depth of a suite's folders below its prefix.
DEPTH = 5


def find_programs(
    tool: Tool, tool_paths: Sequence[Path], names: Collection[str] = ()
) -> dict[str, Path]:
    """Return the suite's programs by name, from ``tool_paths``, PATH, modules or usual prefixes.

    Only ``names`` are looked for; if empty, all of the suite.

    Raises:
        ToolMissing: no program exists; the message lists the searched directories.
    """
    prefixes = (Path(prefix).expanduser() for prefix in tool.prefixes)
    homes = (
        Path(home) for name, home in sorted(os.environ.items()) if HOMES.fullmatch(name) and home
    )
    searched = [*tool_paths, *homes, *prefixes]
    names = names or tool.programs
    programs = {name: path for name in names if (path := _find(name, tool_paths, searched))}
    if not programs:
        directories = ", ".join(map(str, searched)) or "nowhere else"
        raise ToolMissing(
            f"no program of {tool.name} ({', '.join(names)}) is on the PATH or below"
            f" {directories}; install {tool.package}, load its module, or name its folder with"
            " --tool-path"
        )
    return programs


def _find(name: str, tool_paths: Sequence[Path], searched: Sequence[Path]) -> Path | None:
    """Search PATH first, except with --tool-path, then the directories, then PATH."""
    on_path = shutil.which(name)
    if on_path and not tool_paths:
        return Path(on_path)
    executables = (path for directory in searched for path in _walk(directory, name, DEPTH))
    return next(executables, None) or (Path(on_path) if on_path else None)


def _walk(directory: Path, name: str, depth: int) -> Iterator[Path]:
    """Return executables of that name below a directory; links to folders are not followed."""
    start = len(directory.parts)
    for folder, folders, names in os.walk(directory):
        folders.sort()
        if len(Path(folder).parts) - start >= depth:
            folders.clear()
        path = Path(folder, name)
        if name in names and os.access(path, os.X_OK):
            yield path
