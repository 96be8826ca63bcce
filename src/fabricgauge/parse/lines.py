"""Lines as launchers hand them on, made plain: decoded, without label, colours and CR.

Labels: Open MPI's ``--tag-output`` (``[1,0]<stdout>:``), Hydra's ``-prepend-rank`` and
Intel MPI's ``-l`` (``[0] ``), ``srun --label`` (``0: ``), pdsh and clush (``c1: ``), and the
like of others (``[rank 1] ``, ``[default0]:``, ``rank 1: ``, ``c1 0: ``, ``c1  | ``). A mail's
quotes (``> ``) and a byte-order mark are taken off before.
"""

import math
import re
from collections.abc import Callable
from typing import TypeVar

#: A longer line is cut, unless it is JSON: no suite writes one, and memory stays bounded.
LONGEST_BYTES = 65536

#: More than a label has characters.
_LONGEST_BEGINNING = 200
#: Longer than what a suite prints between two rows.
_LONGEST_REMEMBERED = 200
#: What lies behind says nothing of a test.
_LONGEST_COMMAND = 500
_MOST_REMEMBERED = 2048

Said = TypeVar("Said")
_JSON = re.compile(r"\s*(?:\[\s*)?\{")
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
#: iperf writes ``[  5]`` and ``[100]`` in front of its own rows, NetPIPE ``  0: 1 bytes``.
_LABEL = re.compile(
    r"(?:\w{3} \w{3} [ \d]\d [\d:]{8} \d{4})?"
    r"(?P<out>(?:\[[\w.@-]+,\d+\](?:\[[\w.-]+:\d+\])?)?<std(?:out|err|diag)>:) ?"
    r"|(?P<word>\[[A-Za-z][^\[\]]{0,63}\]:?) ?"
    r"|(?P<rank>\[\d+\]) (?! *\d+\.\d+ *- *\d| *local )"
    r"| {0,6}(?P<task>\d+:) (?! *\d+ bytes +\d+ times)"
)
_HOST = re.compile(r"(?P<host>[A-Za-z][A-Za-z0-9._-]{0,62}(?: \d{1,7})?)(?:: ?| *\| )")
_QUOTES = re.compile(r"^(?:> ?)+", re.MULTILINE)


def plain(raw: bytes) -> str:
    """One line's text; what is not UTF-8 becomes the replacement character."""
    if len(raw) > LONGEST_BYTES and not may_be_json(raw):
        raw = raw[:LONGEST_BYTES]
    return _bare(raw.decode("utf-8", "replace").rstrip("\r\n"))


def _bare(text: str) -> str:
    """Lines without terminal colours, byte-order mark and a mail's quotes."""
    if "\x1b" in text:
        text = _COLOURS.sub("", text)
    if text[:1] == ">" or "\n>" in text:
        text = _QUOTES.sub("", text)
    return text.replace("\ufeff", "")


def text_of(block: bytes) -> str:
    """The plain text of a block's lines."""
    if len(block) > LONGEST_BYTES or b"\r" in block:
        return "\n".join(map(plain, block.split(b"\n")))
    return _bare(block.decode("utf-8", "replace"))


class Remembered(dict[str, Said]):
    """What a function says of lines' texts; it works once on what comes again and again.

    Headings, rulers and settings are most of what stands between rows, and alike in every
    table. Long texts are not remembered: memory stays bounded.
    """

    def __init__(self, function: Callable[[str], Said]) -> None:
        self._function = function

    def __missing__(self, text: str) -> Said:
        said = self._function(text)
        if len(text) <= _LONGEST_REMEMBERED:
            if len(self) >= _MOST_REMEMBERED:
                self.clear()
            self[text] = said
        return said


def remembered(function: Callable[[str], Said]) -> Callable[[str], Said]:
    """The same function, which remembers; to ask it costs no more than a look into a table."""
    return Remembered(function).__getitem__


def may_be_json(raw: bytes) -> bool:
    """Whether a line begins as an object or an array of objects, be it behind a label."""
    text = raw[:_LONGEST_BEGINNING].decode("utf-8", "replace")
    readings = (text, split_label(text)[1], split_host(text)[1])
    return any(_JSON.match(reading) for reading in readings)


def split_label(text: str) -> tuple[str, str]:
    """A launcher's label (empty if there is none) and what stands behind it."""
    match = _LABEL.match(text) if text[:1] in "[ 0123456789" or "<std" in text else None
    if match is None or match.lastgroup is None:
        return "", text
    return match[match.lastgroup], text[match.end() :]


def is_certain(label: str) -> bool:
    """Whether nothing but a launcher writes such a label; ``12:`` begins many a line."""
    return label.endswith(">:")


def split_host(text: str) -> tuple[str, str]:
    """What may be a host's label, as pdsh writes it, and what stands behind it.

    Any word with a colon looks like one; only a suite's output behind it tells.
    """
    match = _HOST.match(text) if text[:1].isalpha() else None
    return (match["host"], text[match.end() :]) if match else ("", text)


def command_line(text: str) -> str:
    """A command as it is kept: its beginning, with one blank between words."""
    return " ".join(text[:_LONGEST_COMMAND].split())


def number_of(word: str) -> float | None:
    """A printed number, also ``inf`` and ``-nan``; None for another word."""
    try:
        return float(word)
    except ValueError:
        return None


def decimals(word: str) -> int:
    """How many digits stand behind the point."""
    return len(word.partition(".")[2])


def figure_of(word: str) -> float:
    """A printed number; not a number for another word."""
    number = number_of(word)
    return math.nan if number is None else number
