"""A hunt in a stored run of real nodes: nothing that deceives passes, nothing sound is accused."""

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
