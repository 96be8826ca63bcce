"""Fields of fstab and exports, in which blanks would end the field; pure."""

import re

#: mntent(3) and exports(5) both read a backslash and three octal digits as one octet.
_ESCAPE = re.compile(r"\\([0-3][0-7]{2})")
_SIGNS = frozenset(' \t\n\r\v\f\\#"')


def octal(text: str) -> str:
    """The text with every sign that could end a field as an octal escape."""
    return "".join(f"\\{ord(sign):03o}" if sign in _SIGNS else sign for sign in text)


def plain(text: str) -> str:
    """What an escaped field means."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 8)), text)
