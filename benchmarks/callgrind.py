"""Instructions by function of one program file, counted by valgrind's callgrind."""

import re
from collections import Counter
from pathlib import Path

from fabricgauge import process

#: A row of ``callgrind_annotate``, valgrind 3.19: count, share, file:function, object.
_ROW = re.compile(r"\s*([\d,]+) \([ \d.]+%\)\s+[^:]*:(.+) \[(.+)\]")

TIMEOUT_S = 120.0


def under_valgrind(folder: Path, program: str) -> tuple[str, list[str]]:
    """The program to start instead, and its options up to and with ``program``."""
    counting = ["--tool=callgrind", f"--callgrind-out-file={folder}/count.%p"]
    return "valgrind", [*counting, program]


def counted(folder: Path, program: str) -> Counter[str]:
    """Instructions by function of ``program`` itself, all processes together."""
    total: Counter[str] = Counter()
    for file in sorted(folder.glob("count.*")):
        argv = ["callgrind_annotate", "--threshold=100", "--auto=no", str(file)]
        done = process.run(argv, timeout_s=TIMEOUT_S)
        total.update(own_instructions(done.stdout, Path(program).name))
    return total


def own_instructions(text: str, program: str) -> Counter[str]:
    """Self cost by function, from the report of ``callgrind_annotate``.

    Only functions that lie in an object file called ``program`` count: those of the MPI and
    the C library lie in their own.
    """
    found: Counter[str] = Counter()
    for line in text.splitlines():
        row = _ROW.fullmatch(line)
        if row and Path(row[3]).name == program:
            found[plain_name(row[2])] += int(row[1].replace(",", ""))
    return found


def plain_name(function: str) -> str:
    """A C++ function's name without template arguments and parameters."""
    depth, kept = 0, []
    for sign in function.replace("(anonymous namespace)::", ""):
        depth += sign in "<("
        if depth == 0:
            kept.append(sign)
        depth -= sign in ">)"
    return re.sub(r" const.*$", "", "".join(kept)).strip()
