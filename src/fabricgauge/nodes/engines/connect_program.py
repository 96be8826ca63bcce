"""Build the program of the connectivity round, once for each state of its sources.

It needs no MPI, and no library on the nodes: it is linked statically if possible.
"""

import hashlib
import shutil
from collections.abc import Sequence
from pathlib import Path

from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import CannotRun
from fabricgauge.nodes.engines.cache import cached_files
from fabricgauge.nodes.engines.ready_made import checked_path, find_program
from fabricgauge.nodes.engines.sources import FLAGS, identity_of, run_all, source_folder

PROGRAM = "fabricgauge-connect"
COMPILERS = ("c++", "g++", "clang++")


def connect_program() -> Path | Skipped:
    """Return the path of the program, the ready-made one if there is one.

    Skipped if it could not be built.
    """
    try:
        if program := find_program("connect"):
            return checked_path(program)
        folder = source_folder()
        units = [*sorted((folder / "connect").glob("*.cpp"))]
        units += [folder / "src" / "json.cpp", folder / "src" / "number.cpp"]
        headers = sorted((folder / "connect").glob("*.hpp"))
        content = hashlib.sha256(b"".join(file.read_bytes() for file in (*units, *headers)))
        words = [*FLAGS, f"-I{folder / 'include'}", *map(str, units), "-o"]
        identity = f"connect-{identity_of([content.hexdigest()])}"
        (built,) = cached_files(
            identity, [PROGRAM], lambda folder: _compile(words, folder / PROGRAM)
        )
    except CannotRun as error:
        return Skipped(f"the connecting program could not be built: {error}")
    return built


def _compile(words: Sequence[str], program: Path) -> None:
    compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
    if compiler is None:
        raise CannotRun(f"no C++ compiler ({', '.join(COMPILERS)}) is installed; install one")
    command = [compiler, *words, str(program)]
    try:
        run_all([[*command, "-static"]])
    except CannotRun:
        run_all([command])
