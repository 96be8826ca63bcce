"""What /etc/exports says: directories, clients and options; pure.

Format: exports(5) of nfs-utils 2.6: a line ends at a newline that no backslash precedes, "#" begins
a comment, a path may stand in double quotes or have octal escapes, "-options" are defaults for
the clients behind them, and options stand in parentheses right behind a client.
"""

import re
from collections.abc import Iterator

import msgspec

from fabricgauge.configure.escapes import plain

_WORD = re.compile(r'"[^"]*"?|[^ \t\r"]+')


class Exported(msgspec.Struct, frozen=True):
    """A directory for one client; ``client`` is empty where options stand alone (for everybody)."""

    path: str
    client: str
    options: tuple[str, ...]


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
        spoken = _without_comment(line).strip(" \t\r")
        if spoken:
            yield spoken


def _without_comment(line: str) -> str:
    quoted = False
    for at, sign in enumerate(line):
        quoted ^= sign == '"'
        if sign == "#" and not quoted:
            return line[:at]
    return line


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
