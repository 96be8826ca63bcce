"""Make text from outside safe to show: control characters are spelled out."""

import re
import unicodedata

# Control, format (bidirectional overrides, zero-width joiners), surrogate, line and
# paragraph separators: none of them may act on the page that shows a hostname.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})

#: A command within prose; after a split, every second part is a command.
COMMAND = re.compile(r"`([^`]+)`")


def visible(text: str) -> str:
    """Return the text with every character that has no glyph written as its escape.

    The result is one line and can be encoded in UTF-8.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escaped(c) if is_hidden(c) else c for c in text)


def is_hidden(character: str) -> bool:
    """Check whether a character has no glyph, so that a terminal or a page may obey it."""
    return unicodedata.category(character) in _HIDDEN


def _escaped(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def list_places(run: str, html_file: str) -> tuple[str, ...]:
    """Return the last lines on a terminal: the run's directory, and its page if it has one."""
    page = (f"HTML report  {html_file}",) if html_file else ()
    return (f"Run          {run}", *page)
