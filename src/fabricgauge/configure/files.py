"""How a plan says that a file of a node shall have exactly this content, line by line; pure.

``edit_file.sh`` writes a draft beside the file and renames it over it, so that a write that is
broken off leaves the file as it was; mode, owner and SELinux context stay. Where no rename can be
(a bind-mounted /etc/hosts), it writes in place and says so. Its undoings take exactly those lines
back that the plan added, whatever else was written since. No shell sees a content. Lines and fields
are those that the C programs see that read the file, not Unicode's.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from importlib import resources

import msgspec

from fabricgauge.configure.job import Draft, on
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


def content(job: Draft, node: str, path: str) -> Content:
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


def written(node: str, path: str, text: str, held: Content) -> Change:
    """The file gets this content.

    The undoing takes the change back; what others wrote since stays. A file whose content is not
    known is taken to be absent; if it exists after all, the step stops.
    """
    put = _edit(node, "put", path, text, "0644")
    if isinstance(held, str):
        undo = _edit(node, "undo", path, marked(held, text))
        return Change((same(node, path, held),), (put,), (same(node, path, text),), (undo,))
    absent = Verification(Command(node, ("test", "!", "-e", path)), "")
    undo = _edit(node, "drop", path, text)
    return Change((absent,), (put,), (same(node, path, text),), (undo,))


def extended(node: str, path: str, lines: Sequence[str]) -> Change:
    """Lines are put behind a file that could not be read, and taken from it by the undoing."""
    add, cut = (_edit(node, what, path, joined(lines)) for what in ("add", "cut"))
    return Change((), (add,), (lines_in(node, path, lines),), (cut,))


def taken_back(node: str, path: str, before: str, after: str) -> Command:
    """Undoes the difference of two copies of the file; nothing where there is no copy before."""
    return Command(node, ("sh", "-c", _script(), _NAME, "since", path, before, after))


_NAME = "edit_file"


@cache
def _script() -> str:
    return resources.files(__package__).joinpath("edit_file.sh").read_text("utf-8")


def _edit(node: str, what: str, path: str, text: str, *more: str) -> Command:
    """``text`` is checked to have come whole: where a connection breaks, the input just ends."""
    words = (what, path, str(len(text.encode())), *more)
    return Command(node, ("sh", "-c", _script(), _NAME, *words), text)


@lru_cache(maxsize=16)  # most nodes have the same file
def marked(old: str, new: str) -> str:
    """Every line of both texts, marked as ``diff -U`` does: "-" gone, "+" new, " " in both."""
    return "".join(_marked(_lines(old), _lines(new)))


def _marked(old: list[str], new: list[str]) -> Iterator[str]:
    blocks = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    for kind, begin, end, other_begin, other_end in blocks:
        both = kind == "equal"
        yield from (_line(" " if both else "-", line) for line in old[begin:end])
        yield from (_line("+", line) for line in new[other_begin:other_end] if not both)


def _lines(text: str) -> list[str]:
    """Each with its newline; the last may have none."""
    *whole, last = text.split("\n")
    return [*(f"{line}\n" for line in whole), *([last] if last else [])]


def _line(sign: str, line: str) -> str:
    ended = line.endswith("\n")
    return f"{sign}{line}" if ended else f"{sign}{line}\n\\ No newline at end of file\n"


def edited(
    job: Draft,
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
    return Step(title, reason, verify=(lines_in(node, path, lines),), fulfilled=evidence)


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
