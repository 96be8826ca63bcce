"""Start the engine launch by launch; store each record before the next one is read."""

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from fabricgauge.check.notes import with_link_changes
from fabricgauge.check.plan.cases import needs_threads
from fabricgauge.check.run_context import RunContext
from fabricgauge.judge.evidence.links import FlapWatch
from fabricgauge.logs.readers.engine import NotUnderstood, parse_line
from fabricgauge.model.errors import StoreError
from fabricgauge.model.features import load_role
from fabricgauge.model.host_access import LaunchCommand
from fabricgauge.model.measurement import Measurement, Round
from fabricgauge.model.measurement import Record as EngineRecord
from fabricgauge.model.plan import Plan, PlannedLaunch
from fabricgauge.model.run import INTERRUPTED, UNSTORED, Ended
from fabricgauge.nodes.launch.launch import Running, case_lines, printed
from fabricgauge.nodes.launch.mpi_impls import command
from fabricgauge.nodes.process import MARKER

if TYPE_CHECKING:
    from fabricgauge.check.plan.search import Group

#: How long a case may stay silent past its budget before its launch is given up.
GRACE_S = 10.0
#: Time for mpiexec to reach the nodes, and for MPI to start.
START_S = 30.0
#: More start time per rank: thousands of ranks take longer. An allowance, not a measured figure.
START_PER_RANK_S = 0.05
#: If a launch is silent for this long beyond its longest case, its ranks are looked at.
QUIET_S = 4.0
#: Time limit for the start of a short launch that searches for culprits. A node may answer
#: discovery as late as this.
SEARCH_START_S = 20.0
#: Simulated figures vary only by the noise that is set, and each sample costs time here.
SIMULATED_SAMPLES = 9


def measure(context: RunContext, launches: tuple[PlannedLaunch, ...]) -> None:
    """Make the launches in order; one that breaks does not end the others.

    Once a network is found broken, its other launches are not started: each would only wait for its
    time limit. They stay in the plan, and ``--resume`` makes them. ``context.culprits`` then names
    the culprits, if they were found.

    Raises:
        CannotRun: the MPI cannot make one of the launches; none is made then.
    """
    if context.target.simulation is None:
        for launch in launches:
            planned_command(context, launch)  # find what an MPI refuses before the first start
    context.progress.planned(launches)
    broken: set[str | None] = set()
    for launch in launches:
        if launch.network in broken:
            continue
        context.progress.launch(launch)
        ended = _make_launch(context, launch)
        if ended.status != "ok":
            for finding in ended.culprits:
                context.progress.trouble(f"{finding.where}: {finding.what}")
            broken.add(launch.network)


def planned_command(context: RunContext, launch: PlannedLaunch) -> LaunchCommand:
    """Return the command that makes a launch; nothing is started."""
    options = launch_options(context.plan, launch)
    if context.plan.transport:
        from fabricgauge.nodes.launch.transports import split_launch

        launch, words = split_launch(context.plan.transport, context.fabric, launch)
        options = (*options, *words)
    simulation = context.target.simulation
    if simulation is not None:
        folder = context.directory.raw(context.name(launch))
        few_samples = (*options, "--iterations", str(SIMULATED_SAMPLES))
        cluster = simulation.in_launch(launch.number)
        prepared: LaunchCommand = load_role("simulator").prepared(
            cluster, context.engine, launch.nodes, folder, few_samples
        )
        return prepared
    return command(context.engine, launch, context.target.access, options)


def launch_options(plan: Plan, launch: PlannedLaunch) -> tuple[str, ...]:
    """Return the engine's options for one launch; pinning belongs to each MPI's module.

    MPI's support for threads is asked for only if all cases need it: it slows all other cases.
    """
    return (
        "--half-width", str(plan.stopping.relative_half_width),
        "--confidence", str(plan.stopping.confidence),
        "--grace", str(GRACE_S),
        *(("--check-data",) if plan.check_data else ()),
        *(("--memory", plan.memory) if plan.memory else ()),
        *(("--device", str(plan.device)) if plan.device is not None else ()),
        *(("--thread-multiple",) if all(map(needs_threads, launch.cases)) else ()),
    )  # fmt: skip


def _make_launch(context: RunContext, launch: PlannedLaunch) -> Ended:
    name = context.name(launch)
    watch = _LaunchWatch(context, launch, f"{context.directory.identity}/{name}")
    # A simulator needs no time limit: it ends by itself if its ranks wait for ever.
    silent_s = math.inf if context.target.simulation else longest_silence_s(launch)
    running = Running(
        planned_command(context, launch),
        case_lines(launch.cases),
        context.directory.raw(name),
        silent_s=silent_s,
        started_silent_s=silent_s - START_S + GRACE_S,
        marker=watch.mark,
        is_hopeless=watch.look,
    )
    unparsed: list[str] = []
    gave_up = ""
    try:
        for line in running:
            record = _store_line(context, launch, line, unparsed)
            watch.note_record(record)
            if watch.lost:
                gave_up = "a link flaps"
                break
            if isinstance(record, Measurement) and record.status == "timeout":
                gave_up = f"{record.case}: {record.reason}"
                break  # the engine has ended; its launcher may notice much later
        ended = running.ended()
        if gave_up:
            ended = msgspec.structs.replace(ended, status="timeout", message=gave_up)
        if ended.status != "ok":
            ended = _with_culprits(context, launch, ended, watch)
    except BaseException as error:
        with suppress(StoreError):  # the error may be a full disk
            context.close(launch, broken_by(error, running.ended()), unparsed)
        raise
    finally:
        running.close()
    context.close(launch, ended, unparsed)
    return ended


class _LaunchWatch:
    """Watch a launch's links and, while no record comes, its ranks.

    If no record comes, the ranks wait for a rank that is stuck. Before the first record a missing
    rank may still be starting. ``lost`` is the trouble by node. ``unanswered`` are connections that
    two looks found waiting for their first answer.
    """

    def __init__(self, context: RunContext, launch: PlannedLaunch, mark: str) -> None:
        self.mark, self.started = mark, False
        self.lost: dict[str, str] = {}
        self.unanswered: frozenset[tuple[str, str]] = frozenset()
        self._asking: frozenset[tuple[str, str]] = frozenset()
        self._access, self._nodes = context.target.access, launch.nodes
        ranks = len(launch.nodes)
        self._due_s = QUIET_S + max(case.round_s(ranks) for case in launch.cases)
        self._asks = context.target.simulation is None and len(set(launch.nodes)) > 1
        fabric = context.fabric
        network = next(
            (network for network in fabric.networks if network.name == launch.network), None
        )
        self._flaps = FlapWatch(network, fabric, launch.nodes) if network and self._asks else None
        self._members = {member.ip for member in network.members} if network else set[str]()

    def note_record(self, record: EngineRecord | None) -> None:
        """Note a record. A launch over a link that flaps is given up: it waits most of its time."""
        self.started |= record is not None
        if self._flaps and isinstance(record, Measurement):
            self._flaps.saw(record)
            self.lost = self._flaps.flapping()

    def look(self, silent_s: float) -> bool:
        """Check if the launch cannot go on: a rank is lost, or a connection is not answered."""
        if self._asks and silent_s >= self._due_s:
            from fabricgauge.nodes.discover.ranks import find_rank_states

            self._due_s = silent_s + QUIET_S
            ranks = find_rank_states(self._access, self._nodes, f"{MARKER}={self.mark}")
            self.lost = ranks.lost if self.started else {}
            asking = frozenset(end for end in ranks.asking if end[1] in self._members)
            self.unanswered, self._asking = self._asking & asking, asking
        return bool(self.lost or self.unanswered)


def _with_culprits(
    context: RunContext, launch: PlannedLaunch, ended: Ended, watch: _LaunchWatch
) -> Ended:
    """Add to the end of a broken launch what changed since discovery, and the culprits."""
    from fabricgauge.check.breakage import FailedLaunch, find_culprits, with_findings

    if context.target.simulation is not None:
        return ended
    printed_words = printed(context.directory.raw(context.name(launch)))
    ended = with_link_changes(context.target.access, context.fabric, launch.network, ended)
    context.progress.stage(f"launch {launch.number} broke: searching for the culprit")
    broken = FailedLaunch(
        launch, ended.exit_code, watch.lost, printed_words, watch.started, watch.unanswered,
        context.plan.memory,
    )  # fmt: skip
    findings = find_culprits(context, broken, partial(_breaks, context, launch))
    if not findings.findings:
        context.progress.trouble(ended.message)
    if findings.culprits or not findings.repeats:
        context.culprits.setdefault(launch.network or "", []).extend(findings.culprits)
        context.broken.add(launch.network)
    return with_findings(ended, findings)


def _breaks(context: RunContext, of: PlannedLaunch, groups: Sequence["Group"]) -> tuple[str, ...]:
    """Make short launches of groups of nodes at the same time; return the message of each.

    The message is empty if the launch went well. In each launch every node meets every other node;
    a node alone has two ranks.
    """
    from fabricgauge.check.plan.search import MAX_PARALLEL_LAUNCHES

    started_launches: list[Running] = []

    def end_of(group: "Group") -> str:
        running = _search_launch(context, of, group)
        started_launches.append(running)
        for _ in running:
            pass
        ended = running.ended()
        return ended.message if ended.status != "ok" else ""

    with ThreadPoolExecutor(MAX_PARALLEL_LAUNCHES) as pool:
        try:
            return tuple(pool.map(end_of, groups))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for running in started_launches:
                running.close()
            raise


def _search_launch(context: RunContext, of: PlannedLaunch, group: "Group") -> Running:
    from fabricgauge.check.plan.search import search_cases

    ranks = group * 2 if len(group) == 1 else tuple(
        node for node in dict.fromkeys(of.nodes) if node in group
    )  # fmt: skip
    cases = search_cases(of, context.measured(of), context.target.access.virtual)
    launch = msgspec.structs.replace(of, nodes=ranks, cases=cases)
    name = f"search-{of.number:02}-{next(context.searches)}"
    allowance_s = START_PER_RANK_S * len(ranks)
    return Running(
        planned_command(context, launch),
        case_lines(cases),
        context.directory.raw(name),
        silent_s=SEARCH_START_S + allowance_s,
        started_silent_s=GRACE_S + allowance_s + max(case.round_s(len(ranks)) for case in cases),
        marker=f"{context.directory.identity}/{name}",
    )


def longest_silence_s(launch: PlannedLaunch) -> float:
    """Return how long a launch may go without a record: its start and its longest case or round."""
    ranks = len(launch.nodes)
    longest_s = max(case.round_s(ranks) for case in launch.cases)
    return START_S + START_PER_RANK_S * ranks + GRACE_S + longest_s


def broken_by(error: BaseException, ended: Ended) -> Ended:
    """Return the end of a launch that this program itself broke off."""
    if isinstance(error, KeyboardInterrupt):
        return msgspec.structs.replace(ended, status=INTERRUPTED, message="interrupted")
    status = UNSTORED if isinstance(error, StoreError) else "broken"
    return msgspec.structs.replace(ended, status=status, message=str(error))


def _store_line(
    context: RunContext, launch: PlannedLaunch, line: str, unparsed: list[str]
) -> EngineRecord | None:
    """Store the record of a line and return it; None if the line has no record."""
    record = parse_line(line)
    if isinstance(record, NotUnderstood):
        if record.text:
            unparsed.append(f"{record.text} ({record.reason})")
        return None
    context.keep(launch, (record,))
    if isinstance(record, Measurement):
        context.progress.case(record)
    if isinstance(record, Round):
        context.progress.round(record)
    return record
