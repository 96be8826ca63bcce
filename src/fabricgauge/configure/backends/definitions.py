"""What lsdef prints, as values; pure. lsdef(1) of xCAT 2.16."""

import re
from functools import lru_cache

_OBJECT = re.compile(r"Object name: (\S+)")
_ATTRIBUTE = re.compile(r"    ([^=\s]+)=(.*)")


@lru_cache(maxsize=8)  # the same printout is asked for each of its nodes
def definitions(text: str) -> dict[str, dict[str, str]]:
    """Attributes by object; a line of any other form is left out."""
    found: dict[str, dict[str, str]] = {}
    current: dict[str, str] = {}
    for line in text.split("\n"):
        if match := _OBJECT.match(line):
            current = found.setdefault(match[1], {})
        elif match := _ATTRIBUTE.fullmatch(line.rstrip("\r")):
            current[match[1]] = match[2]
    return found
