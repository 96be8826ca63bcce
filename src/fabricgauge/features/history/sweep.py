"""Measure pairs of idle nodes within a budget, so that all nodes are measured in a few weeks.

Comes in: the request, and the history, which knows who was measured when. Goes out: runs like all
others, made by ``submit`` or ``check``. A job of others is never delayed on purpose: nothing starts
while a job waits for nodes, and a sweep's own jobs are cancelled as soon as one does. Such a job
waits at most for one look at the queue.
"""

import math
import secrets
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

import msgspec

from fabricgauge.features.history.values import History, RunRow
from fabricgauge.model.errors import CannotRun, UsageError
from fabricgauge.model.host_access import HostAccess
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.model.words.sentences import command, counted
from fabricgauge.nodes import process
from fabricgauge.nodes.launch.launchers import launcher_of
from fabricgauge.nodes.launch.launchers.nodes import expand
from fabricgauge.nodes.process import ChildGroup

#: Seconds between two looks at the queue: a poll each second would load the controller.
LOOK_S = 10.0
#: Pairs that are measured at the same time.
AT_ONCE = 4
#: Load of a node that counts as idle: processes that ran or waited, over the last minute (proc(5)).
IDLE_LOAD = 0.2
_TIMEOUT_S = 90.0

#: Reasons of pending jobs that do not wait for nodes (squeue(1) of Slurm 22.05).
NOT_FOR_NODES = frozenset({
    "Dependency", "DependencyNeverSatisfied", "BeginTime", "JobHeldUser", "JobHeldAdmin",
    "Licenses", "JobArrayTaskLimit", "PartitionDown", "PartitionInactive", "PartitionTimeLimit",
    "PartitionNodeLimit", "AccountNotAllowed", "QOSNotAllowed", "InvalidAccount", "InvalidQOS",
})  # fmt: skip


class SweepRequest(msgspec.Struct, frozen=True):
    """The options of one sweep; times are minutes and days."""

    nodelist: str
    exclude: str
    partition: str
    launcher: str
    node_minutes: float
    pair_minutes: float
    every_days: float
    dry_run: bool
    sbatch: tuple[str, ...] = ()

    @property
    def pairs(self) -> int:
        """The number of pairs within the budget."""
        return int(self.node_minutes / (2 * self.pair_minutes))


class Measured(msgspec.Struct, frozen=True):
    """The last time of each node and of each pair, in seconds since 1970."""

    nodes: Mapping[str, float]
    pairs: Mapping[tuple[str, str], float]


def find_measured(runs: Iterable[RunRow]) -> Measured:
    """Return when each node and pair was last measured; only complete runs count."""
    nodes: dict[str, float] = {}
    pairs: dict[tuple[str, str], float] = {}
    for run in runs:
        if not run.complete or run.trouble or run.place not in ("", "lab"):
            continue
        for node in run.nodes:
            nodes[node] = max(run.started_s, nodes.get(node, 0.0))
        if len(run.nodes) == 2:
            pair = _pair(*run.nodes)
            pairs[pair] = max(run.started_s, pairs.get(pair, 0.0))
    return Measured(nodes, pairs)


def _pair(first: str, second: str) -> tuple[str, str]:
    return (first, second) if first < second else (second, first)


def choose_pairs(
    idle: Collection[str], measured: Measured, most: int
) -> tuple[tuple[str, str], ...]:
    """Return disjoint pairs of idle nodes: the node that waited longest meets a new partner.

    Its partner is one that it never met, else one that it met long ago; of these the node that
    waited longest itself.
    """
    waiting = sorted(idle, key=lambda node: (measured.nodes.get(node, 0.0), node))
    pairs: list[tuple[str, str]] = []
    while len(waiting) > 1 and len(pairs) < most:
        first = waiting.pop(0)
        second = min(waiting, key=lambda node: measured.pairs.get(_pair(first, node), 0.0))
        waiting.remove(second)
        pairs.append(_pair(first, second))
    return tuple(pairs)


def state_coverage(request: SweepRequest, nodes: int) -> str:
    """Return in how many weeks all nodes are measured, if enough of them are idle each time."""
    if not request.pairs:
        return (
            f"the budget of {request.node_minutes:g} node-minutes is below one pair's"
            f" {2 * request.pair_minutes:g}"
        )
    sweeps = math.ceil(nodes / (2 * request.pairs))
    weeks = sweeps * request.every_days / 7
    return (
        f"{counted(request.pairs, 'pair')} in each sweep: {nodes:,} nodes are measured in"
        f" {counted(sweeps, 'sweep')}, which is {weeks:.1f} weeks at one each"
        f" {request.every_days:g} days"
    )


def run_sweep(
    request: SweepRequest, root: Path, history: History, report: Callable[[str], None]
) -> int:
    """Measure the pairs of one sweep; return the exit status.

    It is 1 if a pair failed, 3 if none was measured, else 0.

    Raises:
        UsageError: the nodes cannot be named, or the budget is below one pair.
        CannotRun: Slurm did not answer.
    """
    if not request.pairs:
        raise UsageError(state_coverage(request, 0) + "; raise --node-minutes")
    queue = SlurmQueue(request) if request.launcher == "slurm" else LoadWatch(request)
    nodes, idle = queue.find_nodes()
    pairs = choose_pairs(idle, find_measured(history.runs), request.pairs)
    report(state_coverage(request, len(nodes)))
    report(
        f"{len(idle):,} of {len(nodes):,} nodes are idle; {counted(len(pairs), 'pair')} to measure"
    )
    if request.dry_run:
        for pair in pairs:
            report(command(queue.measure(pair, root)))
        return 0
    statuses = measure_pairs(queue, pairs, root, report)
    if 1 in statuses:
        return 1
    return 0 if 0 in statuses else 3


class NodeQueue(Protocol):
    """Know the jobs of others on the nodes, and the command that measures a pair."""

    longest_s: float

    def find_waiting(self) -> tuple[str, ...]: ...
    def is_free(self, pair: tuple[str, str]) -> bool: ...
    def measure(self, pair: tuple[str, str], root: Path) -> tuple[str, ...]: ...
    def cancel(self) -> None: ...


def measure_pairs(
    queue: "NodeQueue", pairs: Sequence[tuple[str, str]], root: Path,
    report: Callable[[str], None],
) -> list[int]:  # fmt: skip
    """Measure pairs, a few at once, until all are done or others need the nodes."""
    group, stop = ChildGroup(), threading.Event()

    def measure(pair: tuple[str, str]) -> int:
        if stop.is_set() or not queue.is_free(pair):
            return 3
        done = process.run(queue.measure(pair, root), timeout_s=queue.longest_s, group=group)
        if not stop.is_set():
            lines = done.stdout.strip().splitlines() or done.stderr.strip().splitlines() or [""]
            report(f"{pair[0]}, {pair[1]}: {lines[0][:200]}")
        return done.exit_code

    def look() -> None:
        while not stop.wait(LOOK_S):
            try:
                waiting = queue.find_waiting()
                why = f"job {waiting[0]} waits for nodes" if waiting else ""
            except Exception as error:  # who cannot look must assume that somebody waits
                why = f"the queue cannot be watched: {error}"
            if why:
                report(f"{why}: the sweep ends")
                stop.set()
                queue.cancel()
                group.end()

    if waiting := queue.find_waiting():
        report(f"job {waiting[0]} waits for nodes: nothing is measured")
        return []
    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            return list(pool.map(measure, pairs))
    except BaseException:
        stop.set()
        queue.cancel()
        group.end()
        raise
    finally:
        stop.set()


class SlurmQueue:
    """Idle nodes, waiting jobs and the sweep's own jobs, by Slurm's programs."""

    def __init__(self, request: SweepRequest) -> None:
        self._request = request
        #: The name of this sweep's jobs: it finds them, and only them.
        self.job_name = f"fabricgauge-sweep-{secrets.token_hex(4)}"
        # A job may wait in the queue for a moment, and its results are judged afterwards.
        self.longest_s = request.pair_minutes * 60 * 2 + 120

    def find_nodes(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return all nodes of the request, and those that are idle."""
        argv: tuple[str, ...] = ("sinfo", "--noheader", "--Node", "--format=%N|%T")
        if self._request.partition:
            argv += ("--partition", self._request.partition)
        states = parse_sinfo(_ask(argv))
        chosen = set(states)
        if self._request.nodelist or self._request.exclude:
            named = self._request.nodelist or ",".join(states)
            chosen &= set(expand(named, self._request.exclude))
        nodes = tuple(sorted(chosen))
        return nodes, tuple(node for node in nodes if states[node] == "idle")

    def find_waiting(self) -> tuple[str, ...]:
        """Return the jobs of others that wait for nodes, in any partition: they may share nodes."""
        argv = ("squeue", "--noheader", "--states=PENDING", "--format=%i|%j|%r")
        return parse_waiting(_ask(argv))

    def is_free(self, pair: tuple[str, str]) -> bool:
        argv = ("sinfo", "--noheader", "--Node", "--format=%N|%T", "--nodes", ",".join(pair))
        states = parse_sinfo(_ask(argv))
        return all(states.get(node) == "idle" for node in pair) and not self.find_waiting()

    def measure(self, pair: tuple[str, str], root: Path) -> tuple[str, ...]:
        """Return the command that measures a pair in a job which yields to all others."""
        options = (*(f"--sbatch={word}" for word in ("--nice", "--no-requeue")),
                   *(f"--sbatch={word}" for word in self._request.sbatch))  # fmt: skip
        partition = ("-p", self._request.partition) if self._request.partition else ()
        minutes = str(max(1, math.ceil(self._request.pair_minutes)))
        return (
            sys.executable, "-m", "fabricgauge", "submit", "-N", "2", "-w", ",".join(pair),
            *partition, "-t", minutes, "-J", self.job_name, *options, "-q", "-o", str(root),
        )  # fmt: skip

    def cancel(self) -> None:
        """End this sweep's jobs."""
        process.run(("scancel", "--me", f"--name={self.job_name}"), timeout_s=_TIMEOUT_S)


#: The beginning of the names of all sweeps' jobs: they do not wait for each other.
JOB_PREFIX = "fabricgauge-sweep-"


def parse_sinfo(text: str) -> dict[str, str]:
    """Return each node's state from lines ``c1|idle``; a node of several partitions has several.

    A state with a sign, such as ``idle*`` for a node that does not answer, is not idle.
    """
    states: dict[str, str] = {}
    for line in text.splitlines():
        node, bar, state = line.strip().partition("|")
        if bar and (node not in states or state != "idle"):
            states[node] = state
    return states


def parse_waiting(text: str) -> tuple[str, ...]:
    """Return the numbers of jobs that wait for nodes, from lines ``NUMBER|NAME|REASON``."""
    rows = (line.strip().split("|") for line in text.splitlines())
    return tuple(
        row[0] for row in rows
        if len(row) >= 3 and not row[1].startswith(JOB_PREFIX) and row[-1] not in NOT_FOR_NODES
    )  # fmt: skip


def _ask(argv: Sequence[str]) -> str:
    done = process.run(argv, timeout_s=_TIMEOUT_S)
    if done.exit_code != 0:
        output = done.stderr.strip() or "no answer"
        raise CannotRun(f"{argv[0]} failed: {output:.300}; without Slurm use --launcher ssh and -w")
    return done.stdout


class LoadWatch:
    """Idle nodes by their load, for sites without a scheduler; nothing waits there."""

    def __init__(self, request: SweepRequest) -> None:
        if not request.nodelist:
            raise UsageError("--launcher ssh needs nodes; name them with -w, e.g. -w c[1-8]")
        self._request = request
        self.longest_s = request.pair_minutes * 60 + 60

    def find_nodes(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        nodes = expand(self._request.nodelist, self._request.exclude)
        loads = self._read_loads(nodes)
        return nodes, tuple(node for node in nodes if loads.get(node, math.inf) < IDLE_LOAD)

    def _read_loads(self, nodes: Sequence[str]) -> dict[str, float]:
        asked = MeasurementRequest(nodelist=",".join(nodes), launcher="ssh")
        access: HostAccess = launcher_of("ssh").reach(asked)

        def read(place: int) -> float:
            argv = access.hosts[place].through(("cat", "/proc/loadavg"))
            done = process.run(argv, timeout_s=10.0)
            return parse_load(done.stdout) if done.exit_code == 0 else math.inf

        with ThreadPoolExecutor(16) as pool:
            loads = pool.map(read, range(len(access.hosts)))
            return dict(zip(access.nodes, loads, strict=True))

    def find_waiting(self) -> tuple[str, ...]:
        return ()

    def is_free(self, pair: tuple[str, str]) -> bool:
        return all(load < IDLE_LOAD for load in self._read_loads(pair).values())

    def measure(self, pair: tuple[str, str], root: Path) -> tuple[str, ...]:
        budget = f"{self._request.pair_minutes * 60:g}s"
        return (
            sys.executable, "-m", "fabricgauge", "check", "--launcher", "ssh", "-w", ",".join(pair),
            "--budget", budget, "-q", "-o", str(root),
        )  # fmt: skip

    def cancel(self) -> None:
        """Do nothing: the group of children ends the checks."""


def parse_load(text: str) -> float:
    """Return the load over one minute of ``/proc/loadavg``; infinity if it is not understood."""
    try:
        return float(text.split()[0])
    except (IndexError, ValueError):
        return math.inf
