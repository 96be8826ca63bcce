"""Find the engine's sources, compute their digest, and compile them."""

import hashlib
import json
import os
import platform
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType

from fabricgauge.model.errors import CannotRun
from fabricgauge.nodes import process

#: The sources in an installed package, and in a checkout.
INSTALLED = Path(__file__).resolve().parents[2] / "_engine_source"
CHECKOUT = Path(__file__).resolve().parents[4] / "engine"

#: A compiler may define _FORTIFY_SOURCE itself, and warns about a second definition.
FLAGS = (
    "-O2", "-std=c++17", "-fstack-protector-strong", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2",
)  # fmt: skip

#: glibc before 2.34 has timers and dlopen in separate libraries. Symbols are bound at the start, so
#: that no first call is slower and the table of calls is read-only.
LIBRARIES = ("-pthread", "-lrt", "-ldl", "-Wl,-z,relro,-z,now")

TIMEOUT_S = 600.0

_ERROR_LINE = re.compile("error|undefined reference|not found", re.IGNORECASE)
_NO_VARIABLES: Mapping[str, str] = MappingProxyType({})


def source_folder() -> Path:
    """Return the folder with include/ and src/.

    Raises:
        CannotRun: neither folder has them.
    """
    for folder in (INSTALLED, CHECKOUT):
        if (folder / "src" / "main.cpp").exists():
            return folder
    raise CannotRun(
        f"the engine's sources are in neither {INSTALLED} nor {CHECKOUT}; install fabricgauge again"
    )


def translation_units(folder: Path) -> tuple[Path, ...]:
    """Return the source files to compile, in a fixed order."""
    return tuple(sorted((folder / "src").glob("*.cpp")))


def knows_mpi(unit: Path) -> bool:
    """Check whether a source file is compiled against an MPI; other files need no MPI."""
    return unit.stem == "main" or unit.stem.startswith("mpi_")


def digest(folder: Path) -> str:
    """Return the SHA-256 of the names and contents of all compiled files."""
    files = [*(folder / "src").glob("*.?pp"), *(folder / "include").rglob("*.hpp")]
    content = hashlib.sha256()
    for file in sorted(files):
        content.update(f"{file.relative_to(folder)}\0".encode())
        content.update(hashlib.sha256(file.read_bytes()).digest())
    return content.hexdigest()


#: Headers of transports in a distribution; the engine contains a transport if its header exists.
VERBS_HEADER = Path("/usr/include/infiniband/verbs.h")
OFI_HEADER = Path("/usr/include/rdma/fabric.h")


def identity_of(parts: Sequence[str]) -> str:
    """Return 16 hexadecimal digits that identify the parts, the headers and the processor.

    Machines with different processors may share the home directory of the cache.
    """
    headers = (str(VERBS_HEADER.exists()), str(OFI_HEADER.exists()))
    all_parts = [*parts, *headers, platform.machine()]
    return hashlib.sha256(json.dumps(all_parts).encode()).hexdigest()[:16]


def objects(units: Sequence[Path], folder: Path) -> list[Path]:
    """Return the paths of the sources' object files in ``folder``."""
    return [folder / f"{unit.stem}.o" for unit in units]


def compilations(
    compiler: Sequence[str], units: Sequence[Path], sources: Path, folder: Path
) -> list[list[str]]:
    """Return a command for each of ``units``; ``compiler`` includes its words."""
    flags = f'-DFABRICGAUGE_FLAGS="{" ".join(FLAGS)}"'
    words = [*compiler, flags, f"-I{sources / 'include'}", "-c"]
    pairs = zip(units, objects(units, folder), strict=True)
    return [[*words, str(unit), "-o", str(object_file)] for unit, object_file in pairs]


def run_all(commands: Sequence[Sequence[str]], env: Mapping[str, str] = _NO_VARIABLES) -> None:
    """Run commands in parallel, one per processor at the same time.

    Raises:
        CannotRun: a command failed.
    """
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(lambda command: _run(command, env), commands))


def _run(command: Sequence[str], env: Mapping[str, str]) -> None:
    completed = process.run(command, timeout_s=TIMEOUT_S, env=env)
    if completed.exit_code != 0:
        lines = completed.stderr.strip().splitlines() or ["no output"]
        first = next((line for line in lines if _ERROR_LINE.search(line)), lines[-1])
        raise CannotRun(f"the compiler failed: {first}; the command was: {' '.join(command)}")
