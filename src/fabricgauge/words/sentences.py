"""Parts of sentences: lists, counts, directions, commands."""

import shlex
from collections.abc import Iterable, Sequence
from itertools import pairwise

from fabricgauge.model.run import Run

#: Of more nodes than these a sentence has the first two, the last, and their number.
MOST_NODES = 8


def counted(count: int, one: str, many: str = "") -> str:
    """``1 dip``, ``3 dips``, ``2,000 classes``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def listed(words: Sequence[str], at_most: int = 6) -> str:
    """``a, b and c``; what exceeds ``at_most`` is counted."""
    shown = list(words[:at_most])
    if len(words) > at_most:
        shown.append(f"{len(words) - at_most:,} more")
    if len(shown) < 2:
        return "".join(shown)
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def between(nodes: Sequence[str]) -> str:
    """The nodes of a launch; of many the first two, the last, and how many they are."""
    if len(nodes) <= MOST_NODES:
        return " and ".join(nodes)
    return f"{nodes[0]}, {nodes[1]} … {nodes[-1]} ({len(nodes):,} ranks)"


def direction(origin: str, target: str, both: bool = False) -> str:
    """``c1 → c2``, or ``c1 ↔ c2`` where both send at once."""
    return f"{origin} {'↔' if both else '→'} {target}"


def command(argv: Iterable[str]) -> str:
    """A command as a person may paste it; every name in it is quoted where need be."""
    return shlex.join(argv)


def brief(argv: Iterable[str]) -> str:
    """The same for reading: of a word of several lines, such as a script, its first line."""
    return shlex.join(f"{word.partition(chr(10))[0]} …" if "\n" in word else word for word in argv)


#: Options that say which nodes a check means, as ``doctor`` knows them too.
_WHERE = ("-w", "--nodelist", "-x", "--exclude", "--lab", "--launcher", "--ssh-config")


def doctor(run: Run) -> str:
    """The command that looks for causes on the run's nodes, reached as the run reached them."""
    said = [word for one in run.command[2:] for word in _parts(one)]
    where = [
        word
        for name, value in pairwise(said)
        if name in _WHERE and not value.startswith("-")
        for word in (name, value)
    ]
    nodes = ("-w", ",".join(node.name for node in run.fabric.nodes))
    return command(("fabricgauge", "doctor", *(where or nodes)))


def _parts(word: str) -> tuple[str, ...]:
    """``--lab=half`` as two words."""
    name, equals, value = word.partition("=")
    return (name, value) if equals and name in _WHERE else (word,)


def resume(run: Run) -> str:
    """The command that measures what a run has left: its own verb's."""
    verb = "submit" if run.command[1:2] == ("submit",) else "check"
    return f"fabricgauge {verb} --resume RUN"
