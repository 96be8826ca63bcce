"""Lines that no reader understood, told of together where they follow each other."""

from collections.abc import Sequence

from fabricgauge.model.suite import UnparsedLine
from fabricgauge.parse.interface import Line

SHOWN_CHARACTERS = 200


class UnparsedRun:
    """One run of lines with one reason is open; blank lines and code fences do not end it.

    ``busy`` is false while there is neither an open run nor one to tell of.
    """

    def __init__(self) -> None:
        self.busy = False
        self._first: Line | None = None
        self._last = 0
        self._reason = ""
        self._count = 0
        self._done: list[UnparsedLine] = []

    def report(self, line: Line, reason: str) -> None:
        """Add a line, with what was expected there."""
        if self._first is None or reason != self._reason:
            self._close()
            self._first, self._reason, self._count = line, reason, 0
        self._count += 1
        self._last = line.number
        self.busy = True

    def understood(self, line: Line) -> None:
        """A reader has seen this line; if it did not report it, the open run is over."""
        if self._first is not None and self._last != line.number:
            text = line.text.strip()
            if text and not text.startswith("```"):
                self._close()

    def told(self) -> Sequence[UnparsedLine]:
        """The runs that are over since the last call."""
        if not self._done:
            return ()
        done, self._done = self._done, []
        self.busy = self._first is not None
        return done

    def end(self) -> Sequence[UnparsedLine]:
        """All that are left."""
        self._close()
        return self.told()

    def _close(self) -> None:
        first, self._first = self._first, None
        if first is not None:
            text = first.text.strip()[:SHOWN_CHARACTERS]
            self._done.append(UnparsedLine(first.number, text, self._reason, self._count))
