"""A hunt in a stored run of real nodes: nothing that deceives passes, nothing sound is accused."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from fabricgauge.check.conclude import conclude
from fabricgauge.judge.thresholds import DEFAULTS
from fabricgauge.model.absence import Skipped
from fabricgauge.model.measurement import Measurement, NodeCounters, Placement, ProcessorUse, Socket
from fabricgauge.model.run import Launch, Run
from fabricgauge.model.verdict import Outcome
from fabricgauge.store import run_files
from fabricgauge.store.run_directory import RunDirectory

RUN = Path(__file__).parents[1] / "fixtures" / "runs" / "0.1.0--healthy"
Change = Callable[[Run], Run]


@pytest.fixture(scope="module")
def healthy() -> Run:
    (directory,) = RUN.iterdir()
    return run_files.load(RunDirectory(directory))


def launches(change: Callable[[Launch], Launch]) -> Change:
    return lambda run: replace(run, launches=tuple(map(change, run.launches)))


def cases(change: Callable[[Measurement], Measurement]) -> Change:
    return launches(
        lambda launch: replace(launch, measurements=tuple(map(change, launch.measurements)))
    )


def kept(keeps: Callable[[Measurement], bool]) -> Change:
    return launches(
        lambda launch: replace(launch, measurements=tuple(filter(keeps, launch.measurements)))
    )


def sockets(change: Callable[[Socket], Socket]) -> Change:
    return cases(
        lambda case: replace(
            case,
            sockets=tuple(
                ends if isinstance(ends, Skipped) else tuple(map(change, ends))
                for ends in case.sockets
            ),
        )
    )


def processors(change: Callable[[ProcessorUse], ProcessorUse]) -> Change:
    return cases(lambda case: replace(case, processors=tuple(map(change, case.processors))))


def counters(change: Callable[[NodeCounters], NodeCounters]) -> Change:
    return cases(lambda case: replace(case, counters=tuple(map(change, case.counters))))


def placed(change: Callable[[Placement], Placement]) -> Change:
    return launches(
        lambda launch: replace(launch, placements=tuple(map(change, launch.placements)))
    )


def slow_first_block(case: Measurement) -> Measurement:
    if "bandwidth" not in case.pattern or len(case.block_medians_s) < 3:
        return case
    first_s, *other_s = case.block_medians_s
    return replace(case, block_medians_s=(3.0 * first_s, *other_s))


def ended(status: str, code: int | None) -> Change:
    return launches(
        lambda launch: replace(
            launch, ended=replace(launch.ended, status=status, exit_code=code, message="")
        )
    )


def copied_counters(case: Measurement) -> Measurement:
    first, *others = case.counters
    copies = (replace(first, rank=node.rank, host=node.host) for node in others)
    return replace(case, counters=(first, *copies))


def with_first_counters(launch: Launch) -> Launch:
    """All cases have the counters of the first one, as from a file that nobody updates."""
    first = launch.measurements[0].counters
    changed = (replace(case, counters=first) for case in launch.measurements)
    return replace(launch, measurements=tuple(changed))


def with_times(time_s: float, suits: Callable[[Measurement], bool]) -> Change:
    """Each time is the same, and no histogram or block contradicts it."""

    def change(case: Measurement) -> Measurement:
        if case.times is None or not suits(case):
            return case
        numbers = {
            name: time_s for name in case.times.__struct_fields__ if name.endswith("_s")
        }  # fmt: skip
        times = replace(case.times, **numbers)
        return replace(case, times=times, histogram_ps=(), block_medians_s=())

    return cases(change)


def skipped(suits: Callable[[Measurement], bool]) -> Change:
    return cases(
        lambda case: (
            replace(case, status="skipped", reason="no time", times=None, samples=0)
            if suits(case)
            else case
        )
    )


def without_way_back(run: Run) -> Run:
    there = kept(lambda case: case.origin == 0)(run)
    planned = tuple(
        replace(launch, cases=tuple(case for case in launch.cases if case.origin == 0))
        for launch in run.plan.launches
    )
    return replace(there, plan=replace(run.plan, launches=planned))


def with_one_sample(case: Measurement) -> Measurement:
    if case.times is None:
        return case
    median_s = case.times.median_s
    return replace(
        case, samples=1, histogram_ps=((round(median_s * 1e12), 1),), block_medians_s=(median_s,),
        times=replace(case.times, minimum_s=median_s, maximum_s=median_s),
    )  # fmt: skip


def with_rate(bit_s: float) -> Change:
    return lambda run: replace(
        run,
        fabric=replace(
            run.fabric,
            networks=tuple(replace(network, rate_bit_s=bit_s) for network in run.fabric.networks),
        ),
    )


def with_one_node_twice(run: Run) -> Run:
    first, second = run.fabric.nodes[:2]
    twin = replace(first, name=second.name, hostname=second.hostname)
    return replace(run, fabric=replace(run.fabric, nodes=(first, twin)))


def shifted(node: NodeCounters, before_s: float, after_s: float) -> NodeCounters:
    if not node.read_utc_s or node.rank != 1:
        return node
    first, *others = node.read_utc_s
    return replace(node, read_utc_s=(first + before_s, *(time + after_s for time in others)))


def lasting(factor: float) -> Change:
    return cases(lambda case: replace(case, wall_s=factor * case.wall_s))


def with_second_addresses(run: Run) -> Run:
    """Each interface of the network has one more address in it, and is a member once more."""
    networks = tuple(
        replace(network, members=(
            *network.members,
            *(replace(member, ip=f"{member.ip}9") for member in network.members),
        ))
        for network in run.fabric.networks
    )  # fmt: skip
    return replace(run, fabric=replace(run.fabric, networks=networks))


DECEIVING: Mapping[str, Change] = {
    "a launch with both ranks on one node": launches(
        lambda launch: replace(launch, nodes=("c1", "c1"))
    ),
    "a launch on a node that is not of the network": launches(
        lambda launch: replace(launch, nodes=("c1", "c9"))
    ),
    "one rank's placement": launches(
        lambda launch: replace(launch, placements=launch.placements[:1])
    ),
    "one kernel and network stack": placed(
        lambda rank: replace(rank, boot_id="x", net_namespace="n", host="c1")
    ),
    "another network's launches": launches(lambda launch: replace(launch, network="net9")),
    "counters of the loopback alone": counters(
        lambda node: replace(
            node,
            before={name: count for name, count in node.before.items() if name == "lo"},
            after={name: count for name, count in node.after.items() if name == "lo"},
        )
    ),
    "counters before and after exchanged": counters(
        lambda node: replace(node, before=node.after, after=node.before)
    ),
    "no counters": cases(lambda case: replace(case, counters=())),
    "connections over the loopback": sockets(
        lambda socket: replace(socket, local="127.0.0.1:1", remote="127.0.0.1:2")
    ),
    "small messages only": kept(lambda case: case.message_bytes <= 16384),
    "latency only": kept(lambda case: case.pattern == "latency"),
    "one direction only": kept(lambda case: case.origin == 0),
    "second measurements only": launches(lambda launch: replace(launch, purpose="again")),
    "medians that waits made": cases(lambda case: replace(case, waiting=True)),
    "a twentieth of the segments lost": sockets(
        lambda socket: replace(socket, retransmitted_segments=int(0.05 * socket.segments))
    ),
    "a launch that failed after its last case": ended("broken", 1),
    "a launch that ran out of time after its last case": ended("timeout", 124),
    "a launch that was silent after its last case": ended("silent", -9),
    "a launch without a known end": ended("broken", None),
    "one node's counters for both": cases(copied_counters),
    "one node's counters for both under its own name": cases(
        lambda case: replace(
            case,
            counters=tuple(replace(case.counters[0], rank=node.rank) for node in case.counters),
        )
    ),
    "cases 50 times shorter than their samples": lasting(0.02),
    "cases ten times longer than their launch": lasting(10.0),
    "no network": lambda run: replace(run, fabric=replace(run.fabric, networks=())),
    "stale counters": launches(with_first_counters),
    "times of zero one way": with_times(0.0, lambda case: case.origin == 1),
    "endless times one way": with_times(math.inf, lambda case: case.origin == 1),
    "times that are no numbers": with_times(math.nan, lambda case: case.origin == 1),
    "negative times": with_times(-1.0, lambda case: case.pattern == "latency"),
    "latencies of zero": with_times(0.0, lambda case: case.pattern == "latency"),
    "one way skipped": skipped(lambda case: case.origin == 1),
    "streams skipped": skipped(lambda case: case.pattern == "bandwidth"),
    "latencies skipped": skipped(lambda case: case.pattern == "latency"),
    "one way that was not planned": without_way_back,
    "one sample with an interval": cases(with_one_sample),
    "samples of no operation": cases(lambda case: replace(case, batch=0)),
    "wrong bytes that nobody asked for": cases(
        lambda case: replace(case, data_check=replace(case.data_check, ok=False))
    ),
    "a nominal rate of twice the link": with_rate(2e9),
    "a nominal rate of a tenth of the link": with_rate(1e8),
    "one node under two names": with_one_node_twice,
}

SOUND: Mapping[str, Change] = {
    "waits of some per cent": processors(lambda use: replace(use, run_delay_s=0.01)),
    "one of 2,000 segments lost": sockets(
        lambda socket: replace(socket, retransmitted_segments=int(0.0005 * socket.segments))
    ),
    "unknown connections": cases(
        lambda case: replace(case, sockets=(Skipped("unknown"), Skipped("unknown")))
    ),
    "unknown processor use": cases(lambda case: replace(case, processors=())),
    "busy bottom halves": processors(lambda use: replace(use, busiest_softirq_share=0.95)),
    "nodes of one host name": placed(lambda rank: replace(rank, host="node")),
    "long host names": placed(lambda rank: replace(rank, host=f"{rank.host}.example.org")),
    "connections that had lost frames": cases(lambda case: replace(case, losing=True)),
    "a quota that was not used up": processors(
        lambda use: replace(use, quota_processors=2.0, throttled_s=0.0)
    ),
    "a slow first block of each stream": cases(slow_first_block),
    "second addresses of the network's interfaces": with_second_addresses,
    "a shutdown that failed after all records": ended("ok", 1),
    "an interrupt after the last case": ended("interrupted", None),
    "a tenth more time between the samples": lasting(1.1),
    "a clock that is an hour ahead": counters(lambda node: shifted(node, 3600.0, 3600.0)),
    "a clock that is set during each case": counters(lambda node: shifted(node, 0.0, 3600.0)),
    "some sizes skipped": skipped(
        lambda case: (case.pattern, case.message_bytes) == ("bandwidth", 8)
    ),
}


def test_the_run_itself_passes(healthy: Run) -> None:
    assert conclude(healthy, DEFAULTS).overall is Outcome.PASS


@pytest.mark.parametrize("name", DECEIVING)
def test_what_deceives_does_not_pass(healthy: Run, name: str) -> None:
    assert conclude(DECEIVING[name](healthy), DEFAULTS).overall is not Outcome.PASS


@pytest.mark.parametrize("name", SOUND)
def test_what_is_sound_is_not_accused(healthy: Run, name: str) -> None:
    outcome = conclude(SOUND[name](healthy), DEFAULTS).overall
    assert outcome in (Outcome.PASS, Outcome.WARN)
    if name != "a slow first block of each stream":
        assert outcome is Outcome.PASS
