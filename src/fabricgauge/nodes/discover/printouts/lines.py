"""A printout's lines, blocks, pairs or JSON, and the troubles of text that is not understood."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

_T = TypeVar("_T")

#: A rate, size or index above this is not a fact about a machine (10^15 bit/s is 1 Pb/s).
LARGEST_NUMBER = 10**15

#: Limits the troubles of a printout of another tool, of which every line is one.
MAX_TROUBLES = 20
_MAX_QUOTE = 80


def split_lines(text: str) -> list[str]:
    """Split at line feeds only, so that numbers are those of an editor; drop carriage returns."""
    lines = text.split("\n")
    return [line.rstrip("\r") for line in lines] if "\r" in text else lines


def split_pair(line: str) -> tuple[str, str]:
    """Split ``KEY: VALUE`` and strip both; the key is "" if there is no colon."""
    key, separator, value = line.partition(":")
    return (key.strip(), value.strip()) if separator else ("", line.strip())


def parse_pairs(text: str, separator: str = ": ") -> dict[str, str]:
    """Read ``KEY separator VALUE`` lines; the first of two equal keys counts."""
    values: dict[str, str] = {}
    for line in text.split("\n"):
        key, middle, value = line.partition(separator)
        if middle:
            values.setdefault(key.strip(), value.strip())
    return values


def split_blocks(text: str, parse_head: Callable[[str], _T | None]) -> list[tuple[_T, str]]:
    """Return the head of each block, as ``parse_head`` reads it, with the lines below it."""
    blocks: list[tuple[_T, list[str]]] = []
    for line in split_lines(text):
        if head := parse_head(line):
            blocks.append((head, []))
        elif blocks:
            blocks[-1][1].append(line)
    return [(head, "\n".join(body)) for head, body in blocks]


def describe_trouble(tool: str, number: int, problem: str, line: str) -> str:
    """Return a sentence on line ``number`` of a tool's printout."""
    return f"{tool}: line {number}: {problem}: {line.strip()[:_MAX_QUOTE]!r}"


def report_unrecognised(tool: str, text: str, recognised: object) -> tuple[str, ...]:
    """Return one trouble if nothing was ``recognised`` although the tool printed something."""
    if recognised:
        return ()
    filled = ((number, line) for number, line in enumerate(split_lines(text), 1) if line.strip())
    return tuple(
        describe_trouble(tool, number, f"not a line of {tool}", line)
        for number, line in islice(filled, 1)
    )


#: Old lshw prints neither brackets nor, in places, commas; a list that was cut off loses its end.
_BETWEEN = re.compile(r"[\s,\[\]]*")
_decode = json.JSONDecoder().raw_decode


def decode_objects(text: str) -> tuple[list[dict[str, object]], bool]:
    """Return the objects up to the first other text, and whether that is the text's end."""
    objects: list[dict[str, object]] = []
    position = 0
    while (position := _skip_separators(text, position)) < len(text):
        try:
            value, position = _decode(text, position)
        except (ValueError, RecursionError):
            return objects, False
        if isinstance(value, dict):
            objects.append(value)
    return objects, True


def _skip_separators(text: str, position: int) -> int:
    separators = _BETWEEN.match(text, position)
    return separators.end() if separators else position


def parse_entries(
    tool: str,
    text: str,
    parse_object: Callable[[dict[str, object]], Iterable[_T]],
    parse_text: Callable[[str], Iterable[_T]],
) -> tuple[list[_T], tuple[str, ...]]:
    """Return a tool's entries from JSON or text, and a trouble if it breaks off or has none."""
    if text.lstrip()[:1] not in ("[", "{"):
        entries = list(parse_text(text))
        return entries, report_unrecognised(tool, text, entries)
    objects, is_complete = decode_objects(text)
    troubles = () if is_complete else (f"{tool}: its JSON breaks off; the part before was read",)
    return [entry for decoded in objects for entry in parse_object(decoded)], troubles


def to_word(value: object) -> str:
    """Return a string, whole number or truth as text, "" for every other value.

    Half a surrogate pair, which JSON can escape but UTF-8 cannot hold, becomes ``?``.
    """
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if isinstance(value, int) and abs(value) < 1 << 63 else ""


def list_words(value: object) -> Iterator[str]:
    return filter(None, map(to_word, value if isinstance(value, list) else [value]))


def to_table(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        return {}
    return {to_word(key): to_word(entry) for key, entry in value.items() if to_word(entry)}
