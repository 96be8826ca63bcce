"""What nodes answered, cut into sections or by node; pure.

The quick probe's answer is whole or an error; of a survey's, what arrived is used.
"""

import ipaddress
import re
from collections.abc import Collection

import msgspec

from fabricgauge.discover.printouts.lines import LARGEST_NUMBER
from fabricgauge.discover.printouts.lines import lines as cut_in_lines
from fabricgauge.model.errors import ProbeError

_ESCAPED = {code: f"\\u{code:04x}" for code in range(32) if chr(code) not in "\t\n\r"}

PROBE_FIRST = "fabricgauge-probe 1"
PROBE_LAST = "end"


class AnswerSection(msgspec.Struct, frozen=True):
    """The lines under one ``== NAME``; ``first_line`` is the number of the first of them."""

    node: str
    name: str
    first_line: int
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def json(self) -> bytes:
        """The text as JSON: ip and tc print names with control characters as they are.

        Seen with iproute2 6.1; the kernel allows all of them but blanks in an interface's name.
        """
        return self.text.translate(_ESCAPED).encode()

    def error(self, what: str, offset: int = 0) -> ProbeError:
        """The error for the line ``offset`` lines below the section's first."""
        return ProbeError(
            f"{self.node}: line {self.first_line + offset} of what the node said of itself, "
            f'section "{self.name}": {what}; see the raw output kept with the run'
        )

    def pairs(self, separator: str) -> dict[str, str]:
        """``KEY separator VALUE`` lines; the first of two equal keys counts."""
        found: dict[str, str] = {}
        for offset, line in enumerate(self.lines):
            key, middle, value = line.partition(separator)
            if not middle:
                raise self.error(f'expected "KEY{separator}VALUE", found {line!r:.80}', offset)
            found.setdefault(key.strip(), value.strip())
        return found

    def number(self, text: str, what: str, *, least: int = 0) -> int:
        """A whole decimal number between ``least`` and LARGEST_NUMBER."""
        sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text)
        plain = digits.isascii() and digits.isdigit() and len(digits) <= 16
        value = sign * int(digits) if plain else LARGEST_NUMBER + 1
        if not least <= value <= LARGEST_NUMBER:
            raise self.error(f"{what} is {text!r:.60}, expected a whole number from {least} on")
        return value


def sections(node: str, raw: str) -> dict[str, AnswerSection]:
    """Cut ``raw`` at its ``== NAME`` lines; what a login shell printed before is left out.

    Raises:
        ProbeError: no beginning, no end, or a section that comes twice.
    """
    lines, start, end = framed(raw, f"== {PROBE_FIRST}", f"== {PROBE_LAST}")
    if not start:
        raise _broken(node, 1, "its first line is missing; does the node have a POSIX sh?")
    if not end:
        raise _broken(node, len(lines), "it was cut off: no end")
    found: dict[str, AnswerSection] = {}
    for head, name, body in headed(lines, start, end):
        if name in found:
            raise _broken(node, head + 1, f"section {name!r:.60} comes twice")
        found[name] = AnswerSection(node, name, head + 2, tuple(body))
    return found


def framed(raw: str, first: str, last: str) -> tuple[list[str], int, int]:
    """All lines of an answer, the place behind its first line, and that of its last; 0 where that
    line is missing. What a login shell printed before is left out.
    """
    lines = cut_in_lines(raw)
    start = lines.index(first) + 1 if first in lines else 0
    end = lines.index(last, start) if start and last in lines[start:] else 0
    return lines, start, end


def headed(lines: list[str], start: int, end: int) -> list[tuple[int, str, list[str]]]:
    """Each ``== NAME`` line between two places: its number from 0, NAME, and the lines below."""
    heads = [number for number in range(start, end) if lines[number].startswith("== ")]
    return [
        (head, lines[head].removeprefix("== "), lines[head + 1 : following])
        for head, following in zip(heads, [*heads, end][1:], strict=True)
    ]


def _broken(node: str, line: int, what: str) -> ProbeError:
    return ProbeError(
        f"{node}: line {line} of what the node said of itself: {what}; "
        "see the raw output kept with the run"
    )


SURVEY_FIRST = "== fabricgauge-survey 1"
SURVEY_LAST = "== survey end"

#: What came on standard error stands behind the answer (probe.py).
STDERR = "== standard error"

#: A hostile line could claim any number of sections.
MOST_SECTIONS = 5000


class CutAnswer(msgspec.Struct, frozen=True):
    """Sections by name; ``troubles`` say what is missing or comes twice.

    ``whole`` is whether the answer has its end.
    """

    sections: dict[str, str]
    troubles: tuple[str, ...]
    whole: bool


def cut(raw: str) -> CutAnswer:
    """The complete sections behind the quick answer; the one that was cut off is left out."""
    lines, start, end = framed(raw, SURVEY_FIRST, SURVEY_LAST)
    if not start:
        return CutAnswer({}, ("nothing but the quick answer arrived",), whole=False)
    complete = end > 0
    last = lines.index(STDERR, start) if STDERR in lines[start:] else len(lines)
    bodies = headed(lines, start, end or last)
    found: dict[str, str] = {}
    troubles: list[str] = []
    for _, name, body in (bodies if complete else bodies[:-1])[:MOST_SECTIONS]:
        if name in found:
            troubles.append(f"section {name!r:.80} comes twice; its first counts")
        found.setdefault(name, "\n".join(body))
    if not complete:
        where = f" in section {bodies[-1][1]!r:.80}" if bodies else ""
        troubles.append(f"the answer was cut off{where}; what stands before it is used")
    return CutAnswer(found, tuple(troubles), complete)


def every(text: str, key: str) -> tuple[str, ...]:
    """The values of all ``KEY: VALUE`` lines with this key, each once, in order."""
    start = f"{key}: "
    values = (line[len(start) :] for line in text.split("\n") if line.startswith(start))
    return tuple(dict.fromkeys(value for value in values if value))


def is_address(word: str) -> bool:
    """Whether it is an IP address."""
    try:
        ipaddress.ip_address(word)
    except ValueError:
        return False
    return True


_LABEL = re.compile(r" {0,8}([A-Za-z0-9][A-Za-z0-9._-]{0,252}):(?: |$)", re.ASCII)

#: The launchers' own words among the lines: ``pdsh@head: c1: ssh exited with exit code 1``.
_LAUNCHERS = re.compile(r"pdsh@[^:\s]{1,253}: |clush: |srun: ")


def by_node(text: str, nodes: Collection[str] = ()) -> dict[str, str]:
    """Each node's own lines without their label, in the order of the first of each.

    Empty where a line has no label: the file is not labelled. Many tools print ``KEY: VALUE``
    themselves, so only the names tell a key from a node: with
    ``nodes``, a label that is none of them is no label.
    """
    found: dict[str, list[str]] = {}
    known = frozenset(nodes)
    for line in text.split("\n"):
        if not line.strip() or _LAUNCHERS.match(line):
            continue
        label = _LABEL.match(line.rstrip("\r"))
        if label is None or (known and label[1] not in known):
            return {}
        found.setdefault(label[1], []).append(line.rstrip("\r")[label.end() :])
    return {node: "\n".join([*lines, ""]) for node, lines in found.items()}
