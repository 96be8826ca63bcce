"""The program of the connectivity round, built once for each state of its sources.

It needs no MPI, and no library on the nodes: it is linked statically where that is possible.
"""

import hashlib
import os
import shutil
from pathlib import Path

from fabricgauge import process
from fabricgauge.engines.cache import cache_folder, keep_folder, workshop
from fabricgauge.engines.sources import FLAGS, source_folder
from fabricgauge.files.ownership import not_own
from fabricgauge.model.absence import Skipped

PROGRAM = "fabricgauge-connect"
COMPILERS = ("c++", "g++", "clang++")
TIMEOUT_S = 120.0


def connect_program() -> Path | Skipped:
    """Path of the program; Skipped where no C++ compiler could build it.

    Raises:
        CannotRun: this installation has no sources, or others can change the place for programs.
    """
    folder = source_folder()
    units = [*sorted((folder / "connect").glob("*.cpp"))]
    units += [folder / "src" / "json.cpp", folder / "src" / "number.cpp"]
    headers = sorted((folder / "connect").glob("*.hpp"))
    content = hashlib.sha256(b"".join(one.read_bytes() for one in (*units, *headers)))
    place = cache_folder() / f"connect-{content.hexdigest()[:16]}" / PROGRAM
    if os.access(place, os.X_OK) and not not_own(place, or_roots=True):
        return place
    compiler = next((found for one in COMPILERS if (found := shutil.which(one))), None)
    if compiler is None:
        return Skipped(
            f"this machine has no C++ compiler ({', '.join(COMPILERS)}) to build the connecting"
            " program with; install one"
        )
    calling = [compiler, *FLAGS, f"-I{folder / 'include'}", *map(str, units)]
    with workshop() as made:
        program = made / PROGRAM
        for static in (("-static",), ()):
            done = process.run([*calling, *static, "-o", str(program)], timeout_s=TIMEOUT_S)
            if done.exit_code == 0:
                keep_folder(made, place.parent)
                return place
    said = done.stderr.strip().splitlines()
    return Skipped(f"the connecting program could not be built: {said[-1] if said else 'no word'}")
