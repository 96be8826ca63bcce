"""Run an application at several numbers of nodes in turns; prove its path each time."""

import base64
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

import msgspec

from fabricgauge.check.measure_tool import counters_around, pinned_interfaces
from fabricgauge.check.networks import choose_targets
from fabricgauge.check.plan.design import ENVIRONMENT, UNCHANGED, make_design
from fabricgauge.check.target import Target, describe_run, discover_nodes
from fabricgauge.features.application.profile import (
    FOLDER,
    FOLDER_VARIABLE,
    is_launcher,
    mpi_of_command,
    profile_library,
    read_profiles,
)
from fabricgauge.features.application.profile_values import ApplicationProfile
from fabricgauge.features.application.scaling import (
    NODES,
    SCALED,
    Metric,
    Scaled,
    ScaleLaunch,
    ScaleRun,
    with_points,
)
from fabricgauge.judge.ceiling.technologies import ceilings
from fabricgauge.judge.interface import Context
from fabricgauge.judge.rules import path, placement
from fabricgauge.logs.readers.engine import placement as placed
from fabricgauge.logs.tools.running import SuiteLaunch, run_suite, with_placement
from fabricgauge.model.absence import Skipped
from fabricgauge.model.engine import Mpi
from fabricgauge.model.errors import CannotRun, UsageError
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.plan import Plan, PlannedLaunch, Stopping
from fabricgauge.model.run import Ended, Launch, Run
from fabricgauge.model.suite import SuiteCurve, SuitePoint
from fabricgauge.model.varied import Design, Factor
from fabricgauge.model.verdict import Verdict
from fabricgauge.nodes import process
from fabricgauge.nodes.discover.counters import read_counters
from fabricgauge.nodes.launch.carrying import AT_ONCE, TIMEOUT_S, required_on_nodes, usual_bases
from fabricgauge.nodes.launch.mpi_impls import is_pinned, start_command
from fabricgauge.store.files.writing import write_whole
from fabricgauge.store.run_directory import RunDirectory

#: Factors that can be varied for an existing program.
FACTOR_NAMES = ("bind", f"{ENVIRONMENT}NAME")


#: A number with commas between thousands; any other comma may be a decimal one.
_THOUSANDS = re.compile(r"\s*[+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]*)?\s*")

_VIRTUAL = (
    "measured in a lab: the nodes share this machine's processors, so more nodes do not add"
    " processors; the figures describe this machine"
)

#: Start a program after its node has made the folder of records.
_IN_FOLDER = 'umask 077; mkdir -p -- "$0"; exec "$@"'


class Application(msgspec.Struct, frozen=True):
    """The program to launch: its MPI, the library that records it, and its nodes.

    ``silent_s`` bounds the time without a line of output. ``{nodes}`` and ``{ranks}`` in ``argv``
    stand for the numbers of a launch. ``weak`` is true if the problem grows with the nodes. The
    nodes keep records in ``records_folder`` if it is not empty: they do not share the run's
    directory.
    """

    argv: tuple[str, ...]
    mpi: Mpi
    library: Path
    nodes: tuple[str, ...]
    ppn: int
    silent_s: float
    weak: bool = False
    metric: Metric | None = None
    records_folder: str = ""

    def command_for(self, nodes: int) -> tuple[str, ...]:
        """Return the program and its arguments for a number of nodes."""
        numbers = {"{nodes}": str(nodes), "{ranks}": str(nodes * self.ppn)}
        words = list(self.argv)
        for name, number in numbers.items():
            words = [word.replace(name, number) for word in words]
        return tuple(words)


def parse_metric(text: str) -> Metric:
    """Parse ``NAME=EXPRESSION``; the expression has one group, the figure.

    Raises:
        UsageError: there is no name, or no expression with one group.
    """
    name, sign, pattern = text.partition("=")
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        raise UsageError(f"{pattern!r} is not a regular expression: {error}") from error
    if not name.strip() or not sign or groups != 1:
        raise UsageError(
            f"{text!r} is not NAME=EXPRESSION with one group for the figure; write e.g."
            " 'tokens/s=throughput: ([0-9.]+)'"
        )
    return Metric(name.strip(), pattern)


def find_metric(metric: Metric, lines: Iterable[str]) -> float | Skipped:
    """Return the last figure that the output has; it is positive and finite.

    Commas may separate thousands, as in 1,234,567.8; a number with another comma is refused.
    """
    expression, figure = re.compile(metric.pattern), ""
    for line in lines:
        for match in expression.finditer(line):
            figure = match[1] or ""
    try:
        value = float(figure.replace(",", "") if _THOUSANDS.fullmatch(figure) else figure)
    except ValueError:
        value = math.nan
    if 0.0 < value < math.inf:
        return value
    why = "the output has nothing"
    if figure:
        why = f"the output has {figure!r}, no positive number such as 1234.5 or 1,234.5,"
    return Skipped(f"{why} for {metric.name} ({metric.pattern})")


def find_application(
    target: Target, argv: Sequence[str], silent_s: float, weak: bool = False,
    metric: Metric | None = None,
) -> Application:  # fmt: skip
    """Find the MPI and the library of an application.

    Raises:
        UsageError: the command begins with a launcher.
        CannotRun: the program is linked with no known MPI.
    """
    if is_launcher(argv[0]):
        raise UsageError(f"scale starts the ranks itself: remove {argv[0]} and its options")
    mpi = mpi_of_command(argv, target.request.mpi)
    target.progress.stage(f"{argv[0]} under {mpi.kind} {mpi.version}")
    nodes, library = target.access.nodes, profile_library(mpi)
    ppn = target.request.ppn
    grows = any(name in word for word in argv for name in ("{nodes}", "{ranks}"))
    if weak and metric is None and not grows:
        raise UsageError(
            "--weak: write {nodes} or {ranks} in an argument of the program, so that its problem"
            " grows with them, or read its own figure with --metric"
        )
    return Application(tuple(argv), mpi, library, nodes, ppn, silent_s, weak, metric)


def parse_node_counts(text: str) -> tuple[int, ...]:
    """Parse ``1,2,4``.

    Raises:
        UsageError: a word is no number of nodes.
    """
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdecimal() and 0 < int(word) <= 1 << 20 for word in words):
        raise UsageError(f"{text!r} is not a list of node counts; write e.g. 1,2,4")
    return tuple(map(int, words))


def make_scale_design(
    factors: Sequence[Factor], counts: Sequence[int], available: int, blocks: int, seed: int
) -> Design:
    """Combine the factors with every number of nodes, in random order within each block.

    Raises:
        UsageError: a factor cannot be varied here, or there are fewer nodes.
    """
    for varied_factor in factors:
        if varied_factor.name != "bind" and not varied_factor.name.startswith(ENVIRONMENT):
            raise UsageError(
                f"scale cannot vary {varied_factor.name}; available: {' and '.join(FACTOR_NAMES)}"
            )
    powers = [1 << step for step in range(available.bit_length()) if 1 << step < available]
    ordered = sorted(set(counts or (*powers, available)))
    if ordered[-1] > available:
        raise UsageError(f"--at {ordered[-1]}: only {available} nodes are available")
    return make_design((*factors, Factor(NODES, tuple(map(str, ordered)))), blocks, seed)


def run_scaling(
    scale_design: Design, target: Target, directory: RunDirectory, app: Application
) -> tuple[Scaled, bool]:
    """Launch all arms block by block; return the result, and if it was interrupted."""
    fabric = discover_nodes(target, directory, "discover")
    directory.write("run.json", describe_run(target))
    directory.write("design.json", scale_design)
    launches: list[ScaleLaunch] = []
    # A launch without nodes, pinned to the requested network.
    interrupted, network = False, PlannedLaunch(0, None, None, (), ())
    if len(target.access.nodes) > 1:
        network = network.pinned_to(
            choose_targets(target.request, fabric, target.access.nodes)[0][0]
        )
    at_end = ExitStack()
    try:
        app = at_end.enter_context(_recorder_on_nodes(app, target, directory))
        for block, order in enumerate(scale_design.order):
            for arm in order:
                levels = ", ".join(map("=".join, _levels(scale_design, arm).items()))
                target.progress.stage(f"block {block + 1} of {scale_design.blocks}: {levels}")
                scale_launch = _make_launch(
                    scale_design, arm, block, target, directory, app, fabric, network
                )
                directory.append("launches.jsonl", scale_launch)
                launches.append(scale_launch)
                if scale_launch.status != "ok":
                    target.progress.trouble(scale_launch.message)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        at_end.close()
        network_name = network.network or "MPI's own choice"
        complete = len(launches) == sum(map(len, scale_design.order))
        run = ScaleRun(
            app.argv, network_name, app.ppn, scale_design, tuple(launches),
            (_VIRTUAL,) if fabric.virtual else (), complete, app.weak, app.metric,
        )  # fmt: skip
        directory.write(SCALED, run)
    return with_points(run), interrupted


@contextmanager
def _recorder_on_nodes(
    app: Application, target: Target, directory: RunDirectory
) -> Iterator[Application]:
    """Yield the application with a library that all nodes have.

    Records go to a folder of the nodes if the first one does not share the run's directory.

    Raises:
        CannotRun: a node cannot hold the library.
    """
    if target.access.launcher == "local":
        yield app
        return
    hosts = target.access.hosts
    raw = directory.raw("launches").absolute()
    listing = process.run(hosts[0].through(("test", "-d", str(raw))), timeout_s=TIMEOUT_S)
    folder = "" if listing.exit_code == 0 else f"{usual_bases('')[0]}/{directory.identity}"
    with required_on_nodes(app.library, hosts) as library:
        try:
            yield msgspec.structs.replace(app, library=library, records_folder=folder)
        finally:
            if folder:
                remove = ("rm", "-rf", "--", folder)
                with ThreadPoolExecutor(min(AT_ONCE, len(hosts))) as pool:
                    argvs = [host.through(remove) for host in hosts]
                    list(pool.map(partial(process.run, timeout_s=TIMEOUT_S), argvs))


def _make_launch(
    scale_design: Design, arm: int, block: int, target: Target, directory: RunDirectory,
    app: Application, fabric: Fabric, network: PlannedLaunch,
) -> ScaleLaunch:  # fmt: skip
    """Make one start, with counters and placement around it; one that breaks has a reason."""
    number = 1 + block * len(scale_design.arms) + arm
    used = app.nodes[: int(scale_design.arms[arm][-1])]
    ranks = tuple(node for node in used for _ in range(app.ppn))
    launch = msgspec.structs.replace(network, number=number, nodes=ranks, program=app.argv[0])
    if len(used) == 1:
        launch = msgspec.structs.replace(launch, network=None, subnet=None, ports=())
    raw = directory.raw(f"launch-{number:03}")
    profile_folder = directory.raw(f"launch-{number:03}/{FOLDER}").absolute()
    records = f"{app.records_folder}/{raw.name}" if app.records_folder else str(profile_folder)
    try:
        before = read_counters(target.access, used)
        command = _command(scale_design, arm, launch, target, app, fabric, records)
        ended, lines = run_suite(
            command, raw, silent_s=app.silent_s, marker=f"{directory.identity}/{raw.name}"
        )
        after = read_counters(target.access, used)
        if app.records_folder:
            host = next(host for host in target.access.hosts if host.node == used[0])
            print_it = 'for file in "$1"/*.profile; do base64 <"$file"; done'
            argv = host.through(("sh", "-c", print_it, "sh", records))
            with suppress(ValueError):  # rank 0 wrote none
                if content := base64.b64decode(process.run(argv, timeout_s=TIMEOUT_S).stdout):
                    write_whole(profile_folder / f"{host.node}.profile", content)
        profile = next(iter(read_profiles(profile_folder)), None)
    except CannotRun as error:
        why = Skipped(str(error))
        return ScaleLaunch(block, arm, ranks, "broken", str(error), why, why)
    placements = [task for line in lines if (task := placed(line)) is not None]
    left_bytes = {rank.rank: rank.left_node_bytes for rank in profile.ranks} if profile else {}
    payload = tuple(left_bytes.get(rank, 0) for rank in range(len(ranks)))
    own_launch = Launch(
        number, launch.network, ranks, None, tuple(placements), (), ended,
        curves=_curve(app, profile),
        around=counters_around(launch, placements, before, after, payload),
        program=launch.program,
    )  # fmt: skip
    verdicts: tuple[Verdict, ...] = ()
    if len(used) > 1:  # placement and path, by the rules of any run
        plan = Plan("scale", Stopping(0.0, 0.0), False, (launch,), tool="application")
        run = Run(directory.identity, "", (), {}, fabric, plan, (own_launch,), complete=True)
        context = Context(run, ceilings(fabric.networks), target.thresholds)
        verdicts = (*placement.judge(context), *path.judge(context))
    result = _result(block, arm, ranks, ended, profile, verdicts)
    if app.metric is None:
        return result
    return msgspec.structs.replace(result, metric=find_metric(app.metric, lines))


def _result(
    block: int, arm: int, ranks: tuple[str, ...], ended: Ended, profile: ApplicationProfile | None,
    verdicts: tuple[Verdict, ...],
) -> ScaleLaunch:  # fmt: skip
    aborted = [rank.rank for rank in profile.ranks if rank.ending == "aborted"] if profile else []
    message = ended.message or "nothing was recorded: no rank reached MPI_Finalize"
    why = Skipped(f"rank {aborted[0]} called MPI_Abort; {message}" if aborted else message)
    fine = ended.status == "ok" and profile is not None and profile.complete
    return ScaleLaunch(
        block, arm, ranks, "ok" if fine else "broken", "" if fine else why.reason,
        profile.wall_s if fine and profile else why, profile.mpi_share if fine and profile else why,
        sum(rank.left_node_bytes for rank in profile.ranks) if profile else 0, verdicts,
    )  # fmt: skip


def _command(
    scale_design: Design, arm: int, launch: PlannedLaunch, target: Target, app: Application,
    fabric: Fabric, records: str,
) -> SuiteLaunch:  # fmt: skip
    levels = _levels(scale_design, arm)
    variables = [
        f"{name.removeprefix(ENVIRONMENT)}={level}"
        for name, level in levels.items()
        if name.startswith(ENVIRONMENT) and level != UNCHANGED
    ]
    record = (f"LD_PRELOAD={app.library}", f"{FOLDER_VARIABLE}={records}")
    interfaces = pinned_interfaces(fabric, launch) if is_pinned(launch) else {}
    application = app.command_for(len(dict.fromkeys(launch.nodes)))
    wrapper = ("sh", "-c", _IN_FOLDER, records) if app.records_folder else ()
    program = with_placement((*wrapper, "env", *record, *variables, *application), interfaces)
    access = msgspec.structs.replace(target.access, bind=levels.get("bind", ""))
    return SuiteLaunch(start_command(app.mpi, launch, access, program))


def _levels(scale_design: Design, arm: int) -> dict[str, str]:
    names = (varied_factor.name for varied_factor in scale_design.factors)
    return dict(zip(names, scale_design.arms[arm], strict=True))


def _curve(app: Application, profile: ApplicationProfile | None) -> tuple[SuiteCurve, ...]:
    """Return the time of a run as a suite's figure, so that the rules see a figure."""
    if profile is None:
        return ()
    time = Estimate(profile.wall_s, profile.wall_s, profile.wall_s, 0.0, 1, 1)
    return (
        SuiteCurve(
            "application", "", app.argv[0], app.argv[0], 0, ranks=profile.size, what="whole run",
            quantity="time", statistic="single", unit_rule="s", last_line=0,
            points=(SuitePoint(None, time, 0),),
        ),
    )  # fmt: skip
