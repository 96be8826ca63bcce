"""Plan the export of a directory of the head that nodes mount; pure.

Format: exports(5) of nfs-utils 2.6: a line ends at a newline that no backslash precedes, "#" begins
a comment, a path may stand in double quotes or have octal escapes, "-options" are defaults for
the clients behind them, and options stand in parentheses right behind a client.
"""

import re
from collections.abc import Iterator

import msgspec

from fabricgauge.features.configure.description import Export
from fabricgauge.features.configure.files import (
    append_change,
    content,
    joined,
    octal,
    plain,
    questions,
    split,
    write_change,
)
from fabricgauge.features.configure.job import HEAD, Draft, Step, Verification
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import UsageError
from fabricgauge.model.finding import Command

#: Further files that exportfs reads (exports(5), nfs-utils 2.6); their fsid numbers are in use too.
_FURTHER_EXPORTS = Command(
    HEAD, ("find", "/etc/exports.d", "-name", "*.exports", "-exec", "cat", "--", "{}", "+")
)

_RELOAD = Command(HEAD, ("exportfs", "-ra"))


def asks(export: Export) -> Iterator[Command]:
    yield from questions(HEAD, export.file)
    yield _FURTHER_EXPORTS


def steps(job: Draft, export: Export) -> Iterator[Step]:
    """Yield the step that adds the line, then the one that reloads the server's exports.

    Raises:
        UsageError: the file was not read and no fsid is stated, or the directory is exported with
            other options.
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
    present = _find_export(old, export)
    fsid = export.fsid
    if isinstance(fsid, Skipped):
        fsid = lowest_free_fsid(old, job.output(_FURTHER_EXPORTS))
    options = ",".join((*export.options, f"fsid={fsid}"))
    line = f"{octal(export.path)} {export.client}({options})"
    if present is not None:
        evidence = f"{export.file} has {present.path} {present.client}({','.join(present.options)})"
        yield Step(title, reason, fulfilled=evidence)
    else:
        lines = split(old)  # a last line that a backslash continues must not join the new one
        lines += [""] * bool(lines and lines[-1].endswith("\\"))
        change = (
            append_change(HEAD, export.file, (line,))
            if isinstance(held, Skipped)
            else write_change(HEAD, export.file, joined((*lines, line)), held)
        )
        undo = (*change.undo, _RELOAD)  # or the server would go on exporting it
        yield msgspec.structs.replace(change.step(title, f"{reason}: {line}"), undo=undo)
    yield Step(
        "Let the NFS server read its exports",
        "exportfs -ra reads them without an effect on present mounts",
        (Command(HEAD, ("systemctl", "enable", "--now", "nfs-server")), _RELOAD),
        (Verification(Command(HEAD, ("exportfs", "-s")), f"\n{octal(export.path)} "),),
        undo_note="the server reads them again once the line is gone; it goes on running",
        follows=True,
    )


class ExportEntry(msgspec.Struct, frozen=True):
    """A directory exported to one client; ``client`` is empty for all clients."""

    path: str
    client: str
    options: tuple[str, ...]


def _find_export(text: str, export: Export) -> ExportEntry | None:
    """Return the required export if the file has it."""
    for entry in parse_exports(text):
        if (entry.path, entry.client or "*") != (export.path, export.client):
            continue
        if set(export.options) <= set(entry.options):
            return entry
        raise UsageError(
            f"{export.file} exports {entry.path} to {export.client} with {','.join(entry.options)};"
            f" the description has {','.join(export.options)}: change that line or the description"
        )
    return None


_WORD = re.compile(r'"[^"]*"?|[^ \t\r"]+')


def parse_exports(text: str) -> tuple[ExportEntry, ...]:
    """Return every export of a file, in order; a line without a client exports to all."""
    return tuple(entry for line in _logical_lines(text) for entry in _parse_line(line))


def lowest_free_fsid(*texts: str) -> int:
    """Return the lowest unused number from 1; 0 is the root of NFSv4's tree (exports(5))."""
    used = {
        fsid for text in texts for entry in parse_exports(text) if (fsid := fsid_of(entry)) >= 0
    }
    return next(number for number in range(1, len(used) + 2) if number not in used)


def fsid_of(entry: ExportEntry) -> int:
    """Return the export's number; -1 if it has none, or a UUID."""
    for option in entry.options:
        key, _, value = option.partition("=")
        if key == "fsid":
            return 0 if value == "root" else _number(value)
    return -1


def _number(text: str) -> int:
    """Parse a number as exportfs does, by strtoul with base 0: 0x10 and 010 are numbers."""
    if not text.isascii() or not text.isalnum():
        return -1
    try:
        return int(text, 8) if re.fullmatch(r"0[0-7]+", text) else int(text, 0)
    except ValueError:
        return -1


def _logical_lines(text: str) -> Iterator[str]:
    """Yield logical lines: continued lines joined, without comments."""
    for line in text.replace("\\\n", " ").split("\n"):
        quoted, end = False, len(line)
        for at, sign in enumerate(line):
            quoted ^= sign == '"'
            if sign == "#" and not quoted:
                end = at
                break
        if statement := line[:end].strip(" \t\r"):
            yield statement


def _parse_line(line: str) -> Iterator[ExportEntry]:
    words = [match[0] for match in _WORD.finditer(line)]
    path = plain(words[0].strip('"'))
    defaults: tuple[str, ...] = ()
    clients = 0
    for word in words[1:]:
        if word.startswith("-"):
            defaults = _options(word[1:])
            continue
        client, _, option_text = word.partition("(")
        clients += 1
        yield ExportEntry(path, client, (*defaults, *_options(option_text.rstrip(")"))))
    if not clients:
        yield ExportEntry(path, "", defaults)


def _options(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())
