"""Every pair is held against the ceiling: of three nodes a slow one is named as of two or four."""

import msgspec
import numpy as np
import pytest
from tests.judge import planted
from tests.judge import planted_fabric as many
from tests.judge.test_many_hosts import scattered

from fabricgauge.judge.interface import Context
from fabricgauge.judge.judging import overall, unclear
from fabricgauge.judge.localise.detect import localise
from fabricgauge.judge.rules.pairs import judge as judge_pairs
from fabricgauge.judge.thresholds import DEFAULTS
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.fabric import Topology
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.pairs import Recheck
from fabricgauge.model.run import Run
from fabricgauge.model.verdict import Outcome, Verdict


def judged(
    count: int, shares: many.Pairs, passes: int = 1, waits: tuple[float | Skipped, ...] = ()
) -> tuple[Verdict, ...]:
    """``waits`` is the share of the time that each rank had no processor, as far as it was seen."""

    def waiting(case: Measurement) -> Measurement:
        uses = tuple(
            msgspec.structs.replace(
                planted.QUIET, rank=rank,
                run_delay_s=one if isinstance(one, Skipped) else one * case.wall_s,
                node_steal_share=one if isinstance(one, Skipped) else 0.0,
            )
            for rank, one in enumerate(waits)
        )  # fmt: skip
        return msgspec.structs.replace(case, processors=uses)

    made = many.launch(count, many.rounds(count, shares))
    busy = msgspec.structs.replace(made, measurements=tuple(map(waiting, made.measurements)))
    each = (msgspec.structs.replace(busy, number=number) for number in range(1, passes + 1))
    return many.verdicts(many.run(*each))


def told(given: tuple[Verdict, ...]) -> dict[str, Outcome]:
    return {one.subject: one.outcome for one in planted.by_rule(given, "pairs")}


C3 = "net1, c3, in both directions"


@pytest.mark.parametrize(
    ("share", "passes"), [(0.05, 1), (0.1, 1), (0.5, 1), (0.7, 1), (0.1, 2), (0.8, 2), (0.88, 2)]
)
def test_one_slow_node_of_three_is_named_and_the_run_fails(share: float, passes: int) -> None:
    given = judged(3, many.slow(2, share=share), passes)
    assert told(given) == {C3: Outcome.FAIL}
    assert overall(given) is Outcome.FAIL
    (verdict,) = planted.by_rule(given, "pairs")
    assert len(verdict.evidence) == 4
    assert all("c3" in line for line in verdict.evidence)
    (beside,) = planted.by_rule(given, "outliers")
    assert beside.outcome is not Outcome.PASS
    assert "c3" in f"{beside.subject} {beside.summary}"


@pytest.mark.parametrize(("share", "passes"), [(0.8, 1), (0.95, 2), (1.0, 1), (1.0, 2)])
def test_a_small_loss_of_a_single_pass_and_healthy_pairs_name_nobody(
    share: float, passes: int
) -> None:
    assert told(judged(3, many.slow(2, share=share), passes)) == {"net1": Outcome.PASS}


def test_one_direction_of_a_node_is_told_from_both() -> None:
    sending = judged(3, lambda one, _: 0.3 if one == 2 else 0.99)
    receiving = judged(3, lambda _, other: 0.3 if other == 2 else 0.99)
    assert told(sending) == {"net1, c3, sending": Outcome.FAIL}
    assert told(receiving) == {"net1, c3, receiving": Outcome.FAIL}


def test_two_slow_nodes_of_four_are_both_named_once_they_were_measured_alone() -> None:
    slow = many.slow(2, 3, share=0.1)
    first = many.launch(4, many.rounds(4, slow))
    once, again = many.run(first), many.run(first, many.again(4, [(2, 0), (3, 1), (0, 1)], slow))
    c4 = "net1, c4, in both directions"
    assert told(many.verdicts(once)) == {C3: Outcome.INCONCLUSIVE, c4: Outcome.INCONCLUSIVE}
    assert told(many.verdicts(again)) == {C3: Outcome.FAIL, c4: Outcome.FAIL}


def test_a_second_measurement_that_refutes_leaves_nobody_named() -> None:
    first = many.launch(4, many.rounds(4, many.slow(2, 3, share=0.1)))
    every = [(one, other) for one in range(4) for other in range(4) if one != other]
    given = many.verdicts(many.run(first, many.again(4, every, many.sound)))
    assert told(given) == {"net1": Outcome.PASS}


@pytest.mark.parametrize("count", [3, 4])
def test_a_network_that_is_slow_everywhere_is_left_to_fraction(count: int) -> None:
    given = judged(count, lambda one, other: 0.4 * many.sound(one, other))
    assert told(given) == {"net1": Outcome.SKIPPED}
    assert planted.outcomes(given, "fraction") == {Outcome.FAIL}


def test_a_single_slow_pair_is_a_remark_that_names_the_way() -> None:
    given = judged(3, lambda one, other: 0.3 if (one, other) == (0, 1) else 0.99)
    assert told(given) == {"net1": Outcome.WARN}
    assert "the way from c1 to c2" in planted.by_rule(given, "pairs")[0].summary


def test_pairs_that_scatter_name_nobody() -> None:
    for share in (0.55, 0.7, 0.8):
        found = told(judged(6, scattered(share)))
        assert set(found) == {"net1"}
        assert Outcome.FAIL not in found.values()


def slow_by_turns(share: float) -> many.Pairs:
    """c3 carries that share, a little more or less with each partner and each way."""
    even = many.slow(2, share=share)
    return lambda one, other: even(one, other) * (1.0, 0.97, 1.04)[(one + 2 * other) % 3]


@pytest.mark.parametrize(
    ("share", "waits", "outcome"),
    [
        (0.6, (0.0, 0.0, 0.5), Outcome.INCONCLUSIVE),
        (0.1, (0.0, 0.0, 0.5), Outcome.FAIL),  # half of the time does not cost nine tenths
        (0.3, (0.5, 0.5, 0.5), Outcome.FAIL),  # all wait alike, and the others are fast
        (0.3, (0.0, 0.0, 0.0), Outcome.FAIL),
        (0.3, (Skipped("not shown"),) * 3, Outcome.INCONCLUSIVE),
    ],
)
def test_a_node_that_waits_for_its_processor_is_not_blamed_for_its_link(
    share: float, waits: tuple[float | Skipped, ...], outcome: Outcome
) -> None:
    given = judged(3, slow_by_turns(share), waits=waits)
    assert told(given) == {C3: outcome}
    (verdict,) = planted.by_rule(given, "pairs")
    assert any("wait" in line for line in verdict.evidence) is (outcome is Outcome.INCONCLUSIVE)


def test_pairs_of_a_node_that_carry_the_same_share_a_wire_whatever_its_host_waits() -> None:
    given = judged(3, many.slow(2, share=0.6), waits=(0.0, 0.0, 0.5))
    assert told(given) == {C3: Outcome.FAIL}


def asked(run: Run) -> tuple[Recheck, ...]:
    networks: dict[str, Ceiling | Skipped] = {"net1": planted.ceiling()}
    return unclear(Context(run, networks, DEFAULTS, localise(run.launches, Topology())))


def test_three_nodes_measure_alone_what_one_pass_leaves_in_doubt() -> None:
    once = many.launch(3, many.rounds(3, many.slow(2, share=0.8)))
    (recheck,) = asked(many.run(once))
    assert not isinstance(recheck.meetings, Skipped)
    assert [(one.one, one.other) for one in recheck.meetings] == [
        ("c1", "c2"), ("c1", "c3"), ("c2", "c3"),
    ]  # fmt: skip
    second = many.again(3, [(a, b) for a in range(3) for b in range(3) if a != b],
                        many.slow(2, share=0.8))  # fmt: skip
    assert asked(many.run(once, second)) == ()
    assert told(many.verdicts(many.run(once, second))) == {C3: Outcome.FAIL}


@pytest.mark.parametrize(("count", "share"), [(3, 1.0), (4, 0.8)])
def test_nobody_measures_alone_where_nothing_is_in_doubt(count: int, share: float) -> None:
    assert asked(many.run(many.launch(count, many.rounds(count, many.slow(2, share=share))))) == ()


def beside(
    count: int, *slow: int, concurrent: int = 0, each: float = 0.5, again: bool = False
) -> tuple[Verdict, ...]:
    """Two ranks on each node, of which both measure at once; a slow node has half the rate."""

    def shares(one: int, other: int) -> float:
        return each * many.sound(one, other) * (0.5 if {one // 2, other // 2} & set(slow) else 1.0)

    made = many.launch(2 * count, many.rounds(2 * count, shares))
    nodes = tuple(f"c{1 + rank // 2}" for rank in range(2 * count))
    made = msgspec.structs.replace(made, nodes=nodes)
    single = many.again(count, [(0, 1), (1, 0)], lambda one, other: 0.6)
    run = many.run(*(msgspec.structs.replace(made, number=number) for number in (1, 2)))
    if again:
        run = msgspec.structs.replace(run, launches=(*run.launches, single))
    launches = [
        msgspec.structs.replace(
            one, cases=tuple(msgspec.structs.replace(c, concurrent=concurrent) for c in one.cases)
        )
        for one in run.plan.launches
    ]
    plan = msgspec.structs.replace(run.plan, launches=tuple(launches))
    return many.verdicts(msgspec.structs.replace(run, plan=plan))


@pytest.mark.parametrize("count", [2, 3, 4])
def test_ranks_of_a_node_that_measure_at_once_share_its_link(count: int) -> None:
    given = beside(count)
    (verdict,) = planted.by_rule(given, "fraction")
    assert verdict.outcome is Outcome.PASS
    assert any("÷ 2 ranks on a node" in line for line in verdict.evidence)
    assert told(given) == {"net1": Outcome.PASS if count > 2 else Outcome.SKIPPED}
    assert planted.outcomes(beside(count, concurrent=1), "fraction") == {Outcome.FAIL}


def test_a_stream_that_others_left_the_link_to_is_not_above_the_ceiling() -> None:
    given = beside(4, each=0.99)
    for rule in ("fraction", "pairs", "above-ceiling"):
        assert planted.outcomes(given, rule) == {Outcome.PASS}
    assert planted.outcomes(beside(4, each=1.05), "above-ceiling") == {Outcome.INVALID}


def test_a_slow_node_of_several_ranks_is_named_by_what_its_link_carries() -> None:
    given = beside(3, 2)
    assert told(given) == {C3: Outcome.FAIL}
    (verdict,) = planted.by_rule(given, "pairs")
    assert "2 ranks of a node measured at once" in verdict.evidence[-1]
    assert planted.outcomes(beside(4, 0, 1, 2, 3), "fraction") == {Outcome.FAIL}


def test_a_pair_that_was_measured_again_alone_has_the_link_to_itself() -> None:
    low = beside(4, 0, 1, 2, 3, again=True)
    assert "no pair reaches 90.0 %" in planted.by_rule(low, "pairs")[0].summary


def test_two_nodes_have_no_such_verdict() -> None:
    assert planted.by_rule(planted.verdicts(planted.run()), "pairs") == ()


@pytest.mark.parametrize(("count", "passes"), [(3, 1), (3, 2), (4, 1), (8, 1)])
def test_healthy_pairs_of_which_some_were_disturbed_name_next_to_nobody(
    count: int, passes: int
) -> None:
    """Each figure varies by 2 %, and each tenth one lost up to six tenths to other load."""
    random = np.random.default_rng(20260101)

    def disturbed(_one: int, _other: int) -> float:
        share = 0.985 * (1 - abs(random.normal(0, 0.02)))
        return share * (random.uniform(0.4, 1.0) if random.random() < 0.1 else 1.0)

    named = 0
    for _ in range(100):
        launches = [
            msgspec.structs.replace(many.launch(count, many.rounds(count, disturbed)), number=one)
            for one in range(1, passes + 1)
        ]
        run = many.run(*launches)
        fabric = localise(run.launches, run.fabric.topology)
        found = judge_pairs(Context(run, {"net1": planted.ceiling()}, fabric=fabric))
        named += any(one.outcome in (Outcome.FAIL, Outcome.INCONCLUSIVE) for one in found)
    assert named <= 2


def shared(lowest: float = 0.5) -> many.Pairs:
    """Neighbours share a link while all measure; c1 and c2 reach ``lowest`` then."""

    def shares(one: int, other: int) -> float:
        share = many.sound(one, other)
        return share * (lowest if {one, other} == {0, 1} else 0.5) if one ^ other == 1 else share

    return shares


NEIGHBOURS = tuple(
    pair for first in range(2, 8, 2) for pair in ((first, first + 1), (first + 1, first))
)


@pytest.mark.parametrize(
    ("among_all", "alone", "outcome"),
    [
        pytest.param(shared(), many.sound, Outcome.PASS, id="all fine alone"),
        pytest.param(shared(), shared(), Outcome.WARN, id="as low alone"),
        pytest.param(shared(0.2), many.sound, Outcome.WARN, id="one far lower, not measured again"),
        pytest.param(many.sound, many.sound, Outcome.PASS, id="healthy"),
    ],
)
def test_pairs_that_are_low_only_while_all_measure_share_links(
    among_all: many.Pairs, alone: many.Pairs, outcome: Outcome
) -> None:
    first = many.launch(8, many.rounds(8, among_all))
    given = many.verdicts(many.run(first, many.again(8, NEIGHBOURS, alone)))
    assert set(told(given).values()) == {outcome}


def test_low_pairs_that_were_not_measured_again_stay_a_remark() -> None:
    given = judged(8, shared())
    assert set(told(given).values()) == {Outcome.WARN}
