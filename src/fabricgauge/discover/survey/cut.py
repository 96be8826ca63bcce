"""The answer to survey.sh, cut into its sections, however much of it arrived; pure."""

import msgspec

from fabricgauge.discover.printouts.lines import lines as cut_in_lines

FIRST = "== fabricgauge-survey 1"
LAST = "== survey end"

#: What came on standard error stands behind the answer (probe.py).
STDERR = "== standard error"

#: A hostile line could claim any number of sections.
MOST_SECTIONS = 5000


class Cut(msgspec.Struct, frozen=True):
    """Sections by name; ``troubles`` say what is missing or comes twice.

    ``whole`` is whether the answer has its end.
    """

    sections: dict[str, str]
    troubles: tuple[str, ...]
    whole: bool


def cut(raw: str) -> Cut:
    """The complete sections behind the quick answer; the one that was cut off is left out."""
    lines = cut_in_lines(raw)
    if FIRST not in lines:
        return Cut({}, ("nothing but the quick answer arrived",), whole=False)
    start = lines.index(FIRST) + 1
    complete = LAST in lines[start:]
    end = lines.index(LAST, start) if complete else _before_stderr(lines, start)
    heads = [number for number in range(start, end) if lines[number].startswith("== ")]
    bodies = list(zip(heads, [*heads, end][1:], strict=True))
    found: dict[str, str] = {}
    troubles: list[str] = []
    for head, following in (bodies if complete else bodies[:-1])[:MOST_SECTIONS]:
        name = lines[head].removeprefix("== ")
        if name in found:
            troubles.append(f"section {name!r:.80} comes twice; its first counts")
            continue
        found[name] = "\n".join(lines[head + 1 : following])
    if not complete:
        last = f" in section {lines[heads[-1]][3:]!r:.80}" if heads else ""
        troubles.append(f"the answer was cut off{last}; what stands before it is used")
    return Cut(found, tuple(troubles), complete)


def _before_stderr(lines: list[str], start: int) -> int:
    return lines.index(STDERR, start) if STDERR in lines[start:] else len(lines)


def pairs(text: str, separator: str = ": ") -> dict[str, str]:
    """``KEY separator VALUE`` lines; the first of two equal keys counts, other lines do not."""
    found: dict[str, str] = {}
    for line in text.split("\n"):
        key, middle, value = line.partition(separator)
        if middle:
            found.setdefault(key.strip(), value.strip())
    return found


def every(text: str, key: str) -> tuple[str, ...]:
    """The values of all ``KEY: VALUE`` lines with this key, each once, in order."""
    start = f"{key}: "
    values = (line[len(start) :] for line in text.split("\n") if line.startswith(start))
    return tuple(dict.fromkeys(value for value in values if value))
