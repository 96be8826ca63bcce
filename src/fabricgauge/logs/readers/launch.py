"""Read the lines of an MPI's start, in front of any suite's output: hosts and transport.

Intel MPI with ``I_MPI_DEBUG`` (``[0] MPI startup(): Rank    Pid      Node name       Pin cpu`` and
a row for each rank), Open MPI 3 to 5 with ``--report-bindings`` (``[c1:4711] MCW rank 0 bound to``,
``[c1:4711] Rank 0 bound to``) or ``--display-map`` (``Data for node: c1`` above ``Process OMPI
jobid: [1,1] App: 0 Process rank: 0``), srun with ``--cpu-bind=verbose`` (``cpu-bind=MASK - c1, task
 0  0 [4711]: mask 0x1 set``). Formats after recorded outputs of Intel MPI 2018 to 2021 and of Slurm
20 to 23, rtc_hwloc.c of Open MPI 4.1 and maps of Open MPI 3 to 5.
"""

import re
from collections.abc import Mapping

import msgspec

from fabricgauge.logs.readers.command import (
    OSU_ITERATIONS,
    OSU_LARGEST_BYTES,
    Command,
    Request,
    count_ranks,
    named_hosts,
    osu_number,
    rank_nodes,
)
from fabricgauge.logs.readers.lines import command_line, remembered
from fabricgauge.logs.readers.nccl.facts import PROGRAM, UNNAMED, renamed
from fabricgauge.model.nccl import ADAPTERS
from fabricgauge.model.nccl import SUITES as NCCL_SUITES
from fabricgauge.model.suite import SuiteCurve

#: Facts of further ranks are dropped.
MOST_RANKS = 1 << 16
_INTEL = "MPI startup(): "
#: A rank's label may stand in front, before its lines are known as labelled.
_FACTS = re.compile(
    r"(?:\[\d+\] | *\d+: )?(?:\[\d+\] MPI startup\(\): (?:"
    r"(?P<rank>\d{1,7}) +\d+ +(?P<host>[A-Za-z][\w.-]*)(?: +[\d{+].*)?$"
    r"|Intel\(R\) MPI Library, Version (?P<library>.{1,60}?) *(?:Build|\(|$)"
    r"|libfabric provider: (?P<provider>\S{1,60}))"
    r"|\[(?P<bound_host>[A-Za-z][\w.-]*):\d+\] (?:MCW r|R)ank (?P<bound>\d{1,7}) .*\bbound\b"
    r"|cpu[-_]bind\S*=\w+ +- (?P<task_host>[\w.-]+), task +(?P<task>\d{1,7}) +\d+ \[\d+\]: mask "
    r"|\s*Data for node: (?:Name: )?(?P<node>\S{1,255})\s"
    r"|\s*Process (?:OMPI )?jobid: .*\bProcess rank: (?P<mapped>\d{1,7})\b"
    r"|\s*(?:Data for JOB |=+ +JOB MAP +=))"
)
_SIGNS = (_INTEL, "ank ", "task ", "Data for ", " rank: ", "JOB MAP")
#: Suites whose programs an MPI's launcher starts.
_SUITES = {
    "osu", "imb", "netpipe", "mpigraph", "gpcnet", "nccl-tests", "rccl-tests", "hpcc",
    "ucc_perftest", "nxnlatbw",
}  # fmt: skip
#: Lines named several collectives; the table's is one of them.
_SEVERAL = "several"
#: Beginnings of program names that differ from their benchmarks' names.
_PROGRAMS = {
    "imb": "IMB-", "netpipe": "NPmpi", "mpigraph": "mpiGraph", "ucc_perftest": "ucc_perftest",
}  # fmt: skip
#: The end of the readers' text for a table that stops before the default's last size.
_SMALLER = "or run with a smaller maximum"
#: The rest of a list of processors that was too long for one line.
_REST = re.compile(r"(?:\[\d+\])?\s+\d[\d,-]*\}?\s*$")


@remembered
def facts_in(text: str) -> Mapping[str, str] | None:
    """Return the facts of a line: a rank's host by its number, ``library`` or ``provider``.

    A line of a map has the ``node`` of the ranks below it, or a rank without its host. Empty for
    other lines of the start; None for any other line.
    """
    match = _FACTS.match(text) if any(sign in text for sign in _SIGNS) else None
    if match is None:
        return {} if _INTEL in text else None
    if match["library"]:
        return {"library": f"Intel MPI {match['library']}"}
    if match["provider"]:
        return {"provider": match["provider"]}
    if match["node"]:
        return {"node": match["node"]}
    rank = match["rank"] or match["bound"] or match["task"] or match["mapped"]
    host = match["host"] or match["bound_host"] or match["task_host"] or ""
    return {rank: host} if rank else {}


#: ``-x NCCL_IB_HCA=mlx5_0:1,mlx5_1:1``, or ``export NCCL_IB_HCA=…``.
_NCCL_ADAPTERS = re.compile(rf"\b{ADAPTERS}[= ]['\"]?(?P<names>[\^=]?[\w:.,=-]{{1,200}})")


class Launch:
    def __init__(self, request: Request | None = None) -> None:
        #: The resources that the job requested for all its programs.
        self.request = request or Request()
        self._facts: dict[str, str] = {}
        #: Whether a line of the start came last: its list of processors may go on.
        self.in_start = False
        #: The node of a map, whose ranks follow.
        self._map_node = ""
        #: The command of each program; None if several commands start it, as only one can be that
        #: of a table.
        self._commands: dict[str, Command | None] = {}
        self._used = False
        #: The commands behind the last table: they belong to the next one.
        self._new_commands: dict[str, Command | None] = {}
        #: The program of nccl-tests that a line named; empty where several lines named others.
        self._collective = ""
        self._collective_used = False
        #: NCCL_IB_HCA, as a command or a script sets it.
        self._adapters = ""

    def copy(self) -> "Launch":
        """Return the same facts for a rank's own lines, which may begin another start."""
        copy = Launch(self.request)
        copy.learn(self._facts)
        copy._commands = dict(self._commands)
        copy._collective, copy._adapters = self._collective, self._adapters
        return copy

    def take(self, text: str) -> Mapping[str, str] | None:
        """Return facts as ``facts_in`` does; lists of processors go on over lines."""
        facts = facts_in(text)
        if facts is None and self.in_start and _REST.match(text):
            return {}
        self.in_start = facts is not None
        if facts and "node" in facts:
            self._map_node = facts["node"]
            return {}
        return facts and {fact: value or self._map_node for fact, value in facts.items()}

    def is_over(self, facts: Mapping[str, str]) -> bool:
        """Check whether the facts belong to another start: a fact is repeated."""
        return not self._facts.keys().isdisjoint(facts)

    def begun_again(self) -> "Launch":
        """Return a start without these facts, with the commands that no table had yet."""
        launch = Launch(self.request)
        launch._commands = launch._new_commands = self._new_commands
        return launch

    def learn(self, facts: Mapping[str, str]) -> None:
        if len(self._facts) < MOST_RANKS:
            self._facts.update(facts)

    def commanded(self, command: Command) -> "Launch":
        """Return the start that a command begins: this one, unless it has that program's table."""
        if not self._used or command.program not in self._commands:
            is_named = command.program in self._commands
            self._commands[command.program] = None if is_named else command
            self._new_commands[command.program] = self._commands[command.program]
            return self
        launch = Launch(self.request)
        launch._commands[command.program] = launch._new_commands[command.program] = command
        launch.name_adapters(command.text)
        return launch

    def name_collective(self, text: str) -> None:
        """Keep the program of nccl-tests that a line names, also in a command's second line."""
        match = PROGRAM.search(text)
        if match is not None:
            alone = self._collective_used or self._collective in ("", match[0])
            self._collective = match[0] if alone else _SEVERAL
            self._collective_used = False

    def name_adapters(self, text: str) -> None:
        """Keep the adapters that a command or a script's line gives to NCCL."""
        match = _NCCL_ADAPTERS.search(text)
        if match is not None:
            self._adapters = match["names"]

    def add_to(self, curve: SuiteCurve) -> None:
        """Add the start's facts to a new curve; the facts of its own output stay.

        If more ranks started than took part, the first ones took part.
        """
        replace, force = msgspec.structs.replace, msgspec.structs.force_setattr
        self._used, self._new_commands = True, {}
        if curve.benchmark == UNNAMED and self._collective.endswith("_perf"):
            self._collective_used = True
            named = renamed(curve, self._collective)
            force(curve, "benchmark", named.benchmark)
            force(curve, "what", named.what)
        if self._adapters and curve.suite in NCCL_SUITES:
            settings = {**curve.settings, ADAPTERS: self._adapters}
            force(curve, "settings", settings)
        if not (self._facts or self._commands or self.request.lines) or curve.suite not in _SUITES:
            return
        command = next(
            (
                command
                for program, command in self._commands.items()
                if program == curve.benchmark or program.startswith(_PROGRAMS.get(curve.suite, "?"))
            ),
            None,
        )
        hosts = [self._facts.get(str(rank), "") for rank in range(len(self._facts))]
        hosts = hosts[: hosts.index("")] if "" in hosts else hosts
        ranks, evidence = [name for name in self._facts if name.isdecimal()], curve.evidence
        rank_hosts = tuple(hosts[: curve.ranks]) if 1 < len(hosts) == len(ranks) else ()
        facts: dict[str, object] = {
            "rank_hosts": evidence.rank_hosts or rank_hosts,
            "library": evidence.library or self._facts.get("library", ""),
            "provider": evidence.provider or self._facts.get("provider", ""),
        }
        is_of_pairs = bool(curve.ends) or curve.pairs > 1
        if command and curve.suite == "osu" and curve.ranks is None and not is_of_pairs:
            force(curve, "ranks", count_ranks(command))
        count = curve.ranks or 2 * curve.pairs * is_of_pairs
        if nodes := rank_nodes(command, count, self.request):
            lines = [] if nodes == rank_nodes(command, count) else [*self.request.lines]
            lines += [command.text] if command else []
            facts |= {"rank_nodes": nodes, "command": command_line("; ".join(lines))}
        if command and (hosts_named := named_hosts(command)):
            facts["command_hosts"] = hosts_named
        if command and curve.points and curve.cut_off.endswith(_SMALLER):
            last, largest = (
                curve.points[-1].message_bytes or 0,
                osu_number(command, OSU_LARGEST_BYTES),
            )
            if largest is not None and last <= largest < max(1, 2 * last):
                force(curve, "cut_off", "")
        if command and (samples := osu_number(command, OSU_ITERATIONS)):
            # A number in a point's own row stays.
            points = tuple(
                point
                if point.estimate.samples
                else replace(point, estimate=replace(point.estimate, samples=samples))
                for point in curve.points
            )
            force(curve, "points", points)
        force(curve, "evidence", replace(evidence, **facts))
        if not curve.hosts:
            force(curve, "hosts", curve.evidence.rank_hosts)
