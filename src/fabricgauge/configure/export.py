"""A directory of the head that the nodes mount: its line in the exports file; pure.

Format: exports(5) of nfs-utils 2.6: a line ends at a newline that no backslash precedes, "#" begins
a comment, a path may stand in double quotes or have octal escapes, "-options" are defaults for
the clients behind them, and options stand in parentheses right behind a client.
"""

import re
from collections.abc import Iterator

import msgspec

from fabricgauge.configure.description import Export
from fabricgauge.configure.files import (
    content,
    extended,
    joined,
    octal,
    plain,
    questions,
    split,
    written,
)
from fabricgauge.configure.job import HEAD, Draft
from fabricgauge.model.absence import Skipped
from fabricgauge.model.configuration import Step, Verification
from fabricgauge.model.errors import UsageError
from fabricgauge.model.finding import Command

#: Further files that exportfs reads (exports(5), nfs-utils 2.6); their numbers are taken too.
_MORE = Command(
    HEAD, ("find", "/etc/exports.d", "-name", "*.exports", "-exec", "cat", "--", "{}", "+")
)

_AGAIN = Command(HEAD, ("exportfs", "-ra"))


def asks(export: Export) -> Iterator[Command]:
    yield from questions(HEAD, export.file)
    yield _MORE


def steps(job: Draft, export: Export) -> Iterator[Step]:
    """The line, then the server's word that it exports.

    Raises:
        UsageError: the file was not read and no number is stated, or the directory is exported
            otherwise.
    """
    held = content(job, HEAD, export.file)
    reason = f"the nodes mount {export.path} from the head"
    title = f"Export {export.path} to {export.client}"
    if isinstance(held, Skipped) and isinstance(export.fsid, Skipped):
        raise UsageError(
            f"[export] of {job.description.origin}: {held.reason}, so its lowest free fsid is not"
            " known; state fsid = NUMBER, or plan where the file can be read"
        )
    old = held if isinstance(held, str) else ""
    there = _same(old, export)
    fsid = export.fsid
    if isinstance(fsid, Skipped):
        fsid = lowest_free_fsid(old, job.output(_MORE))
    options = ",".join((*export.options, f"fsid={fsid}"))
    line = f"{octal(export.path)} {export.client}({options})"
    if there is not None:
        evidence = f"{export.file} has {there.path} {there.client}({','.join(there.options)})"
        yield Step(title, reason, fulfilled=evidence)
    else:
        lines = split(old)  # one that a backslash continues gets its end, or it would take ours in
        lines += [""] * bool(lines and lines[-1].endswith("\\"))
        change = (
            extended(HEAD, export.file, (line,))
            if isinstance(held, Skipped)
            else written(HEAD, export.file, joined((*lines, line)), held)
        )
        undo = (*change.undo, _AGAIN)  # else the server would go on exporting it
        yield msgspec.structs.replace(change.step(title, f"{reason}: {line}"), undo=undo)
    yield _announced(export)


def _announced(export: Export) -> Step:
    return Step(
        "Let the NFS server read its exports",
        "exportfs -ra takes them up without disturbing who has mounted already",
        (Command(HEAD, ("systemctl", "enable", "--now", "nfs-server")), _AGAIN),
        (Verification(Command(HEAD, ("exportfs", "-s")), f"\n{octal(export.path)} "),),
        undo_note="the server reads them again once the line is gone; it goes on running",
        follows=True,
    )


class Exported(msgspec.Struct, frozen=True):
    """A directory for one client; ``client`` is empty where options stand alone (for everybody)."""

    path: str
    client: str
    options: tuple[str, ...]


def _same(text: str, export: Export) -> Exported | None:
    """The export that is wanted, where the file has it.

    Raises:
        UsageError: the directory is exported to the same client with other options.
    """
    for one in exported(text):
        if (one.path, one.client or "*") != (export.path, export.client):
            continue
        if set(export.options) <= set(one.options):
            return one
        raise UsageError(
            f"{export.file} exports {one.path} to {export.client} with {','.join(one.options)}; the"
            f" description wants {','.join(export.options)}: change that line or the description"
        )
    return None


_WORD = re.compile(r'"[^"]*"?|[^ \t\r"]+')


def exported(text: str) -> tuple[Exported, ...]:
    """Every export of a file, in order; a line that names no client exports to everybody."""
    return tuple(one for line in _lines(text) for one in _line(line))


def lowest_free_fsid(*texts: str) -> int:
    """The lowest number from 1 that no export has; 0 is the root of NFSv4's tree (exports(5))."""
    used = {fsid for text in texts for one in exported(text) if (fsid := fsid_of(one)) >= 0}
    return next(number for number in range(1, len(used) + 2) if number not in used)


def fsid_of(one: Exported) -> int:
    """The export's number; -1 where it has none, or a UUID."""
    for option in one.options:
        key, _, value = option.partition("=")
        if key == "fsid":
            return 0 if value == "root" else _number(value)
    return -1


def _number(text: str) -> int:
    """exportfs reads the number as strtoul with base 0 does: 0x10 and 010 are numbers too."""
    if not text.isascii() or not text.isalnum():
        return -1
    try:
        return int(text, 8) if re.fullmatch(r"0[0-7]+", text) else int(text, 0)
    except ValueError:
        return -1


def _lines(text: str) -> Iterator[str]:
    """Logical lines: continued ones in one piece, comments gone."""
    for line in text.replace("\\\n", " ").split("\n"):
        quoted, end = False, len(line)
        for at, sign in enumerate(line):
            quoted ^= sign == '"'
            if sign == "#" and not quoted:
                end = at
                break
        if spoken := line[:end].strip(" \t\r"):
            yield spoken


def _line(line: str) -> Iterator[Exported]:
    words = [found[0] for found in _WORD.finditer(line)]
    path = plain(words[0].strip('"'))
    defaults: tuple[str, ...] = ()
    clients = 0
    for word in words[1:]:
        if word.startswith("-"):
            defaults = _options(word[1:])
            continue
        client, _, rest = word.partition("(")
        clients += 1
        yield Exported(path, client, (*defaults, *_options(rest.rstrip(")"))))
    if not clients:
        yield Exported(path, "", defaults)


def _options(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())
