"""Where a suite's programs are, and which MPI they were built with."""

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from fabricgauge import process
from fabricgauge.model.engine import Mpi, MpiKind
from fabricgauge.model.errors import CannotRun, ToolMissing
from fabricgauge.process.intel_mpi import variables
from fabricgauge.run.tools.interface import Tool

#: Variables by which environment modules (Lmod, EasyBuild, Spack) and Intel's vars.sh tell
#: where a package is.
HOMES = re.compile(
    r"I_MPI_ROOT|EBROOT(OSU|IMB|PERFTEST|IPERF|NCCL|NETPIPE).*|(OSU|OMB|IMB|NCCL_TESTS)_(DIR|HOME|ROOT)"
)

#: A suite's own folders are at most this deep below its prefix.
DEPTH = 5
ASK_S = 20.0

#: Sonames: Open MPI 4 and 5; MPICH as Debian names it; MPICH's ABI, which Intel MPI shares.
_SONAMES: tuple[tuple[str, MpiKind], ...] = (
    ("libmpi.so.40", "openmpi"), ("libmpich.so.12", "mpich"), ("libmpi.so.12", "mpich"),
)  # fmt: skip


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


def mpi_of(program: Path, known: Sequence[Mpi]) -> Mpi:
    """The MPI that a program is linked with.

    An Intel MPI's run-time has its launcher in ``bin`` of the prefix that has the library.

    Raises:
        CannotRun: it is linked with no MPI that is known, or cannot be asked.
    """
    linked = _linked(program)
    for soname, kind in _SONAMES:
        library = linked.get(soname)
        if library is None and soname not in linked:
            continue
        home = _home(program, library)
        if kind == "mpich" and (home / "bin" / "impi_info").exists():
            return intel_mpi(home)
        for mpi in known:
            if mpi.kind == kind:
                return mpi
        raise CannotRun(f"{program} needs {soname} of {kind}, which was not found; load its module")
    raise CannotRun(
        f"{program} is linked with no MPI that is known (Open MPI, MPICH, Intel MPI);"
        " name one with --mpi"
    )


def intel_mpi(home: Path) -> Mpi:
    """An Intel MPI's run-time below ``home``, with what its vars.sh would set."""
    env = variables(home)
    version = _intel_version(home, env)
    bin_ = home / "bin"
    return Mpi("intelmpi", version, bin_ / "mpiicpx", bin_ / "mpiexec.hydra", env=env)


def _intel_version(home: Path, env: dict[str, str]) -> str:
    asked = process.run(
        [str(home / "bin" / "mpiexec.hydra"), "--version"], timeout_s=ASK_S, env=env
    )
    told = re.search(r"Version (\S+ ?(?:Update \d+)?)", asked.stdout)
    return told[1].strip() if told else ""


def _linked(program: Path) -> dict[str, Path | None]:
    """Sonames and the files they resolve to, None where one is not found, as ldd says."""
    asked = process.run(["ldd", str(program)], timeout_s=ASK_S)
    pairs = re.findall(r"^\s*(\S+) => (\S+)", asked.stdout, re.MULTILINE)
    return {name: Path(path) if path.startswith("/") else None for name, path in pairs}


def _home(program: Path, library: Path | None) -> Path:
    """The prefix of the library, or of the program where the library is not found."""
    return (library or program).resolve().parent.parent
