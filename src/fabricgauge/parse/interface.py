"""What a reader of another suite's output is: fed line by line, it gives curves.

A new format is a module with ``DIALECT`` and a row in ``parse/dialects.py``. A table declares
its columns, and ``parse/rows.py`` reads it.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

import msgspec

from fabricgauge.model.suite import SuiteCurve


class LogLine(msgspec.Struct, frozen=True, gc=False):
    """One line without its end, its launcher's label and terminal colours; first is 1.

    Only the last one of a file may have no end: then it may be cut off in the midst of a word.
    """

    number: int
    text: str
    ended: bool = True


#: What is expected where nothing is known of a line's suite.
FOREIGN = "no output of a known suite"

#: Called for a line that the reader does not understand, with what it expected.
Report = Callable[[LogLine, str], None]


class SuiteReader(Protocol):
    """Reads one run of lines that belong to one suite; keeps no more than one table.

    It is never fed a line that begins another suite's output. Neither method raises on
    any input, and each line is understood, reported, or blank.

    A reader whose tables take many rows at a time also has ``rows(number, text, place)``. It takes
    the rows that begin at ``place`` of a text of whole lines, the first of them ``number``, and
    returns where they end. Each must be one that ``line`` would take as a row and that completes
    nothing. Without such a row they end where they begin.
    """

    def line(self, line: LogLine) -> Iterable[SuiteCurve]:
        """The curves that this line completes."""
        ...

    def end(self) -> Iterable[SuiteCurve]:
        """The last curves, when the suite's lines are over (the file may be cut off)."""
        ...


class Dialect(msgspec.Struct, frozen=True):
    """One suite's text output. ``begins`` are regular expressions by a text in all their matches.

    Only lines with that text are searched. One of them must match the first line of an
    output, and none of them what another suite writes; they may match later lines as well.
    ``unmarked`` is what whole lines of it look like without the ``# `` in front, which Markdown
    takes for the sign of a heading; it matches none of the suite's other lines. ``tabs`` tells
    that they mean more than blanks do.
    """

    suite: str
    begins: Mapping[str, str]
    reader: Callable[[Report], SuiteReader]
    unmarked: str = ""
    tabs: bool = False


class JsonDialect(msgspec.Struct, frozen=True):
    """One suite's JSON output: an object (or array) on lines of its own.

    ``recognised`` looks at the text of the whole object; ``read`` gets it with the number
    of its first line. Old perftest writes what only resembles JSON, hence text.
    """

    suite: str
    recognised: Callable[[str], object]
    read: Callable[[str, int, Report], Iterable[SuiteCurve]]
    #: The texts that other suites' programs printed, where the object holds such.
    logs: Callable[[str, int, Report], Iterable[str]] | None = None
