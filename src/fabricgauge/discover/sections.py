"""The probe's output, cut into its sections; pure."""

import msgspec

from fabricgauge.discover.printouts.lines import lines as cut_in_lines
from fabricgauge.model.errors import ProbeError

_ESCAPED = {code: f"\\u{code:04x}" for code in range(32) if chr(code) not in "\t\n\r"}

FIRST = "fabricgauge-probe 1"
LAST = "end"

#: A rate, size or index above this is not a fact about a machine (10^15 bit/s is 1 Pb/s).
LARGEST_NUMBER = 10**15


class Section(msgspec.Struct, frozen=True):
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


def sections(node: str, raw: str) -> dict[str, Section]:
    """Cut ``raw`` at its ``== NAME`` lines; what a login shell printed before is left out.

    Raises:
        ProbeError: no beginning, no end, or a section that comes twice.
    """
    lines = cut_in_lines(raw)
    first, last = f"== {FIRST}", f"== {LAST}"
    if first not in lines:
        raise _broken(node, 1, "its first line is missing; does the node have a POSIX sh?")
    start = lines.index(first) + 1
    if last not in lines[start:]:
        raise _broken(node, len(lines), "it was cut off: no end")
    end = lines.index(last, start)
    heads = [number for number in range(start, end) if lines[number].startswith("== ")]
    found: dict[str, Section] = {}
    for head, following in zip(heads, [*heads, end][1:], strict=True):
        name = lines[head].removeprefix("== ")
        if name in found:
            raise _broken(node, head + 1, f"section {name!r:.60} comes twice")
        found[name] = Section(node, name, head + 2, tuple(lines[head + 1 : following]))
    return found


def _broken(node: str, line: int, what: str) -> ProbeError:
    return ProbeError(
        f"{node}: line {line} of what the node said of itself: {what}; "
        "see the raw output kept with the run"
    )
