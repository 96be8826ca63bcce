"""Where a suite's programs are."""

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from fabricgauge.model.errors import ToolMissing
from fabricgauge.run.tools.interface import Tool

#: Variables by which environment modules (Lmod, EasyBuild, Spack) and Intel's vars.sh tell
#: where a package is.
HOMES = re.compile(
    r"I_MPI_ROOT|EBROOT(OSU|IMB|PERFTEST|IPERF|[NR]CCL|NETPIPE).*"
    r"|(OSU|OMB|IMB|[NR]CCL_TESTS)_(DIR|HOME|ROOT)"
)

#: A suite's own folders are at most this deep below its prefix.
DEPTH = 5


def programs(tool: Tool, places: Sequence[Path]) -> dict[str, Path]:
    """The suite's programs by name: in ``places``, the PATH, module homes, usual prefixes.

    Raises:
        ToolMissing: not one of them is there; the message says where was looked.
    """
    searched = [*places, *_homes(), *(Path(prefix).expanduser() for prefix in tool.prefixes)]
    found = {name: path for name in tool.programs if (path := _find(name, places, searched))}
    if not found:
        names = ", ".join(map(str, searched)) or "nowhere else"
        raise ToolMissing(
            f"no program of {tool.name} ({', '.join(tool.programs)}) is on the PATH or below"
            f" {names}; install {tool.package}, load its module, or name its folder with"
            " --tool-path"
        )
    return found


def _homes() -> Iterator[Path]:
    for name, value in sorted(os.environ.items()):
        if HOMES.fullmatch(name) and value:
            yield Path(value)


def _find(name: str, places: Sequence[Path], searched: Sequence[Path]) -> Path | None:
    on_path = None if places else shutil.which(name)
    if on_path:
        return Path(on_path)
    below = (path for place in searched for path in _below(place, name, DEPTH))
    return next(below, None) or (Path(late) if (late := shutil.which(name)) else None)


def _below(place: Path, name: str, depth: int) -> Iterator[Path]:
    """Executables of that name in a folder and its folders; links to folders are not followed."""
    start = len(place.parts)
    for folder, folders, names in os.walk(place):
        folders.sort()
        if len(Path(folder).parts) - start >= depth:
            folders.clear()
        path = Path(folder, name)
        if name in names and os.access(path, os.X_OK):
            yield path
