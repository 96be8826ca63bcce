"""``mpirun --version``, ``mpiexec.hydra --version``, ``mpichversion`` → the MPI; pure.

As Open MPI 4.1 and 5.0, MPICH 4.0 and 5.0 and Intel MPI 2021.18 print them.
"""

import re
from collections.abc import Iterator

from fabricgauge.discover.parts import Parts
from fabricgauge.discover.printouts.lines import lines, pair, unrecognised
from fabricgauge.model.inventory import Stack

TOOL = "mpirun"
#: Open MPI 4's launcher calls itself by its runtime where its file has another name.
_OPEN_MPI = re.compile(r"\S{1,60} \((?:Open MPI|OpenRTE)\) (\S{1,60})")
#: Open MPI 5's launcher under its own name.
_PRRTE = re.compile(r"\S{1,60} \(PRRTE\) (\S{1,60})")
_INTEL = re.compile(r"Intel\(R\) MPI Library for .{1,60}, Version (\S{1,60})")
#: What ``mpichversion`` and its descendants' ``mpiname`` call themselves.
_MPICH = {"MPICH Version": "mpich", "MVAPICH Version": "mvapich", "MVAPICH2 Version": "mvapich"}
_LONGEST = 300


def parse(text: str, argument: str = "") -> Parts:
    """One row: ``openmpi``, ``mpich``, ``mvapich``, ``intelmpi`` or ``prrte``.

    Hydra gives the version of the MPICH that it came with; ``mpichversion`` alone tells a
    prefix.
    """
    first = next(_rows(text), None)
    return Parts(stacks=(first,) if first else (), troubles=unrecognised(TOOL, text, first))


def _rows(text: str) -> Iterator[Stack]:
    hydra = False
    for line in lines(text):
        for pattern, kind in ((_OPEN_MPI, "openmpi"), (_PRRTE, "prrte"), (_INTEL, "intelmpi")):
            found = pattern.match(line[:_LONGEST])
            if found:
                yield Stack(kind, found[1], "")
        key, value = pair(line)
        hydra = hydra or key == "HYDRA build details"
        if key in _MPICH and value:
            yield Stack(_MPICH[key], value, _prefix(text))
        elif hydra and key == "Version" and value:
            yield Stack("mpich", value, "")


def _prefix(text: str) -> str:
    """The last ``--prefix=`` that it was configured with: later ones count."""
    for line in lines(text):
        if line.startswith("MPICH configure:"):
            words = [word for word in line.split() if word.startswith("--prefix=")]
            return words[-1].removeprefix("--prefix=") if words else ""
    return ""
