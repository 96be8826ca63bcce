"""Lines and fields of a file as the C programs that read it see them, not as Unicode would."""

import re
from collections.abc import Iterable

_WHITE = re.compile(r"[ \t\r\v\f]+")


def split(text: str) -> list[str]:
    """The lines, without their newlines; the last need not have one."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def joined(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def fields(line: str) -> list[str]:
    """What white space of the C locale parts (isspace(3)), a carriage return as well; a no-break
    space is a part of its word.
    """
    return [word for word in _WHITE.split(line) if word]
