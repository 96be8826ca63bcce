"""Plan changes of a node's files, line by line; pure.

``edit_file.sh`` writes a draft beside the file and renames it over it, so that a write that is
broken off leaves the file as it was; mode, owner and SELinux context stay. If a rename is not
possible (a bind-mounted /etc/hosts), it writes in place and reports that. Its undoing reverts
exactly the lines that the plan changed, and keeps later changes. Contents never pass through a
shell. Lines and fields are those of the C programs that read the file, not Unicode's.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from importlib import resources

import msgspec

from fabricgauge.features.configure.job import Draft, Step, Verification, on
from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Command

#: Checks that every line of standard input is a line of the file. POSIX awk; an operand that
#: begins with "/" is never taken for an assignment.
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
    """Return commands that read a file and test its existence, independent of the language."""
    return Command(node, ("cat", "--", path)), Command(node, ("test", "-e", path))


def content(job: Draft, node: str, path: str) -> Content:
    """Return the file's content as far as ``questions`` were answered."""
    text, exists = (job.reply(question) for question in questions(node, path))
    if isinstance(text, Skipped) or isinstance(exists, Skipped):
        return Skipped(f"{path} of {on(node)} was not read")
    if text.exit_code == 0 and "\ufffd" not in text.output:
        return text.output
    if text.exit_code != 0 and exists.exit_code == 1:
        return NoFile()
    return Skipped(f"{path} of {on(node)} is not readable text")


def same_content(node: str, path: str, text: str) -> Verification:
    return Verification(Command(node, ("cmp", "--", "-", path), text), "")


def lines_in(node: str, path: str, lines: Sequence[str]) -> Verification:
    """Return a check that each of these is a line of the file."""
    return Verification(Command(node, ("awk", _EVERY_LINE, path, "-"), joined(lines)), "")


def write_change(node: str, path: str, text: str, held: Content) -> Change:
    """Return the change that gives a file this content.

    Its undoing reverts the change; later changes by others stay. A file of unknown content is
    taken to be absent; if it exists, the step stops.
    """
    put = _edit(node, "put", path, text, "0644")
    if isinstance(held, str):
        undo = _edit(node, "undo", path, marked_diff(held, text))
        return Change(
            (same_content(node, path, held),), (put,), (same_content(node, path, text),), (undo,)
        )
    absent = Verification(Command(node, ("test", "!", "-e", path)), "")
    undo = _edit(node, "drop", path, text)
    return Change((absent,), (put,), (same_content(node, path, text),), (undo,))


def append_change(node: str, path: str, lines: Sequence[str]) -> Change:
    """Return the change that appends lines to a file that could not be read."""
    add, cut = (_edit(node, action, path, joined(lines)) for action in ("add", "cut"))
    return Change((), (add,), (lines_in(node, path, lines),), (cut,))


def revert_command(node: str, path: str, before: str, after: str) -> Command:
    """Return the command that reverts the difference of two copies, if the first one exists."""
    return Command(node, ("sh", "-c", _script(), _NAME, "since", path, before, after))


_NAME = "edit_file"


@cache
def _script() -> str:
    return resources.files(__package__).joinpath("edit_file.sh").read_text("utf-8")


def _edit(node: str, action: str, path: str, text: str, *more: str) -> Command:
    """Return an edit. It checks the size of its input, which ends early if a connection breaks."""
    words = (action, path, str(len(text.encode())), *more)
    return Command(node, ("sh", "-c", _script(), _NAME, *words), text)


@lru_cache(maxsize=16)  # most nodes have the same file
def marked_diff(old: str, new: str) -> str:
    """Return every line of both texts, marked as by ``diff -U``: "-" old, "+" new, " " common."""
    old_lines, new_lines = _split_keeping_ends(old), _split_keeping_ends(new)
    blocks = difflib.SequenceMatcher(None, old_lines, new_lines, autojunk=False).get_opcodes()
    marked: list[str] = []
    for kind, begin, end, other_begin, other_end in blocks:
        is_common = kind == "equal"
        marked += [f"{' ' if is_common else '-'}{line}" for line in old_lines[begin:end]]
        marked += [f"+{line}" for line in new_lines[other_begin:other_end] if not is_common]
    unended = "\\ No newline at end of file\n"
    return "".join(line if line.endswith("\n") else f"{line}\n{unended}" for line in marked)


def _split_keeping_ends(text: str) -> list[str]:
    """Return the lines with their newlines; the last may have none."""
    *complete_lines, last = text.split("\n")
    return [*(f"{line}\n" for line in complete_lines), *([last] if last else [])]


def edit_step(
    job: Draft,
    node: str,
    path: str,
    edit: Callable[[str], str],
    lines: Sequence[str],
    title: str,
    reason: str,
) -> Step:
    """Return the step that edits a file which others write too; fulfilled if it needs no edit.

    ``edit`` returns the new text for the old one. ``lines`` are the lines that it adds; they are
    appended to a file that could not be read.
    """
    held = content(job, node, path)
    if isinstance(held, Skipped):
        return append_change(node, path, lines).step(title, reason)
    old = held if isinstance(held, str) else ""
    new = edit(old)
    if new != old:
        return write_change(node, path, new, held).step(title, reason)
    evidence = f"{path} of {on(node)} has it: {'; '.join(lines[:3])}"
    return Step(title, reason, verify=(lines_in(node, path, lines),), fulfilled=evidence)


_WHITE = re.compile(r"[ \t\r\v\f]+")


def split(text: str) -> list[str]:
    """Return the lines without their newlines; the last need not have one."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def joined(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def fields(line: str) -> list[str]:
    """Split at white space of the C locale (isspace(3)), which includes a carriage return.

    A no-break space is a part of its word.
    """
    return [word for word in _WHITE.split(line) if word]


#: mntent(3) and exports(5) both read a backslash and three octal digits as one octet.
_ESCAPE = re.compile(r"\\([0-3][0-7]{2})")
_SIGNS = frozenset(' \t\n\r\v\f\\#"')


def octal(text: str) -> str:
    """Return the text with every sign that could end a field as an octal escape."""
    return "".join(f"\\{ord(sign):03o}" if sign in _SIGNS else sign for sign in text)


def plain(text: str) -> str:
    """Return the meaning of an escaped field."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), text)
