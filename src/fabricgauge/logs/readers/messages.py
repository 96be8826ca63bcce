"""Recognise messages of MPIs, their libraries and the suites beside a table (``messages.tsv``).

The place of a line decides which table it counts for: see
``Messages``.
"""

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import msgspec

from fabricgauge.logs.readers.lines import remembered
from fabricgauge.model.suite import LogMessage, MessageKind, SuiteCurve
from fabricgauge.model.tables import read_table

#: Messages of one start that are kept, and how much of each.
MOST_MESSAGES, LONGEST_TEXT = 64, 240

#: Suites whose program prints many tables: a message at its start holds for all of them.
_MANY_TABLES = ("imb", "hpcc", "gpcnet")


#: Transports of a node's own memory, and TCP, in UCX's and Open MPI's names.
_MEMORY_OR_TCP = r"(?:tcp|self|sm|shm|mm|sysv|posix|cma|xpmem|knem|vader|cuda\w*|gdr_copy|rocm\w*)"
#: A list of them with TCP, and nothing else, behind a variable or an option. No comment.
_ONLY_TCP = rf"['\"]?(?=[\w,]*\btcp\b)(?:{_MEMORY_OR_TCP}(?:,|(?![\w,])))+(?![\w,:^])"
#: The same without TCP; CUDA's memory handles may reach another node over NVLink.
_ONLY_MEMORY = (
    r"['\"]?(?=[\w,]*\b(?:sm|shm|mm|sysv|posix|cma|xpmem|knem|vader|smcuda)\b)"
    r"(?:(?:self|sm|shm|mm|sysv|posix|cma|xpmem|knem|vader|smcuda|cuda_copy|gdr_copy|rocm_copy)"
    r"(?:,|(?![\w,])))+(?![\w,:^])"
)
#: Parts of forms in ``messages.tsv``.
_PARTS = {
    "<ONLY_TCP>": _ONLY_TCP,
    "<ONLY_MEMORY>": _ONLY_MEMORY,
    "<PROVIDER>": r"\b(?:FI_PROVIDER|I_MPI_OFI_PROVIDER|MPIR_CVAR_OFI_USE_PROVIDER)[ =]['\"]?",
    "<OB1>": r"(?=.*(?<![a-z])pml[ =]+ob1\b).*(?<![a-z])btl[ =]+",
    "<NO_COMMENT>": r"^(?!\s*#)",
    "<CONNECTION>": r"(?:ep_)?cfg(?:\[|#)\d+\]?:? ",
}
#: Kind, sign and form of each message; the file explains them.
ROWS = read_table(Path(__file__).with_suffix(".tsv"), 3)


def _compile(form: str) -> re.Pattern[str]:
    return re.compile(re.sub("<[A-Z_1]+>", lambda part: _PARTS[part[0]], form))


_FORMS = [(sign, cast(MessageKind, kind), _compile(form)) for kind, sign, form in ROWS]


@remembered
def kind_of_message(text: str) -> MessageKind | None:
    """Return the kind of message in a line; None for any other line."""
    # A loop over 40 searches for a text is ten times as fast as one for any of them.
    for sign, kind, form in _FORMS:
        if sign in text and form.search(text):
            return kind
    return None


#: A shell's setting of a variable for all programs behind it.
_SETTING = re.compile(r"[\s+$#>]*(?:export|declare -x|setenv|unset|unsetenv) +(?P<name>[A-Z]\w*)")


def variable_in(text: str) -> str:
    """Return the variable that a line sets for all programs behind it, or unsets; else empty."""
    match = _SETTING.match(text) if "export " in text or "set" in text else None
    return match["name"] if match and not text.startswith("#") else ""


class Messages:
    """The messages of a file's stream, until a table takes them.

    One that the program writes as it starts stands before its table, or among its rows. An error
    stands among the rows or behind them.
    """

    def __init__(self) -> None:
        self._waiting: list[LogMessage] = []
        self._of_start: list[LogMessage] = []
        self._last: Sequence[SuiteCurve] = ()
        #: Settings of a shell, each with its variable and the line that sets this again.
        self._settings: list[tuple[LogMessage, str, float]] = []

    def copy(self) -> "Messages":
        """Return the messages that wait, and the settings, for a rank's own lines."""
        copy = Messages()
        copy._waiting = [message for message in self._waiting if message.kind != "broken"]
        copy._settings = [*self._settings]
        return copy

    def take(self, number: int, text: str) -> bool:
        """Check whether a line is a message; if so, it is kept."""
        kind, variable = kind_of_message(text), variable_in(text)
        self._settings = [
            (message, name, min(end, number) if name in text else end)
            for message, name, end in self._settings
        ]
        if kind is None:
            return False
        if variable and len(self._settings) < MOST_MESSAGES:
            message = LogMessage(kind, number, text.strip()[:LONGEST_TEXT])
            self._settings.append((message, variable, math.inf))
        elif len(self._waiting) < MOST_MESSAGES:
            self._waiting.append(LogMessage(kind, number, text.strip()[:LONGEST_TEXT]))
        return True

    def add_to(self, curves: Sequence[SuiteCurve], over: bool = False) -> None:
        """Give a finished table its messages; those behind it wait for the next table.

        If ``over``, the file has ended and no message waits any longer.
        """
        if not curves:
            return
        first = min(curve.first_line for curve in curves)
        last = max(curve.last_line for curve in curves)
        self._add_behind(first)
        self._last = curves
        due = [
            message
            for message in self._waiting
            if over or message.kind == "broken" or message.line <= last
        ]
        settings = [message for message, _, end in self._settings if message.line <= last < end]
        if not (due or settings or self._of_start):
            return
        self._waiting = [message for message in self._waiting if message not in due]
        of_start = [message for message in due if message.kind != "broken"]
        if curves[0].suite in _MANY_TABLES:
            self._of_start += of_start
            of_start = self._of_start
        else:
            self._of_start = []
        broken = [message for message in due if message.kind == "broken"]
        _add_messages(
            curves,
            (*settings, *of_start, *(message for message in broken if message.line >= first)),
        )

    def end(self) -> None:
        """Give the errors behind the last table to that table."""
        self._add_behind(None)

    def _add_behind(self, first_line: int | None) -> None:
        """Give the errors in front of the next table, which begins there, to the table before."""
        behind = [
            message
            for message in self._waiting
            if message.kind == "broken" and (first_line is None or message.line < first_line)
        ]
        if behind and self._last:
            self._waiting = [message for message in self._waiting if message not in behind]
            _add_messages(self._last, behind)


def _add_messages(curves: Sequence[SuiteCurve], messages: Sequence[LogMessage]) -> None:
    for curve in curves:
        all_messages = (*curve.evidence.messages, *messages)
        evidence = msgspec.structs.replace(curve.evidence, messages=all_messages)
        msgspec.structs.force_setattr(curve, "evidence", evidence)
