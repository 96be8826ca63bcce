"""Start another suite's programs, the pairs of a round at once, with counters and placement."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import suppress
from pathlib import Path

import msgspec

from fabricgauge.check.measure import broken_by
from fabricgauge.check.notes import with_link_changes
from fabricgauge.check.plan.round_robin import group_disjoint
from fabricgauge.check.programs import Suite
from fabricgauge.check.run_context import RunContext
from fabricgauge.judge.evidence.traffic import accounted_bytes
from fabricgauge.logs.beside_logs import Companions, read_dump
from fabricgauge.logs.readers.engine import is_telling, placement
from fabricgauge.logs.readers.nccl.facts import renamed
from fabricgauge.logs.readers.nccl.rounds import rounds_of
from fabricgauge.logs.readers.nccl.troubles import WITHOUT_MPI, meaning
from fabricgauge.logs.readers.suites import Found, read
from fabricgauge.logs.tools.running import (
    SuiteLaunch,
    await_listener,
    run_suite,
    server_command,
    with_placement,
)
from fabricgauge.logs.tools.table import CLIENT, DEVICE, FOLDER, PORT, SERVER
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import CannotRun, StoreError
from fabricgauge.model.fabric import Fabric, Member
from fabricgauge.model.host_access import LaunchCommand
from fabricgauge.model.measurement import NodeCounters, Placement, ProcessorUse
from fabricgauge.model.nccl import NcclDump
from fabricgauge.model.plan import Plan, PlannedLaunch
from fabricgauge.model.run import CountersAround, Ended
from fabricgauge.model.suite import SuiteCurve, UnparsedLine
from fabricgauge.model.words.sentences import counted, listed
from fabricgauge.nodes.discover.counters import CounterReading, compute_shares, read_counters
from fabricgauge.nodes.launch.mpi_impls import mpi_impl_of
from fabricgauge.nodes.process import ChildGroup

#: How long a program may print nothing: some print only at their end.
SILENT_S = 60.0
#: Repetitions of a size on emulated processors, which takes seconds; perftest refuses fewer.
EMULATED_ITERATIONS = 5
#: With more than two nodes, a node is excluded if this many of its starts broke and none ended
#: well.
MAX_BROKEN_STARTS = 3
#: Starts made at once, unless the request sets a number: each has a launcher on this machine.
MOST_AT_ONCE = 64

_UNSTARTED = Ended("broken", None, "", (), 0.0)


class _ToolRun(msgspec.Struct, frozen=True):
    """How a start ended, its lines, and its nodes' counters around it; no counters if it broke
    off.
    """

    ended: Ended
    lines: tuple[str, ...] = ()
    before: dict[str, CounterReading] = {}
    after: dict[str, CounterReading] = {}


def measure_with_tool(context: RunContext, launches: tuple[PlannedLaunch, ...]) -> None:
    """Make the starts in order; successive starts that share no node are made at once.

    A start that breaks does not end the others. The request sets how many are made at once; without
    a number a virtual cluster makes one.
    """
    broke, fine = Counter[str](), set[str]()
    usual = 1 if context.target.access.virtual else MOST_AT_ONCE
    for group in group_disjoint(launches, context.target.request.concurrent or usual):
        bad = {node for node, count in broke.items() if count >= MAX_BROKEN_STARTS} - fine
        starts = [start for launch in group for start in _without_bad_nodes(context, launch, bad)]
        for launch, ended in _make_at_once(context, starts):
            if ended.status == "ok":
                fine.update(launch.nodes)
            else:
                broke.update(launch.nodes)
                context.progress.trouble(ended.message)


def _without_bad_nodes(
    context: RunContext, launch: PlannedLaunch, bad: set[str]
) -> Iterator[PlannedLaunch]:
    """Yield the start without bad nodes; close it if fewer than two nodes remain."""
    named = sorted(bad.intersection(launch.nodes))
    sound_nodes = tuple(node for node in launch.nodes if node not in bad)
    if not named or not _compares_pairs(context.plan):
        yield launch
    elif len(sound_nodes) > 1:
        yield msgspec.structs.replace(launch, nodes=sound_nodes)
    else:
        message = f"{listed(named)} broke {MAX_BROKEN_STARTS} starts: no more are made with it"
        context.close(launch, msgspec.structs.replace(_UNSTARTED, message=message))


def _make_at_once(
    context: RunContext, launches: Sequence[PlannedLaunch]
) -> list[tuple[PlannedLaunch, Ended]]:
    ended_starts: list[tuple[PlannedLaunch, Ended]] = []
    if not launches:
        return ended_starts
    first, several = launches[0], f", {len(launches)} pairs at once" * (len(launches) > 1)
    network = first.network or "any network"
    context.progress.stage(f"start {first.number}: {first.program} on {network}{several}")
    group = ChildGroup()
    with ThreadPoolExecutor(len(launches)) as pool:
        pending: dict[Future[_ToolRun], PlannedLaunch] = {
            pool.submit(_run_start, context, launch, group): launch for launch in launches
        }
        try:
            for future in as_completed(tuple(pending)):
                ended = _store_run(context, pending[future], future.result())
                ended_starts.append((pending.pop(future), ended))
        except BaseException as error:
            group.end()
            for launch in pending.values():
                with suppress(StoreError):  # the error may be a full disk
                    context.close(launch, broken_by(error, _UNSTARTED))
            raise
    return ended_starts


def suite_launch(context: RunContext, launch: PlannedLaunch) -> SuiteLaunch:
    """Return the commands of a launch; nothing is started.

    Raises:
        CannotRun: a program is missing, or the suite has no start of the stored plan's name.
    """
    suite, access, fabric = _suite(context), context.target.access, context.fabric
    effort = suite.effort
    if fabric.emulated:
        effort = msgspec.structs.replace(effort, iterations=EMULATED_ITERATIONS)
    starts = {start.name: start for start in suite.tool.starts(effort)}
    if launch.program not in starts:
        raise CannotRun(f"{suite.tool.name} has no start {launch.program!r:.80}")
    start = starts[launch.program]
    if suite.tool.kind == "mpi":
        if suite.mpi is None:
            raise CannotRun(f"{suite.tool.name} needs an MPI; name one with --mpi")
        words = (*_variables(context, launch), *_fill_words(suite, start.client, {}))
        alone = len(set(launch.nodes)) == len(launch.nodes)
        program = with_placement(
            words, pinned_interfaces(fabric, launch),
            nearest_gpu=alone and bool(suite.tool.of_pairs),
        )  # fmt: skip
        return SuiteLaunch(mpi_impl_of(suite.mpi).command(suite.mpi, launch, access, program))
    ends = _ends(fabric, launch)
    client, server = (
        with_placement(_fill_words(suite, words, _values_at(fabric, ends, end)), {}, rank)
        for rank, (words, end) in enumerate(zip((start.client, start.server), ends, strict=True))
    )
    hosts = {host.node: host for host in access.hosts}
    client_host, server_host = (hosts[node] for node in launch.nodes)
    client_command = LaunchCommand(tuple(client_host.through(client)), {})
    listening_command = LaunchCommand(server_command(server_host, server), {})
    return SuiteLaunch(
        client_command, listening_command, tuple(server_host.through(await_listener(start.port)))
    )


def _variables(context: RunContext, launch: PlannedLaunch) -> tuple[str, ...]:
    """Return ``env`` and the variables of the suite's library, to precede each rank's program."""
    folder = str(context.directory.raw(context.name(launch)).absolute())
    settings = [
        f"{name}={value.replace(FOLDER, folder)}"
        for name, value in _suite(context).tool.variables
        if name not in os.environ
    ]
    return ("env", *settings) if settings else ()


def _suite(context: RunContext) -> Suite:
    if context.target.suite is None:
        raise CannotRun("our own engine measures this run; there is no suite")
    return context.target.suite


def pinned_interfaces(fabric: Fabric, launch: PlannedLaunch) -> dict[str, str]:
    """Return the nodes' interfaces in the launch's network by host name; empty without a
    network.
    """
    names = {node.name: node.hostname for node in fabric.nodes}
    ends = _ends(fabric, launch) if launch.network else ()
    return {names[member.node]: member.interface for member in ends}


def _ends(fabric: Fabric, launch: PlannedLaunch) -> tuple[Member, ...]:
    """Return the nodes' interfaces in the launch's network.

    Without a network a pair still needs an address: the first network that joins it gives one.
    """
    for network in fabric.ip_networks:
        if launch.network not in (None, network.name):
            continue
        members = [network.member(node) for node in launch.nodes]
        ends = tuple(member for member in members if not isinstance(member, Skipped))
        if len(ends) == len(members):
            return ends
    raise CannotRun(f"{listed(launch.nodes)} are not both in {launch.network or 'any network'}")


def _values_at(fabric: Fabric, ends: Sequence[Member], member: Member) -> dict[str, str]:
    node = fabric.node(member.node)
    port = node if isinstance(node, Skipped) else node.port_of(member.interface)
    device = {} if isinstance(port, Skipped) else {DEVICE: port.device, PORT: str(port.number)}
    return {CLIENT: ends[0].ip, SERVER: ends[1].ip, **device}


def _fill_words(suite: Suite, words: Sequence[str], values: dict[str, str]) -> tuple[str, ...]:
    program = suite.programs.get(words[0])
    if program is None:
        raise CannotRun(f"{words[0]} of {suite.tool.name} was not found on this machine")
    if DEVICE in words and DEVICE not in values:
        raise CannotRun(f"{words[0]}: no RDMA device is on an interface of the network")
    return (str(program), *(values.get(word, word) for word in words[1:]))


def _run_start(context: RunContext, launch: PlannedLaunch, group: ChildGroup) -> _ToolRun:
    """Run a start while others may run: the context is not changed."""
    access, name = context.target.access, context.name(launch)
    try:
        started = suite_launch(context, launch)
        before = read_counters(access, launch.nodes)
        ended, lines = run_suite(
            started, context.directory.raw(name),
            silent_s=SILENT_S + 10 * _suite(context).effort.stream_s,
            marker=f"{context.directory.identity}/{name}", group=group,
        )  # fmt: skip
        return _ToolRun(ended, lines, before, read_counters(access, launch.nodes))
    except CannotRun as error:
        return _ToolRun(msgspec.structs.replace(_UNSTARTED, message=str(error)))


def _store_run(context: RunContext, launch: PlannedLaunch, tool_run: _ToolRun) -> Ended:
    ended = tool_run.ended
    if tool_run.after:
        ended = _require_figures(launch, _store_records(context, launch, tool_run), ended)
        ended = with_link_changes(context.target.access, context.fabric, launch.network, ended)
    context.close(launch, ended)
    return ended


def _store_records(
    context: RunContext, launch: PlannedLaunch, tool_run: _ToolRun
) -> tuple[Found, ...]:
    """Store the records of a start: placement, curves, unparsed lines, counters around it."""
    source = f"{launch.program}, launch {launch.number}"
    placements = [*filter(None, map(placement, tool_run.lines))]
    suite_lines = (line.encode() for line in tool_run.lines if not is_telling(line))
    companions = Companions(list(_dumps(context.directory.raw(context.name(launch)))))
    outputs = companions.join_evidence(read(suite_lines, source))
    results = [_complete_table(output, launch.program, tool_run.ended) for output in outputs]
    curves = [result for result in results if isinstance(result, SuiteCurve)]
    is_pair = launch.program == _suite(context).tool.of_pairs and _compares_pairs(context.plan)
    rounds = rounds_of(curves) if is_pair and tool_run.ended.status == "ok" else ()
    surroundings = counters_around(
        launch, placements, tool_run.before, tool_run.after, accounted_bytes(curves)
    )
    surroundings = msgspec.structs.replace(surroundings, polls=_suite(context).tool.polls)
    context.keep(launch, (*placements, *results, *rounds, surroundings))
    return tuple(results)


def _compares_pairs(plan: Plan) -> bool:
    """Check if more than two nodes are measured, so that pairs are compared with each other."""
    return len({node for launch in plan.launches for node in launch.nodes}) > 2


def _dumps(folder: Path) -> Iterator[NcclDump]:
    for path in sorted(folder.glob("*.xml")):
        dump = read_dump(path, path.name, folder)
        if isinstance(dump, NcclDump):
            yield dump


def _require_figures(launch: PlannedLaunch, results: Sequence[Found], ended: Ended) -> Ended:
    """Mark a start as broken if it ended with status 0 and without figures.

    iperf3 -J may measure nothing; perftest prints rows of ``inf`` if it cannot calibrate its clock.
    """
    if ended.status != "ok":
        return _with_meaning(results, ended)
    curves = [result for result in results if isinstance(result, SuiteCurve)]
    failed = {failure.line: failure for curve in curves for failure in curve.failures}
    alone = len(launch.nodes) > 1 and any(curve.ranks == 1 for curve in curves)
    odd = [failure for failure in failed.values() if failure.trouble == "not a number"]
    if alone:
        message = WITHOUT_MPI
    elif not any(curve.points for curve in curves):
        first = f"; its output: {next(iter(failed.values())).text}" if failed else ""
        message = f"the program measured nothing{first}"
    elif odd:
        rows, cells = counted(len(odd), "row"), " ".join(odd[0].text.split())
        unparsed = (result for result in results if isinstance(result, UnparsedLine))
        reason = next((f"; {line.reason} ({line.text})" for line in unparsed), "")
        message = f"{rows} of {launch.program} without a figure, such as: {cells}{reason}"
    else:
        return ended
    return msgspec.structs.replace(ended, status="broken", message=message)


def _with_meaning(results: Sequence[Found], ended: Ended) -> Ended:
    """Add the meaning of the program's own message, if it is known."""
    texts, warned = list[str](), list[str]()
    for result in results:
        if isinstance(result, SuiteCurve):
            texts.append(result.cut_off)
            warned += result.evidence.nccl.warnings if result.evidence.nccl else ()
        else:
            texts.append(result.text)
    why = next(filter(None, map(meaning, (*texts, *warned, ended.message))), "")
    message = f"{ended.message}; {why}" if why else ended.message
    return msgspec.structs.replace(ended, message=message)


def _complete_table(result: Found, program: str, ended: Ended) -> Found:
    """Complete a table of a program that came to its proper end.

    The table is not cut off, whatever it looks like. nccl-tests before 2.17 does not print its
    program's name, and rates alone do not identify it: two ranks reduce as fast as they send.
    """
    if isinstance(result, UnparsedLine) or ended.status != "ok":
        return result
    curve = renamed(result, program) if program.endswith("_perf") else result
    return msgspec.structs.replace(curve, cut_off="")


_UNREAD = Skipped("the program's share of its node's processors is not read")


def counters_around(
    launch: PlannedLaunch,
    placements: Sequence[Placement],
    before: dict[str, CounterReading],
    after: dict[str, CounterReading],
    payload_bytes: tuple[int, ...],
) -> CountersAround:
    """Return the nodes' counters, each under its first rank, with the payload of all ranks."""
    hosts = {task.rank: task.host for task in placements}
    counted, used, wall_s = [], [], 0.0
    for rank, node in enumerate(launch.nodes):
        if node not in after or node in launch.nodes[:rank]:
            continue
        first, last = before[node], after[node]
        use = compute_shares(first, last)
        wall_s = max(wall_s, use.wall_s)
        times, absent = (first.read_utc_s, last.read_utc_s), first.absent | last.absent
        host = hosts.get(rank, node)
        rose = first.compute_rises(last)
        counted.append(
            NodeCounters(rank, host, first.interfaces, last.interfaces, absent, times, rose)
        )
        shares_of_time = (use.waited_s, use.idle, use.softirq, use.steal, use.busiest_softirq)
        used.append(ProcessorUse(rank, _UNREAD, _UNREAD, *shares_of_time))
    return CountersAround(tuple(counted), payload_bytes, tuple(used), wall_s)
