"""A hunt for a false PASS in our own runs: no measurement that deceives may pass."""

from collections.abc import Callable, Iterable, Mapping

import msgspec
import pytest
from msgspec.structs import replace
from tests.judge import planted

from fabricgauge.judge.interface import Context
from fabricgauge.judge.judging import judgement
from fabricgauge.model.fabric import Fabric, Node
from fabricgauge.model.measurement import DataCheck, Measurement, NodeCounters, Placement
from fabricgauge.model.plan import Plan
from fabricgauge.model.run import Ended, Launch, Run
from fabricgauge.model.verdict import Outcome

Change = Callable[[Measurement], Measurement]


def launches(change: Change, which: Iterable[int] = (1, 2, 3)) -> tuple[Launch, ...]:
    """The sound launches, with each measurement of those numbers changed."""
    return tuple(
        replace(one, measurements=tuple(map(change, one.measurements)))
        if one.number in which
        else one
        for one in planted.sound_launches()
    )


def changed(change: Change, which: Iterable[int] = (1, 2, 3)) -> Run:
    return planted.run(launches(change, which), plan=sound_plan())


def sound_plan() -> Plan:
    return planted.plan_of(planted.sound_launches())


def placed(change: Callable[[Placement], Placement]) -> Run:
    return planted.run(
        replace(one, placements=tuple(map(change, one.placements)))
        for one in planted.sound_launches()
    )


def times(factor: float, *, pattern: str = "", least: int = 0, most: int = 1 << 40) -> Change:
    """Times of the cases that suit, ``factor`` as long."""

    def change(one: Measurement) -> Measurement:
        suits = pattern in one.pattern and least <= one.message_bytes <= most
        if one.times is None or not suits:
            return one
        scaled = {
            name: value * factor
            for name, value in msgspec.structs.asdict(one.times).items()
            if name.endswith("_s")
        }
        return replace(one, times=replace(one.times, **scaled))

    return change


def counted(change: Callable[[NodeCounters], NodeCounters]) -> Run:
    return changed(lambda one: replace(one, counters=tuple(map(change, one.counters))))


def standing(counters: NodeCounters) -> NodeCounters:
    return replace(counters, after=counters.before)


def split(**shares: float) -> Run:
    return planted.run(
        planted.launch(
            (planted.measurement(sample, split=shares) for sample in planted.samples()), number
        )
        for number in (1, 2, 3)
    )


def ended(status: str, code: int) -> Run:
    sound = planted.sound_launches()
    broken = replace(sound[0], measurements=(), ended=Ended(status, code, "x", ("mpiexec",), 1.0))
    return planted.run((broken,), plan=sound_plan())


def other_fabric(**fields: object) -> Run:
    first, second = planted.fabric().nodes
    changed_node: Node = replace(second, **fields)
    return planted.run(of=Fabric((first, changed_node), (), planted.fabric().networks))


def wide(one: Measurement) -> Measurement:
    if one.times is None:
        return one
    median = one.times.median_s
    return replace(one, times=replace(one.times, low_s=median * 0.4, high_s=median * 2.5))


def only(*patterns: str, most: int = 1 << 40) -> Run:
    """A run in which nothing else was planned or measured."""
    kept = tuple(
        replace(one, measurements=tuple(
            case for case in one.measurements
            if case.pattern in patterns and case.message_bytes <= most
        ))
        for one in planted.sound_launches()
    )  # fmt: skip
    return planted.run(kept)


def one_of_three(change: Change) -> Run:
    return changed(change, which=(2,))


RUNS: Mapping[str, Callable[[], Run]] = {
    # nothing, or not what was meant
    "no launch": lambda: planted.run((), plan=sound_plan()),
    "no launch and no plan": lambda: planted.run(()),
    "launches without cases": lambda: changed_to_nothing(),
    "first launch broke": lambda: ended("failed", 1),
    "launch ran out of time": lambda: ended("timeout", 124),
    "all cases failed": lambda: changed(
        lambda one: replace(one, status="failed", times=None, samples=0)
    ),
    "all cases skipped": lambda: changed(
        lambda one: replace(one, status="skipped", times=None, samples=0)
    ),
    "no sample": lambda: changed(lambda one: replace(one, samples=0)),
    "small messages only": lambda: only("latency", "bandwidth", most=1024),
    "small latency only": lambda: only("latency", most=1024),
    "one-sided only": lambda: only("put_latency"),
    # one host
    "both ranks on one node": lambda: placed(
        lambda one: replace(one, host="c1", boot_id="boot-c1", net_namespace="net:[0]")
    ),
    "one network stack": lambda: placed(lambda one: replace(one, net_namespace="net:[0]",
                                                            boot_id="boot-c1")),
    "ranks exchanged": lambda: placed(
        lambda one: replace(one, host=f"c{2 - one.rank}", boot_id=f"boot-c{2 - one.rank}")
    ),
    "unknown hosts": lambda: placed(
        lambda one: replace(one, host=f"x{one.rank}", boot_id=f"x{one.rank}")
    ),
    "no placement": lambda: planted.run(
        replace(one, placements=()) for one in planted.sound_launches()
    ),
    "origin is target": lambda: changed(lambda one: replace(one, origin=0, target=0)),
    # another path
    "another interface": lambda: split(eth1=1.0),
    "loopback": lambda: split(lo=1.0),
    "two interfaces": lambda: split(eth0=0.6, eth1=0.4),
    "a tenth elsewhere": lambda: split(eth0=0.88, eth1=0.12),
    "counters stand still": lambda: counted(standing),
    "no counters": lambda: changed(lambda one: replace(one, counters=())),
    "counters went back": lambda: counted(
        lambda one: replace(one, before=one.after, after=one.before)
    ),
    "MPI chose by itself": lambda: planted.run(
        planted.launch(map(planted.measurement, planted.samples()), number, network=None)
        for number in (1, 2, 3)
    ),
    # figures that cannot be
    "latency of memory": lambda: changed(times(0.03, pattern="latency", most=1024)),
    "latency of memory in one launch": lambda: one_of_three(
        times(0.03, pattern="latency", most=1024)
    ),
    "faster than the link": lambda: changed(times(0.6, least=65536)),
    "faster than the link in one launch": lambda: one_of_three(times(0.6, least=65536)),
    "a tenth faster than the link": lambda: changed(times(0.9, least=65536)),
    "zero time": lambda: changed(times(0.0)),
    "negative time": lambda: changed(times(-1.0)),
    # slow
    "half the rate": lambda: changed(times(2.0, pattern="bandwidth")),
    "a tenth of the rate": lambda: changed(times(10.0, pattern="bandwidth")),
    "nine tenths of the rate": lambda: changed(times(1.12, pattern="bandwidth")),
    "large messages slow": lambda: changed(times(2.5, pattern="bandwidth", least=1 << 20)),
    "one direction slow": lambda: changed(
        lambda one: times(2.0, pattern="bandwidth")(one) if one.origin else one
    ),
    "latency a hundred times": lambda: changed(times(100.0, pattern="latency", most=1024)),
    "latency of 50 ms": lambda: changed(times(4500.0, pattern="latency", most=1024)),
    "one size slow": lambda: changed(
        times(3.0, pattern="bandwidth", least=262144, most=262144)
    ),
    "slow in two of three launches": lambda: changed(times(2.0, pattern="bandwidth"), (2, 3)),
    "slow in the last launch": lambda: changed(times(3.0, pattern="bandwidth"), (3,)),
    # not known well enough
    "wide intervals": lambda: changed(wide),
    "four samples": lambda: changed(
        lambda one: replace(one, samples=4, times=one.times and replace(
            one.times, confidence=0.875
        ))
    ),
    # data
    "a byte changed": lambda: changed(
        lambda one: replace(one, data_check=DataCheck(True, False, 17))
    ),
    # network
    "a member with another MTU": lambda: small_mtu(),
    "a port without a link": lambda: no_carrier(),
}  # fmt: skip


def changed_to_nothing() -> Run:
    return planted.run(
        tuple(replace(one, measurements=()) for one in planted.sound_launches()),
        plan=sound_plan(),
    )


def small_mtu() -> Run:
    first, second = planted.fabric().nodes
    port = replace(second.interfaces[0], mtu_bytes=1400)
    fabric = planted.fabric()
    network = fabric.networks[0]
    members = (network.members[0], replace(network.members[1], mtu_bytes=1400))
    nodes = (first, replace(second, interfaces=(port, *second.interfaces[1:])))
    return planted.run(of=Fabric(nodes, (), (replace(network, members=members),)))


def no_carrier() -> Run:
    first, second = planted.fabric().nodes
    port = replace(second.interfaces[0], carrier=False)
    nodes = (first, replace(second, interfaces=(port, *second.interfaces[1:])))
    return planted.run(of=Fabric(nodes, (), planted.fabric().networks))


def overall(run: Run) -> Outcome:
    return judgement(Context(run, {"net1": planted.ceiling()})).overall


def test_a_sound_run_passes() -> None:
    assert overall(planted.run()) is Outcome.PASS


@pytest.mark.parametrize("name", RUNS)
def test_a_run_that_deceives_does_not_pass(name: str) -> None:
    assert overall(RUNS[name]()) is not Outcome.PASS
