"""Build parts of sentences: lists, counts, directions, subjects of verdicts, commands.

No decision depends on the words of a subject.
"""

import shlex
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise

from fabricgauge.model.pairs import name_part
from fabricgauge.model.run import Run
from fabricgauge.model.verdict import VerdictSubject

#: With more nodes a sentence has the first two, the last, and their number.
MOST_NODES = 8


def counted(count: int, singular: str, many: str = "") -> str:
    """Return ``1 dip``, ``3 dips``, ``2,000 classes``."""
    return f"{count:,} {singular if count == 1 else many or singular + 's'}"


def listed(words: Sequence[str], at_most: int = 6, of: int = 0) -> str:
    """Return ``a, b and c``; words beyond ``at_most`` are counted.

    ``of`` is the number of all words if ``words`` are only the first.
    """
    parts, count = list(words[:at_most]), max(len(words), of)
    if count > at_most:
        parts.append(f"{count - at_most:,} more")
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def between(nodes: Sequence[str]) -> str:
    """Return the nodes of a launch; for many nodes the first two, the last, and their number."""
    if len(nodes) <= MOST_NODES:
        return " and ".join(nodes)
    return f"{nodes[0]}, {nodes[1]} … {nodes[-1]} ({len(nodes):,} ranks)"


def direction(origin: str, target: str, bidirectional: bool = False) -> str:
    """Return ``c1 → c2``, or ``c1 ↔ c2`` if both send at once."""
    return f"{origin} {'↔' if bidirectional else '→'} {target}"


def name_stream(about: VerdictSubject) -> str:
    """Return a series' table, or else its direction."""
    arrow = direction(about.names[0], about.names[1])
    if about.pairs:
        return f"{arrow} (median of {about.pairs:,} pairs)"
    qualifier = about.program or about.variant
    return about.source or f"{arrow}{f' ({qualifier})' if qualifier else ''}"


def name_subject(about: VerdictSubject) -> str:
    """Return a verdict's subject: ``run``, ``net1``, ``net1, c1 → c2``, ``net1, c2, sending``."""
    if about.kind == "run":
        return "run"
    if about.kind == "network" or about.kind == "crossing":
        return ", ".join(filter(None, (about.network, about.source)))
    if about.kind == "stream":
        part = name_stream(about)
    elif about.kind == "directions":
        part = direction(about.names[0], about.names[1], bidirectional=True)
    elif about.kind == "place":
        part = about.place
    else:
        part = name_part(about.kind, about.names)
    return f"{about.network}, {part}" if about.network else part


def command(argv: Iterable[str]) -> str:
    """Return a command ready to paste, with every word quoted as the shell needs."""
    return shlex.join(argv)


def brief(argv: Iterable[str]) -> str:
    """Return a command for reading: a word of several lines, such as a script, shows its first."""
    return shlex.join(f"{word.partition(chr(10))[0]} …" if "\n" in word else word for word in argv)


#: Options that select nodes; ``doctor`` has them as well.
_WHERE = ("-w", "--nodelist", "-x", "--exclude", "--lab", "--launcher", "--ssh-config")

#: Further options that a resumed run takes only from its own command line.
_RESUMED_WITH = (
    "--rank-order", "--sim", "--mpi", "--tool", "--tool-path", "-p", "--partition", "--reservation",
    "-A", "--account", "--qos", "-C", "--constraint", "-J", "--job-name",
)  # fmt: skip


def doctor(run: Run) -> str:
    """Return the ``doctor`` command for the run's nodes, reached as the run reached them."""
    nodes = ("-w", folded([node.name for node in run.fabric.nodes]))
    return command(("fabricgauge", "doctor", *(_options(run, _WHERE) or nodes)))


def resume(run: Run) -> str:
    """Return the command that measures the rest of a run, with its nodes and programs."""
    verb = "submit" if run.command[1:2] == ("submit",) else "check"
    default_lab = [word for word, value in pairwise((*run.command, "-")) if word == "--lab"
                   and value.startswith("-")]  # fmt: skip
    flags = [word for word in ("--exclusive", "--carry") if word in run.command]
    options = (*default_lab, *_options(run, (*_WHERE, *_RESUMED_WITH)), *flags)
    return command(("fabricgauge", verb, "--resume", run.identity, *options))


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


#: Fewer names of one stem are listed singly: a set would need quotes in a shell.
FOLDED = 3


def folded(names: Iterable[str]) -> str:
    """Return ``c[1-3,7],head``: names that end in a number as sets, in ClusterShell's syntax."""
    numbers: dict[tuple[str, int], list[int]] = {}
    for name in names:
        stem = name.rstrip("0123456789")
        digits = name[len(stem) :]
        # A leading zero fixes the width of all numbers of a set.
        width = len(digits) if digits.startswith("0") or not digits else 0
        numbers.setdefault((stem, width), []).append(int(digits) if digits else -1)
    return ",".join(_set_of(*key, sorted(set(suffixes))) for key, suffixes in numbers.items())


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
