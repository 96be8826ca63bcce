"""Pairs of many nodes by sendrecv_perf, and all of them by all_reduce_perf; faults are planted."""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.judge import planted, planted_fabric
from tests.judge.test_imported import curve

from fabricgauge.evidence.traffic import accounted_bytes
from fabricgauge.judge.interface import Context
from fabricgauge.judge.judging import judgement
from fabricgauge.localise.detect import localise
from fabricgauge.localise.matrices import matrices
from fabricgauge.model.judged import RunVerdicts
from fabricgauge.model.measurement import NodeCounters
from fabricgauge.model.plan import Plan, PlannedLaunch, Purpose, Stopping
from fabricgauge.model.run import Around, Launch
from fabricgauge.model.suite import LogEvidence, SuiteCurve
from fabricgauge.model.topology import Topology
from fabricgauge.model.verdict import Outcome, Verdict
from fabricgauge.parse.nccl.rounds import rounds_of

LIMIT = planted.CEILING_BYTES_PER_S
SIZES = (1 << 20, 1 << 23, 1 << 27)
#: Share of the ceiling between two nodes.
Shares = Callable[[int, int], float]


def tables(program: str, nodes: tuple[str, ...], rate: float) -> tuple[SuiteCurve, ...]:
    """Times and bus bandwidth, as both are read of a table; in an all-reduce of n ranks they differ
    by 2 (n - 1) / n."""
    ranks = len(nodes)
    factor = 1.0 if program == "sendrecv_perf" else 2 * (ranks - 1) / ranks
    more: dict[str, Any] = {
        "suite": "nccl-tests", "benchmark": program, "ranks": ranks, "pattern": None,
        "transport": "tcp", "evidence": LogEvidence(rank_hosts=nodes), "hosts": nodes,
        "source": "-".join(nodes),
    }  # fmt: skip
    times = {size: size * factor / rate for size in SIZES}
    return (
        curve(times, quantity="time", **more),
        curve(dict.fromkeys(SIZES, rate), quantity="bus_bandwidth", **more),
    )


def launch(
    number: int, program: str, ranks: tuple[int, ...], rate: float, purpose: Purpose = "measure"
) -> Launch:
    nodes = tuple(f"c{rank + 1}" for rank in ranks)
    said = tables(program, nodes, rate)
    payload = accounted_bytes(said)
    before, after = (
        tuple({"eth0": planted.NO_TRAFFIC} for _ in nodes),
        tuple(planted.counters(0, one, {"eth0": 1.0}).after for one in payload),
    )
    counters = (NodeCounters(at, node, before[at], after[at]) for at, node in enumerate(nodes))
    base = planted_fabric.launch(8, ())
    placements = tuple(
        msgspec.structs.replace(base.placements[rank], rank=at) for at, rank in enumerate(ranks)
    )
    return msgspec.structs.replace(
        base, number=number, nodes=nodes, placements=placements, curves=said, purpose=purpose,
        around=Around(tuple(counters), payload), program=program,
        rounds=tuple(rounds_of(said)) if program == "sendrecv_perf" else (),
    )  # fmt: skip


def measured(shares: Shares, count: int = 4, again: bool = True) -> RunVerdicts:
    """All nodes, each pair, and each pair again."""
    pairs = list(combinations(range(count), 2))
    lowest = min(shares(*pair) for pair in pairs)
    made = [launch(1, "all_reduce_perf", tuple(range(count)), lowest * LIMIT)]
    purposes: tuple[Purpose, ...] = ("measure", "again") if again else ("measure",)
    for purpose in purposes:
        made += [
            launch(len(made) + at, "sendrecv_perf", pair, shares(*pair) * LIMIT, purpose)
            for at, pair in enumerate(pairs, 1)
        ]
    run = planted_fabric.run(*made)
    planned = tuple(
        PlannedLaunch(one.number, "net1", "10.77.0.0/24", one.nodes, (), one.program, one.purpose)
        for one in made
    )
    plan = Plan("quick", Stopping(0, 0), False, planned, "nccl-tests")
    run = msgspec.structs.replace(run, plan=plan)
    fabric = localise(run.launches, Topology())
    return judgement(Context(run, {"net1": planted.ceiling()}, fabric=fabric))


def of(found: RunVerdicts, rule: str) -> list[Verdict]:
    return [one for one in found.verdicts if one.rule == rule]


def sound(one: int, other: int) -> float:
    return 0.93 + 0.004 * ((3 * one + 5 * other) % 4)


def slow(*ranks: int, share: float = 0.5) -> Shares:
    return lambda one, other: sound(one, other) * (share if {one, other} & {*ranks} else 1.0)


def test_four_sound_nodes_pass_by_the_thresholds_of_collectives() -> None:
    found = measured(sound)
    assert found.overall is Outcome.PASS, [(v.rule, v.summary) for v in found.verdicts]
    assert {one.outcome for one in of(found, "outliers")} == {Outcome.PASS}
    told = [one.summary for one in of(found, "fraction")]
    # The median pair stands for six, beside the all-reduce of all nodes.
    assert len(told) == 2, told


def test_a_slow_node_is_named_and_confirmed() -> None:
    found = measured(slow(2))
    (named,) = (one for one in of(found, "outliers") if one.outcome is Outcome.FAIL)
    assert named.subject == "net1, c3, in both directions"
    assert "again when measured alone" in named.summary
    assert found.overall is Outcome.FAIL
    fractions = {one.about.source.split()[1]: one.outcome for one in of(found, "fraction")}
    assert fractions == {"all_reduce_perf": Outcome.FAIL, "sendrecv_perf": Outcome.PASS}


def test_a_slow_node_that_was_not_measured_again_is_a_suspect() -> None:
    found = measured(slow(2), again=False)
    assert Outcome.FAIL not in {one.outcome for one in of(found, "outliers")}
    assert any("c3" in one.subject for one in of(found, "outliers"))


def test_a_slow_way_names_neither_of_its_ends() -> None:
    found = measured(lambda a, b: sound(a, b) * (0.5 if (a, b) == (1, 3) else 1.0), count=8)
    named = {one.subject for one in of(found, "outliers") if one.outcome is Outcome.FAIL}
    assert named == {"net1, the way between c2 and c4"}


def test_a_rail_that_is_slow_everywhere_fails_by_the_ceiling() -> None:
    found = measured(lambda a, b: sound(a, b) * 0.5)
    assert {one.outcome for one in of(found, "fraction")} == {Outcome.FAIL}
    assert Outcome.FAIL not in {one.outcome for one in of(found, "outliers")}


@pytest.mark.parametrize("count", [3, 4])
def test_pairs_at_three_quarters_are_no_fault_of_a_suite(count: int) -> None:
    """Collectives pass from 70 % on with a remark: the thresholds of streams are none of theirs."""
    found = measured(lambda a, b: 0.75 + 0.01 * ((a + b) % 2), count=count)
    assert Outcome.FAIL not in {one.outcome for one in of(found, "pairs")}
    assert {one.outcome for one in of(found, "fraction")} == {Outcome.WARN}


@given(st.integers(0, 7), st.floats(0.2, 0.8))
def test_whichever_node_is_slow_is_the_one_that_is_named(rank: int, share: float) -> None:
    found = measured(slow(rank, share=share), count=8)
    named = {one.subject for one in of(found, "outliers") if one.outcome is Outcome.FAIL}
    assert named == {f"net1, c{rank + 1}, in both directions"}


def test_two_sizes_of_a_pair_become_rounds_of_both_ways() -> None:
    (time, bus) = tables("sendrecv_perf", ("c1", "c2"), 1e9)
    made = list(rounds_of((time, bus)))
    assert [one.message_bytes for one in made] == [1 << 23, 1 << 27]
    assert all((one.origins, one.targets) == ((0, 1), (1, 0)) for one in made)
    assert made[0].median_ps == (round((1 << 23) / 1e9 * 1e12),) * 2
    alone = msgspec.structs.replace(time, ranks=1)
    assert not list(rounds_of([alone]))


def test_what_was_measured_again_is_in_no_matrix() -> None:
    first = launch(1, "sendrecv_perf", (0, 1), LIMIT)
    again = launch(2, "sendrecv_perf", (0, 1), LIMIT / 2, "again")
    (small, large) = matrices([first, again])
    assert small.repeats.shape[0] == large.repeats.shape[0] == 1
    assert large.values[0, 1] == pytest.approx(LIMIT)


def test_every_rank_of_a_collective_is_accounted_for() -> None:
    said = tables("all_reduce_perf", ("c1", "c2", "c3"), 1e9)
    assert accounted_bytes(said) == (sum(SIZES) * 100,) * 3
    assert accounted_bytes(()) == (0, 0)
