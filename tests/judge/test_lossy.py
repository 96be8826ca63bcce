"""A node that loses frames is named by what TCP sent again; losses everywhere accuse nobody."""

from collections.abc import Callable, Mapping
from itertools import permutations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.judge import planted
from tests.judge import planted_fabric as many

from fabricgauge.judge.interface import Context
from fabricgauge.judge.judging import judgement, losing, unclear
from fabricgauge.judge.localise.detect import localise
from fabricgauge.judge.thresholds import DEFAULTS
from fabricgauge.model.absence import Skipped
from fabricgauge.model.evidence import LostSegments, NetworkEvidence, RunEvidence
from fabricgauge.model.fabric import Topology
from fabricgauge.model.pairs import PairFinding
from fabricgauge.model.verdict import Outcome, Verdict

SEGMENTS = 50_000.0

#: From a node to a node: the share of the segments that is sent again.
Shares = Callable[[str, str], float]


def judged(nodes: int, shares: Shares, segments: float = SEGMENTS) -> tuple[Verdict, ...]:
    names = [f"c{number}" for number in range(1, nodes + 1)]
    lost = tuple(
        LostSegments(one, other, round(shares(one, other) * segments), segments)
        for one, other in permutations(names, 2)
    )
    return judged_of(lost)


def judged_of(lost: tuple[LostSegments, ...]) -> tuple[Verdict, ...]:
    evidence = RunEvidence((NetworkEvidence("net1", lost=lost),))
    every = planted.judge(planted.run(), {"net1": planted.ceiling()}, evidence=evidence)
    return planted.by_rule(every, "lossy")


def outcomes(verdicts: tuple[Verdict, ...]) -> Mapping[tuple[str, tuple[str, ...]], Outcome]:
    return {(one.about.kind, one.about.names): one.outcome for one in verdicts}


NOBODY = {("network", ()): Outcome.PASS}
BACKGROUND = 0.0002


@pytest.mark.parametrize(
    ("shares", "named"),
    [
        (lambda one, other: 0.01 if "c3" in (one, other) else BACKGROUND, ("node", ("c3",))),
        (lambda one, other: 0.01 if one == "c3" else BACKGROUND, ("sender", ("c3",))),
        (lambda one, other: 0.01 if other == "c3" else BACKGROUND, ("receiver", ("c3",))),
    ],
    ids=("both directions", "sending", "receiving"),
)
@pytest.mark.parametrize("nodes", [3, 4, 8])
def test_a_node_whose_ways_all_lose_is_named(
    nodes: int, shares: Shares, named: tuple[str, tuple[str, ...]]
) -> None:
    (verdict,) = judged(nodes, shares)
    assert outcomes((verdict,)) == {named: Outcome.FAIL}
    assert "lost 1.0 % of the segments" in verdict.summary
    assert len(verdict.evidence) == (nodes - 1) * (2 if named[0] == "node" else 1)


def test_two_nodes_that_lose_are_both_named() -> None:
    bad = {"c3", "c5"}
    found = judged(8, lambda one, other: 0.02 if bad & {one, other} else 0.0)
    assert outcomes(found) == {
        ("node", ("c3",)): Outcome.FAIL, ("node", ("c5",)): Outcome.FAIL,
    }  # fmt: skip


@pytest.mark.parametrize(
    "shares",
    [
        lambda one, other: 0.01,
        lambda one, other: 0.3 if (one, other) == ("c1", "c3") else 0.0,
        lambda one, other: 0.3 if {one, other} == {"c1", "c3"} else 0.0,
        lambda one, other: 0.01 if "c3" in (one, other) else 0.001,
        lambda one, other: 0.003 if "c3" in (one, other) else 0.0,
    ],
    ids=("all nodes", "one way", "one pair", "others lose as well", "below the limit"),
)
def test_what_is_lost_elsewhere_or_on_one_way_accuses_no_node(shares: Shares) -> None:
    assert outcomes(judged(4, shares)) == NOBODY


def test_a_handful_of_segments_accuses_nobody() -> None:
    few = judged(4, lambda one, other: 0.02 if "c3" in (one, other) else 0.0, segments=500)
    assert outcomes(few) == NOBODY


def test_a_way_that_carried_little_clears_nobody() -> None:
    def shares(one: str, other: str) -> float:
        return 0.02 if "c3" in (one, other) else 0.0

    def segments(one: str, other: str) -> float:
        return 300.0 if {one, other} == {"c3", "c4"} else SEGMENTS

    lost = tuple(
        LostSegments(
            one, other, round(shares(one, other) * (segments(one, other) > 300) * SEGMENTS),
            segments(one, other),
        )
        for one, other in permutations(("c1", "c2", "c3", "c4"), 2)
    )  # fmt: skip
    assert outcomes(judged_of(lost)) == {("node", ("c3",)): Outcome.FAIL}


@pytest.mark.parametrize(
    ("shares", "named"),
    [
        (lambda one, other: 0.01, {("c1", "c2"), ("c2", "c1")}),
        (lambda one, other: 0.01 if one == "c1" else BACKGROUND, {("c1", "c2")}),
        (lambda one, other: 0.003, set()),
    ],
    ids=("both ways", "one way", "below the limit"),
)
def test_of_two_nodes_the_lossy_way_is_named(shares: Shares, named: set[tuple[str, str]]) -> None:
    expected = {("direction", way): Outcome.FAIL for way in named}
    assert outcomes(judged(2, shares)) == expected


def test_of_two_nodes_a_handful_of_segments_accuses_nobody() -> None:
    assert judged(2, lambda one, other: 0.02, segments=500) == ()


@given(st.integers(3, 6), st.lists(st.floats(0.0, 0.02), min_size=30, max_size=30))
def test_whoever_is_named_loses_with_each_partner_and_others_do_not(
    nodes: int, values: list[float]
) -> None:
    def shares(one: str, other: str) -> float:
        return values[(7 * int(one[1:]) + int(other[1:])) % len(values)]

    for verdict in judged(nodes, shares):
        if verdict.outcome is Outcome.FAIL:
            (node,) = verdict.about.names
            names = [f"c{number}" for number in range(1, nodes + 1)]
            ways = {
                "sender": [(node, other) for other in names if other != node],
                "receiver": [(other, node) for other in names if other != node],
            }
            kinds = ways if verdict.about.kind == "node" else (verdict.about.kind,)
            assert all(shares(*way) > 0.0024 for kind in kinds for way in ways[kind])


def context_of(*shares: float) -> Context:
    """Four nodes that sent these shares again among all pairs."""
    launch = many.launch(4, many.rounds(4))
    run = many.run(launch)
    names = dict(zip(launch.nodes, shares, strict=False))
    evidence = RunEvidence((NetworkEvidence("net1", sent_again=names),))
    pairs = localise(run.launches, Topology())
    return Context(run, {"net1": planted.ceiling()}, DEFAULTS, pairs, evidence)


def asked(*shares: float) -> set[tuple[str, str]]:
    """Who is to send alone, where four nodes sent these shares again among all pairs."""
    return {
        (each.one, each.other)
        for one in unclear(context_of(*shares))
        if not isinstance(one.meetings, Skipped)
        for each in one.meetings
    }


def test_where_all_pairs_lost_segments_suspects_send_alone() -> None:
    assert asked(0.0027, 0.0030, 0.0091, 0.0039) == {
        ("c1", "c2"), ("c1", "c3"), ("c1", "c4"), ("c2", "c3"), ("c3", "c4"),
    }  # fmt: skip


def test_a_loser_of_what_it_receives_sends_least_again_and_is_asked() -> None:
    met = asked(0.0033, 0.0034, 0.0, 0.0033)
    assert {("c1", "c3"), ("c2", "c3"), ("c3", "c4")} <= met


def test_few_losses_ask_nobody() -> None:
    assert not asked(0.0, 0.0, 0.0, 0.0)
    assert not asked(0.001, 0.002, 0.001, 0.0)
    assert not asked()


@pytest.mark.parametrize("told", [False, True])
def test_what_the_engine_met_accounts_for_what_is_slow_beside_it(told: bool) -> None:
    run = planted.run()
    launch, *rest = run.launches
    first, *others = launch.measurements
    met = (msgspec.structs.replace(first, losing=told), *others)
    run = msgspec.structs.replace(
        run, launches=(msgspec.structs.replace(launch, measurements=met), *rest)
    )
    assert losing(run) == ({launch.network} if told else set())


def told_where(loser: str) -> Mapping[tuple[str, tuple[str, ...]], Outcome]:
    """What ``outliers`` says of a slow way between c1 and c3 of six, where a node loses frames."""
    launch = many.launch(6, many.rounds(6))
    run = many.run(launch)
    lost = tuple(
        LostSegments(one, other, round(SEGMENTS * 0.02 * (loser in (one, other))), SEGMENTS)
        for one, other in permutations(launch.nodes, 2)
    )
    found = localise(run.launches, Topology())
    analysis = next(one for one in found.analyses if one.matrix.quantity == "bandwidth")
    way = PairFinding(
        "pair", ("c1", "c3"), "bandwidth", analysis.matrix.message_bytes, -0.9, -0.92, -0.88, 1e-5,
        2, "fault", ("slower both ways",),
    )  # fmt: skip
    slow = msgspec.structs.replace(analysis, findings=(way,))
    known = RunEvidence((NetworkEvidence("net1", lost=lost),))
    pairs = msgspec.structs.replace(found, analyses=(slow,))
    context = Context(run, {"net1": planted.ceiling()}, DEFAULTS, pairs, known)
    return outcomes(planted.by_rule(judgement(context).verdicts, "outliers"))


def test_a_slow_way_of_a_node_that_loses_frames_follows_from_that() -> None:
    way = ("pair", ("c1", "c3"))
    assert told_where("c5") == {way: Outcome.INCONCLUSIVE}
    assert told_where("c3") == {way: Outcome.SKIPPED}
