"""Share the parts of topology readers: numbered lines, bounds, errors, groups."""

import re
from collections.abc import Callable, Container, Iterable, Iterator

from fabricgauge.model.errors import UsageError
from fabricgauge.model.fabric import Group

#: An ibnetdiscover output of 10,000 hosts with four adapters each has some 15 MB.
LONGEST_CHARACTERS = 256_000_000
MOST_LINES = 2_000_000
MOST_NODES = 200_000
#: Longer than the names of switches and groups.
LONGEST_NAME = 200

Expand = Callable[[str], tuple[str, ...]]
Numbered = tuple[int, str]

_PIECE = re.compile(r"\[[^\[\]]*\]|,|[\[\]]|[^,\[\]]+")
#: A plain host name: RFC 1123's signs, and the underscore that sites use.
_ONE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,252}")
_NUMBER_RANGE = re.compile(r"\s*(\d{1,12})(?:-(\d{1,12}))?(?:/\d{1,12})?\s*")


class TopologyFile:
    """One file: its name for every error, and the expansion of its node sets."""

    def __init__(self, source: str, expand: Expand) -> None:
        self.source = source
        self._expand = expand
        self._nodes_left = MOST_NODES

    def error(self, line: int | None, problem: str) -> UsageError:
        """Return an error to raise, with the file, the line if there is one, and the problem."""
        place = f"{self.source} line {line}:" if line else f"{self.source}"
        return UsageError(f"{place} {problem}")

    def names(self, line: int, text: str) -> tuple[str, ...]:
        """Return the names of a node set, each once, in their written order.

        Their number is checked before they are made, and each part is expanded by itself:
        ClusterShell folds a set of many names with two numbers each in cubic time.

        Raises:
            UsageError: bad syntax, or more than ``MOST_NODES`` in the whole file.
        """
        names_in_order: dict[str, None] = {}
        for part, at_most in self._parts(line, text):
            self._nodes_left -= at_most
            if self._nodes_left < 0:
                raise self.error(line, f"more than {MOST_NODES} nodes; is {part!r:.80} meant?")
            try:
                names = (part,) if _ONE_NAME.fullmatch(part) else self._expand(part)
            except UsageError as error:
                raise self.error(line, str(error)) from error
            names_in_order.update(dict.fromkeys(names))
        return tuple(names_in_order)

    def name(self, line: int, text: str, owner: str) -> str:
        """Return a group's name unchanged if it is printable and not too long."""
        if not text or len(text) > LONGEST_NAME or not text.isprintable():
            raise self.error(
                line, f"{text!r:.80} cannot be {owner}'s name; expected 1 to {LONGEST_NAME} letters"
            )
        return text

    def _parts(self, line: int, text: str) -> Iterator[tuple[str, int]]:
        """Yield each part between commas, with the most names that it may have."""
        part, count = "", 1
        for piece in (*_PIECE.findall(text), ","):
            if piece == ",":
                if not part.strip():
                    raise self.error(line, f"{text!r:.80} has a comma too many; expected c1,c2")
                yield part.strip(), count
                part, count = "", 1
                continue
            if piece in "[]":
                raise self.error(line, f"{text!r:.80} has a bracket too many; expected c[1-4]")
            part += piece
            names = 0
            for span in piece[1:-1].split(",") if piece.startswith("[") else ():
                match = _NUMBER_RANGE.fullmatch(span)
                if match is None:
                    problem = f"{span!r:.80} is no range of numbers; expected 1-4 or 7"
                    raise self.error(line, problem)
                names += max(1, int(match[2] or match[1]) - int(match[1]) + 1)
            count *= names or 1


def logical(numbered: Iterable[Numbered]) -> Iterator[Numbered]:
    """Yield lines without comments and blanks; a backslash at the end joins the next line."""
    first, joined = 0, ""
    for number, line in numbered:
        text = line.split("#", 1)[0].rstrip()
        first = first or number
        joined += text.removesuffix("\\")
        if text.endswith("\\"):
            continue
        if joined.strip():
            yield first, joined.strip()
        first, joined = 0, ""
    if joined.strip():
        yield first, joined.strip()


class Groups:
    """The groups read so far; a node may be in one of them only, and names are unique."""

    def __init__(self, lines: TopologyFile) -> None:
        self._lines = lines
        self._line_of_node: dict[str, int] = {}
        self._line_of_group: dict[str, int] = {}
        self._nodes: dict[str, tuple[str, ...]] = {}

    def add(self, line: int, name: str, nodes: tuple[str, ...]) -> None:
        """Add a group; raise UsageError if its name or one of its nodes is repeated."""
        for kind, lines_by_name, item in (
            ("group", self._line_of_group, name),
            *(("node", self._line_of_node, node) for node in nodes),
        ):
            before = lines_by_name.setdefault(item, line)
            if before != line or (kind == "group" and name in self._nodes):
                raise self._lines.error(
                    line, f"{kind} {item!r:.80} is on line {before} already; expected each once"
                )
        self._nodes[name] = nodes

    def line_of(self, name: str) -> int | None:
        return self._line_of_group.get(name)

    def with_nodes(
        self, parent: Callable[[str], str] = lambda name: "", switches: Container[str] = ()
    ) -> tuple[Group, ...]:
        return tuple(
            Group(name, nodes, parent=parent(name), is_switch=name in switches)
            for name, nodes in self._nodes.items()
            if nodes
        )
