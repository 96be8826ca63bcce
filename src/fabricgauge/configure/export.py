"""A directory of the head that the nodes mount: its line in the exports file; pure."""

from collections.abc import Iterator

import msgspec

from fabricgauge.configure.description import Export
from fabricgauge.configure.escapes import octal
from fabricgauge.configure.exports_file import Exported, exported, lowest_free_fsid
from fabricgauge.configure.files import content, extended, questions, written
from fabricgauge.configure.job import HEAD, Job
from fabricgauge.configure.text_lines import joined, split
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


def steps(job: Job, export: Export) -> Iterator[Step]:
    """The line, then the server's word that it exports.

    Raises:
        UsageError: the file was not read and no number is stated, or the directory is exported
            otherwise.
    """
    held = content(job, HEAD, export.file)
    more = job.reply(_MORE)
    others = "" if isinstance(more, Skipped) else more.output
    reason = f"the nodes mount {export.path} from the head"
    title = f"Export {export.path} to {export.client}"
    if isinstance(held, Skipped) and isinstance(export.fsid, Skipped):
        raise UsageError(
            f"[export] of {job.description.origin}: {held.reason}, so its lowest free fsid is not"
            " known; state fsid = NUMBER, or plan where the file can be read"
        )
    old = held if isinstance(held, str) else ""
    there = _same(old, export)
    line = _line(export, lowest_free_fsid(old, others) if isinstance(export.fsid, Skipped)
                 else export.fsid)  # fmt: skip
    if there is not None:
        evidence = f"{export.file} has {there.path} {there.client}({','.join(there.options)})"
        yield Step(title, reason, (), (), (), fulfilled=evidence)
    else:
        change = (
            extended(HEAD, export.file, (line,), "fabricgauge")
            if isinstance(held, Skipped)
            else written(HEAD, export.file, joined((*_ended(old), line)), held)
        )
        undo = (*change.undo, _AGAIN)  # else the server would go on exporting it
        yield msgspec.structs.replace(change.step(title, f"{reason}: {line}"), undo=undo)
    yield _announced(export)


def _ended(text: str) -> list[str]:
    """The file's lines; one that a backslash continues gets its end, or it would take ours in."""
    lines = split(text)
    return [*lines, ""] if lines and lines[-1].endswith("\\") else lines


def _announced(export: Export) -> Step:
    return Step(
        "Let the NFS server read its exports",
        "exportfs -ra takes them up without disturbing who has mounted already",
        (Command(HEAD, ("systemctl", "enable", "--now", "nfs-server")), _AGAIN),
        (Verification(Command(HEAD, ("exportfs", "-s")), f"\n{octal(export.path)} "),),
        (),
        undo_note="the server reads them again once the line is gone; it goes on running",
        follows=True,
    )


def _line(export: Export, fsid: int) -> str:
    options = ",".join((*export.options, f"fsid={fsid}"))
    return f"{octal(export.path)} {export.client}({options})"


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
