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

from fabricgauge.judge.evidence.traffic import accounted_bytes
from fabricgauge.judge.interface import Context
from fabricgauge.judge.judging import judgement, unclear
from fabricgauge.judge.localise.detect import localise
from fabricgauge.judge.localise.matrices import matrices
from fabricgauge.logs.readers.nccl.rounds import rounds_of
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Topology
from fabricgauge.model.judged import RunVerdicts
from fabricgauge.model.measurement import NodeCounters
from fabricgauge.model.plan import Plan, PlannedLaunch, Purpose, Stopping
from fabricgauge.model.run import CountersAround, Launch
from fabricgauge.model.suite import LogEvidence, SuiteCurve
from fabricgauge.model.verdict import Outcome, Verdict

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
        around=CountersAround(tuple(counters), payload), program=program,
        rounds=tuple(rounds_of(said)) if program == "sendrecv_perf" else (),
    )  # fmt: skip


def measured(
    shares: Shares, count: int = 4, again: bool = True, alone: Shares | None = None,
    at_once: bool = False,
) -> RunVerdicts:  # fmt: skip
    return judgement(context(shares, count, again, alone, at_once))


def context(
    shares: Shares, count: int, again: bool, alone: Shares | None, at_once: bool
) -> Context:
    """All nodes, each pair, and each pair again: then with the shares of ``alone``."""
    pairs = list(combinations(range(count), 2))
    lowest = min((alone or shares)(*pair) for pair in pairs)
    made = [launch(1, "all_reduce_perf", tuple(range(count)), lowest * LIMIT)]
    purposes: tuple[Purpose, ...] = ("measure", "again") if again else ("measure",)
    for purpose in purposes:
        rate = (alone or shares) if purpose == "again" else shares
        made += [
            launch(len(made) + at, "sendrecv_perf", pair, rate(*pair) * LIMIT, purpose)
            for at, pair in enumerate(pairs, 1)
        ]
    if at_once:
        made = [read_at(one, 0.0 if one.purpose == "measure" else one.number) for one in made]
    run = planted_fabric.run(*made)
    planned = tuple(
        PlannedLaunch(one.number, "net1", "10.77.0.0/24", one.nodes, (), one.program, one.purpose)
        for one in made
    )
    plan = Plan("quick", Stopping(0, 0), False, planned, "nccl-tests")
    run = msgspec.structs.replace(run, plan=plan)
    fabric = localise(run.launches, Topology())
    return Context(run, {"net1": planted.ceiling()}, fabric=fabric)


def read_at(one: Launch, moment_s: float) -> Launch:
    """The all-reduce before all pairs; what has one moment in common ran at once."""
    begin = -9.0 if one.program == "all_reduce_perf" else moment_s
    assert one.around is not None
    counters = tuple(
        msgspec.structs.replace(each, read_utc_s=(begin, begin + 0.9))
        for each in one.around.counters
    )
    return msgspec.structs.replace(
        one, around=msgspec.structs.replace(one.around, counters=counters)
    )


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
    assert sum(one.startswith("the median pair, c") for one in told) == 1


def test_a_slow_node_is_named_and_confirmed() -> None:
    found = measured(slow(2))
    (named,) = (one for one in of(found, "outliers") if one.outcome is Outcome.FAIL)
    assert named.subject == "net1, c3, in both directions"
    assert "again when measured alone" in named.summary
    assert found.overall is Outcome.FAIL
    (low,) = (one for one in of(found, "fraction") if one.outcome is Outcome.FAIL)
    assert "outliers" in low.remedy
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


def fallen(one: int, other: int) -> float:
    """Pairs that share a switch which carries half of what all of them send."""
    return 0.5 * sound(one, other)


def test_pairs_that_slow_each_other_fail_nothing_and_some_are_asked_for_alone() -> None:
    before = context(fallen, 4, again=False, alone=sound, at_once=True)
    (asked,) = unclear(before)
    assert not isinstance(asked.meetings, Skipped)
    assert asked.meetings
    found = judgement(before)
    assert Outcome.FAIL not in {one.outcome for one in found.verdicts}
    (pair,) = (one for one in of(found, "fraction") if "sendrecv" in one.about.source)
    assert pair.outcome is Outcome.INCONCLUSIVE
    assert "--concurrent 1" in pair.remedy


def test_pairs_that_are_fast_alone_pass_and_those_that_are_slow_alone_fail() -> None:
    good = measured(fallen, alone=sound, at_once=True)
    assert good.overall is Outcome.PASS, [(one.rule, one.summary) for one in good.verdicts]
    bad = measured(fallen, at_once=True)
    assert {one.outcome for one in of(bad, "fraction")} == {Outcome.FAIL}


def test_two_slow_nodes_of_four_are_named_only_after_they_were_measured_alone() -> None:
    """Half of the nodes: there are hardly good pairs to compare with, but there is the ceiling."""

    def named(found: RunVerdicts) -> set[str]:
        told = (one for rule in ("outliers", "pairs") for one in of(found, rule))
        return {one.subject for one in told if one.outcome is Outcome.FAIL}

    shares, both = slow(1, 2), {f"net1, c{one}, in both directions" for one in (2, 3)}
    assert named(measured(shares, again=False)) == both
    before = context(shares, 4, again=False, alone=None, at_once=True)
    assert named(judgement(before)) == set()
    (asked,) = unclear(before)
    assert not isinstance(asked.meetings, Skipped)
    assert {"c2", "c3"} <= {node for one in asked.meetings for node in (one.one, one.other)}
    assert named(measured(shares, at_once=True)) == both


@pytest.mark.parametrize("at_once", [True, False])
def test_starts_are_at_once_by_when_their_counters_were_read(at_once: bool) -> None:
    (subject,) = context(sound, 4, again=True, alone=None, at_once=at_once).subjects
    pairs = {one.number for one in subject.launches if one.program == "sendrecv_perf"}
    first = {one.number for one in subject.launches if one.purpose == "measure"} & pairs
    assert subject.beside_others == (first if at_once else frozenset())


def test_bytes_by_the_other_interface_of_a_subnet_are_told_with_what_nccl_needs() -> None:
    found = context(sound, 4, again=True, alone=None, at_once=False)
    launches = tuple(map(by_eth1, found.run.launches))
    moved = msgspec.structs.replace(
        found, run=msgspec.structs.replace(found.run, launches=launches)
    )
    (path,) = of(judgement(moved), "path")
    assert path.outcome is Outcome.INVALID
    assert "ip rule" in path.remedy


def by_eth1(one: Launch) -> Launch:
    """What eth0 counted, counted by an interface that is in no network."""
    assert one.around is not None
    counters = tuple(
        msgspec.structs.replace(
            each,
            before={"eth0": planted.NO_TRAFFIC, "eth9": planted.NO_TRAFFIC},
            after={"eth0": planted.NO_TRAFFIC, "eth9": each.after["eth0"]},
        )
        for each in one.around.counters
    )
    around = msgspec.structs.replace(one.around, counters=counters)
    return msgspec.structs.replace(one, around=around)
