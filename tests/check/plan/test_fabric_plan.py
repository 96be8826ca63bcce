from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.check.plan.asked import (
    FAST_BYTES_PER_S,
    GBE_BYTES_PER_S,
    asked,
    coverage,
    network,
    planned,
    target,
)

from fabricgauge.check.plan.outlook import estimated_s, find_remaining, rounds_to_make
from fabricgauge.check.plan.plan import plan
from fabricgauge.check.plan.profiles import PROFILES
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import UsageError
from fabricgauge.model.measurement import Round
from fabricgauge.model.pattern import COLLECTIVE_PATTERNS, CROWD_PATTERNS, THREADED_PATTERNS
from fabricgauge.model.plan import CLOSING, Plan, PlannedLaunch, Stopping, rounds
from fabricgauge.store.run_files import launch_of

profiles = st.sampled_from(sorted(PROFILES))
rates = st.sampled_from((GBE_BYTES_PER_S, 1.17e9, FAST_BYTES_PER_S, 48e9))


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 3000), profiles, rates, st.booleans())
def test_every_case_is_one_that_the_launch_can_make(
    ranks: int, profile: str, rate: float, virtual: bool
) -> None:
    for launch in planned(ranks, target(rate), profile, virtual=virtual).launches:
        names = [case.name for case in launch.cases]
        assert len(names) == len(set(names))
        for case in launch.cases:
            assert not set(case.name) & set(" \t\n")
            assert case.budget_s > 0
            assert case.window >= 1
            assert 0 <= case.ranks <= ranks
            assert 0 <= case.pairs <= ranks // 2
            assert list(case.rounds) == sorted(set(case.rounds))
            assert max(case.rounds, default=0) < rounds(ranks)


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 12000), profiles)
def test_the_profile_s_time_holds_on_a_fast_network(ranks: int, profile: str) -> None:
    made = planned(ranks, target(), profile)
    assert made.budget_s <= estimated_s(made.launches) <= PROFILES[profile].budget_s * (1 + 1e-6)


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 12000), st.floats(1, 20000), st.booleans())
def test_a_time_that_was_named_holds_or_is_refused(
    ranks: int, budget_s: float, virtual: bool
) -> None:
    try:
        made = planned(ranks, target(), "standard", budget=budget_s, virtual=virtual)
    except UsageError as error:
        assert f"{ranks} ranks" in str(error)
    else:
        assert estimated_s(made.launches) <= budget_s * (1 + 1e-6)


# What is no round robin takes its share in steps: a little more time may cover a little less.
@settings(max_examples=20, deadline=None)
@given(st.floats(60, 2000), st.floats(2, 10))
def test_twice_the_time_never_covers_less(budget_s: float, more: float) -> None:
    shares = [
        coverage(planned(10240, target(), budget=each))[1].share
        for each in (budget_s, budget_s * more)
    ]
    assert shares[0] <= shares[1]


@pytest.mark.parametrize("ranks", [2, 3, 4, 8, 32, 128])
def test_all_pairs_of_a_small_cluster_meet_in_every_launch(ranks: int) -> None:
    made = planned(ranks, target(), "standard")
    assert len(made.launches) == 3
    assert {one.share for one in coverage(made)} == {1.0}
    for launch in made.launches:
        assert [case.rounds for case in launch.cases[:2]] == [(), ()]


def test_ten_thousand_nodes_are_planned_and_what_is_covered_is_said() -> None:
    made = planned(10240, target(), "standard")
    latency, bandwidth = coverage(made)
    assert (latency.case, bandwidth.case) == ("all_pairs_latency/8", "all_pairs_bandwidth/1048576")
    for one in (latency, bandwidth):
        assert 0.1 < one.share < 1.0
        assert one.partners == one.rounds == round(one.share * 10239)


def test_launches_make_different_rounds_where_not_all_can_be_made() -> None:
    made = planned(10240, target(), "standard")
    chosen = [set(launch.cases[0].rounds) for launch in made.launches]
    assert sum(map(len, chosen)) == len(set.union(*chosen)) == coverage(made)[0].rounds


def test_launches_alternate_between_networks_and_share_the_time() -> None:
    two = (*target(name="a"), (network("b"), Skipped("no rate")))
    made = planned(64, two, "standard")
    assert [launch.network for launch in made.launches] == ["a", "b"] * 3
    assert [launch.number for launch in made.launches] == [1, 2, 3, 4, 5, 6]
    assert estimated_s(made.launches) <= PROFILES["standard"].budget_s


def test_a_virtual_cluster_measures_one_pair_at_a_time() -> None:
    cases = planned(8, target(GBE_BYTES_PER_S), virtual=True).launches[0].cases
    assert [case.concurrent for case in cases[:2]] == [1, 1]
    at_once = planned(8, target(), virtual=True, concurrent=3).launches[0].cases
    assert at_once[0].concurrent == 3
    assert planned(8, target()).launches[0].cases[0].concurrent == 0


def test_several_ranks_of_a_node_share_its_link() -> None:
    alone = planned(8, target(GBE_BYTES_PER_S)).launches[0].cases[1]
    nodes = ("c1", "c2") * 4
    shared = plan(asked(), nodes, target(GBE_BYTES_PER_S)).launches[0].cases[1]
    assert shared.window * shared.message_bytes < alone.window * alone.message_bytes


def test_only_what_was_asked_for_is_planned() -> None:
    patterns = ("all_pairs_latency", "allreduce")
    cases = planned(16, target(), patterns=patterns, sizes=(8, 4096)).launches[0].cases
    assert {case.pattern for case in cases} == {"all_pairs_latency", "allreduce"}
    assert {case.message_bytes for case in cases} == {8, 4096}
    assert [case.name for case in cases[:2]] == ["all_pairs_latency/8", "all_pairs_latency/4096"]


def test_a_pattern_is_planned_when_it_is_asked_for_though_the_profile_has_it_not() -> None:
    cases = planned(4, target(), patterns=("igather", "put_latency")).launches[0].cases
    assert {case.pattern for case in cases} == {"igather", "put_latency"}


def test_no_launch_of_many_ranks_needs_threads() -> None:
    cases = planned(8, target(), "full").launches[0].cases
    assert not THREADED_PATTERNS & {case.pattern for case in cases}


def test_the_full_profile_has_every_pattern_of_many_ranks() -> None:
    patterns = {case.pattern for case in planned(16, target(), "full").launches[0].cases}
    assert set(COLLECTIVE_PATTERNS) | set(CROWD_PATTERNS) <= patterns


@pytest.mark.parametrize(
    ("ranks", "options", "reason"),
    [
        (1, {}, "two ranks"),
        (4, {"sizes": (-1,)}, "size"),
        (4, {"sizes": (2**40,)}, "size"),
        (4, {"patterns": ("threads_latency",)}, "between two"),
        (2, {"patterns": ("threads_latency", "allreduce")}, "between two"),
        (10240, {"budget": 5.0}, "too short"),
    ],
)
def test_a_plan_is_refused_when_it_cannot_be_made(
    ranks: int, options: dict[str, object], reason: str
) -> None:
    with pytest.raises(UsageError, match=reason):
        planned(ranks, target(), **options)  # type: ignore[arg-type]


def left_of(launch: PlannedLaunch, done: list[tuple[int, Round]]) -> tuple[PlannedLaunch, ...]:
    made = [launch_of(number, (one,), launch, None) for number, one in done]
    return find_remaining(Plan("quick", Stopping(0.01, 0.95), False, (launch,)), made)


def made_round(case: str, number: int) -> Round:
    return Round(case, number, 7, 8, 1, (0,), (1,), (9,), (1,), (1,), (0,), 0.1)


def test_rounds_that_were_made_are_not_made_again() -> None:
    (launch,) = planned(8, target()).launches
    done = [(launch.number, made_round("all_pairs_latency/8", number)) for number in (0, 3, 6)]
    (left,) = left_of(launch, done)
    assert left.cases[0].rounds == (1, 2, 4, 5)
    assert left.cases[1:] == launch.cases[1:]


def test_a_round_robin_is_dropped_only_when_none_of_its_rounds_is_left() -> None:
    (launch,) = planned(8, target(), patterns=("all_pairs_latency",)).launches
    done = [(launch.number, made_round("all_pairs_latency/8", number)) for number in range(7)]
    assert left_of(launch, done) == ()
    assert left_of(launch, done[:6])[0].cases[0].rounds == (6,)


def test_rounds_of_another_launch_or_case_are_none_of_this_one() -> None:
    (launch,) = planned(8, target()).launches
    done = [(9, made_round("all_pairs_latency/8", 0)), (1, made_round("all_pairs_latency/16", 0))]
    assert left_of(launch, done) == (launch,)


@pytest.mark.parametrize(("ranks", "profile"), [(3, "quick"), (4, "standard"), (10240, "standard")])
def test_the_last_launch_ends_with_the_first_round_of_its_streams(ranks: int, profile: str) -> None:
    launches = planned(ranks, target(), profile).launches
    *before, last = launches[-1].cases
    streams = next(case for case in before if case.pattern == "all_pairs_bandwidth")
    assert last.name == streams.name + CLOSING
    assert last.rounds == rounds_to_make(streams, ranks)[:1]
    others = (case.name for launch in launches[:-1] for case in launch.cases)
    assert not any(name.endswith(CLOSING) for name in others)


@pytest.mark.parametrize("ranks", [64, 128])
def test_a_simulation_of_many_ranks_leaves_cases_out_and_says_so(ranks: int) -> None:
    thinned, real = planned(ranks, target(), sim="star"), planned(ranks, target())
    (launch,), (real_launch,) = thinned.launches, real.launches
    cases = [case for case in launch.cases if case.pattern in COLLECTIVE_PATTERNS]
    patterns = {case.pattern for case in launch.cases}
    assert patterns == {case.pattern for case in real_launch.cases}
    assert len(cases) == len({case.pattern for case in cases})
    assert {case.ranks for case in cases} == {64, ranks}
    assert all(case.message_bytes <= 8 for case in cases)
    assert len(thinned.left_out) == 1
    assert real.left_out == ()


@pytest.mark.parametrize("options", [{"patterns": ("allgather",)}, {"sizes": (1024, 65536)}, {}])
def test_a_simulation_measures_all_that_is_requested(
    options: dict[str, Any],
) -> None:
    ranks = 64 if options else 32
    simulated = planned(ranks, target(), sim="star", **options)
    real = planned(ranks, target(), **options)
    names = {case.name for case in real.launches[0].cases if not case.name.endswith(CLOSING)}
    crowds = {name for name in names if not name.startswith("all_pairs")}
    assert crowds <= {case.name for case in simulated.launches[0].cases}
    assert simulated.left_out == ()


@pytest.mark.parametrize("ranks", [4, 32, 64, 128, 256])
def test_streams_of_a_simulation_have_few_messages_under_way(ranks: int) -> None:
    (launch,) = planned(ranks, target(), sim="star").launches
    streams = [case for case in launch.cases if case.pattern in ("bisection", "multi_bandwidth")]
    assert streams
    assert all(case.window * (case.pairs or ranks // 2) <= 256 for case in streams)


def test_no_round_is_made_again_without_streams_or_in_a_simulation() -> None:
    for made in (planned(4, target(), sim="star:4"), planned(4, target(), patterns=("allreduce",))):
        (launch,) = made.launches
        assert not any(case.name.endswith(CLOSING) for case in launch.cases)
