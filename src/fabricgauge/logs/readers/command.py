"""Find the node of each rank from a launch command's options and its job's request.

Options after srun(1) of Slurm 23, mpirun(1) of Open MPI 4 and 5, mpiexec of MPICH 4 and Intel MPI
2021, mpirun_rsh of MVAPICH2, aprun(1) and jsrun of IBM JSM 10; requests after sbatch(1) and
salloc(1) of Slurm 23, qsub of PBS Pro 2021 and Torque 6. A command is data: it is split into words,
never run.
"""

import math
import re
import shlex
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fabricgauge.logs.readers.lines import remembered
from fabricgauge.model.host_access import same_host

#: Signs for which the shell's rules count, which take forty times as long as a split at blanks.
_QUOTING = re.compile(r"[^!#-&(-\[\]-~ \t]")
#: Longer commands and more ranks are ignored.
LONGEST, MOST_RANKS = 4096, 1 << 16
_SLURM = ("srun", "flux")
_LAUNCHER = re.compile(
    r"(?:^|[\s/'\"`(=:])"
    r"(?P<launcher>j?srun|flux|mpirun(?:_rsh)?|mpiexec(?:\.hydra)?|orterun|prterun|prun|aprun) "
)
#: A command up to the sign at which a shell ends it, or to a quotation mark that stands alone;
#: signs within quotation marks or parentheses belong to it.
_ONE_COMMAND = re.compile(
    r"""(?:[^|;&'"\\(`]|\\.|'[^']*'|"(?:\\.|[^"\\])*"|`[^`]*`|\([^()]*\)|[(`]|(?<=[<>])&|&(?=>))*"""
)
_PROGRAM = re.compile(r"(?:.*/)?(?P<name>osu_\w+|IMB-[A-Z0-9]+|NPmpi\w*|mpiGraph|[a-z]\w*_perf)")
#: Programs that start the measuring program: the options behind them are theirs.
_WRAPPERS = re.compile(
    r"(?:.*/)?(?:numactl|taskset|singularity|apptainer|docker|podman|env|(?:ba)?sh|.*\.sh)"
)
#: Options whose value is read, in the spelling that is kept.
_OF_MPI = {
    "n": "ranks", "np": "ranks", "ntasks": "ranks", "c": "ranks",
    "H": "hosts", "host": "hosts", "hosts": "hosts",
    "N": "per node", "npernode": "per node", "ppn": "per node", "perhost": "per node",
    "grr": "per node",
    "map-by": "map", "rmaps_base_mapping_policy": "map",
    "rankfile": "order", "rf": "order", "rank-by": "order",
    "hostfile": "file", "machinefile": "file", "f": "file",
}  # fmt: skip
_OF_SLURM = {
    "n": "ranks", "ntasks": "ranks", "N": "nodes", "nodes": "nodes",
    "m": "map", "distribution": "map", "ntasks-per-node": "per node",
}  # fmt: skip
#: Resource sets, those of a node, and the tasks of a set; no set spans nodes.
_OF_JSRUN = {
    "n": "sets", "nrs": "sets", "r": "per node", "rs_per_host": "per node",
    "a": "tasks", "tasks_per_rs": "tasks", "p": "ranks", "np": "ranks",
    "d": "map", "launch_distribution": "map",
}  # fmt: skip
_FLAGS = {"bynode": "node", "pernode": "ppr:1:node", "rr": "ppr:1:node", "byslot": "slot"}
_ATTACHED = re.compile(r"-(?P<name>[nNarp])(?P<value>\d[\d-]*)")
_PER = re.compile(r"ppr:(?P<ranks>\d{1,6}):(?P<what>\w+)")
#: Units of a node that Open MPI fills before it takes the next node.
_WITHIN = ("slot", "core", "hwthread", "socket", "package", "numa", "l1cache", "l2cache", "l3cache")
#: ``<(echo c1 slots=2)``: a file of hosts that stands on the line itself.
_FILE_ON_LINE = re.compile(r"<\(\s*(?:echo|printf)(?: -e)?\s+['\"]?(?P<lines>[^)'\"]*)")


#: Lines of a request that are kept.
_MOST_LINES = 3
_SCRIPT = re.compile(r"\s*#(?:SBATCH|PBS)\s")
_SHELL = re.compile(r"(?:^|[\s/])(?:salloc|srun(?=\s.*\s--pty\b))\s")
_NODES = re.compile(
    r"\s(?:-N ?|--nodes[ =])(?P<slurm>\d{1,6})(?:-(?P<most>\d{1,6}))?(?![\w-])"
    r"|\s-l\s+(?:nodes|select)=(?P<pbs>\d{1,6})(?![\w.-])"
)
_TASKS = re.compile(r"\s(?:-n ?|--ntasks[ =])\d")
_TASKS_PER_NODE = re.compile(r"\s--n?tasks-per-node[ =](\d{1,6})(?!\w)")
#: Intel MPI's variable: set for all following programs, or on the command's line.
_PER_HOST = re.compile(r"\bI_MPI_PERHOST[ =](\d{1,6})(?!\w)")


#: Slurm's variable with the number of a job's nodes, as ``env`` prints it.
_JOB_NODES = re.compile(
    r"\s*(?:export |declare -x )?SLURM_(?:JOB_NUM_NODES|NNODES)=['\"]?(\d{1,6})['\"]?\s*"
)


class Request(NamedTuple):
    """Resources that a job requests; ``nodes`` and ``per_node`` are 0 if unknown.

    ``per_node`` is how many ranks a node has. ``lines`` are the log's lines that ask.
    """

    nodes: int = 0
    per_node: int = 0
    counted: bool = False
    lines: tuple[str, ...] = ()
    begins: bool = False

    def joined(self, later: "Request") -> "Request":
        """Return both requests; one that begins an allocation replaces the earlier ones."""
        if later.begins:
            return later
        return Request(
            later.nodes or self.nodes,
            later.per_node or self.per_node,
            self.counted or later.counted,
            (*self.lines, *later.lines)[-_MOST_LINES:],
        )


@remembered
def request_in(text: str) -> Request | None:
    """Return the request in a line of a job's script or of its shell; None for other lines."""
    if not (
        "#SBATCH" in text or "#PBS" in text or "salloc" in text or "--pty" in text
        or "I_MPI_PERHOST" in text or "SLURM_" in text
    ) or len(text) > LONGEST:  # fmt: skip
        return None
    if job := _JOB_NODES.fullmatch(text):
        return Request(int(job[1]), lines=(text.strip(),))
    shell = _SHELL.search(text) is not None
    per_host = _PER_HOST.search(text)
    if not (shell or _SCRIPT.match(text)):
        line = (text.strip(),)
        return Request(0, int(per_host[1]), lines=line) if per_host else None
    nodes, per_node = _NODES.search(text), _TASKS_PER_NODE.search(text)
    least = int(nodes["slurm"] or nodes["pbs"]) if nodes else 0
    exact = nodes is None or int(nodes["most"] or least) == least
    return Request(
        least if exact else 0,
        int(per_node[1]) if per_node else 0,
        _TASKS.search(text) is not None,
        (text.strip(),) if nodes or per_node else (),
        shell,
    )


def goes_on(text: str) -> bool:
    """Check whether a launch command continues on the next line."""
    return text.endswith("\\") and len(text) <= LONGEST and _LAUNCHER.search(text) is not None


class Command(NamedTuple):
    """A launch of a known program; ``text`` and ``words`` begin at the launcher's name.

    ``per_node`` is how many ranks a node has by a variable on the same line; 0 if none is set.
    """

    text: str
    launcher: str
    words: tuple[str, ...]
    program: str
    per_node: int = 0


@remembered
def command_in(text: str) -> Command | None:
    """Return the launch of a known suite's program in a line; None for other lines.

    A shell's prompt may stand in front of it.
    """
    match = _LAUNCHER.search(text) if len(text) <= LONGEST else None
    while match is not None:
        command_text = text[match.start("launcher") :]
        first = _ONE_COMMAND.match(command_text)
        end = first.end() if first else 0
        # A quotation mark that stands alone leaves the whole text.
        if command_text[end : end + 1] not in ("'", '"', "\\"):
            command_text = command_text[:end]
        words = _words(command_text)
        program = next((named["name"] for word in words if (named := _PROGRAM.fullmatch(word))), "")
        if program:
            per_host = _PER_HOST.search(text)
            per_node = int(per_host[1]) if per_host else 0
            return Command(command_text.strip(), match["launcher"], words, program, per_node)
        match = _LAUNCHER.search(text, match.start("launcher") + len(command_text))
    return None


def _words(text: str) -> tuple[str, ...]:
    if _QUOTING.search(text):
        try:
            return tuple(shlex.split(text))
        except ValueError:  # a quotation mark that stands alone
            pass
    return tuple(text.split())


#: Options of OSU's programs: the largest message, and the iterations of each figure.
OSU_LARGEST_BYTES = re.compile(r"(?:-m|--message-size)=?(?:\d{1,18}:)?(?P<number>\d{1,18})?")
OSU_ITERATIONS = re.compile(r"(?:-i|--iterations)=?(?P<number>\d{1,18})?")


def osu_number(command: Command, option: re.Pattern[str]) -> int | None:
    """Return the number that a command gives to an OSU program's option; None if it gives none."""
    place = next((at for at, word in enumerate(command.words) if _PROGRAM.fullmatch(word)), 0)
    options = command.words[place + 1 :] if command.program.startswith("osu_") else ()
    for word, value in zip(options, (*options[1:], ""), strict=False):
        if match := option.fullmatch(word):
            number = match["number"] or value.rpartition(":")[2]
            return int(number) if number.isdecimal() and len(number) < 19 else None
    return None


def rank_nodes(
    command: Command | None, ranks: int, request: Request | None = None
) -> tuple[str, ...]:
    """Return the node of each of the first ``ranks`` ranks, by a name or number.

    It is unknown if the options and the job's request leave it open, or contradict each other.
    If ``ranks`` is 0 the command's number counts; without one, all ranks have one node, or unknown.
    """
    request = request or Request()
    if request.nodes == 1 and ranks <= MOST_RANKS and not (command and _asks_several(command)):
        return ("one node",) * (ranks or 2) if ranks != 1 else ()
    if command is None:
        return ()
    options = _options_of_parts(command)
    if ranks or (len(options) == 1 and options[0].get("ranks", "").isdecimal()):
        return _by_command(command, ranks, request)
    nodes = _by_command(command, MOST_RANKS, request)
    return nodes[:2] if len(set(nodes)) == 1 else ()


def count_ranks(command: Command) -> int | None:
    """Return how many ranks a command of one program starts, None if it does not say so."""
    options, *further = _options_of_parts(command)
    for names in (("ranks",), ("nodes", "per node"), ("sets", "tasks")):
        counts = [options.get(name, "")[:7] for name in names]
        if all(map(str.isdecimal, counts)) and not further:
            return math.prod(map(int, counts))
    return None


def named_hosts(command: Command) -> tuple[str, ...]:
    """Return the hosts that an MPI's command names, each once; the ranks may use fewer."""
    lists = (_hosts(options.get("hosts", "")) for options in _options_of_parts(command))
    named = [host for hosts in lists for host, _ in hosts] or [
        host for host, _ in _on_line(command.text)
    ]
    return tuple(dict.fromkeys(named))


def _asks_several(command: Command) -> bool:
    """Check whether a command itself names several hosts, or a number of nodes above one."""
    return any(
        options.get("nodes", "1") not in ("1", "1-1") or len(_hosts(options.get("hosts", ""))) > 1
        for options in _options_of_parts(command)
    )


def _options_of_parts(command: Command) -> list[dict[str, str]]:
    """Return the options that place the ranks of each program; a colon divides programs."""
    parts: list[list[str]] = [[]]
    for word in command.words:
        if word == ":":
            parts.append([])
        else:
            parts[-1].append(word)
    return [dict(_options(command, part)) for part in parts]


def _by_command(command: Command, ranks: int, request: Request) -> tuple[str, ...]:
    options, *further = _options_of_parts(command)
    if further:
        # Several programs have one node if each names that host alone.
        named = [_hosts(part.get("hosts", "")) for part in (options, *further)]
        names = {host for hosts_of_part in named for host, _ in hosts_of_part}
        return (*names,) * ranks if all(named) and len(names) == 1 else ()
    rank_count = options.get("ranks", "")
    started = max(ranks, int(rank_count[:7])) if rank_count.isdecimal() else ranks
    if not 1 < started <= MOST_RANKS:
        return ()
    if command.launcher == "jsrun":
        nodes = _by_jsrun(options, started)
    elif command.launcher in _SLURM:
        nodes = _by_slurm(options, started)
    elif command.launcher == "mpirun_rsh":
        nodes = _by_rsh(command.words, started)
    else:
        hosts = _hosts(options.get("hosts", "")) or _on_line(command.text)
        per_node = command.per_node or (0 if request.counted else request.per_node)
        if per_node and not hosts and not options.keys() - {"ranks"}:
            nodes = _blocks(per_node, (), started)
        else:
            nodes = _by_mpi(options, hosts, started)
    return nodes[: ranks or started]


def _options(command: Command, words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the options that place ranks, up to the program's name."""
    names = _OF_SLURM if command.launcher in _SLURM else _OF_MPI
    names = _OF_JSRUN if command.launcher == "jsrun" else names
    remaining_words = iter(words)
    for word in remaining_words:
        if _PROGRAM.fullmatch(word) or _WRAPPERS.fullmatch(word):
            return
        attached = _ATTACHED.fullmatch(word)
        name, equal, value = word.lstrip("-").partition("=")
        if not word.startswith("-") and name != "rmaps_base_mapping_policy":
            continue
        if kind := names.get(name, ""):
            yield kind, value if equal else next(remaining_words, "")
        elif attached and (kind := names.get(attached["name"], "")):
            yield kind, attached["value"]
        elif name in _FLAGS and names is _OF_MPI:
            yield "map", _FLAGS[name]


def _by_slurm(options: dict[str, str], ranks: int) -> tuple[str, ...]:
    nodes = options.get("nodes", "")
    if nodes in ("1", "1-1"):
        return ("one node",) * ranks
    # By default tasks come in blocks, whose lengths the allocation decides.
    if options.get("map", "").startswith("cyclic") and nodes.isdecimal() and int(nodes[:7]):
        return tuple(f"node {rank % int(nodes[:7])}" for rank in range(ranks))
    return ()


def _by_jsrun(options: dict[str, str], ranks: int) -> tuple[str, ...]:
    """Place packed tasks; without the number of sets of a node, only one set has one node."""
    tasks, sets, per_node = (options.get(name, "") for name in ("tasks", "sets", "per node"))
    if options.get("map", "packed") != "packed" or not (tasks.isdecimal() and int(tasks[:7])):
        return ()
    sets_of_node = per_node or ("1" if sets == "1" else "")
    count = int(tasks[:7]) * int(sets_of_node[:7]) if sets_of_node.isdecimal() else 0
    return _blocks(count, (), ranks) if count else ()


def _by_mpi(
    options: dict[str, str], hosts: Sequence[tuple[str, int]], ranks: int
) -> tuple[str, ...]:
    """Place ranks as Open MPI, MPICH and Intel MPI do when only the options decide."""
    names = list(dict.fromkeys(host for host, _ in hosts))
    if len(names) == 1:
        return (names[0],) * ranks
    if "order" in options:
        return ()
    policy, _, modifiers = options.get("map", "").partition(":")
    per = _PER.match(options.get("map", ""))
    per_node = options.get("per node", "")
    if per and per["what"] == "node":
        per_node = per["ranks"]
    elif per:  # so many of each socket, of which a node may have several
        return _blocks(ranks, names, ranks) if int(per["ranks"]) >= ranks else ()
    if per_node.isdecimal() and int(per_node[:7]):
        return _blocks(int(per_node[:7]), names, ranks)
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


def _blocks(per_node: int, names: Sequence[str], ranks: int) -> tuple[str, ...]:
    """Place ``per_node`` ranks on a node before the next node is used."""
    node_names = names or [f"node {place}" for place in range(-(-ranks // per_node))]
    return tuple(node_names[rank // per_node % len(node_names)] for rank in range(ranks))


def _hosts(text: str) -> list[tuple[str, int]]:
    """Return the hosts of a list with their slots; 0 slots where no number is given.

    A host that is repeated gets more slots.
    """
    slots: dict[str, int] = {}
    for entry in text.split(","):
        name, _, count = entry.strip().partition(":")
        if not name:
            continue
        same_name = next(
            (earlier_name for earlier_name in slots if same_host(name, earlier_name)), name
        )
        more = int(count[:7]) if count.isdecimal() else 0
        slots[same_name] = slots.get(same_name, 0) + (more or int(same_name in slots))
    return list(slots.items())


def _on_line(text: str) -> list[tuple[str, int]]:
    match = _FILE_ON_LINE.search(text)
    lines = match["lines"].replace("\\n", "\n").split("\n") if match else []
    return _hosts(",".join(line.split()[0] for line in lines if line.split()))


def _by_rsh(words: Sequence[str], ranks: int) -> tuple[str, ...]:
    """Place ranks on the hosts that mpirun_rsh has between its options and the program."""
    hosts: list[str] = []
    remaining_words = iter(words[1:])
    for word in remaining_words:
        if _PROGRAM.fullmatch(word) or _WRAPPERS.fullmatch(word) or "=" in word:
            break
        if word in ("-np", "-n", "-hostfile"):
            next(remaining_words, "")
        elif not word.startswith("-"):
            hosts.append(word)
    names = _hosts(",".join(hosts))
    return (names[0][0],) * ranks if len(names) == 1 else tuple(hosts[:ranks])
