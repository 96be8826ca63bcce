"""Nodes' answers, split into sections or by node; pure.

The quick probe's answer is complete or an error; of a survey, the part that arrived is used.
"""

import ipaddress
import re
from collections.abc import Collection

import msgspec

from fabricgauge.model.errors import ProbeError
from fabricgauge.nodes.discover.printouts.parsing import LARGEST_NUMBER, split_lines

_ESCAPED = {code: f"\\u{code:04x}" for code in range(32) if chr(code) not in "\t\n\r"}


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
        """The text as JSON: ip and tc print control characters in names unescaped.

        iproute2 6.1 does so; the kernel allows all of them but blanks in an interface's name.
        """
        return self.text.translate(_ESCAPED).encode()

    def make_error(self, problem: str, offset: int = 0) -> ProbeError:
        """Return the error for the line ``offset`` lines below the section's first."""
        return ProbeError(
            f"{self.node}: line {self.first_line + offset} of the node's answer, "
            f'section "{self.name}": {problem}; see the raw output kept with the run'
        )

    def parse_pairs(self, separator: str) -> dict[str, str]:
        """Read ``KEY separator VALUE`` lines; the first of two equal keys counts."""
        values: dict[str, str] = {}
        for offset, line in enumerate(self.lines):
            key, middle, value = line.partition(separator)
            if not middle:
                problem = f'expected "KEY{separator}VALUE", found {line!r:.80}'
                raise self.make_error(problem, offset)
            values.setdefault(key.strip(), value.strip())
        return values

    def parse_number(self, text: str, label: str, *, minimum: int = 0) -> int:
        """Read a whole decimal number between ``minimum`` and LARGEST_NUMBER."""
        sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text)
        is_plain = digits.isascii() and digits.isdigit() and len(digits) <= 16
        value = sign * int(digits) if is_plain else LARGEST_NUMBER + 1
        if not minimum <= value <= LARGEST_NUMBER:
            raise self.make_error(
                f"{label} is {text!r:.60}, expected a whole number from {minimum} on"
            )
        return value


def split_answer(node: str, raw: str) -> dict[str, AnswerSection]:
    """Split ``raw`` at its ``== NAME`` lines, without the lines a login shell printed before.

    Raises:
        ProbeError: no beginning, no end, or a section that comes twice.
    """
    lines, start, end = find_frame(raw, "== fabricgauge-probe 1", "== end")
    if not start:
        raise _make_error(node, 1, "its first line is missing; does the node have a POSIX sh?")
    if not end:
        raise _make_error(node, len(lines), "it was cut off: no end")
    sections: dict[str, AnswerSection] = {}
    for head, name, body in list_sections(lines, start, end):
        if name in sections:
            raise _make_error(node, head + 1, f"section {name!r:.60} comes twice")
        sections[name] = AnswerSection(node, name, head + 2, tuple(body))
    return sections


def find_frame(raw: str, first: str, last: str) -> tuple[list[str], int, int]:
    """Return all lines, the index behind the line ``first``, and the index of the line ``last``.

    An index is 0 if its line is missing. Lines before ``first`` are a login shell's.
    """
    lines = split_lines(raw)
    start = lines.index(first) + 1 if first in lines else 0
    end = lines.index(last, start) if start and last in lines[start:] else 0
    return lines, start, end


def list_sections(lines: list[str], start: int, end: int) -> list[tuple[int, str, list[str]]]:
    """Return each ``== NAME`` line in a range: its index, NAME, and the lines below."""
    heads = [index for index in range(start, end) if lines[index].startswith("== ")]
    return [
        (head, lines[head].removeprefix("== "), lines[head + 1 : next_head])
        for head, next_head in zip(heads, [*heads, end][1:], strict=True)
    ]


def _make_error(node: str, line: int, problem: str) -> ProbeError:
    return ProbeError(
        f"{node}: line {line} of the node's answer: {problem}; see the raw output kept with the run"
    )


#: Standard error follows the answer (probe.py).
STDERR = "== standard error"

#: A hostile answer could have any number of sections.
MAX_SECTIONS = 5000


class SurveyAnswer(msgspec.Struct, frozen=True):
    """Sections by name; ``troubles`` name those that are missing or come twice.

    ``is_complete``: the answer has its end.
    """

    sections: dict[str, str]
    troubles: tuple[str, ...]
    is_complete: bool


def split_survey(raw: str) -> SurveyAnswer:
    """Return the complete sections behind the quick answer, without one that was cut off."""
    lines, start, end = find_frame(raw, "== fabricgauge-survey 1", "== survey end")
    if not start:
        return SurveyAnswer({}, ("only the quick answer arrived",), is_complete=False)
    is_complete = end > 0
    last = lines.index(STDERR, start) if STDERR in lines[start:] else len(lines)
    bodies = list_sections(lines, start, end or last)
    sections: dict[str, str] = {}
    troubles: list[str] = []
    for _, name, body in (bodies if is_complete else bodies[:-1])[:MAX_SECTIONS]:
        if name in sections:
            troubles.append(f"section {name!r:.80} comes twice; its first counts")
        sections.setdefault(name, "\n".join(body))
    if not is_complete:
        section = f" in section {bodies[-1][1]!r:.80}" if bodies else ""
        troubles.append(f"the answer was cut off{section}; the part before it is used")
    return SurveyAnswer(sections, tuple(troubles), is_complete)


def list_values(text: str, key: str) -> tuple[str, ...]:
    """Return the values of all ``KEY: VALUE`` lines with this key, each once, in order."""
    prefix = f"{key}: "
    values = (line[len(prefix) :] for line in text.split("\n") if line.startswith(prefix))
    return tuple(dict.fromkeys(value for value in values if value))


def is_address(word: str) -> bool:
    try:
        ipaddress.ip_address(word)
    except ValueError:
        return False
    return True


_LABEL = re.compile(r" {0,8}([A-Za-z0-9][A-Za-z0-9._-]{0,252}):(?: |$)", re.ASCII)

#: The launchers' own messages among the lines: ``pdsh@head: c1: ssh exited with exit code 1``.
_LAUNCHERS = re.compile(r"pdsh@[^:\s]{1,253}: |clush: |srun: ")


def split_by_node(text: str, nodes: Collection[str] = ()) -> dict[str, str]:
    """Return each node's lines without their label, in the order of the nodes' first lines.

    Empty if a line has no label: the file is not labelled. Many tools print ``KEY: VALUE``
    themselves, so only the names distinguish a key from a node: with ``nodes``, a label must be
    one of them.
    """
    lines_by_node: dict[str, list[str]] = {}
    node_names = frozenset(nodes)
    for line in text.split("\n"):
        if not line.strip() or _LAUNCHERS.match(line):
            continue
        label = _LABEL.match(line.rstrip("\r"))
        if label is None or (node_names and label[1] not in node_names):
            return {}
        lines_by_node.setdefault(label[1], []).append(line.rstrip("\r")[label.end() :])
    return {node: "\n".join([*lines, ""]) for node, lines in lines_by_node.items()}
