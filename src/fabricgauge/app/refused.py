"""Why a file gave no figure: what it seems to be, the line, and what was expected there."""

import re
from collections.abc import Sequence

import msgspec

from fabricgauge.model.suite import UNREADABLE, SuiteCurve, UnparsedLine
from fabricgauge.parse.interface import FOREIGN
from fabricgauge.parse.suites import Found

#: Of more files only the number is told.
_MOST_FILES = 5
_SHOWN_CHARACTERS = 60

#: What a file that no reader knows seems to be, by its first line with anything in it.
_SEEMS = tuple(
    (re.compile(expression, re.IGNORECASE), text)
    for expression, text in (
        (r"<!doctype html|<html|<head|<body", "an HTML page: save the log itself"),
        (r"%PDF-", "a PDF: copy its text into a file"),
        (r"PK\x03\x04", "a ZIP archive: unpack it first"),
        (r"7z\xbc\xaf|\ufffd|.*\x00", "no text"),
        (r"\{\s*(?:[\"}]|$)|\[\s*(?:[\"{\[]|$)", "JSON of another program"),
        (
            r"(?:srun|sbatch|salloc|slurmstepd|mpirun|mpiexec\S*|prterun)\b.*(?:error|fail)",
            "a launcher's error: nothing was measured",
        ),
        (
            r".*command not found|.*no such file or directory",
            "a shell's error: nothing was started",
        ),
    )
)


class Refused(msgspec.Struct, frozen=True):
    """A file without a figure: the first table without one, and the most telling line."""

    name: str
    table: SuiteCurve | None = None
    line: UnparsedLine | None = None

    @property
    def is_foreign(self) -> bool:
        """Whether no reader knew a line of it, and its beginning does not say what it is."""
        known = self.line is not None and (self.line.reason != FOREIGN or _seems(self.line))
        return self.table is None and not known

    def with_found(self, some: Sequence[Found]) -> "Refused":
        """The same with what else was found; a reader's own reason tells more than none."""
        tables = (one for one in some if isinstance(one, SuiteCurve))
        lines = [one for one in some if isinstance(one, UnparsedLine)]
        known = [] if self.line is None else [self.line]
        line = max((*known, *lines), key=_telling, default=None)
        return Refused(self.name, self.table or next(tables, None), line)


def _telling(line: UnparsedLine) -> int:
    return 2 if line.reason.startswith(UNREADABLE) else int(line.reason != FOREIGN)


def refusal(files: Sequence[Refused]) -> str:
    """One clause for each file, the first five."""
    told = "; ".join(f"{one.name}{_reason(one)}" for one in files[:_MOST_FILES])
    more = len(files) - _MOST_FILES
    rest = f"; and {more} more files" if more > 0 else ""
    return f"no figure of a suite that is known was found: {told or 'no file was given'}{rest}"


def _reason(file: Refused) -> str:
    """What it seems to be, the line, and what was expected."""
    table, line = file.table, file.line
    if line is not None and line.reason.startswith(UNREADABLE):
        return f": {line.reason}"
    if table is None:
        return " holds no result" if line is None else _of_line(line)
    seems = f" seems to be {table.suite} ({table.benchmark})"
    if line is not None and line.reason != FOREIGN:
        return f"{seems}{_of_line(line)}"
    failed = next(iter(table.failures), None)
    # A sign that quotes the line that broke the program says what it means as well.
    if failed is None or failed.text in table.cut_off:
        told = table.cut_off
    else:
        told = f"line {failed.line}: {failed.text}"
    return f"{seems}, line {table.first_line}: {told or 'no row follows'}"


def _seems(line: UnparsedLine) -> str:
    return next((text for form, text in _SEEMS if form.match(line.text)), "")


def _of_line(line: UnparsedLine) -> str:
    text = "".join(c if c.isprintable() else "�" for c in line.text)[:_SHOWN_CHARACTERS]
    place = f"line {line.line}, “{text}”"
    if line.reason != FOREIGN:
        return f", {place}: expected {line.reason}"
    seems = _seems(line)
    what = f" seems to be {seems}," if seems else ","
    return f"{what} {place}: expected the output of a suite that is known"
