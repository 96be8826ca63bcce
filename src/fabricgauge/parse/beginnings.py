"""Which suite's output begins in a line: all dialects asked at once.

To search all their expressions along each line would take most of the time of reading a
large log. Those that must stand at the line's start are asked there alone, the others only
about lines that contain what each of them must contain.
"""

import re
from collections.abc import Iterator

from fabricgauge.parse.dialects import DIALECTS


def dialect_begun(text: str, at_start: bool = False) -> int:
    """The place in ``DIALECTS`` of the suite whose output begins in a line, -1 if none does."""
    match = _AT_START.match(text)
    if match is not None:
        return _PLACES[str(match.lastgroup)]
    for literal, expressions in _BY_LITERAL:
        if literal in text:
            for place, expression in expressions:
                if expression.match(text) if at_start else expression.search(text):
                    return place
    return -1


def alternatives(expression: str) -> Iterator[str]:
    """The parts of a regular expression between the bars that stand in no group."""
    start = depth = 0
    for token in _TOKEN.finditer(expression):
        depth += _DEPTH.get(token[0], 0)
        if token[0] == "|" and depth == 0:
            yield expression[start : token.start()]
            start = token.end()
    yield expression[start:]


def required(expression: str) -> str:
    """The longest text that each match of one alternative contains; empty if none is known."""
    if re.match(r"\(\?[a-zA-Z]", expression):
        return ""
    runs, depth = [""], 0
    for token in _TOKEN.finditer(expression):
        depth += _DEPTH.get(token[0], 0)
        if token[0][0] in "*?{":
            runs[-1] = runs[-1][:-1]
        if depth == 0 and (literal := _literal(token[0])):
            runs[-1] += literal
        else:
            runs.append("")
    return max(runs, key=len)


def _literal(token: str) -> str:
    if token[0] == "\\":
        return "" if token[1].isalnum() else token[1]
    return "" if token[0] in "[(|).^$*+?{" else token


#: Escapes, sets, counts, and single characters; a bracket in a set opens nothing.
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{[\d,]+\}|.", re.DOTALL)
_DEPTH = {"(": 1, ")": -1}
_PARTS = [
    (f"d{place}_{i}", place, part)
    for place, dialect in enumerate(DIALECTS)
    for i, part in enumerate(alternatives(dialect.begins))
]
_PLACES = {name: place for name, place, _ in _PARTS}
_AT_START = re.compile(
    "|".join(f"(?P<{name}>{part})" for name, _, part in _PARTS if part.startswith("^")) or r"(?!)"
)


def _by_literal() -> Iterator[tuple[str, list[tuple[int, "re.Pattern[str]"]]]]:
    parts = [(required(part), place, part) for _, place, part in _PARTS if part[:1] != "^"]
    for literal in dict.fromkeys(literal for literal, _, _ in parts):
        yield literal, [(place, re.compile(part)) for own, place, part in parts if own == literal]


_BY_LITERAL = tuple(_by_literal())
