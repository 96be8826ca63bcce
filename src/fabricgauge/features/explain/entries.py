"""Read names and their explanations out of the documentation's pages; pure."""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Literal

import msgspec

from fabricgauge.model.errors import UsageError

Kind = Literal["rule", "check", "threshold", "word"]

#: Share of equal letters from which a name is offered for a mistyped one.
_SIMILAR = 0.6
#: Most names that match a part of a name, and most that are offered.
_MOST_MATCHES, _MOST_OFFERED = 4, 3

_SECTION = re.compile(r"^## (\S+)\n\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_ROW = re.compile(r"^\| (.+?) \| (.+) \|$", re.MULTILINE)
_THRESHOLD = re.compile(r"^\| `([\w.-]+)` \| ([^|]+) \| ([^|]+) \| \[([\w-]+)\]", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


class Entry(msgspec.Struct, frozen=True):
    """A name, and its explanation as Markdown without links; ``also`` are further names of it."""

    kind: Kind
    name: str
    text: str
    also: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.also)


def read_entries(pages: Mapping[str, str]) -> Iterator[Entry]:
    """Yield the entries of the pages ``rules``, ``checks``, ``configuration`` and ``glossary``."""
    for name, text in _SECTION.findall(pages["rules"]):
        yield Entry("rule", name, _plain(text))
    for name, text in _SECTION.findall(pages["checks"]):
        yield Entry("check", name, _plain(text))
    for name, value, unit, rule in _THRESHOLD.findall(pages["configuration"]):
        sentence = f"Threshold of the rule {rule}. Built-in value: {value} {unit}."
        yield Entry("threshold", name, f"{sentence} A site sets it in `[thresholds]`.")
    for names, text in _ROW.findall(pages["glossary"]):
        if names != "word" and not names.startswith("---"):
            first, *others = names.replace("`", "").split(", ")
            yield Entry("word", first, _plain(text), (*others, *([names] if others else [])))


def _plain(markdown: str) -> str:
    """Return Markdown without links; a link to a proof goes with its text."""
    return _LINK.sub(r"\1", re.sub(r"\[Proof\]\([^)]*\)", "", markdown)).strip()


def find_entries(entries: tuple[Entry, ...], name: str) -> tuple[Entry, ...]:
    """Return all entries with that name in any case, else those whose name contains it.

    Raises:
        UsageError: there is none; the message has similar names.
    """
    wanted = " ".join(name.split()).casefold()
    exact = tuple(entry for entry in entries if wanted in map(str.casefold, entry.names))
    if exact:
        return exact
    parts = tuple(
        entry for entry in entries if any(wanted in known.casefold() for known in entry.names)
    )
    if 0 < len(parts) <= _MOST_MATCHES:
        return parts
    known = {name.casefold(): name for entry in entries for name in entry.names}
    similar = get_close_matches(wanted, known, _MOST_OFFERED, _SIMILAR)
    offered = [entry.name for entry in parts[:_MOST_OFFERED]] or [known[key] for key in similar]
    hint = f"did you mean {' or '.join(map(repr, offered))}? " if offered else ""
    raise UsageError(f"nothing is called {name!r}; {hint}'fabricgauge explain' lists all names")
