"""How often each instruction of one program file ran, counted by valgrind's callgrind."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec


class Instruction(msgspec.Struct, frozen=True):
    """An instruction by its address, and the function that it belongs to."""

    function: str
    address: str


def under_valgrind(folder: Path, program: str) -> tuple[str, list[str]]:
    """The program to start instead, and its options up to and with ``program``.

    Each process leaves a file ``count.PID`` in ``folder``.
    """
    plain = ["--dump-instr=yes", "--dump-line=no", "--compress-strings=no", "--compress-pos=no"]
    return "valgrind", [
        "--tool=callgrind", f"--callgrind-out-file={folder}/count.%p", *plain, program,
    ]  # fmt: skip


def counts(folder: Path, program: str) -> list[Counter[Instruction]]:
    """One count for each process that left a file."""
    files = sorted(folder.glob("count.*"))
    return [executions(file.read_text(), Path(program).name) for file in files]


def executions(text: str, program: str) -> Counter[Instruction]:
    """How often each instruction ran that lies in an object file called ``program``.

    The format is that of the "Callgrind Format Specification" in valgrind's manual, written with
    the options above: cost lines are ``0xADDRESS COUNT``. The line after ``calls=`` is the cost of
    what was called and no instruction's own. The MPI and the C library lie in other files.
    """
    found: Counter[Instruction] = Counter()
    for name, function, line in _own_costs(text):
        address, _, count = line.partition(" ")
        if Path(name).name == program and count.isdecimal():
            found[Instruction(function, address)] += int(count)
    return found


def _own_costs(text: str) -> Iterator[tuple[str, str, str]]:
    """Object file, function and text of each line of self cost."""
    name = function = ""
    called = False
    for line in text.splitlines():
        if line.startswith("ob="):
            name = line[3:]
        elif line.startswith("fn="):
            function = line[3:]
        elif line.startswith("calls="):
            called = True
        elif line.startswith("0x"):
            if not called:
                yield name, function, line
            called = False
