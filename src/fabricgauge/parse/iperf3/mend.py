"""JSON whose writer was ended in the middle: what stands there up to the last whole object."""

import json
import re
from typing import Any

import msgspec

#: Strings, and the brackets outside of them.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]')
_CLOSES = {"{": "}", "[": "]"}


class Piece(msgspec.Struct, frozen=True):
    """One document from ``offset`` on to ``end``; behind ``rest`` nothing of it was read."""

    value: Any
    offset: int
    rest: int
    end: int
    is_broken: bool = False


def piece(text: str, offset: int, end: int) -> Piece | None:
    """The document in that part of the text, or as much of it as there is.

    None if not even one whole object is there, or if it is nested too deeply.
    """
    part = text[offset:end]
    try:
        return Piece(json.loads(part), offset, end, end)
    except json.JSONDecodeError as error:
        rest = error.pos
    except (ValueError, RecursionError):
        return None
    length, closing = _last_whole(part[:rest])
    try:
        value = json.loads(part[:length] + closing)
    except (ValueError, RecursionError):
        return None
    return Piece(value, offset, offset + rest, end, is_broken=True)


def _last_whole(part: str) -> tuple[int, str]:
    """How far the last closed bracket reaches, and what closes those still open there."""
    stack: list[str] = []
    length, still_open = 0, ""
    for match in _TOKEN.finditer(part):
        token = match[0]
        if token in _CLOSES:
            stack.append(_CLOSES[token])
        elif token in ("}", "]") and stack:
            stack.pop()
            length, still_open = match.end(), "".join(reversed(stack))
    return length, still_open
