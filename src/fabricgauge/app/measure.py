"""Starts the engine launch by launch and stores each record before the next one is read."""

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

import msgspec

from fabricgauge.app.breakage import Broken, told, why
from fabricgauge.app.notes import explained
from fabricgauge.app.run_context import RunContext
from fabricgauge.discover.ranks import rank_states
from fabricgauge.evidence.links import FlapWatch
from fabricgauge.model.errors import StoreError
from fabricgauge.model.host_access import LaunchCommand
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.measurement import Record as EngineRecord
from fabricgauge.model.plan import Plan, PlannedLaunch
from fabricgauge.model.run import INTERRUPTED, UNSTORED, Ended
from fabricgauge.model.together import Round
from fabricgauge.parse.engine import NotUnderstood, parse_line
from fabricgauge.plan.cases import threaded
from fabricgauge.plan.search import AT_ONCE, Group, search_cases
from fabricgauge.process import MARKER
from fabricgauge.run.launch import Running, case_lines, printed
from fabricgauge.run.mpi_impls.table import command
from fabricgauge.run.transports import beside_mpi
from fabricgauge.sim.simulate import prepared

#: How long a case may stay silent past its budget before its launch is given up.
GRACE_S = 10.0
#: Time for mpiexec to reach the nodes and for MPI to start.
START_S = 30.0
#: The same for each rank: thousands of them take longer. An allowance, not a measured figure.
START_PER_RANK_S = 0.05
#: A launch that is silent this long beyond its longest case has its ranks looked at.
QUIET_S = 4.0
#: A short launch that searches for culprits is given up if it has not begun after this time: a
#: node may answer as late, and be discovered.
SEARCH_START_S = 20.0
#: A simulator's figures vary by its noise alone; each sample costs this machine's time.
SIMULATED_SAMPLES = 9


def measure(context: RunContext, launches: tuple[PlannedLaunch, ...]) -> None:
    """Make the launches in order; one that breaks does not end the others.

    Once a network is found broken, its further launches are not started: each would only wait
    for its time limit. They stay in the plan and ``--resume`` makes them; ``context.culprits`` then
    says who broke it, if that was found out.

    Raises:
        CannotRun: the MPI cannot make one of the launches; none is made then.
    """
    if context.target.simulation is None:
        for launch in launches:
            planned_command(context, launch)  # nothing is begun that an MPI refuses later
    context.progress.planned(launches)
    broken: set[str | None] = set()
    for launch in launches:
        if launch.network in broken:
            continue
        context.progress.launch(launch)
        ended = _one(context, launch)
        if ended.status != "ok":
            for one in ended.culprits:
                context.progress.trouble(f"{one.where}: {one.what}")
            broken.add(launch.network)


def planned_command(context: RunContext, launch: PlannedLaunch) -> LaunchCommand:
    """The command that makes a launch; nothing is started."""
    options = launch_options(context.plan, launch)
    if context.plan.transport:
        launch, words = beside_mpi(context.plan.transport, context.fabric, launch)
        options = (*options, *words)
    simulation = context.target.simulation
    if simulation is not None:
        folder = context.directory.raw(context.name(launch))
        few = (*options, "--iterations", str(SIMULATED_SAMPLES))
        cluster = simulation.in_launch(launch.number)
        return prepared(cluster, context.engine, launch.nodes, folder, few)
    return command(context.engine, launch, context.target.access, options)


def launch_options(plan: Plan, launch: PlannedLaunch) -> tuple[str, ...]:
    """The engine's command line for one launch, pinning left to the MPI's own module.

    What several threads need would make the figures of all else in the launch slower.
    """
    return (
        "--half-width", str(plan.stopping.relative_half_width),
        "--confidence", str(plan.stopping.confidence),
        "--grace", str(GRACE_S),
        *(("--check-data",) if plan.check_data else ()),
        *(("--memory", plan.memory) if plan.memory else ()),
        *(("--device", str(plan.device)) if plan.device is not None else ()),
        *(("--thread-multiple",) if all(map(threaded, launch.cases)) else ()),
    )  # fmt: skip


def _one(context: RunContext, launch: PlannedLaunch) -> Ended:
    name = context.name(launch)
    watch = _Watch(context, launch, f"{context.directory.identity}/{name}")
    # A simulator takes as long as this machine needs; it ends by itself if its ranks wait for ever.
    silent_s = math.inf if context.target.simulation else longest_silence_s(launch)
    running = Running(
        planned_command(context, launch),
        case_lines(launch.cases),
        context.directory.raw(name),
        silent_s=silent_s,
        started_silent_s=silent_s - START_S + GRACE_S,
        marker=watch.mark,
        look=watch.look,
    )
    unparsed: list[str] = []
    gave_up = ""
    try:
        for line in running:
            record = _keep(context, launch, line, unparsed)
            watch.saw(record)
            if watch.lost:
                gave_up = "a link flaps"
                break
            if isinstance(record, Measurement) and record.status == "timeout":
                gave_up = f"{record.case}: {record.reason}"
                break  # the engine has ended; its launcher may not notice for long
        ended = running.ended()
        if gave_up:
            ended = msgspec.structs.replace(ended, status="timeout", message=gave_up)
        if ended.status != "ok":
            ended = _blamed(context, launch, ended, watch)
    except BaseException as error:
        with suppress(StoreError):  # a full disk may be what brought us here
            context.close(launch, broken_by(error, running.ended()), unparsed)
        raise
    finally:
        running.close()
    context.close(launch, ended, unparsed)
    return ended


class _Watch:
    """Looks at a launch's links and, while no record comes, at its ranks.

    ``lost`` is what is wrong, by node. When no record comes, the ranks wait for one that is stuck.
    Before the first record a missing rank may still be starting. ``unanswered`` are connections
    that two looks found waiting for their first answer.
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
        network = next((one for one in fabric.networks if one.name == launch.network), None)
        self._flaps = FlapWatch(network, fabric, launch.nodes) if network and self._asks else None
        self._members = {one.ip for one in network.members} if network else set[str]()

    def saw(self, record: EngineRecord | None) -> None:
        """A launch over a link that comes and goes waits most of its time: it is given up."""
        self.started |= record is not None
        if self._flaps and isinstance(record, Measurement):
            self._flaps.saw(record)
            self.lost = self._flaps.flapping()

    def look(self, silent_s: float) -> bool:
        """Whether the launch will not go on: a rank is lost, or a connection not answered."""
        if self._asks and silent_s >= self._due_s:
            self._due_s = silent_s + QUIET_S
            found = rank_states(self._access, self._nodes, f"{MARKER}={self.mark}")
            self.lost = found.lost if self.started else {}
            of_ranks = {one for one in found.asking if one[1] in self._members}
            self.unanswered = self._asking & of_ranks
            self._asking = frozenset(of_ranks)
        return bool(self.lost or self.unanswered)


def _blamed(context: RunContext, launch: PlannedLaunch, ended: Ended, watch: _Watch) -> Ended:
    """The end of a launch that broke, with what changed since discovery and who broke it."""
    if context.target.simulation is not None:
        return ended
    said = printed(context.directory.raw(context.name(launch)))
    ended = explained(context.target.access, context.fabric, launch.network, ended)
    context.progress.stage(f"launch {launch.number} broke: looking for who broke it")
    broken = Broken(
        launch, ended.exit_code, watch.lost, said, watch.started, watch.unanswered
    )  # fmt: skip
    found = why(context, broken, partial(_breaks, context, launch))
    if not found.findings:
        context.progress.trouble(ended.message)
    if found.dead or not found.repeats:
        context.culprits.setdefault(launch.network or "", []).extend(found.dead)
        context.broken.add(launch.network)
    return told(ended, found)


def _breaks(context: RunContext, of: PlannedLaunch, groups: Sequence[Group]) -> tuple[str, ...]:
    """What short launches of groups of nodes said that broke; they are made at the same time.

    In each launch each node meets each; a node alone has two ranks.
    """
    begun: list[Running] = []

    def end_of(group: Group) -> str:
        running = _search_launch(context, of, group)
        begun.append(running)
        for _ in running:
            pass
        ended = running.ended()
        return ended.message if ended.status != "ok" else ""

    with ThreadPoolExecutor(AT_ONCE) as pool:
        try:
            return tuple(pool.map(end_of, groups))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for running in begun:
                running.close()
            raise


def _search_launch(context: RunContext, of: PlannedLaunch, group: Group) -> Running:
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
    """How long a launch may go without a record: its start and its longest case or round."""
    ranks = len(launch.nodes)
    longest_s = max(case.round_s(ranks) for case in launch.cases)
    return START_S + START_PER_RANK_S * ranks + GRACE_S + longest_s


def broken_by(error: BaseException, ended: Ended) -> Ended:
    """The end of a launch that this program itself broke off."""
    if isinstance(error, KeyboardInterrupt):
        return msgspec.structs.replace(ended, status=INTERRUPTED, message="interrupted")
    status = UNSTORED if isinstance(error, StoreError) else "broken"
    return msgspec.structs.replace(ended, status=status, message=str(error))


def _keep(
    context: RunContext, launch: PlannedLaunch, line: str, unparsed: list[str]
) -> EngineRecord | None:
    """Store one line's record and return it; None where the line holds none."""
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
