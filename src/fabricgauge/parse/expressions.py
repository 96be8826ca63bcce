"""What a regular expression demands of a text, as far as its own text tells."""

import re
from collections.abc import Iterator

#: Escapes, sets, counts, and single characters; a bracket in a set opens nothing.
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{[\d,]+\}|.", re.DOTALL)
_DEPTH = {"(": 1, ")": -1}
#: Spaces at the start that may be there, in any number.
_SPACES = re.compile(r"\^?(?:(?:\\s| )(?:[*?]|\{0,\d+\}))*")
_DIGITS = "0123456789"


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


def starts(expression: str) -> str:
    """The characters, of which one must be a match's first that is no space; empty: not known.

    Asked of an alternative that begins with ``^``.
    """
    rest = expression[_SPACES.match(expression).end() :]  # type: ignore[union-attr]
    if rest.startswith("(?:"):
        group, rest = _group(rest)
        firsts = [starts(each) for each in alternatives(group)]
        if rest.startswith("?"):
            firsts.append(starts(rest[1:]))
        return "" if rest[:1] in ("*", "{") or not all(firsts) else "".join(firsts)
    first = _TOKEN.match(rest)
    if first is None or rest[first.end() : first.end() + 1] in ("*", "?"):
        return ""
    if rest[first.end() : first.end() + 2] in ("{0", "{,"):
        return ""
    return _DIGITS if first[0] == r"\d" else _literal(first[0]).strip()


def _group(expression: str) -> tuple[str, str]:
    """What stands in the group at the start, and what behind it."""
    depth = 0
    for token in _TOKEN.finditer(expression):
        depth += _DEPTH.get(token[0], 0)
        if depth == 0:
            return expression[3 : token.start()], expression[token.end() :]
    return "", ""


def _literal(token: str) -> str:
    if token[0] == "\\":
        return "" if token[1].isalnum() else token[1]
    return "" if token[0] in "[(|).^$*+?{" else token
