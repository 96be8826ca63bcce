"""Make lines plain: remove what launchers, terminals, mails and web pages add to them.

Labels: Open MPI's ``--tag-output`` (``[1,0]<stdout>:``), Hydra's ``-prepend-rank`` and Intel MPI's
``-l`` (``[0] ``), ``srun --label`` (``0: ``), pdsh and clush (``c1: ``), and the like of others
(``[rank 1] ``, ``[default0]:``, ``rank 1: ``, ``c1 0: ``, ``c1  | ``), iperf's titles (``my test:
``); in front of them blanks, a time stamp, a line's number. Colours, a mail's quotes (``> ``), a
byte-order mark, HTML's entities, blanks that are no ASCII and typographic quotes and dashes are
taken off or replaced before.
"""

import csv
import math
import re
import sys
from collections.abc import Callable
from typing import TypeVar

#: A longer line is cut, unless it is JSON: no suite writes one, and memory stays bounded.
LONGEST_BYTES = 65536

#: Behind a repeat: it gives nothing back once it matched. Python 3.10 lacks this sign.
ONCE = "+" if sys.version_info >= (3, 11) else ""

#: More than a label has characters.
_LONGEST_BEGINNING = 200
#: Longer than what a suite prints between two rows.
_LONGEST_REMEMBERED = 200
#: The text behind this many characters of a command is dropped.
_LONGEST_COMMAND = 500
_MOST_REMEMBERED = 2048

Said = TypeVar("Said")
_JSON = re.compile(r"\s*(?:\[\s*)?\{")
#: As a terminal gets them, and as ``cat -v`` shows them; ``(B`` ends what ``tput`` began.
_COLOURS = re.compile(r"(?:\x1b|\^\[)(?:\[[0-9;?]*[A-Za-z]|\([A-Z0-9]|\][^\x07\x1b]{0,200}\x07)")
#: iperf writes ``[  5]`` and ``[100]`` in front of its own rows, NetPIPE ``  0: 1 bytes``.
_LABEL = re.compile(
    r"[ \t]*(?:"
    r"(?P<out>(?:\[[\w.@-]+,\d+\](?:\[[\w.-]+:\d+\])?)?<std(?:out|err|diag)>:) ?"
    r"|(?P<word>\[[A-Za-z][^\[\]]{0,63}\]:?) ?"
    r"|(?P<rank>\[\d+\]) (?! *\d+\.\d+ *- *\d| *local (?!address))"
    r"|(?P<task>\d+:)(?! *\d+ bytes +\d+ times) ?)"
)
#: A title of iperf3 (``-T``) may be any words; two blanks follow it.
_HOST = re.compile(
    r"[ \t]*(?:(?P<host>[A-Za-z][A-Za-z0-9._-]{0,62}(?: \d{1,7})?)(?:: ?| *\| )"
    r"|(?P<program>[A-Za-z][A-Za-z0-9._-]{0,62} [\w./-]{1,63}\[\d{1,9}\]): ?"
    r"|(?P<title>[^\s:\[\]{}\"|][^:\[\]{}\"|]{0,62}):  )"
)
#: Time stamps of ``ts``, ``dmesg``, system logs, containers, ``mpirun --timestamp-output``, and any
#: word with a time of day in it, as ``iperf3 --timestamps`` may write it.
_STAMP = re.compile(
    r"[ \t]*(?:\[?\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}\]?|\[ *\d{1,9}\.\d{3,6}\]"
    r"|\[?(?:\w{3} )?(?:\w{3} [ \d]\d |\d{4}[-/]\d\d[-/]\d\d[T ])?"
    r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?"
    r"|[^\s\[<|]{0,40}\d\d:\d\d[^\s\[<|]{0,40})(?:[ \t]|$|(?=[<\[]))"
)
#: As ``cat -n``, ``nl`` and editors write it; that of ``grep -n`` looks like a task's label.
_NUMBERED = re.compile(r"[ \t]*(?P<number>\d{1,7})(?P<sign>\t| |$)")
#: A person's note behind a row of a log: behind an arrow, and without figures.
_ARROW = re.compile(r"(?<=\S)[ \t]+(?:<[-=<]+|\u2190)(?:[ \t].*)?$")
_NOTE = re.compile(r"(?<=[\d%])[ \t]+(?!-?(?:nan|inf)\b|Pass|Fail)[^\d\s.+-][^\d]*$", re.IGNORECASE)
_QUOTES = re.compile(r"^(?:[ \t]{0,3}> ?)+", re.MULTILINE)
_ENTITIES = {"&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'", "&nbsp;": " ", "&amp;": "&"}
_ENTITY = re.compile("|".join(_ENTITIES))
#: Characters that replace a blank, a quote or a dash, and those without width.
_TYPOGRAPHY = str.maketrans(
    dict.fromkeys("\xa0\u2002\u2003\u2007\u2009\u202f\u3000", " ")
    | dict.fromkeys("\ufeff\u200b\u200c\u200d\u2060\xad", "")
    | dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'")
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-")
)
#: Kept where plain ones stand beside them: then they are within a text of JSON.
_DOUBLE_QUOTES = str.maketrans(dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'))


def plain(raw: bytes) -> str:
    """Return one line's text; bytes that are not UTF-8 become the replacement character."""
    if len(raw) > LONGEST_BYTES and not may_be_json(raw):
        raw = raw[:LONGEST_BYTES]
    return _bare(raw.decode("utf-8", "replace").rstrip("\r\n"))


def _bare(text: str) -> str:
    """Remove what terminals, mails, web pages and word processors add to lines."""
    if "\x1b" in text or "^[" in text:
        text = _COLOURS.sub("", text)
    if not text.isascii():
        text = text.translate(_TYPOGRAPHY)
        text = text if '"' in text else text.translate(_DOUBLE_QUOTES)
    if "&" in text:
        text = _ENTITY.sub(lambda entity: _ENTITIES[entity[0]], text)
    return _QUOTES.sub("", text) if ">" in text else text


def text_of(block: bytes) -> str:
    if len(block) > LONGEST_BYTES or b"\r" in block:
        return "\n".join(map(plain, block.split(b"\n")))
    return _bare(block.decode("utf-8", "replace"))


class Remembered(dict[str, Said]):
    """Remembers a function's results by a line's text, and computes repeated ones once.

    Headings, rulers and settings are most of the lines between rows, and alike in every table. Long
    texts are not remembered: memory stays bounded.
    """

    def __init__(self, function: Callable[[str], Said]) -> None:
        self._function = function

    def __missing__(self, text: str) -> Said:
        value = self._function(text)
        if len(text) <= _LONGEST_REMEMBERED:
            if len(self) >= _MOST_REMEMBERED:
                self.clear()
            self[text] = value
        return value


def remembered(function: Callable[[str], Said]) -> Callable[[str], Said]:
    """Return the same function with a memory; a repeated call costs one look-up."""
    return Remembered(function).__getitem__


def may_be_json(raw: bytes) -> bool:
    """Check whether a line begins as an object or an array of objects, also behind a label."""
    text = split_stamp(_bare(raw[:_LONGEST_BEGINNING].decode("utf-8", "replace")))
    readings = (text, split_label(text)[1], split_host(text)[1])
    return any(_JSON.match(reading) for reading in readings)


def split_csv(text: str, delimiter: str = ",") -> list[str]:
    """Return the cells of one CSV line; no cell if it is not CSV (a stray CR, an endless field)."""
    try:
        return next(csv.reader([text], delimiter=delimiter), [])
    except csv.Error:
        return []


def without_arrow(text: str) -> str:
    """Return a row without the note behind an arrow (``<- peak``)."""
    is_row = text.lstrip()[:1] in "[0123456789" or "\t" in text
    return _ARROW.sub("", text) if is_row else text


def without_note(text: str) -> str:
    """Return a row without the words behind its last figure."""
    return _NOTE.sub("", text) if text.lstrip()[:1] in "[0123456789" else text


def split_stamp(text: str) -> str:
    """Return the text behind a time stamp; the line itself if it has none."""
    match = _STAMP.match(text)
    return text[match.end() :] if match else text


def split_number(text: str) -> tuple[int, str, str] | None:
    """Return a line's number, the sign behind it, and the rest; None if it has no number."""
    match = _NUMBERED.match(text)
    return (int(match["number"]), match["sign"], text[match.end() :]) if match else None


def split_label(text: str) -> tuple[str, str]:
    """Return a launcher's label, empty if there is none, and the text behind it."""
    match = _LABEL.match(text) if text[:1] in "[ \t0123456789" or "<std" in text else None
    if match is None or match.lastgroup is None:
        return "", text
    return match[match.lastgroup], text[match.end() :]


def is_certain(label: str) -> bool:
    """Check whether only a launcher writes such a label; ``12:`` begins many a line."""
    return label.endswith(">:")


def split_host(text: str) -> tuple[str, str]:
    """Return a possible host label, as pdsh writes it, and the text behind it.

    Any word with a colon looks like a label; only a suite's output behind it confirms it.
    """
    match = _HOST.match(text)
    if match is None or match.lastgroup is None:
        return "", text
    return match[match.lastgroup], text[match.end() :]


def command_line(text: str) -> str:
    """Return the part of a command that is kept: its beginning, one blank between words."""
    return " ".join(text[:_LONGEST_COMMAND].split())


def number_of(word: str) -> float | None:
    """Return a printed number, also ``inf`` and ``-nan``; None for another word."""
    try:
        return float(word)
    except ValueError:
        return None


def decimals(word: str) -> int:
    """Count the digits behind the decimal point."""
    return len(word.partition(".")[2])


def figure_of(word: str) -> float:
    """Return a printed number; not a number for another word."""
    number = number_of(word)
    return math.nan if number is None else number
