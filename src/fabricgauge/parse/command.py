"""Where a launch command starts its ranks, as far as its options alone decide it.

Options after srun(1) of Slurm 23, mpirun(1) of Open MPI 4 and 5, mpiexec of MPICH 4 and Intel MPI
2021, mpirun_rsh of MVAPICH2 and aprun(1). A command is data: it is split into words, never run.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fabricgauge.model.hosts import same_host
from fabricgauge.parse.lines import remembered

#: Longer commands and more ranks are not looked at.
LONGEST, MOST_RANKS = 4096, 1 << 16
_SLURM = ("srun", "flux")
_LAUNCHER = re.compile(
    r"(?:^|[\s/'\"`(=:])"
    r"(?P<launcher>srun|flux|mpirun(?:_rsh)?|mpiexec(?:\.hydra)?|orterun|prterun|prun|aprun) "
)
_PROGRAM = re.compile(r"(?:.*/)?(?P<name>osu_\w+|IMB-[A-Z0-9]+|NPmpi\w*|mpiGraph|[a-z]\w*_perf)")
#: What starts the program in turn: options behind it are its own.
_WRAPPERS = re.compile(
    r"(?:.*/)?(?:numactl|taskset|singularity|apptainer|docker|podman|env|(?:ba)?sh|.*\.sh)"
)
#: Options with a value that is looked at, in the spelling that is kept.
_NAMES = {
    "n": "ranks", "np": "ranks", "ntasks": "ranks", "c": "ranks",
    "H": "hosts", "host": "hosts", "hosts": "hosts",
    "ppn": "per node", "perhost": "per node", "npernode": "per node", "grr": "per node",
    "map-by": "map", "rmaps_base_mapping_policy": "map",
    "rankfile": "order", "rf": "order", "rank-by": "order",
}  # fmt: skip
_OF_SLURM = {
    "n": "ranks", "ntasks": "ranks", "N": "nodes", "nodes": "nodes",
    "m": "map", "distribution": "map",
}  # fmt: skip
_FLAGS = {"bynode": "node", "pernode": "ppr:1:node", "rr": "ppr:1:node", "byslot": "slot"}
_ATTACHED = re.compile(r"-(?P<name>[nN])(?P<value>\d[\d-]*)")
_PER = re.compile(r"ppr:(?P<ranks>\d{1,6}):(?P<what>\w+)")
#: Units of a node that Open MPI fills before it takes the next node.
_WITHIN = ("slot", "core", "hwthread", "socket", "package", "numa", "l1cache", "l2cache", "l3cache")
#: ``<(echo c1 slots=2)``: a file of hosts that stands on the line itself.
_FILE_ON_LINE = re.compile(r"<\(\s*(?:echo|printf)(?: -e)?\s+['\"]?(?P<lines>[^)'\"]*)")


def goes_on(text: str) -> bool:
    """Whether a launch command continues on the next line."""
    return text.endswith("\\") and len(text) <= LONGEST and _LAUNCHER.search(text) is not None


class Command(NamedTuple):
    """A launch of a known program; ``text`` and ``words`` are those from the launcher on."""

    text: str
    launcher: str
    words: tuple[str, ...]
    program: str


@remembered
def command_in(text: str) -> Command | None:
    """The launch of a known suite's program in a line, be it behind a prompt; None for others."""
    match = _LAUNCHER.search(text) if len(text) <= LONGEST else None
    if match is None:
        return None
    rest = text[match.start("launcher") :]
    try:
        words = tuple(shlex.split(rest))
    except ValueError:  # a quotation mark that stands alone
        words = tuple(rest.split())
    program = next((found["name"] for one in words if (found := _PROGRAM.fullmatch(one))), "")
    return Command(rest.strip(), match["launcher"], words, program) if program else None


def rank_nodes(command: Command, ranks: int) -> tuple[str, ...]:
    """The node of each of the first ``ranks`` ranks, by a name or a number; empty if unknown.

    Nothing is known if the options leave it open, or another part of the site decides it.
    """
    parts = _parts(command.words)
    if len(parts) > 1:
        return _of_parts(command, parts, ranks)
    options = dict(_options(command, parts[0]))
    told = options.get("ranks", "")
    started = max(ranks, int(told[:7])) if told.isdecimal() else ranks
    if not 1 < started <= MOST_RANKS:
        return ()
    if command.launcher in _SLURM:
        nodes = _by_slurm(options, started)
    elif command.launcher == "mpirun_rsh":
        nodes = _listed(tuple(_positional(parts[0])), started)
    else:
        hosts = _hosts(options.get("hosts", "")) or _on_line(command.text)
        nodes = _by_mpi(options, hosts, started)
    return nodes[:ranks]


def _parts(words: Sequence[str]) -> list[list[str]]:
    """The words of each program of the launch, which a colon parts."""
    parts: list[list[str]] = [[]]
    for word in words:
        if word == ":":
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _of_parts(command: Command, parts: list[list[str]], ranks: int) -> tuple[str, ...]:
    """Several programs are on one node if each names that host alone."""
    named = [_hosts(dict(_options(command, ["", *part])).get("hosts", "")) for part in parts]
    hosts = {host for each in named for host, _ in each}
    return (*hosts,) * ranks if all(named) and len(hosts) == 1 else ()


def _options(command: Command, words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The options that place ranks, up to the program."""
    names = _OF_SLURM if command.launcher in _SLURM else _NAMES
    per_node = {"N": "per node"} if names is _NAMES else {}
    given = iter(words[1:])
    for word in given:
        if _PROGRAM.fullmatch(word) or _WRAPPERS.fullmatch(word):
            return
        attached = _ATTACHED.fullmatch(word)
        name, equal, value = word.lstrip("-").partition("=")
        if not word.startswith("-") and name != "rmaps_base_mapping_policy":
            continue
        kind = {**names, **per_node}.get(name, "")
        if kind:
            yield kind, value if equal else next(given, "")
        elif attached and (kind := {**names, **per_node}.get(attached["name"], "")):
            yield kind, attached["value"]
        elif name in _FLAGS and names is _NAMES:
            yield "map", _FLAGS[name]


def _by_slurm(options: dict[str, str], ranks: int) -> tuple[str, ...]:
    nodes = options.get("nodes", "")
    if nodes in ("1", "1-1"):
        return ("one node",) * ranks
    # By default tasks come in blocks, whose lengths the allocation decides.
    if options.get("map", "").startswith("cyclic") and nodes.isdecimal() and int(nodes[:7]):
        return tuple(f"node {rank % int(nodes[:7])}" for rank in range(ranks))
    return ()


def _by_mpi(
    options: dict[str, str], hosts: Sequence[tuple[str, int]], ranks: int
) -> tuple[str, ...]:
    """As Open MPI, MPICH and Intel MPI place ranks if nothing but the options decides it."""
    names = list(dict.fromkeys(host for host, _ in hosts))
    if len(names) == 1:
        return (names[0],) * ranks
    if "order" in options:
        return ()
    policy, _, modifiers = options.get("map", "").partition(":")
    per = _PER.match(options.get("map", ""))
    each = options.get("per node", "")
    if per and per["what"] == "node":
        each = per["ranks"]
    elif per:  # so many of each socket, of which a node may have several
        return _blocks(ranks, names, ranks) if int(per["ranks"]) >= ranks else ()
    if each.isdecimal() and int(each[:7]):
        return _blocks(int(each[:7]), names, ranks)
    if policy == "node":
        return tuple(names[rank % len(names)] for rank in range(ranks)) if names else ()
    if (policy and policy not in _WITHIN) or "span" in modifiers.casefold():
        return ()
    # Without a number the launchers differ in how many ranks a host takes.
    filled: list[str] = []
    for host, slots in hosts:
        if not slots:
            break
        filled += [host] * min(slots, ranks)
    return tuple(filled[:ranks]) if len(filled) >= ranks else ()


def _blocks(each: int, names: Sequence[str], ranks: int) -> tuple[str, ...]:
    """So many ranks on a node before the next one is taken."""
    known = names or [f"node {place}" for place in range(-(-ranks // each))]
    return tuple(known[rank // each % len(known)] for rank in range(ranks))


def _hosts(text: str) -> list[tuple[str, int]]:
    """Hosts of a list with their slots, 0 where none are said; a host that comes again has more."""
    slots: dict[str, int] = {}
    for one in text.split(","):
        name, _, count = one.strip().partition(":")
        if not name:
            continue
        known = next((other for other in slots if same_host(name, other)), name)
        more = int(count[:7]) if count.isdecimal() else 0
        slots[known] = slots.get(known, 0) + (more or int(known in slots))
    return list(slots.items())


def _on_line(text: str) -> list[tuple[str, int]]:
    match = _FILE_ON_LINE.search(text)
    lines = match["lines"].replace("\\n", "\n").split("\n") if match else []
    return _hosts(",".join(line.split()[0] for line in lines if line.split()))


def _listed(hosts: Sequence[str], ranks: int) -> tuple[str, ...]:
    names = [host for host, _ in _hosts(",".join(hosts))]
    return (names[0],) * ranks if len(names) == 1 else tuple(hosts[:ranks])


def _positional(words: Sequence[str]) -> Iterator[str]:
    """Hosts that mpirun_rsh has between its options and the environment or the program."""
    given = iter(words[1:])
    for word in given:
        if _PROGRAM.fullmatch(word) or _WRAPPERS.fullmatch(word) or "=" in word:
            return
        if word in ("-np", "-n", "-hostfile"):
            next(given, "")
        elif not word.startswith("-"):
            yield word
