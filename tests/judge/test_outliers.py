"""Who is at fault, from planted matrices to verdicts; nobody is named without a recheck."""

from itertools import combinations, cycle

import msgspec
import pytest
from tests.judge import planted
from tests.judge import planted_fabric as many

from fabricgauge.judge.judging import overall
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Group, Topology
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.run import Launch
from fabricgauge.model.verdict import Outcome, exit_status


def everybody(count: int) -> list[tuple[int, int]]:
    return [
        pair
        for one, other in combinations(range(count), 2)
        for pair in ((one, other), (other, one))
    ]


def test_a_sound_fabric_passes_and_names_nobody() -> None:
    given = many.verdicts(many.run(many.launch(8, many.rounds(8))))
    assert planted.outcomes(given, "outliers") == {Outcome.PASS}
    assert overall(given) is Outcome.PASS
    fraction = planted.the(given, "fraction", Outcome.PASS)
    assert "median of 56 pairs" in fraction.subject


def test_a_slow_node_fails_once_it_is_confirmed_and_nobody_else_is_named() -> None:
    first = many.launch(8, many.rounds(8, many.slow(2)))
    second = many.again(8, everybody(8), many.slow(2))
    given = many.verdicts(many.run(first, second))
    (verdict,) = planted.by_rule(given, "outliers")
    assert verdict.outcome is Outcome.FAIL
    assert "c3, in both directions" in verdict.subject
    assert verdict.figure is not None
    assert abs(verdict.figure.value + 0.75) < 0.02
    assert any("measured again alone" in line for line in verdict.evidence)
    assert planted.outcomes(given, "fraction") == {Outcome.PASS}
    assert exit_status(overall(given)) == 1


def test_a_slow_node_is_not_named_without_a_second_measurement() -> None:
    given = many.verdicts(many.run(many.launch(8, many.rounds(8, many.slow(2)))))
    (verdict,) = planted.by_rule(given, "outliers")
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "not confirmed" in verdict.summary
    assert exit_status(overall(given)) == 3


def test_a_node_that_is_fast_alone_was_slowed_by_others() -> None:
    first = many.launch(8, many.rounds(8, many.slow(2)))
    given = many.verdicts(many.run(first, many.again(8, everybody(8), many.sound)))
    (verdict,) = planted.by_rule(given, "outliers")
    assert verdict.outcome is Outcome.WARN
    assert verdict.summary.startswith("suspects, but too little evidence")
    assert any("not when measured again alone" in line for line in verdict.evidence)


LEAVES = Topology(
    tuple(Group(f"leaf{i}", (f"c{2 * i + 1}", f"c{2 * i + 2}"), "spine") for i in range(4)),
    "written",
)


@pytest.mark.parametrize("share", [0.5, 0.8])
def test_a_slow_node_fails_although_its_leaf_s_uplink_is_as_slow_for_all(share: float) -> None:
    alone = many.slow(3, share=share)

    def at_once(one: int, other: int) -> float:
        return min(alone(one, other), 1.0 if one // 2 == other // 2 else 0.5)

    first = many.launch(8, many.rounds(8, at_once))
    given = many.verdicts(many.run(first, many.again(8, everybody(8), alone)), LEAVES)
    verdict = planted.the(given, "outliers", Outcome.FAIL)
    assert "c4, in both directions" in verdict.subject
    assert verdict.figure is not None
    assert verdict.figure.value == pytest.approx(share - 1, abs=0.02)


def test_an_uplink_fails_and_not_the_nodes_behind_it() -> None:
    def inwards(one: int, other: int) -> float:
        return many.sound(one, other) * (0.25 if one // 2 != 1 == other // 2 else 1.0)

    first = many.launch(8, many.rounds(8, inwards))
    given = many.verdicts(many.run(first, many.again(8, everybody(8), inwards)), LEAVES)
    assert "group leaf1" in planted.the(given, "outliers", Outcome.FAIL).subject


GROUPS = Topology(
    tuple(
        Group(f"group{i}", tuple(f"c{number}" for number in range(4 * i + 1, 4 * i + 5)), "")
        for i in range(4)
    ),
    "written",
)


@pytest.mark.parametrize("waits", [{}, {0: 0.6}])
def test_a_group_fails_for_what_all_pairs_carry_at_once_unless_a_node_of_it_waits(
    waits: dict[int, float],
) -> None:
    def at_once(one: int, other: int) -> float:
        crosses = one // 4 != other // 4
        slow_group = crosses and 0 in {one // 4, other // 4}
        return many.sound(one, other) * (0.1 if slow_group else 0.5 if crosses else 1.0)

    launches = [
        waiting(many.launch(16, many.rounds(16, at_once), number), waits) for number in (1, 3, 4)
    ]
    second = many.again(16, everybody(16), many.sound)
    given = many.verdicts(many.run(*launches, second), GROUPS)
    named = [
        verdict
        for verdict in planted.by_rule(given, "outliers")
        if "group group0" in verdict.subject and verdict.outcome is Outcome.FAIL
    ]
    assert len(named) == (0 if waits else 1)
    for verdict in named:
        assert verdict.figure is not None
        assert verdict.figure.value == pytest.approx(-0.8, abs=0.01)
        assert any("at once" in line for line in verdict.evidence)


def waiting(launch: Launch, shares: dict[int, float], pattern: str = "") -> Launch:
    """The same launch; these ranks waited for a processor for that share of each case's time."""
    return msgspec.structs.replace(
        launch,
        measurements=tuple(
            msgspec.structs.replace(
                one,
                processors=tuple(
                    msgspec.structs.replace(
                        planted.QUIET, rank=end, run_delay_s=shares.get(end, 0.0) * one.wall_s
                    )
                    for end in (one.origin, one.target)
                ),
            )
            if pattern in ("", one.pattern)
            else one
            for one in launch.measurements
        ),
    )


def unsteady(launch: Launch, scatter: float = 0.03) -> Launch:
    """The same launch; intervals are as wide as beside other work, and pairs differ as they do."""
    factors = cycle((1.0, 1.0 + scatter, 1.0 - scatter))
    return msgspec.structs.replace(
        launch, measurements=tuple(map(_wide, launch.measurements, factors))
    )


def _wide(one: Measurement, factor: float) -> Measurement:
    assert one.times is not None
    median_s = factor * one.times.median_s
    times = msgspec.structs.replace(
        one.times, median_s=median_s, low_s=0.95 * median_s, high_s=1.05 * median_s
    )
    return msgspec.structs.replace(one, times=times)


@pytest.mark.parametrize(
    ("share", "own", "others", "outcome"),
    [
        (0.9, 0.35, 0.0, Outcome.INCONCLUSIVE),  # a third of the time accounts for a tenth
        (0.9, 0.35, 0.35, Outcome.INCONCLUSIVE),  # all hosts are busy
        (0.9, 0.2, 0.0, Outcome.FAIL),  # a fifth is below what counts
        (0.25, 0.35, 0.0, Outcome.FAIL),  # three quarters are missing: waiting is not why
        (0.25, 0.6, 0.6, Outcome.FAIL),  # the others waited as long, and are fast
        (0.25, 0.8, 0.0, Outcome.INCONCLUSIVE),
    ],
)
def test_a_host_that_waited_for_processors_accounts_for_no_more_than_it_can(
    share: float, own: float, others: float, outcome: Outcome
) -> None:
    slowed = many.slow(2, share=share)
    first = many.launch(8, many.rounds(8, slowed))
    ranks = dict.fromkeys(range(8), others) | {2: own}
    second = unsteady(waiting(many.again(8, everybody(8), slowed), ranks))
    (verdict,) = planted.by_rule(many.verdicts(many.run(first, second)), "outliers")
    assert verdict.outcome is outcome, verdict
    told = [line for line in verdict.evidence if "had to wait for a processor" in line]
    assert bool(told) == (outcome is Outcome.INCONCLUSIVE)
    assert verdict.cause.startswith("other work on the nodes") == bool(told)


def test_a_slow_node_is_not_blamed_where_its_waiting_could_not_be_seen() -> None:
    slowed = many.slow(2, share=0.5)
    first = many.launch(8, many.rounds(8, slowed))
    second = unsteady(waiting(many.again(8, everybody(8), slowed), {}))
    hidden = Skipped("/proc/self/task: Permission denied")
    unseen = planted.changed(
        [second],
        lambda one: msgspec.structs.replace(
            one,
            processors=tuple(
                msgspec.structs.replace(use, run_delay_s=hidden) for use in one.processors
            ),
        ),
    )
    (seen,) = planted.by_rule(many.verdicts(many.run(first, second)), "outliers")
    assert seen.outcome is Outcome.FAIL
    (verdict,) = planted.by_rule(many.verdicts(many.run(first, *unseen)), "outliers")
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert any("waits for a processor are unknown" in line for line in verdict.evidence)


def late(*ranks: int, times: float) -> many.Pairs:
    """Whatever these ranks send or receive takes that many times as long."""
    return lambda one, other: many.even(one, other) * (times if {one, other} & set(ranks) else 1.0)


@pytest.mark.parametrize(
    ("times", "own", "outcome"),
    [
        (1.6, 0.0, Outcome.FAIL),
        (1.6, 0.7, Outcome.INCONCLUSIVE),  # two ranks took turns on one processor
        (4.0, 0.3, Outcome.FAIL),  # a third of the time is not three quarters
    ],
)
def test_a_latency_is_excused_by_what_accounts_for_it(
    times: float, own: float, outcome: Outcome
) -> None:
    slowed = late(2, times=times)
    first = many.launch(8, many.rounds(8, latencies=slowed))
    second = waiting(many.again(8, everybody(8), many.sound, slowed), {2: own})
    (verdict,) = planted.by_rule(many.verdicts(many.run(first, second)), "outliers")
    assert verdict.outcome is outcome, verdict


def beside_loops(launch: Launch, count: int, share: float, *ranks: int) -> Launch:
    """The same launch; all ranks, or these, waited for that share of the time of each case."""
    (beside,) = planted.changed(
        [launch],
        lambda one: msgspec.structs.replace(
            one,
            processors=tuple(
                msgspec.structs.replace(
                    planted.QUIET,
                    rank=rank,
                    node_idle_share=0.0,
                    run_delay_s=share * one.wall_s if rank in (ranks or range(count)) else 0.0,
                )
                for rank in range(count)
            ),
        ),
    )
    return beside


@pytest.mark.parametrize("times", [1.187, 3.0])
def test_where_all_hosts_wait_an_unconfirmed_latency_names_nobody(times: float) -> None:
    first = many.launch(4, many.rounds(4, latencies=late(3, times=times)))
    quiet = planted.by_rule(many.verdicts(many.run(first)), "outliers")
    assert any("c4" in one.summary or one.about.names == ("c4",) for one in quiet)
    busy = many.verdicts(many.run(beside_loops(first, 4, 0.4)))
    named = [one for one in planted.by_rule(busy, "outliers") if one.about.names]
    assert {one.outcome for one in named} <= {Outcome.SKIPPED}
    (verdict,) = [one for one in planted.by_rule(busy, "outliers") if not one.about.names]
    assert verdict.outcome in (Outcome.WARN, Outcome.INCONCLUSIVE)
    assert verdict.cause.startswith("other work on the nodes")


def test_a_host_that_waits_is_no_suspect() -> None:
    def shares(origin: int, target: int) -> float:
        return many.sound(origin, target) * (0.2 if (origin, target) == (2, 3) else 1.0)

    first = many.launch(4, many.rounds(4, shares))
    quiet = planted.the(many.verdicts(many.run(first)), "outliers", Outcome.WARN)
    assert "c3" in quiet.summary
    busy = many.verdicts(many.run(beside_loops(first, 4, 0.4, 3)))
    verdict = planted.the(busy, "outliers", Outcome.WARN)
    assert "c3" not in verdict.summary
    assert any("the rank on c4" in line for line in verdict.evidence)
    assert "c3" not in planted.the(busy, "pairs", Outcome.WARN).summary


def test_where_all_hosts_wait_a_confirmed_fault_is_named() -> None:
    slowed = many.slow(2, share=0.25)
    first = beside_loops(many.launch(8, many.rounds(8, slowed)), 8, 0.4)
    again = many.again(8, everybody(8), slowed)
    (verdict,) = planted.by_rule(many.verdicts(many.run(first, again)), "outliers")
    assert (verdict.outcome, verdict.about.names) == (Outcome.FAIL, ("c3",))


def test_one_effect_that_nothing_excuses_is_enough() -> None:
    slowed, delayed = many.slow(2, share=0.6), late(2, times=1.3)
    first = many.launch(8, many.rounds(8, slowed, delayed))
    again = unsteady(many.again(8, everybody(8), slowed, delayed))
    second = waiting(again, {2: 0.35}, "bandwidth")
    (verdict,) = planted.by_rule(many.verdicts(many.run(first, second)), "outliers")
    assert verdict.outcome is Outcome.FAIL
    assert "latency at 8 B 30.0 % higher" in verdict.summary


def test_a_wire_that_is_slow_is_not_excused_by_a_busy_host() -> None:
    slowed = many.slow(2, share=0.4)
    first = many.launch(8, many.rounds(8, slowed))
    second = waiting(many.again(8, everybody(8), slowed), {2: 0.5})
    (verdict,) = planted.by_rule(many.verdicts(many.run(first, second)), "outliers")
    assert verdict.outcome is Outcome.FAIL


def test_one_slow_direction_is_told_from_the_other() -> None:
    def sending(origin: int, target: int) -> float:
        return many.sound(origin, target) * (0.5 if origin == 5 else 1.0)

    first = many.launch(8, many.rounds(8, sending))
    given = many.verdicts(many.run(first, many.again(8, everybody(8), sending)))
    (verdict,) = planted.by_rule(given, "outliers")
    assert verdict.outcome is Outcome.FAIL
    assert "c6, sending" in verdict.subject


def test_one_of_four_nodes_is_named_although_half_of_the_pairs_are_slow() -> None:
    first = many.launch(4, many.rounds(4, many.slow(0)))
    given = many.verdicts(many.run(first, many.again(4, everybody(4), many.slow(0))))
    (verdict,) = planted.by_rule(given, "outliers")
    assert "c1, in both directions" in verdict.subject
    assert planted.outcomes(given, "fraction") == {Outcome.PASS}


def test_a_slow_fabric_fails_although_nobody_stands_out() -> None:
    def half(origin: int, target: int) -> float:
        return many.sound(origin, target) / 2

    given = many.verdicts(many.run(many.launch(8, many.rounds(8, half))))
    assert planted.outcomes(given, "outliers") == {Outcome.PASS}
    assert planted.outcomes(given, "fraction") == {Outcome.FAIL}


def test_ranks_that_share_a_node_are_invalid_whatever_the_matrices_say() -> None:
    first = many.launch(8, many.rounds(8))
    lonely = tuple(
        msgspec.structs.replace(one, host="c1", boot_id="boot-c1", net_namespace="net:[0]")
        for one in first.placements
    )
    given = many.verdicts(many.run(msgspec.structs.replace(first, placements=lonely)))
    assert planted.outcomes(given, "placement") == {Outcome.INVALID}
    assert overall(given) is Outcome.INVALID


@pytest.mark.parametrize(
    ("scatter", "outcome"), [(0.0, Outcome.FAIL), (0.03, Outcome.INCONCLUSIVE)]
)
def test_pairs_that_carry_the_same_share_a_wire_whatever_their_host_waits(
    scatter: float, outcome: Outcome
) -> None:
    slowed = many.slow(2, share=0.5)
    first = many.launch(8, many.rounds(8, slowed))
    second = unsteady(waiting(many.again(8, everybody(8), slowed), {2: 0.35}), scatter)
    (verdict,) = planted.by_rule(many.verdicts(many.run(first, second)), "outliers")
    assert verdict.outcome is outcome, verdict


@pytest.mark.parametrize(
    ("uplinks", "outcome"), [(0, Outcome.WARN), (1, Outcome.PASS), (2, Outcome.WARN)]
)
def test_a_level_that_is_oversubscribed_as_the_topology_states_passes(
    uplinks: int, outcome: Outcome
) -> None:
    """Two nodes behind one uplink have half of it; behind two, something is missing."""

    def at_once(one: int, other: int) -> float:
        return many.sound(one, other) * (1.0 if one // 2 == other // 2 else 0.5)

    leaves = tuple(msgspec.structs.replace(group, uplinks=uplinks) for group in LEAVES.groups)
    topology = Topology(leaves, "written")
    given = many.verdicts(many.run(many.launch(8, many.rounds(8, at_once))), topology)
    (level,) = [one for one in given if one.about.kind == "crossing"]
    assert level.outcome is outcome
    assert level.figure is not None
    assert level.figure.value == pytest.approx(-0.5, abs=0.01)
