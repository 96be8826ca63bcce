"""The program of the connectivity round, built once for each state of its sources.

It needs no MPI, and no library on the nodes: it is linked statically where that is possible.
"""

import hashlib
import shutil
from collections.abc import Sequence
from pathlib import Path

from fabricgauge.engines.cache import kept_files
from fabricgauge.engines.sources import FLAGS, identity_of, run_all, source_folder
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import CannotRun

PROGRAM = "fabricgauge-connect"
COMPILERS = ("c++", "g++", "clang++")


def connect_program() -> Path | Skipped:
    """Path of the program; Skipped where it could not be built."""
    try:
        folder = source_folder()
        units = [*sorted((folder / "connect").glob("*.cpp"))]
        units += [folder / "src" / "json.cpp", folder / "src" / "number.cpp"]
        headers = sorted((folder / "connect").glob("*.hpp"))
        content = hashlib.sha256(b"".join(one.read_bytes() for one in (*units, *headers)))
        calling = [*FLAGS, f"-I{folder / 'include'}", *map(str, units), "-o"]
        identity = f"connect-{identity_of([content.hexdigest()])}"
        (program,) = kept_files(identity, [PROGRAM], lambda made: _compile(calling, made / PROGRAM))
    except CannotRun as why:
        return Skipped(f"the connecting program could not be built: {why}")
    return program


def _compile(calling: Sequence[str], program: Path) -> None:
    compiler = next((found for one in COMPILERS if (found := shutil.which(one))), None)
    if compiler is None:
        raise CannotRun(f"there is no C++ compiler ({', '.join(COMPILERS)}); install one")
    command = [compiler, *calling, str(program)]
    try:
        run_all([[*command, "-static"]])
    except CannotRun:
        run_all([command])
