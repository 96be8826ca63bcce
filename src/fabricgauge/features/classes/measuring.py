"""Start a victim and bulk at once, each in its class, round by round; store the result."""

import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from statistics import median
from threading import Condition, Thread
from typing import Any

import msgspec
from msgspec.structs import replace

from fabricgauge.check.conclude import make_context
from fabricgauge.check.measure import GRACE_S, START_S, launch_options, longest_silence_s
from fabricgauge.check.plan.cases import fit_stream
from fabricgauge.check.plan.profiles import MIB
from fabricgauge.check.run_context import RunContext
from fabricgauge.cli.show import conclude, print_report
from fabricgauge.features.classes.judging import VERSION, MeasuredClasses, Phase, VictimTime, judge
from fabricgauge.features.classes.setting import (
    ClassSetting,
    TrafficClass,
    find_unheeded,
    parse_class,
    set_class,
)
from fabricgauge.judge.ceiling.technologies import ceilings
from fabricgauge.judge.interface import worst
from fabricgauge.judge.rules import path, placement
from fabricgauge.logs.readers.engine import NotUnderstood, parse_line
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import CannotRun, StoreError, UsageError
from fabricgauge.model.fabric import Network
from fabricgauge.model.measurement import Header, Measurement
from fabricgauge.model.plan import Case, PlannedLaunch, Stopping
from fabricgauge.model.run import Ended, Launch
from fabricgauge.model.verdict import Outcome, Verdict
from fabricgauge.model.words.networks import named
from fabricgauge.nodes.launch.launch import Running, case_lines
from fabricgauge.nodes.launch.mpi_impls import command
from fabricgauge.nodes.launch.transports import split_launch
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import LaunchLine, LaunchRecords, Record

MEASURED = "classes.json"
#: Rounds without ``--launches``; a single one shows no disagreement.
ROUNDS = 3
VICTIM_BYTES, VICTIM_S = 8, 1.0
#: A case of bulk takes this time, and the next one begins: each reports what it carried.
BULK_S = 1.0
#: Samples of a case of bulk, and the least bytes under way: a socket's queue holds fewer.
BULK_SAMPLES, BULK_LEAST_BYTES = 3, MIB // 2
#: Most cases of one bulk launch: more than two victims and their launchers may take.
BULK_CASES = 360
#: The least half-width that the engine takes: bulk always lasts as long as its budget.
_NO_INTERVAL = 1e-6
#: Time for a case of bulk to end, beyond its start.
_CASE_S = 60.0
#: Launchers whose second program may wait for the end of the first.
_IN_TURN = ("slurm", "srun")


class _Way(msgspec.Struct, frozen=True):
    """Say where victim and bulk run: two nodes of a network, and the rate that it can carry."""

    planned: PlannedLaunch
    network: Network | None
    ceiling_bytes_per_s: float


def measure_rounds(
    context: RunContext, victim: TrafficClass, bulk: TrafficClass
) -> tuple[MeasuredClasses, bool]:
    """Measure a victim idle and beside bulk; return the result and if it was interrupted.

    Raises:
        UsageError: the transport, or the MPI, has no setting of such a class; fewer than two nodes.
        CannotRun: no network joins the nodes.
    """
    way = _choose_way(context)
    transport = context.plan.transport
    victim_setting = set_class(victim, transport, way.network)
    bulk_setting = set_class(bulk, transport, way.network)
    rounds = context.target.request.launches or ROUNDS
    launches = _Launches(context, way, victim_setting, bulk_setting)
    interrupted = False
    try:
        for number in range(1, rounds + 1):
            launches.measure_round(number, shares_class=victim == bulk)
    except KeyboardInterrupt:
        interrupted = True
    proof, reason = launches.prove_path()
    measured = MeasuredClasses(
        named(way.planned.network), (way.planned.nodes[0], way.planned.nodes[1]), victim, bulk,
        str(victim_setting), str(bulk_setting), VICTIM_BYTES, launches.bulk_case.message_bytes,
        tuple(launches.times), tuple(launches.failures), way.ceiling_bytes_per_s, proof,
        reason, launches.unheeded, interrupted, context.fabric.virtual, context.fabric.emulated,
    )  # fmt: skip
    with suppress(StoreError):  # it is written again, which reports a full disk
        context.directory.write(MEASURED, measured)
    return measured, interrupted


def _choose_way(context: RunContext) -> _Way:
    target = context.target
    if target.suite is not None or target.simulation is not None:
        raise UsageError("--victim-class measures with fabricgauge's own program on real nodes")
    if target.access.launcher in _IN_TURN:
        raise UsageError(
            f"--victim-class starts two programs at once, but --launcher {target.access.launcher}"
            " may hold back the second: use --launcher ssh"
        )
    if not context.plan.launches:
        raise CannotRun("no network joins the nodes")
    planned = context.plan.launches[0]
    nodes = tuple(dict.fromkeys(planned.nodes))[:2]
    if len(nodes) < 2:
        raise UsageError("--victim-class needs two nodes; name them with -w")
    known = (network for network in context.fabric.networks if network.name == planned.network)
    network = next(known, None)
    ceiling = Skipped("") if network is None else ceilings((network,))[network.name]
    rate = 0.0 if isinstance(ceiling, Skipped) else ceiling.payload_bytes_per_s
    planned = replace(planned, nodes=nodes, cases=())
    return _Way(planned, network, rate)


def plan_bulk(ceiling_bytes_per_s: float) -> Case:
    """Return a case of bulk, with a window that fits into it three times and fills queues."""
    rate_bytes_per_s = ceiling_bytes_per_s or 125e6
    fit_bytes = max(BULK_LEAST_BYTES, rate_bytes_per_s * BULK_S / BULK_SAMPLES)
    message_bytes, window = fit_stream(MIB, fit_bytes)
    least_s = BULK_SAMPLES * window * message_bytes / rate_bytes_per_s
    return Case("bulk", "bandwidth", message_bytes, window, 0, 1, max(BULK_S, least_s))


class _Launches:
    """Make the launches of all rounds, and keep what they measured."""

    def __init__(
        self, context: RunContext, way: _Way, victim: ClassSetting, bulk: ClassSetting
    ) -> None:
        self._context, self._way, self._victim, self._bulk = context, way, victim, bulk
        self._victim_s = context.target.request.case_budget or VICTIM_S
        self.bulk_case = plan_bulk(way.ceiling_bytes_per_s)
        self._number = 0
        self._bulk_launches: list[Launch] = []
        self._victim_launches: list[Launch] = []
        self.times: list[VictimTime] = []
        self.failures: list[str] = []
        self.unheeded = ""

    def measure_round(self, number: int, *, shares_class: bool) -> None:
        """Measure the victim idle, then beside bulk in both classes, in turns first and last."""
        self._context.progress.stage(f"round {number}: the latency without bulk")
        self._measure_victim(number, "idle", self._victim, None)
        self._context.progress.stage(f"round {number}: the latency under bulk")
        phases: list[tuple[Phase, ClassSetting]] = [("shared", self._bulk)]
        if not shares_class:
            phases.append(("own", self._victim))
        load = _Load(self._start_bulk(number))
        try:
            if not load.wait_for_case(0.0, START_S + _CASE_S):
                self.failures.append(f"round {number}: bulk carried nothing: {load.why}")
                return
            for phase, setting in phases[:: 1 if number % 2 else -1]:
                self._measure_victim(number, phase, setting, load)
        finally:
            load.end()
            self._note_libraries(self._bulk, load.records)
            self._bulk_launches.append(self._build(self._plan((self.bulk_case,)), load.records))

    def _plan(self, cases: tuple[Case, ...]) -> PlannedLaunch:
        self._number += 1
        return replace(self._way.planned, number=self._number, cases=cases)

    def _start_bulk(self, number: int) -> Running:
        cases = tuple(replace(self.bulk_case, name=f"bulk/{place}") for place in range(BULK_CASES))
        launch = replace(self._way.planned, cases=cases)
        stopping = Stopping(_NO_INTERVAL, self._context.plan.stopping.confidence)
        return self._start(launch, self._bulk, stopping, f"bulk-{number}")

    def _measure_victim(
        self, number: int, phase: Phase, setting: ClassSetting, load: "_Load | None"
    ) -> None:
        case = Case("victim", "latency", VICTIM_BYTES, 1, 0, 1, self._victim_s)
        launch = self._plan((case,))
        name = f"victim-{number}-{phase}"
        stopping = self._context.plan.stopping
        running = self._start(launch, setting, stopping, name)
        records: list[Record] = []
        began_s = measured_s = time.monotonic()
        try:
            for line in running:
                record = parse_line(line)
                records += [] if isinstance(record, NotUnderstood) else [record]
                if isinstance(record, Measurement):
                    measured_s = time.monotonic()
            ended = running.ended()
        finally:
            running.close()
        self._victim_launches.append(self._build(launch, records))
        self._note_libraries(setting, records)
        ends = [record for record in records if isinstance(record, Measurement)]
        measured = next((end for end in ends if end.status == "ok" and end.times), None)
        if measured is None or measured.times is None:
            why = next((end.reason for end in ends if end.reason), "") or ended.message
            self.failures.append(f"round {number}: the victim was not measured: {why}")
            return
        if load is not None and not load.wait_for_case(measured_s, _CASE_S):
            self.failures.append(
                f"round {number}: no case of bulk ended after the victim in"
                f" {'its own' if phase == 'own' else 'the same'} class, so it may have been idle:"
                f" {load.why}"
            )
        carried = load.find_rates(began_s) if load is not None else []
        self.times.append(VictimTime(
            number, phase, measured.times.median_s, measured.times.p99_s, measured.samples,
            measured.waiting, median(carried or [0.0]), len(carried),
        ))  # fmt: skip

    def _note_libraries(self, setting: ClassSetting, records: Iterable[Record]) -> None:
        for record in records:
            if isinstance(record, Header) and not self.unheeded:
                self.unheeded = find_unheeded(setting, record.libraries)

    def _start(
        self, launch: PlannedLaunch, setting: ClassSetting, stopping: Stopping, name: str
    ) -> Running:
        context = self._context
        plan = replace(context.plan, stopping=stopping)
        options, access = launch_options(plan, launch), context.target.access
        started = launch
        if setting.transport:
            started, words = split_launch(setting.transport, context.fabric, launch)
            options = (*options, *words)
        variables = (*access.variables, *setting.variables)
        access = replace(access, variables=variables)
        silent_s = longest_silence_s(launch)
        return Running(
            command(context.engine, started, access, options), case_lines(launch.cases),
            context.directory.raw(name), silent_s=silent_s,
            started_silent_s=silent_s - START_S + GRACE_S,
            marker=f"{context.directory.identity}/{name}",
        )  # fmt: skip

    def _build(self, launch: PlannedLaunch, records: Iterable[Record]) -> Launch:
        collected = LaunchRecords(launch)
        collected.extend(records)
        ended = Ended("ok", 0, "", (), 0.0)
        line = LaunchLine(launch.number, 1, launch.network, launch.nodes, ended, ())
        return collected.build(launch.number, line)

    def prove_path(self) -> tuple[Outcome, str]:
        """Return what bulk's counters, and the places of all ranks, prove."""
        verdicts: list[Verdict] = []
        for rule, launches in (
            (path, self._bulk_launches),
            (placement, (*self._victim_launches, *self._bulk_launches)),
        ):
            plan = replace(self._context.plan, launches=())
            run = replace(self._context.run, plan=plan, launches=tuple(launches))
            verdicts += rule.judge(make_context(run, self._context.target.thresholds))
        outcome = worst((verdict.outcome for verdict in verdicts), empty=Outcome.INCONCLUSIVE)
        reasons = (verdict.summary for verdict in verdicts if verdict.outcome is outcome)
        return outcome, next(reasons, "nothing was measured")


class _Load:
    """Bulk while it runs: a thread reads its records until ``end``."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self._came = Condition()
        self._read: list[tuple[float, Record]] = []
        self._ended, self._trouble = False, ""
        self._thread = Thread(target=self._follow, daemon=True)
        self._thread.start()

    @property
    def records(self) -> list[Record]:
        with self._came:
            return [record for _, record in self._read]

    @property
    def why(self) -> str:
        """State why a case is missing, as far as it is known."""
        return self._trouble or f"bulk {'ended' if self._ended else 'hangs'}, see its raw output"

    def wait_for_case(self, since_s: float, timeout_s: float) -> bool:
        """Wait for a case that ends well after a monotonic time; False if bulk has ended."""
        with self._came:
            self._came.wait_for(lambda: self._ended or self.find_rates(since_s), timeout_s)
            return not self._ended and bool(self.find_rates(since_s))

    def find_rates(self, since_s: float) -> list[float]:
        """Return what each case of bulk carried, in bytes/s, that ended since a monotonic time."""
        with self._came:
            read = list(self._read)
        return [
            record.sample_payload_bytes / record.times.median_s
            for at_s, record in read
            if at_s >= since_s and isinstance(record, Measurement) and record.status == "ok"
            and record.times is not None and record.times.median_s > 0
        ]  # fmt: skip

    def end(self) -> None:
        self._running.close()
        self._thread.join(_CASE_S)

    def _follow(self) -> None:
        try:
            for line in self._running:
                record = parse_line(line)
                if isinstance(record, NotUnderstood):
                    continue
                with self._came:
                    self._read.append((time.monotonic(), record))
                    self._came.notify_all()
        except (CannotRun, OSError, StoreError) as error:
            self._trouble = str(error)
        finally:
            with self._came:
                self._ended = True
                self._came.notify_all()


Classes = tuple[TrafficClass, TrafficClass]


def parse_classes(victim: str, bulk: str) -> Classes:
    """Return the classes of victim and bulk.

    Raises:
        UsageError: a class does not exist.
    """
    return parse_class(victim), parse_class(bulk)


def measure_classes(context: RunContext, classes: Classes, printing: Any) -> int:
    """Measure a victim and bulk in their classes; return the exit status.

    Raises:
        UsageError: the transport or MPI cannot set a class; no run directory is left.
    """
    try:
        measured, interrupted = measure_rounds(context, *classes)
    except UsageError:
        context.directory.discard()
        raise
    status = conclude(context, "classes", MEASURED, measured, judge(measured)[0], printing)
    return 130 if interrupted else status


def show_stored(directory: RunDirectory, format_name: str, to: Path | None) -> Outcome:
    measured = directory.read(MEASURED, MeasuredClasses, VERSION)
    print_report("classes", measured, format_name, to, run_directory=str(directory.path))
    return judge(measured)[0]
