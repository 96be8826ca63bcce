"""Starts another suite's programs, pairs of a round at once, with counters and placement around
each."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import suppress
from pathlib import Path

import msgspec

from fabricgauge.app.beside_logs import Beside, read_dump
from fabricgauge.app.measure import broken_by
from fabricgauge.app.notes import with_link_changes
from fabricgauge.app.programs import Suite
from fabricgauge.app.run_context import RunContext
from fabricgauge.discover.counters import CounterReading, compute_shares, read_counters
from fabricgauge.evidence.traffic import accounted_bytes
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import CannotRun, StoreError
from fabricgauge.model.fabric import Fabric, Member
from fabricgauge.model.host_access import LaunchCommand
from fabricgauge.model.measurement import NodeCounters, Placement, ProcessorUse
from fabricgauge.model.nccl import NcclDump
from fabricgauge.model.plan import Plan, PlannedLaunch
from fabricgauge.model.run import CountersAround, Ended
from fabricgauge.model.suite import SuiteCurve, UnparsedLine
from fabricgauge.parse.nccl.facts import renamed
from fabricgauge.parse.nccl.rounds import rounds_of
from fabricgauge.parse.nccl.troubles import WITHOUT_MPI, meaning
from fabricgauge.parse.suites import Found, read
from fabricgauge.parse.tasks import is_telling, placement
from fabricgauge.plan.pair_jobs import apart
from fabricgauge.process import ChildGroup
from fabricgauge.run.mpi_impls.table import mpi_impl_of
from fabricgauge.run.tools.interface import CLIENT, DEVICE, FOLDER, PORT, SERVER
from fabricgauge.run.tools.running import (
    SuiteLaunch,
    await_listener,
    run_suite,
    server_command,
    with_placement,
)
from fabricgauge.words.sentences import counted, listed

#: How long a program may say nothing: some print only at their end.
SILENT_S = 60.0
#: How often emulated processors repeat a size, which takes them seconds; perftest refuses fewer.
EMULATED_ITERATIONS = 5
#: With more than two nodes, a node is left out once this many of its starts broke and none ended
#: well.
GIVEN_UP = 3
#: Starts made at once, unless the request sets a number: each has a launcher on this machine.
MOST_AT_ONCE = 64

_UNSTARTED = Ended("broken", None, "", (), 0.0)


class _Made(msgspec.Struct, frozen=True):
    """How a start ended, its lines, and its nodes' counters around it; none where it broke off."""

    ended: Ended
    lines: tuple[str, ...] = ()
    before: dict[str, CounterReading] = {}
    after: dict[str, CounterReading] = {}


def measure_with_tool(context: RunContext, launches: tuple[PlannedLaunch, ...]) -> None:
    """Make the starts in order; successive starts that share no node are made at once.

    A start that breaks does not end the others. The request sets how many are made at once;
    without a number a virtual cluster makes one.
    """
    broke, fine = Counter[str](), set[str]()
    usual = 1 if context.target.access.virtual else MOST_AT_ONCE
    for round_ in apart(launches, context.target.request.concurrent or usual):
        bad = {node for node, count in broke.items() if count >= GIVEN_UP and node not in fine}
        some = [one for each in round_ for one in _without(context, each, bad)]
        for launch, ended in _together(context, some):
            if ended.status == "ok":
                fine.update(launch.nodes)
            else:
                broke.update(launch.nodes)
                context.progress.trouble(ended.message)


def _without(context: RunContext, launch: PlannedLaunch, bad: set[str]) -> Iterator[PlannedLaunch]:
    """The start without bad nodes; it is closed if fewer than two nodes are left."""
    named = sorted(bad.intersection(launch.nodes))
    left = tuple(node for node in launch.nodes if node not in bad)
    if not named or not _of_many(context.plan):
        yield launch
    elif len(left) > 1:
        yield msgspec.structs.replace(launch, nodes=left)
    else:
        told = f"{listed(named)} broke {GIVEN_UP} starts: no other is made with it"
        context.close(launch, msgspec.structs.replace(_UNSTARTED, message=told))


def _together(
    context: RunContext, launches: Sequence[PlannedLaunch]
) -> list[tuple[PlannedLaunch, Ended]]:
    """Make these starts at once; each is stored as soon as it has ended."""
    done: list[tuple[PlannedLaunch, Ended]] = []
    if not launches:
        return done
    first, several = launches[0], f", {len(launches)} pairs at once" * (len(launches) > 1)
    where = first.network or "no network in particular"
    context.progress.stage(f"start {first.number}: {first.program} on {where}{several}")
    group = ChildGroup()
    with ThreadPoolExecutor(len(launches)) as pool:
        left: dict[Future[_Made], PlannedLaunch] = {
            pool.submit(_made, context, one, group): one for one in launches
        }
        try:
            for made in as_completed(tuple(left)):
                ended = _stored(context, left[made], made.result())
                done.append((left.pop(made), ended))
        except BaseException as error:
            group.end()
            for one in left.values():
                with suppress(StoreError):  # a full disk may be what brought us here
                    context.close(one, broken_by(error, _UNSTARTED))
            raise
    return done


def suite_launch(context: RunContext, launch: PlannedLaunch) -> SuiteLaunch:
    """The commands that make a launch; nothing is started.

    Raises:
        CannotRun: a program is missing, or the stored plan names a start that the suite has not.
    """
    suite, access, fabric = _suite(context), context.target.access, context.fabric
    effort = suite.effort
    if fabric.emulated:
        effort = msgspec.structs.replace(effort, iterations=EMULATED_ITERATIONS)
    starts = {one.name: one for one in suite.tool.starts(effort)}
    if launch.program not in starts:
        raise CannotRun(f"{suite.tool.name} has no start {launch.program!r:.80}")
    start = starts[launch.program]
    if suite.tool.kind == "mpi":
        if suite.mpi is None:
            raise CannotRun(f"{suite.tool.name} needs an MPI; name one with --mpi")
        words = (*_variables(context, launch), *_filled(suite, start.client, {}))
        alone = len(set(launch.nodes)) == len(launch.nodes)
        program = with_placement(
            words, pinned_interfaces(fabric, launch),
            nearest_gpu=alone and bool(suite.tool.of_pairs),
        )  # fmt: skip
        return SuiteLaunch(mpi_impl_of(suite.mpi).command(suite.mpi, launch, access, program))
    ends = _ends(fabric, launch)
    client, server = (
        with_placement(_filled(suite, words, _meant(fabric, ends, end)), {}, rank)
        for rank, (words, end) in enumerate(zip((start.client, start.server), ends, strict=True))
    )
    hosts = {host.node: host for host in access.hosts}
    here, there = (hosts[node] for node in launch.nodes)
    begun = LaunchCommand(tuple(here.through(client)), {})
    listening = LaunchCommand(server_command(there, server), {})
    return SuiteLaunch(begun, listening, tuple(there.through(await_listener(start.port))))


def _variables(context: RunContext, launch: PlannedLaunch) -> tuple[str, ...]:
    """``env`` and what the suite's library is to tell, in front of each rank's program."""
    folder = str(context.directory.raw(context.name(launch)).absolute())
    told = [
        f"{name}={value.replace(FOLDER, folder)}"
        for name, value in _suite(context).tool.variables
        if name not in os.environ
    ]
    return ("env", *told) if told else ()


def _suite(context: RunContext) -> Suite:
    if context.target.suite is None:
        raise CannotRun("our own engine measures this run; there is no suite")
    return context.target.suite


def pinned_interfaces(fabric: Fabric, launch: PlannedLaunch) -> dict[str, str]:
    """The nodes' interfaces in the launch's network by host name; empty without a network."""
    names = {one.name: one.hostname for one in fabric.nodes}
    ends = _ends(fabric, launch) if launch.network else ()
    return {names[one.node]: one.interface for one in ends}


def _ends(fabric: Fabric, launch: PlannedLaunch) -> tuple[Member, ...]:
    """The nodes' interfaces in the launch's network.

    Where no network is meant a pair still needs an address: the first that joins it gives one.
    """
    for network in fabric.ip_networks:
        if launch.network not in (None, network.name):
            continue
        members = [network.member(node) for node in launch.nodes]
        ends = tuple(one for one in members if not isinstance(one, Skipped))
        if len(ends) == len(members):
            return ends
    raise CannotRun(f"{listed(launch.nodes)} are not both in {launch.network or 'any network'}")


def _meant(fabric: Fabric, ends: Sequence[Member], own: Member) -> dict[str, str]:
    """What the words of a start stand for at one of two ends."""
    node = fabric.node(own.node)
    port = node if isinstance(node, Skipped) else node.port_of(own.interface)
    device = {} if isinstance(port, Skipped) else {DEVICE: port.device, PORT: str(port.number)}
    return {CLIENT: ends[0].ip, SERVER: ends[1].ip, **device}


def _filled(suite: Suite, words: Sequence[str], meant: dict[str, str]) -> tuple[str, ...]:
    program = suite.programs.get(words[0])
    if program is None:
        raise CannotRun(f"{words[0]} of {suite.tool.name} was not found on this machine")
    if DEVICE in words and DEVICE not in meant:
        raise CannotRun(f"{words[0]}: no RDMA device is on an interface of the network")
    return (str(program), *(meant.get(word, word) for word in words[1:]))


def _made(context: RunContext, launch: PlannedLaunch, group: ChildGroup) -> _Made:
    """A start, beside which others may be made: nothing of the context is changed."""
    access, name = context.target.access, context.name(launch)
    try:
        started = suite_launch(context, launch)
        before = read_counters(access, launch.nodes)
        ended, lines = run_suite(
            started, context.directory.raw(name),
            silent_s=SILENT_S + 10 * _suite(context).effort.stream_s,
            marker=f"{context.directory.identity}/{name}", group=group,
        )  # fmt: skip
        return _Made(ended, lines, before, read_counters(access, launch.nodes))
    except CannotRun as error:
        return _Made(msgspec.structs.replace(_UNSTARTED, message=str(error)))


def _stored(context: RunContext, launch: PlannedLaunch, made: _Made) -> Ended:
    ended = made.ended
    if made.after:
        ended = _with_figures(launch, _keep(context, launch, made), ended)
        ended = with_link_changes(context.target.access, context.fabric, launch.network, ended)
    context.close(launch, ended)
    return ended


def _keep(context: RunContext, launch: PlannedLaunch, made: _Made) -> tuple[Found, ...]:
    """Store what a start said: placement, curves, lines not understood, counters around."""
    source = f"{launch.program}, launch {launch.number}"
    told = [found for line in made.lines if (found := placement(line)) is not None]
    suite_lines = (line.encode() for line in made.lines if not is_telling(line))
    beside = Beside(list(_dumps(context.directory.raw(context.name(launch)))))
    outputs = beside.joined(read(suite_lines, source))
    said = [_whole(one, launch.program, made.ended) for one in outputs]
    curves = [one for one in said if isinstance(one, SuiteCurve)]
    is_pair = launch.program == _suite(context).tool.of_pairs and _of_many(context.plan)
    rounds = rounds_of(curves) if is_pair and made.ended.status == "ok" else ()
    surroundings = around(launch, told, made.before, made.after, accounted_bytes(curves))
    surroundings = msgspec.structs.replace(surroundings, polls=_suite(context).tool.polls)
    context.keep(launch, (*told, *said, *rounds, surroundings))
    return tuple(said)


def _of_many(plan: Plan) -> bool:
    """Whether more than two nodes are measured, so that pairs are compared with each other."""
    return len({node for launch in plan.launches for node in launch.nodes}) > 2


def _dumps(folder: Path) -> Iterator[NcclDump]:
    """What NCCL left of its topology and graphs in a start's folder."""
    for path in sorted(folder.glob("*.xml")):
        dump = read_dump(path, path.name, folder)
        if isinstance(dump, NcclDump):
            yield dump


def _with_figures(launch: PlannedLaunch, said: Sequence[Found], ended: Ended) -> Ended:
    """A program may end with status 0 and have measured nothing, as iperf3 -J does, or printed
    rows of ``inf``, as perftest does where it cannot calibrate its clock.
    """
    if ended.status != "ok":
        return _with_meaning(said, ended)
    curves = [one for one in said if isinstance(one, SuiteCurve)]
    failed = {failure.line: failure for one in curves for failure in one.failures}
    alone = len(launch.nodes) > 1 and any(one.ranks == 1 for one in curves)
    odd = [one for one in failed.values() if one.trouble == "not a number"]
    if alone:
        message = WITHOUT_MPI
    elif not any(one.points for one in curves):
        first = f"; it said: {next(iter(failed.values())).text}" if failed else ""
        message = f"the program measured nothing{first}"
    elif odd:
        rows, cells = counted(len(odd), "row"), " ".join(odd[0].text.split())
        told = [f"; {one.reason} ({one.text})" for one in said if isinstance(one, UnparsedLine)]
        message = (
            f"{rows} of {launch.program} without a figure, such as: {cells}{''.join(told[:1])}"
        )
    else:
        return ended
    return msgspec.structs.replace(ended, status="broken", message=message)


def _with_meaning(said: Sequence[Found], ended: Ended) -> Ended:
    """What broke it, in a sentence, where its own words are known."""
    told = (one.cut_off if isinstance(one, SuiteCurve) else one.text for one in said)
    warned = (
        warning
        for one in said
        if isinstance(one, SuiteCurve) and one.evidence.nccl
        for warning in one.evidence.nccl.warnings
    )
    why = next(filter(None, map(meaning, (*told, *warned, ended.message))), "")
    message = f"{ended.message}; {why}" if why else ended.message
    return msgspec.structs.replace(ended, message=message)


def _whole(found: Found, program: str, ended: Ended) -> Found:
    """Complete a table of a program that came to its proper end.

    The table is not cut off, whatever it looks like. nccl-tests before 2.17 does not print its
    program's name, and rates alone do not identify it: two ranks reduce as fast as they send.
    """
    if isinstance(found, UnparsedLine) or ended.status != "ok":
        return found
    curve = renamed(found, program) if program.endswith("_perf") else found
    return msgspec.structs.replace(curve, cut_off="")


_NOT_OURS = Skipped("a program's own part of its node's processors is not read")


def around(
    launch: PlannedLaunch,
    told: Sequence[Placement],
    before: dict[str, CounterReading],
    after: dict[str, CounterReading],
    payload_bytes: tuple[int, ...],
) -> CountersAround:
    """The nodes' counters, each under its first rank, with the payload of all ranks."""
    hosts = {one.rank: one.host for one in told}
    counted, used, wall_s = [], [], 0.0
    for rank, node in enumerate(launch.nodes):
        if node not in after or node in launch.nodes[:rank]:
            continue
        first, last = before[node], after[node]
        one = compute_shares(first, last)
        wall_s = max(wall_s, one.wall_s)
        times, absent = (first.read_utc_s, last.read_utc_s), first.absent | last.absent
        host = hosts.get(rank, node)
        rose = first.compute_rises(last)
        counted.append(
            NodeCounters(rank, host, first.interfaces, last.interfaces, absent, times, rose)
        )
        said = (one.waited_s, one.idle, one.softirq, one.steal, one.busiest_softirq)
        used.append(ProcessorUse(rank, _NOT_OURS, _NOT_OURS, *said))
    return CountersAround(tuple(counted), payload_bytes, tuple(used), wall_s)
