"""JSON whose writer was ended in the middle: what stands there up to the last whole object."""

import json
import re
from typing import Any

import msgspec

#: Strings, and the brackets outside of them.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]')
_CLOSES = {"{": "}", "[": "]"}


class Piece(msgspec.Struct, frozen=True):
    """One document: ``offset`` is where it begins, ``rest`` where what is not read begins.

    ``rest`` is None if the document is whole.
    """

    value: Any
    offset: int
    rest: int | None


def piece(text: str, offset: int, end: int) -> Piece | None:
    """The document in that part of the text, or as much of it as there is.

    None if not even one whole object is there, or if it is nested too deeply.
    """
    part = text[offset:end]
    try:
        return Piece(json.loads(part), offset, None)
    except json.JSONDecodeError as error:
        return _mended(part[: error.pos], offset)
    except (ValueError, RecursionError):
        return None


def _mended(part: str, offset: int) -> Piece | None:
    length, closing = _last_whole(part)
    try:
        return Piece(json.loads(part[:length] + closing), offset, offset + len(part))
    except (ValueError, RecursionError):
        return None


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
