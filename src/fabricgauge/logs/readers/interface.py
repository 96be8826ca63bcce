"""The interface of a reader of another suite's output: it takes lines and gives curves.

A new format is a module with ``DIALECT`` and a row in ``dialects.py``. A table declares its
columns, and ``rows.py`` reads it.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

import msgspec

from fabricgauge.model.suite import SuiteCurve


class LogLine(msgspec.Struct, frozen=True, gc=False):
    """One line without its end, its launcher's label and its colours; the first number is 1.

    Only the last one of a file may have no end: then it may be cut off in the midst of a word.
    """

    number: int
    text: str
    ended: bool = True


#: The expectation where no suite is known for a line.
FOREIGN = "no output of a known suite"

#: Called for a line that the reader cannot read, with the form that was expected.
Report = Callable[[LogLine, str], None]


class SuiteReader(Protocol):
    """Reads the lines of one suite; keeps no more than one table.

    It is never fed a line that begins another suite's output. Neither method raises on any input,
    and each line is understood, reported, or blank.

    A reader whose tables take many rows at a time also has ``rows(number, text, place)``. It takes
    the rows that begin at ``place`` of a text of whole lines, the first of them ``number``, and
    returns where they end. Each must be one that ``line`` would take as a row and that completes
    nothing. Without such a row they end where they begin.
    """

    def line(self, line: LogLine) -> Iterable[SuiteCurve]:
        """Return the curves that this line completes."""
        ...

    def end(self) -> Iterable[SuiteCurve]:
        """Return the last curves when the suite's lines are over; the file may be cut off."""
        ...


class Dialect(msgspec.Struct, frozen=True):
    """One suite's text output. ``begins`` are expressions by a text that all their matches have.

    Only lines with that text are searched. One expression must match the first line of an output,
    and none may match another suite's lines; they may match later lines as well. ``unmarked``
    matches whole lines of the suite that lost their ``# ``, because Markdown takes it for a
    heading; it matches no other line of the suite. ``tabs`` is true where tabs mean more than
    blanks. ``units`` are those of its headings if its reader takes them from the columns' names: a
    table with others is refused.
    """

    suite: str
    begins: Mapping[str, str]
    reader: Callable[[Report], SuiteReader]
    unmarked: str = ""
    tabs: bool = False
    units: tuple[str, ...] = ()


class JsonDialect(msgspec.Struct, frozen=True):
    """One suite's JSON output: an object (or array) on lines of its own.

    ``recognised`` looks at the text of the whole object; ``read`` gets it with the number
    of its first line. Old perftest writes what only resembles JSON, hence text.
    """

    suite: str
    recognised: Callable[[str], object]
    read: Callable[[str, int, Report], Iterable[SuiteCurve]]
    #: The texts that other suites' programs printed, where the object holds such.
    logs: Callable[[str, int, Report], Iterable[str]] = lambda *_: ()
