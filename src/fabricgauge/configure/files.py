"""How a plan says that a file of a node shall have exactly this content, line by line; pure.

The content is the standard input of ``tee``, which writes into the file that is there (so that
its mode, owner and links stay, and a bind-mounted /etc/hosts can be written); ``cmp`` holds it
against the same content. No shell sees it, here or on the node. Lines and fields are those that
the C programs see that read the file, not Unicode's.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePosixPath

import msgspec

from fabricgauge.configure.job import PlanInput, on
from fabricgauge.model.absence import Skipped
from fabricgauge.model.configuration import Step, Verification
from fabricgauge.model.finding import Command

#: Whether every line of standard input is a line of the file. POSIX awk; an operand that begins
#: with "/" is never taken for an assignment.
_EVERY_LINE = 'FILENAME != "-" { have[$0]; next } !($0 in have) { bad = 1 } END { exit bad }'


class NoFile(msgspec.Struct, frozen=True):
    """The file does not exist."""


Content = str | NoFile | Skipped


class Change(msgspec.Struct, frozen=True):
    """The parts of a step that changes one file."""

    before: tuple[Verification, ...]
    commands: tuple[Command, ...]
    verify: tuple[Verification, ...]
    undo: tuple[Command, ...]

    def step(self, title: str, reason: str) -> Step:
        return Step(title, reason, self.commands, self.verify, self.undo, before=self.before)


def questions(node: str, path: str) -> tuple[Command, Command]:
    """What tells a file's content, and whether it exists, in no language."""
    return Command(node, ("cat", "--", path)), Command(node, ("test", "-e", path))


def content(job: PlanInput, node: str, path: str) -> Content:
    """What the file holds as far as ``questions`` were answered."""
    text, exists = (job.reply(question) for question in questions(node, path))
    if isinstance(text, Skipped) or isinstance(exists, Skipped):
        return Skipped(f"{path} of {on(node)} was not read")
    if text.exit_code == 0 and "\ufffd" not in text.output:
        return text.output
    if text.exit_code != 0 and exists.exit_code == 1:
        return NoFile()
    return Skipped(f"{path} of {on(node)} is not readable text")


def same(node: str, path: str, text: str) -> Verification:
    """The file has exactly this content."""
    return Verification(Command(node, ("cmp", "--", "-", path), text), "")


def lines_in(node: str, path: str, lines: Sequence[str]) -> Verification:
    """Every one of these is a whole line of the file."""
    return Verification(Command(node, ("awk", _EVERY_LINE, path, "-"), joined(lines)), "")


def written(node: str, path: str, text: str, held: Content, mode: str = "0644") -> Change:
    """The file gets this content.

    What was read is put back by the undoing, if the file has not changed since. A file
    of which nothing is known is taken to be absent; one that is there after all stops the step.
    """
    tee = Command(node, ("tee", "--", path), text)
    if isinstance(held, str):
        guard = same(node, path, text).command
        undo = (guard, Command(node, ("tee", "--", path), held))
        return Change((same(node, path, held),), (tee,), (same(node, path, text),), undo)
    made = (
        Command(node, ("mkdir", "-p", "--", str(PurePosixPath(path).parent))),
        Command(node, ("install", "-m", mode, "--", "/dev/null", path)),
        tee,
    )
    absent = Verification(Command(node, ("test", "!", "-e", path)), "")
    return Change(
        (absent,), made, (same(node, path, text),), (Command(node, ("rm", "-f", "--", path)),)
    )


def extended(node: str, path: str, lines: Sequence[str]) -> Change:
    """Lines are put behind a file that could not be read; a copy of it is kept for the undoing."""
    copy = f"{path}.before-fabricgauge"
    return Change(
        (),
        (
            Command(node, ("cp", "-p", "--", path, copy)),
            Command(node, ("tee", "-a", "--", path), "\n" + joined(lines)),
        ),
        (lines_in(node, path, lines),),
        (Command(node, ("cp", "-p", "--", copy, path)), Command(node, ("rm", "-f", "--", copy))),
    )


def edited(
    job: PlanInput,
    node: str,
    path: str,
    edit: Callable[[str], str],
    lines: Sequence[str],
    title: str,
    reason: str,
) -> Step:
    """A change of a file that others write too, fulfilled where nothing is to be edited.

    ``edit`` makes the new text of the old one; ``lines`` are what it adds, and what is put behind
    a file that could not be read.
    """
    held = content(job, node, path)
    if isinstance(held, Skipped):
        return extended(node, path, lines).step(title, reason)
    old = held if isinstance(held, str) else ""
    new = edit(old)
    if new != old:
        return written(node, path, new, held).step(title, reason)
    evidence = f"{path} of {on(node)} has it: {'; '.join(lines[:3])}"
    return Step(title, reason, (), (lines_in(node, path, lines),), (), fulfilled=evidence)


_WHITE = re.compile(r"[ \t\r\v\f]+")


def split(text: str) -> list[str]:
    """The lines, without their newlines; the last need not have one."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def joined(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def fields(line: str) -> list[str]:
    """What white space of the C locale parts (isspace(3)), a carriage return as well; a no-break
    space is a part of its word.
    """
    return [word for word in _WHITE.split(line) if word]


#: mntent(3) and exports(5) both read a backslash and three octal digits as one octet.
_ESCAPE = re.compile(r"\\([0-3][0-7]{2})")
_SIGNS = frozenset(' \t\n\r\v\f\\#"')


def octal(text: str) -> str:
    """The text with every sign that could end a field as an octal escape."""
    return "".join(f"\\{ord(sign):03o}" if sign in _SIGNS else sign for sign in text)


def plain(text: str) -> str:
    """What an escaped field means."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 8)), text)
