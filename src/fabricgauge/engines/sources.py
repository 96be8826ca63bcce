"""The engine's own sources: where they lie, what their content is, and how they are compiled."""

import hashlib
import json
import os
import platform
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType

from fabricgauge import process
from fabricgauge.model.errors import CannotRun

#: An installed package carries them; in a checkout they lie beside src/.
INSTALLED = Path(__file__).resolve().parent.parent / "_engine_source"
CHECKOUT = Path(__file__).resolve().parents[3] / "engine"

#: A compiler may define _FORTIFY_SOURCE itself, and warns of a second definition.
FLAGS = (
    "-O2", "-std=c++17", "-fstack-protector-strong", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2",
)  # fmt: skip

#: glibc before 2.34 has timers, and the opening of libraries, in libraries of their own. Symbols
#: are bound at the start: no first call pays for it, and the table of calls is read-only.
LIBRARIES = ("-pthread", "-lrt", "-ldl", "-Wl,-z,relro,-z,now")

TIMEOUT_S = 600.0

_TELLING = re.compile("error|undefined reference|not found", re.IGNORECASE)
_NOTHING: Mapping[str, str] = MappingProxyType({})


def source_folder() -> Path:
    """The folder with include/ and src/.

    Raises:
        CannotRun: neither place has them.
    """
    for folder in (INSTALLED, CHECKOUT):
        if (folder / "src" / "main.cpp").exists():
            return folder
    raise CannotRun(
        f"the engine's sources are in neither {INSTALLED} nor {CHECKOUT}; install fabricgauge again"
    )


def translation_units(folder: Path) -> tuple[Path, ...]:
    """The source files to compile, in a fixed order."""
    return tuple(sorted((folder / "src").glob("*.cpp")))


def knows_mpi(unit: Path) -> bool:
    """Whether a source file is compiled against an MPI; all others are the same for every MPI."""
    return unit.stem == "main" or unit.stem.startswith("mpi_")


def digest(folder: Path) -> str:
    """SHA-256 over names and content of everything that is compiled."""
    files = [*(folder / "src").glob("*.?pp"), *(folder / "include").rglob("*.hpp")]
    content = hashlib.sha256()
    for file in sorted(files):
        content.update(f"{file.relative_to(folder)}\0".encode())
        content.update(hashlib.sha256(file.read_bytes()).digest())
    return content.hexdigest()


#: Where a distribution puts the headers of transports: with its header the engine has one.
VERBS_HEADER = Path("/usr/include/infiniband/verbs.h")
OFI_HEADER = Path("/usr/include/rdma/fabric.h")


def identity_of(parts: Sequence[str]) -> str:
    """What a build depends on, as 16 hexadecimal digits; a header may be there or not.

    Machines with other processors may share the home directory in which it is kept.
    """
    there = (str(VERBS_HEADER.exists()), str(OFI_HEADER.exists()))
    every = [*parts, *there, platform.machine()]
    return hashlib.sha256(json.dumps(every).encode()).hexdigest()[:16]


def objects(units: Sequence[Path], folder: Path) -> list[Path]:
    """Where the sources' compiled forms lie in ``folder``."""
    return [folder / f"{unit.stem}.o" for unit in units]


def compilations(
    calling: Sequence[str], units: Sequence[Path], sources: Path, folder: Path
) -> list[list[str]]:
    """A command for each of ``units``: ``calling`` is the compiler with its words."""
    named = f'-DFABRICGAUGE_FLAGS="{" ".join(FLAGS)}"'
    before = [*calling, named, f"-I{sources / 'include'}", "-c"]
    pairs = zip(units, objects(units, folder), strict=True)
    return [[*before, str(unit), "-o", str(made)] for unit, made in pairs]


def run_all(commands: Sequence[Sequence[str]], env: Mapping[str, str] = _NOTHING) -> None:
    """Run commands in parallel, as many at once as there are processors.

    Raises:
        CannotRun: one failed.
    """
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(lambda command: _run(command, env), commands))


def _run(command: Sequence[str], env: Mapping[str, str]) -> None:
    done = process.run(command, timeout_s=TIMEOUT_S, env=env)
    if done.exit_code != 0:
        lines = done.stderr.strip().splitlines() or ["it said nothing"]
        first = next((line for line in lines if _TELLING.search(line)), lines[-1])
        raise CannotRun(
            f"a compiler could not build it: {first}; the command was: {' '.join(command)}"
        )
