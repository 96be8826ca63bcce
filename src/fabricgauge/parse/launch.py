"""What MPI's start tells in front of any suite's output: where each rank runs, over what.

Intel MPI with ``I_MPI_DEBUG`` (``[0] MPI startup(): Rank    Pid      Node name       Pin cpu`` and
a row for each rank), Open MPI 3 to 5 with ``--report-bindings`` (``[c1:4711] MCW rank 0 bound to``,
``[c1:4711] Rank 0 bound to``). Formats after recorded outputs of Intel MPI 2018 to 2021 and
rtc_hwloc.c of Open MPI 4.1.
"""

import re
from collections.abc import Mapping

import msgspec

from fabricgauge.model.suite import SuiteCurve
from fabricgauge.parse.command import Command, Request, largest_bytes, rank_nodes
from fabricgauge.parse.lines import command_line, remembered
from fabricgauge.parse.nccl.facts import PROGRAM, UNNAMED, renamed

#: What is told of more ranks is not kept.
MOST_RANKS = 1 << 16
_INTEL = "MPI startup(): "
#: Behind the label of a rank whose lines are not yet known for labelled ones.
_FACTS = re.compile(
    r"(?:\[\d+\] | *\d+: )?(?:\[\d+\] MPI startup\(\): (?:"
    r"(?P<rank>\d{1,7}) +\d+ +(?P<host>[A-Za-z][\w.-]*)(?: +[\d{+].*)?$"
    r"|Intel\(R\) MPI Library, Version (?P<library>.{1,60}?) *(?:Build|\(|$)"
    r"|libfabric provider: (?P<provider>\S{1,60}))"
    r"|\[(?P<bound_host>[A-Za-z][\w.-]*):\d+\] (?:MCW r|R)ank (?P<bound>\d{1,7}) .*\bbound\b)"
)
#: Suites whose programs an MPI's launcher starts.
_SUITES = {
    "osu", "imb", "netpipe", "mpigraph", "gpcnet", "nccl-tests", "rccl-tests", "hpcc",
    "ucc_perftest",
}  # fmt: skip
#: Lines named several collectives, and one of them is the table's.
_SEVERAL = "several"
#: How the programs begin of which none is called as its benchmarks are.
_PROGRAMS = {
    "imb": "IMB-", "netpipe": "NPmpi", "mpigraph": "mpiGraph", "ucc_perftest": "ucc_perftest",
}  # fmt: skip
#: How readers end the sign of a table that stops before a suite's largest default size.
_SMALLER = "or run with a smaller maximum"
#: The rest of a list of processors that was too long for one line.
_REST = re.compile(r"(?:\[\d+\])?\s+\d[\d,-]*\}?\s*$")


@remembered
def facts_in(text: str) -> Mapping[str, str] | None:
    """What a line tells: a rank's host by its number, ``library`` or ``provider``.

    Empty for other lines of the start; None for a line of something else.
    """
    match = _FACTS.match(text) if _INTEL in text or "ank " in text else None
    if match is None:
        return {} if _INTEL in text else None
    if match["library"]:
        return {"library": f"Intel MPI {match['library']}"}
    if match["provider"]:
        return {"provider": match["provider"]}
    return {match["rank"] or match["bound"]: match["host"] or match["bound_host"]}


class Launch:
    """The facts of one start, by name."""

    def __init__(self, request: Request | None = None) -> None:
        #: What the job asked for, around all its programs.
        self.request = request or Request()
        self._facts: dict[str, str] = {}
        self._begun = False
        #: By program, its command; None for one that several commands start, of which only one can
        #: be that of a table.
        self._commands: dict[str, Command | None] = {}
        self._used = False
        #: The program of nccl-tests that a line named; empty where several lines named others.
        self._collective = ""
        self._collective_used = False

    def copy(self) -> "Launch":
        """The same facts for a rank's own lines, which then may tell of another start."""
        other = Launch(self.request)
        other.learn(self._facts)
        other._commands = dict(self._commands)
        other._collective = self._collective
        return other

    def take(self, text: str) -> Mapping[str, str] | None:
        """As ``facts_in``; lists of processors go on over lines."""
        facts = facts_in(text)
        if facts is None and self._begun and _REST.match(text):
            return {}
        self._begun = facts is not None
        return facts

    def is_over(self, facts: Mapping[str, str]) -> bool:
        """Whether these are another start's: something is told anew."""
        return not self._facts.keys().isdisjoint(facts)

    def learn(self, facts: Mapping[str, str]) -> None:
        if len(self._facts) < MOST_RANKS:
            self._facts.update(facts)

    def commanded(self, command: Command) -> "Launch":
        """The start that a command begins: this one, unless it has a table of that program."""
        if not self._used or command.program not in self._commands:
            known = command.program in self._commands
            self._commands[command.program] = None if known else command
            return self
        begun = Launch(self.request)
        begun._commands[command.program] = command
        return begun

    def name_collective(self, text: str) -> None:
        """Keep the program of nccl-tests that a line names, be it a command's second line."""
        match = PROGRAM.search(text)
        if match is not None:
            alone = self._collective_used or self._collective in ("", match[0])
            self._collective = match[0] if alone else _SEVERAL
            self._collective_used = False

    def _command_of(self, curve: SuiteCurve) -> Command | None:
        fitting = (
            command
            for program, command in self._commands.items()
            if program == curve.benchmark or program.startswith(_PROGRAMS.get(curve.suite, "?"))
        )
        return next(fitting, None)

    def add_to(self, curve: SuiteCurve) -> None:
        """Let a new curve of this start tell its facts; what its own output says stays.

        Of more ranks than took part the first ones did.
        """
        self._used = True
        if curve.benchmark == UNNAMED and self._collective.endswith("_perf"):
            self._collective_used = True
            named = renamed(curve, self._collective)
            msgspec.structs.force_setattr(curve, "benchmark", named.benchmark)
            msgspec.structs.force_setattr(curve, "what", named.what)
        if not (self._facts or self._commands or self.request.lines) or curve.suite not in _SUITES:
            return
        hosts = [self._facts.get(str(rank), "") for rank in range(len(self._facts))]
        hosts = hosts[: hosts.index("")] if "" in hosts else hosts
        own, ranks = curve.evidence, [name for name in self._facts if name.isdecimal()]
        known = len(hosts) > 1 and len(hosts) == len(ranks)
        evidence = msgspec.structs.replace(
            own,
            rank_hosts=own.rank_hosts or (tuple(hosts[: curve.ranks]) if known else ()),
            library=own.library or self._facts.get("library", ""),
            provider=own.provider or self._facts.get("provider", ""),
        )
        command, count = self._command_of(curve), curve.ranks or 2 * curve.pairs
        if nodes := rank_nodes(command, count, self.request):
            lines = [] if nodes == rank_nodes(command, count) else [*self.request.lines]
            lines += [command.text] if command else []
            evidence = msgspec.structs.replace(
                evidence, rank_nodes=nodes, command=command_line("; ".join(lines))
            )
        if command and curve.points and curve.cut_off.endswith(_SMALLER):
            last, largest = curve.points[-1].message_bytes or 0, largest_bytes(command)
            if largest is not None and last <= largest < max(1, 2 * last):
                msgspec.structs.force_setattr(curve, "cut_off", "")
        msgspec.structs.force_setattr(curve, "evidence", evidence)
        if not curve.hosts:
            msgspec.structs.force_setattr(curve, "hosts", evidence.rank_hosts)
