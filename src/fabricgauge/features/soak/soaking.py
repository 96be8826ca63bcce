"""Start the soak's program on all nodes, watch it, name dips as they happen, store the result."""

import time
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import msgspec

from fabricgauge.check.measure import broken_by
from fabricgauge.check.run_context import RunContext
from fabricgauge.cli.show import conclude, print_report
from fabricgauge.features.soak.answers import (
    ROUNDS_BEFORE,
    Answer,
    Asker,
    compare_phases,
    judge_answers,
)
from fabricgauge.features.soak.events import Event, describe_event, drop_echoes, join_dips
from fabricgauge.features.soak.program import soak_program
from fabricgauge.features.soak.proof import (
    RATE_FAIL,
    Crossing,
    find_ceiling,
    find_crossings,
    judge_crossings,
    judge_rate,
)
from fabricgauge.features.soak.watching import (
    PAUSE_S,
    WAITING_S,
    Dip,
    Direction,
    SoakRecord,
    SoakWatch,
    Stuck,
    parse_record,
)
from fabricgauge.model.absence import Skipped
from fabricgauge.model.engine import Engine
from fabricgauge.model.errors import CannotRun, StoreError, UsageError
from fabricgauge.model.fabric import Network
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.model.run import Ended
from fabricgauge.model.verdict import Outcome
from fabricgauge.model.words.figures import duration, percent
from fabricgauge.model.words.networks import named
from fabricgauge.model.words.sentences import counted
from fabricgauge.model.words.sentences import direction as way
from fabricgauge.nodes.discover.ranks import find_rank_states
from fabricgauge.nodes.launch.carrying import required_on_nodes
from fabricgauge.nodes.launch.launch import Running
from fabricgauge.nodes.launch.mpi_impls import command
from fabricgauge.nodes.process import MARKER
from fabricgauge.store.run_directory import RunDirectory

#: The stored result, a line for each dip, and the version of the result.
SOAKED, DIPS, VERSION = "soak.json", "dips.jsonl", "1.1"
#: A message takes this time at the link's rate: long against a host's delays, short against a dip.
MESSAGE_S = 1e-3
LEAST_BYTES, MOST_BYTES = 64 * 1024, 16 * 1024 * 1024
#: The rate that is assumed if no source gives the network's.
ASSUMED_BIT_S = 1e9
#: Ranks that one second's records of about 700 bytes each may come from.
RANKS_PER_SECOND = 32
#: Time for the launcher to start ranks, and for them to end after the soak.
START_S, END_S = 60.0, 30.0
#: After this silence of all ranks the launch is ended.
ALL_SILENT_S = 60.0
#: Dips of the network in one direction from which the network fails.
REPEATED = 3
#: Share of the time that a process did not run, from which a quiet result means nothing.
STOPPED_SHARE = 0.1

#: A slowdown of the network fails from this length on, as a direction that carries nothing does,
#: and from this share of the soak on in one direction: one dip of half a second in five.
LONG_DIP_S, LONG_SHARE = WAITING_S, 0.1
#: A dip beside busy hosts counts from this many usual times and this length on; a low rate fails
#: there if it is as many times below the limit that hosts which run only part of the time leave.
CLEAR_FACTOR, CLEAR_LENGTH_S = 2.5, 0.1
#: Intervals after which a dip is reported: until then other nodes write what they saw of it.
REPORT_INTERVALS = 1.5
#: Messages of one direction that were late without a pause, from which they are a warning, and the
#: seconds for each: of all, and of those in whose interval TCP sent segments again. In 30 minutes
#: of a quiet lab two directions had 7 and 2.
LATE, LATE_EVERY_S = 10, 10.0
LATE_RESENT, RESENT_EVERY_S = 3, 100.0


_NOT_ASKED = Outcome.SKIPPED


class Soaked(msgspec.Struct, frozen=True, tag_field="format", tag="fabricgauge-soak"):
    """soak.json: the pace, what was seen in each direction, and what is stuck or was.

    ``crossings`` are the nodes' counters; ``ceiling_bytes_per_s`` is 0 if the rate is unknown.
    ``answers`` are those of the management path, empty if it was not asked; ``asking_error`` ended
    the asking early.
    """

    network: str
    nodes: tuple[str, ...]
    message_bytes: int
    period_s: float
    asked_s: float
    soaked_s: float
    began_s: float
    directions: tuple[Direction, ...]
    stuck: tuple[Stuck, ...]
    ended: Ended
    interrupted: bool = False
    crossings: tuple[Crossing, ...] = ()
    ceiling_bytes_per_s: float = 0.0
    answers: tuple[Answer, ...] = ()
    asking_error: str = ""
    version: str = VERSION

    @property
    def causes(self) -> tuple[Stuck, ...]:
        """Return stuck ranks, then directions: nothing comes through to a stuck rank."""
        return tuple(sorted(self.stuck, key=lambda item: (not item.state, bool(item.target))))

    @property
    def dips(self) -> tuple[Dip, ...]:
        """The kept dips of all directions, oldest first."""
        dips = (
            dip
            for direction in self.directions
            for dip in (*direction.dips, *direction.host_pauses)
        )
        return tuple(sorted(dips, key=lambda dip: dip.at_s))


class Pace(msgspec.Struct, frozen=True):
    """Message size, and the time from one message of a rank to its next."""

    message_bytes: int
    period_s: float
    interval_s: float


def choose_pace(network: Network | None, share: float, ranks: int) -> Pace:
    """Return the pace that uses ``share`` of the network's rate in each direction."""
    rate = network.rate_bit_s if network is not None else ASSUMED_BIT_S
    rate_bit_s = ASSUMED_BIT_S if isinstance(rate, Skipped) else rate
    wanted = int(rate_bit_s / 8 * MESSAGE_S)
    message_bytes = min(MOST_BYTES, max(LEAST_BYTES, wanted // 4096 * 4096))
    period_s = message_bytes * 8 / rate_bit_s / share
    return Pace(message_bytes, period_s, max(1.0, ranks / RANKS_PER_SECOND))


def judge(soaked: Soaked) -> tuple[Outcome, str]:
    """Return the outcome of a soak and its reason.

    INVALID: the bytes took another path. FAIL: a rank or direction that stood still, repeated dips
    of one direction or a long one, or half of the network's rate from the beginning. WARN: a dip
    or two, single messages that are late again and again without a pause, a lower rate, or a host
    that paused. INCONCLUSIVE: it did not run, no counters prove
    the path, or hosts paused so much that a quiet result means nothing.
    """
    path, path_reason = judge_crossings(soaked.crossings)
    if path is Outcome.INVALID:
        return path, path_reason
    soaked = msgspec.structs.replace(soaked, directions=drop_echoes(soaked.directions))
    stopped_s = max((direction.stopped_s for direction in soaked.directions), default=0.0)
    is_noisy = stopped_s > STOPPED_SHARE * soaked.soaked_s
    if fault := _find_fault(soaked, is_noisy):
        return Outcome.FAIL, fault
    is_asked = bool(soaked.answers or soaked.asking_error)
    answered, answer_reason = (
        judge_answers(soaked.answers, soaked.asking_error) if is_asked else (_NOT_ASKED, "")
    )
    if answered is Outcome.FAIL:
        return answered, answer_reason
    if soaked.soaked_s <= 0 or not any(direction.messages for direction in soaked.directions):
        return Outcome.INCONCLUSIVE, f"no message arrived: {soaked.ended.message}"
    running_share = max(0.0, 1 - stopped_s / soaked.soaked_s)
    fail_below = RATE_FAIL * running_share / CLEAR_FACTOR if is_noisy else RATE_FAIL
    rate, rate_reason = judge_rate(
        soaked.directions, soaked.message_bytes, soaked.ceiling_bytes_per_s, fail_below
    )
    if rate is Outcome.FAIL:
        return rate, rate_reason
    if path is not Outcome.PASS:
        return path, path_reason
    counts = _count_all_dips(soaked, is_noisy)
    worst = max(counts, key=lambda place: counts[place], default="")
    if worst and counts[worst]:
        return Outcome.WARN, f"{worst}: {counted(counts[worst], 'dip')}"
    unexplained = [item for item in soaked.stuck if not item.paused_s]
    if unexplained:
        return Outcome.INCONCLUSIVE, describe_stuck(unexplained[0])
    if is_noisy:
        share = percent(stopped_s / soaked.soaked_s)
        return Outcome.INCONCLUSIVE, f"a host's processes paused for {share} of the time"
    if late := _find_late(soaked):
        return Outcome.WARN, late
    if soaked.interrupted:
        return (
            Outcome.INCONCLUSIVE,
            f"it ended after {duration(soaked.soaked_s)}; no dip until then",
        )
    if soaked.stuck:
        return Outcome.WARN, describe_stuck(soaked.stuck[0])
    if rate is Outcome.WARN:
        return rate, rate_reason
    if answered is not Outcome.PASS and is_asked:
        return answered, answer_reason
    heard = f"; {answer_reason}" if is_asked else ""
    return Outcome.PASS, f"no dip in {duration(soaked.soaked_s)}{heard}"


def _find_fault(soaked: Soaked, is_noisy: bool) -> str:
    """Return what stood still, or a slowdown that lasted or came again; empty if nothing did."""
    stuck = [item for item in soaked.causes if item.target or item.state]
    if stuck:
        return describe_stuck(stuck[0])
    for direction in soaked.directions:
        place, dips = way(direction.origin, direction.target), _network_dips(direction, is_noisy)
        stalls = [dip for dip in direction.dips if (dip.kind, dip.source) == ("stall", "network")]
        if stalls:
            return f"{place} carried nothing for {duration(stalls[0].worst_s)}"
        longest = max(dips, key=lambda dip: dip.length_s, default=None)
        slow_s = sum(dip.length_s for dip in dips)
        if longest and (longest.length_s >= LONG_DIP_S or slow_s >= LONG_SHARE * soaked.soaked_s):
            what = "round trips" if longest.kind == "latency" else "messages"
            return (
                f"{place} was slow for {duration(slow_s)} of {duration(soaked.soaked_s)}: {what}"
                f" took up to {duration(longest.worst_s)} instead of {duration(longest.usual_s)}"
            )
    counts = _count_all_dips(soaked, is_noisy)
    worst = max(counts, key=lambda place: counts[place], default="")
    if worst and counts[worst] >= REPEATED:
        return f"{worst}: {counts[worst]:,} dips in {duration(soaked.soaked_s)}"
    return ""


def _find_late(soaked: Soaked) -> str:
    """Return the direction with most late messages that no pause explains; empty if they are few.

    Busy hosts delay a message now and then, too: a number is a warning at most.
    """
    resent = max(soaked.directions, key=lambda way: way.resent)
    late = max(soaked.directions, key=lambda way: way.unexplained)
    if resent.resent >= LATE_RESENT and resent.resent * RESENT_EVERY_S > soaked.soaked_s:
        return _describe_late(resent, resent.resent, soaked.soaked_s) + (
            " while TCP sent segments again"
        )
    if late.unexplained >= LATE and late.unexplained * LATE_EVERY_S > soaked.soaked_s:
        return _describe_late(late, late.unexplained, soaked.soaked_s)
    return ""


def _describe_late(late: Direction, count: int, soaked_s: float) -> str:
    return (
        f"{way(late.origin, late.target)}: {counted(count, 'message')} in {duration(soaked_s)}"
        f" were delayed by up to {duration(late.unexplained_s)} without a pause of a host"
    )


def _count_all_dips(soaked: Soaked, is_noisy: bool) -> dict[str, int]:
    """Return the number of the network's dips by direction.

    Round trips alone do not show which way of a pair was slow. Dips that are not kept count on
    quiet hosts.
    """
    counts = {}
    for direction in soaked.directions:
        only_trips = direction.dips and all(dip.kind == "latency" for dip in direction.dips)
        place = f"{way(direction.origin, direction.target)}{' and back' if only_trips else ''}"
        dips = len(_network_dips(direction, is_noisy))
        counts[place] = dips if is_noisy else dips + direction.more_dips
    return counts


def _network_dips(direction: Direction, is_noisy: bool) -> list[Dip]:
    """Return the network's dips; beside busy hosts only those that their pauses cannot explain."""
    dips = [dip for dip in direction.dips if dip.source == "network"]
    if not is_noisy:
        return dips
    return [
        dip
        for dip in dips
        if dip.worst_s >= CLEAR_FACTOR * dip.usual_s and dip.length_s >= CLEAR_LENGTH_S
        and dip.stopped_s < 0.2 * dip.length_s
    ]  # fmt: skip


def describe_stuck(stuck: Stuck) -> str:
    """Return a stuck rank or direction in words."""
    lasted = duration(stuck.noticed_s - stuck.since_s)
    if stuck.paused_s:
        return f"{stuck.origin}: its process did not run for {duration(stuck.paused_s)}"
    if stuck.target:
        return f"{way(stuck.origin, stuck.target)} carried nothing for {lasted}"
    return f"{stuck.origin}: {stuck.state or 'its rank wrote nothing'} ({lasted} without a record)"


def soak(
    context: RunContext, seconds: float, share: float, answers: bool = False,
    traffic_class: int | None = None,
) -> tuple[Soaked, bool]:  # fmt: skip
    """Soak the first network of a begun run; return the result and if it was interrupted.

    With ``answers`` the management path is asked before the load and under it, also by an echo in
    ``traffic_class`` (a TOS byte).

    Raises:
        UsageError: the run has no engine over MPI, or fewer than two nodes.
        CannotRun: the program cannot be built, or a node cannot hold it.
    """
    launch = _choose_launch(context)
    network = next(
        (network for network in context.fabric.networks if network.name == launch.network), None
    )
    pace = choose_pace(network, share, len(launch.nodes))
    engine = soak_program(context.engine)
    access = context.target.access
    hosts = [host for host in access.hosts if host.node in launch.nodes]
    is_here = access.launcher == "local"
    asker = Asker(hosts, network, traffic_class) if answers else None
    with nullcontext(engine.path) if is_here else required_on_nodes(engine.path, hosts) as path:
        placed = msgspec.structs.replace(engine, path=path)
        if asker is None:
            soaked, interrupted = _watch(context, launch, network, pace, placed, seconds, None)
            return _keep(context.directory, soaked), interrupted
        context.progress.stage(f"asking {len(hosts)} nodes before the load")
        before = asker.ask(ROUNDS_BEFORE)
        try:
            soaked, interrupted = _watch(context, launch, network, pace, placed, seconds, asker)
            answered = compare_phases(before, asker.loaded)
            soaked = msgspec.structs.replace(soaked, answers=answered, asking_error=asker.error)
            return _keep(context.directory, soaked), interrupted
        finally:
            asker.end()


def _keep(directory: RunDirectory, soaked: Soaked) -> Soaked:
    """Store a result before anything waits for nodes, where a second Ctrl-C would lose it.

    It is written again at the end, which reports a disk that is full.
    """
    with suppress(StoreError):
        directory.write(SOAKED, soaked)
    return soaked


def _watch(
    context: RunContext, launch: PlannedLaunch, network: Network | None, pace: Pace, engine: Engine,
    seconds: float, asker: Asker | None,
) -> tuple[Soaked, bool]:  # fmt: skip
    options = (
        "--seconds", f"{seconds:g}", "--bytes", str(pace.message_bytes),
        "--period-us", f"{pace.period_s * 1e6:.1f}", "--interval", f"{pace.interval_s:g}",
    )  # fmt: skip
    context.progress.stage(
        f"{named(launch.network)}: soaking {len(launch.nodes)} nodes for {duration(seconds)},"
        f" {pace.message_bytes / 1024:.0f} KiB each {duration(pace.period_s)} and a ping-pong"
    )
    started = command(engine, launch, context.target.access, options)
    raw = context.directory.raw("soak")
    running = Running(
        started, "", raw, silent_s=START_S, started_silent_s=ALL_SILENT_S,
        marker=f"{context.directory.identity}/soak",
    )  # fmt: skip
    watcher = _Soak(context, launch, network, pace)
    try:
        for line in running:
            if (record := parse_record(line)) is not None:
                watcher.take(record)
                if asker is not None:
                    asker.note_load()
                if watcher.soaked_s > seconds + END_S:
                    break
    except KeyboardInterrupt as error:
        return watcher.finish(seconds, broken_by(error, running.ended())), True
    finally:
        running.close()
    return watcher.finish(seconds, running.ended()), False


def _choose_launch(context: RunContext) -> PlannedLaunch:
    if context.target.suite is not None or context.target.simulation is not None:
        raise UsageError("--soak measures with fabricgauge's own program over MPI")
    if not context.plan.launches:
        raise CannotRun("no network joins the nodes")
    launch = context.plan.launches[0]
    if len(set(launch.nodes)) < 2:
        raise UsageError("--soak needs two nodes at least; name them with -w")
    nodes = tuple(dict.fromkeys(launch.nodes))
    return msgspec.structs.replace(launch, nodes=nodes, cases=(), program="soak")


class _Soak:
    """The state of a running soak."""

    def __init__(
        self, context: RunContext, launch: PlannedLaunch, network: Network | None, pace: Pace
    ) -> None:
        self._context, self._launch, self._pace = context, launch, pace
        self._network = network
        self._watch = SoakWatch(launch.nodes, pace.period_s, pace.interval_s)
        self._began_s = self._last_s = 0.0
        self._stuck: list[Stuck] = []
        self._unreported: list[tuple[float, Dip]] = []

    @property
    def soaked_s(self) -> float:
        return self._last_s - self._began_s if self._began_s else 0.0

    def take(self, record: SoakRecord) -> None:
        now_s = time.time()
        self._began_s = self._began_s or now_s - self._pace.interval_s
        self._last_s = now_s
        for dip in self._watch.add(record, now_s):
            self._report(dip, now_s)
        self._report_events(now_s - REPORT_INTERVALS * self._pace.interval_s)
        if record.stopped_s >= PAUSE_S:
            self._explain()
        if (lasting := self._watch.find_lasting(record)) is not None:
            self._context.progress.trouble(f"slow now: {describe_event(Event(lasting))}")
        waiting = self._watch.find_waiting(record, now_s)
        if waiting is not None:
            target, waited_s = waiting
            origin = self._launch.nodes[record.rank]
            self._name(Stuck(origin, target, now_s - waited_s, now_s))
        silent = self._watch.find_stuck(now_s)
        if silent:
            mark = f"{MARKER}={self._context.directory.identity}/soak"
            states = find_rank_states(self._context.target.access, self._launch.nodes, mark)
            for node in silent:
                since_s = now_s - self._watch.silence_of(node, now_s)
                self._name(Stuck(node, "", since_s, time.time(), states.lost.get(node, "")))

    def _report(self, dip: Dip, now_s: float) -> None:
        self._context.directory.append(DIPS, dip)
        if dip.source == "network":  # those of busy hosts would hide it
            self._unreported.append((now_s, dip))

    def _report_events(self, noticed_before_s: float) -> None:
        """Report the dips of one moment in one line, once the other ends have written theirs."""
        noticed = {id(dip): at_s for at_s, dip in self._unreported}
        for event in join_dips(dip for _, dip in self._unreported):
            if min(noticed[id(dip)] for dip in event.dips) > noticed_before_s:
                continue
            self._context.progress.trouble(describe_event(event))
            for dip in event.dips:
                del noticed[id(dip)]
        self._unreported = [entry for entry in self._unreported if id(entry[1]) in noticed]

    def _explain(self) -> None:
        """Replace stuck directions by the host whose pause explains them."""
        explained = [self._watch.explain(stuck) for stuck in self._stuck]
        for before, after in zip(self._stuck, explained, strict=True):
            if after is not before:
                self._context.progress.trouble(f"explained: {describe_stuck(after)}")
        self._stuck = explained

    def _name(self, stuck: Stuck) -> None:
        self._stuck.append(stuck)
        self._context.progress.trouble(f"stuck now: {describe_stuck(stuck)}")

    def finish(self, asked_s: float, ended: Ended) -> Soaked:
        for dip in self._watch.close():
            self._report(dip, 0.0)
        self._report_events(float("inf"))
        return Soaked(
            self._launch.network or "", self._launch.nodes, self._pace.message_bytes,
            self._pace.period_s, asked_s, min(self.soaked_s, asked_s), self._began_s,
            tuple(self._watch.directions), tuple(self._stuck), ended,
            interrupted=self.soaked_s < asked_s - 2 * self._pace.interval_s,
            crossings=find_crossings(
                self._context.fabric, self._network, self._watch.directions,
                self._pace.message_bytes, self._watch.octets,
            ),
            ceiling_bytes_per_s=find_ceiling(self._network),
        )  # fmt: skip


def soak_network(
    context: RunContext, seconds: float, share: float, answers: bool,
    traffic_class: int | None, printing: Any,
) -> int:  # fmt: skip
    """Soak for some seconds at a share of the link; return the exit status.

    With ``answers`` the management path is asked as well, also in ``traffic_class``.
    """
    soaked, interrupted = soak(context, seconds, share, answers, traffic_class)
    status = conclude(context, "soak", SOAKED, soaked, judge(soaked)[0], printing)
    return 130 if interrupted else status


def show_stored(directory: RunDirectory, format_name: str, to: Path | None) -> Outcome | None:
    """Print a stored soak, return its outcome; None if the directory has none."""
    if not (directory.path / SOAKED).exists():
        return None
    soaked = directory.read(SOAKED, Soaked, VERSION)
    print_report("soak", soaked, format_name, to, run_directory=str(directory.path))
    return judge(soaked)[0]
