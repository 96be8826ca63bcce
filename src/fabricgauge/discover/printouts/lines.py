"""A printout's lines, and what is said when they are not understood."""

from collections.abc import Iterator

#: A printout that is not the tool's at all would else be quoted line by line.
MOST_TROUBLES = 20
_QUOTED = 80


def lines(text: str) -> list[str]:
    """Cut at line feeds only, so that numbers are those of an editor; no carriage returns."""
    found = text.split("\n")
    return [line.rstrip("\r") for line in found] if "\r" in text else found


def pair(line: str) -> tuple[str, str]:
    """``KEY: VALUE`` without the blanks around both; an empty key where there is no colon."""
    key, middle, value = line.partition(":")
    return (key.strip(), value.strip()) if middle else ("", line.strip())


def trouble(tool: str, number: int, what: str, line: str) -> str:
    """A sentence on line ``number`` of what a tool printed."""
    return f"{tool}: line {number}: {what}: {line.strip()[:_QUOTED]!r}"


def unrecognised(tool: str, text: str, known: object) -> tuple[str, ...]:
    """One trouble where nothing is ``known`` though the tool printed something."""
    if known:
        return ()
    first = next(_filled(text), None)
    return () if first is None else (trouble(tool, first[0], "not what it prints", first[1]),)


def broken_off(tool: str, whole: bool) -> tuple[str, ...]:
    """One trouble where the JSON of a tool has no end."""
    return () if whole else (f"{tool}: its JSON breaks off; what stood before that was read",)


def _filled(text: str) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in enumerate(lines(text), 1) if line.strip())
