"""Console blocks of a page as things to do: commands to run, files to write.

A comment just before a fence says what is expected:

    exit: 1                              exit status; 0 without a comment
    exit: 0 or 3                         either
    exit: 1, while the next block runs   it is started, the next block runs, then it ends
    exit: 0; shows: TEXT                 and TEXT is in what it prints
    needs: PATH; exit: 0                 the page is tried up to here where PATH does not exist
    on: ssh; exit: 0                     it runs where ssh reaches nodes c1 and c2
    on: slurm; exit: 0                   it runs where Slurm has nodes c1 and c2
    not run: REASON                      it is not run, because
    file: ~/PATH                         the block is that file's content, whatever its language
"""

import re
import shlex
from collections.abc import Iterator
from typing import NamedTuple

from tests.docs.pages import Fence, fences

PROMPT = "$ "
_EXPECTED = re.compile(
    r"(?:needs: (?P<needs>\S+); )?(?:on: (?P<on>ssh|slurm); )?exit: (?P<exit>\d+(?: or \d+)*)"
    r"(?P<beside>, while the next block runs)?(?:; shows: (?P<shows>.+))?",
    re.DOTALL,
)


class Commands(NamedTuple):
    """Commands of one block; all but the last must end with 0."""

    line: int
    argvs: tuple[tuple[str, ...], ...]
    statuses: frozenset[int]
    shows: str = ""
    needs: str = ""
    beside_next: bool = False
    on: str = ""


class WriteFile(NamedTuple):
    """A block that is a file's content."""

    path: str
    text: str


def steps(text: str) -> Iterator[Commands | WriteFile]:
    """What a reader of the page is to do, in order; what is not run is left out."""
    for fence in fences(text):
        if fence.comment.startswith("file: "):
            yield WriteFile(fence.comment.removeprefix("file: "), fence.text)
        elif is_ours(fence) and not fence.comment.startswith("not run: "):
            yield _commands(fence)


def is_ours(fence: Fence) -> bool:
    return fence.language == "console" and fence.text.startswith(f"{PROMPT}fabricgauge ")


def _commands(fence: Fence) -> Commands:
    lines = fence.text.splitlines()
    argvs = tuple(
        tuple(shlex.split(line.removeprefix(PROMPT))) for line in lines if line.startswith(PROMPT)
    )
    strangers = [argv[0] for argv in argvs if argv[0] != "fabricgauge"]
    assert not strangers, f"line {fence.line}: {strangers[0]} in a block of fabricgauge's commands"
    found = _EXPECTED.fullmatch(fence.comment or "exit: 0")
    assert found, f"line {fence.line}: the comment was not understood: {fence.comment}"
    return Commands(
        line=fence.line,
        argvs=argvs,
        statuses=frozenset(map(int, found["exit"].split(" or "))),
        shows=found["shows"] or "",
        needs=found["needs"] or "",
        beside_next=bool(found["beside"]),
        on=found["on"] or "",
    )
