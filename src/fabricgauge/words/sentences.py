"""Parts of sentences: lists, counts, directions, commands."""

import shlex
from collections.abc import Collection, Iterable, Sequence
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

#: Further options that a resumption takes from its own command line alone.
_RESUMED_WITH = (
    "--rank-order", "--sim", "--mpi", "--tool", "--tool-path", "-p", "--partition", "--reservation",
    "-A", "--account", "--qos", "-C", "--constraint", "-J", "--job-name",
)  # fmt: skip


def doctor(run: Run) -> str:
    """The command that looks for causes on the run's nodes, reached as the run reached them."""
    nodes = ("-w", folded([node.name for node in run.fabric.nodes]))
    return command(("fabricgauge", "doctor", *(_options(run, _WHERE) or nodes)))


def resume(run: Run) -> str:
    """Return the command that measures what a run has left, with its nodes and programs."""
    verb = "submit" if run.command[1:2] == ("submit",) else "check"
    own_lab = [word for word, after in pairwise((*run.command, "-")) if word == "--lab"
               and after.startswith("-")]  # fmt: skip
    where = (*own_lab, *_options(run, (*_WHERE, *_RESUMED_WITH)))
    return command(("fabricgauge", verb, "--resume", run.identity, *where))


def _options(run: Run, names: Collection[str]) -> tuple[str, ...]:
    """Return the options of these names and their values from the command line of a run."""
    words: list[str] = []
    for word in run.command[2:]:
        name, equals, value = word.partition("=")
        words += (name, value) if equals and name in names else (word,)
    return tuple(
        word
        for name, value in pairwise(words)
        if name in names and not value.startswith("-")
        for word in (name, value)
    )


#: Fewer names of one stem are listed: a set would have to be quoted.
FOLDED = 3


def folded(names: Iterable[str]) -> str:
    """``c[1-3,7],head``: names with a number at their end as sets, as ClusterShell reads them."""
    numbers: dict[tuple[str, int], list[int]] = {}
    for name in names:
        stem = name.rstrip("0123456789")
        digits = name[len(stem) :]
        # A leading zero fixes the width of all numbers of a set.
        width = len(digits) if digits.startswith("0") or not digits else 0
        numbers.setdefault((stem, width), []).append(int(digits) if digits else -1)
    return ",".join(_set_of(*key, sorted(set(each))) for key, each in numbers.items())


def _set_of(stem: str, width: int, numbers: Sequence[int]) -> str:
    if numbers == [-1]:
        return stem
    if len(numbers) < FOLDED:
        return ",".join(f"{stem}{number:0{width}}" for number in numbers)
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    parts = [
        f"{first:0{width}}" if first == last else f"{first:0{width}}-{last:0{width}}"
        for first, last in runs
    ]
    return f"{stem}[{','.join(parts)}]"
