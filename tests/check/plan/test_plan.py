from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.check.plan.outlook import estimated_s
from fabricgauge.check.plan.plan import (
    SUITE_PARTNERS,
    JointRanks,
    Targets,
    host_reference,
    plan,
    split_by_threads,
    tool_plan,
)
from fabricgauge.check.plan.profiles import DEFAULT_SIZES, PATTERNS, PROFILES
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import UsageError
from fabricgauge.model.fabric import Member, Network
from fabricgauge.model.pattern import BUFFERED_PATTERNS, BUFFERS, SUSTAINED_BYTES, Buffers
from fabricgauge.model.plan import Case, Plan, PlannedLaunch, Stopping
from fabricgauge.model.request import MeasurementRequest

UNKNOWN = Skipped("no rate")


def network(name: str) -> Network:
    members = (Member("c1", "eth0", "10.0.0.1", 1500), Member("c2", "eth0", "10.0.0.2", 1500))
    return Network(name, f"{name}-subnet", "ethernet", 1e9, "declared", members)


def of_pair(
    targets: Targets,
    sizes: tuple[int, ...] = (0, 8, 65536),
    patterns: tuple[str, ...] = ("latency", "bandwidth"),
    **options: object,
) -> Plan:
    request = MeasurementRequest(
        profile="standard", patterns=patterns, sizes=sizes, **options,  # type: ignore[arg-type]
    )  # fmt: skip
    return plan(request, ("c1", "c2"), targets)


def test_launches_alternate_between_networks() -> None:
    made = of_pair(((network("a"), UNKNOWN), (network("b"), UNKNOWN)))
    assert [launch.network for launch in made.launches] == ["a", "b", "a", "b", "a", "b"]
    assert [launch.number for launch in made.launches] == [1, 2, 3, 4, 5, 6]


def test_an_unpinned_launch_names_no_network() -> None:
    made = of_pair(((None, UNKNOWN),))
    assert {launch.network for launch in made.launches} == {None}
    assert {launch.subnet for launch in made.launches} == {None}


@pytest.mark.parametrize("sizes", [(-1,), (2**40,)])
def test_sizes_out_of_range_are_a_usage_error(sizes: tuple[int, ...]) -> None:
    with pytest.raises(UsageError, match="size"):
        of_pair(((network("a"), UNKNOWN),), sizes)


def test_the_host_reference_repeats_streaming_cases_on_one_node() -> None:
    made = of_pair(((network("a"), UNKNOWN),), (1024, 65536, 2**20))
    launch = host_reference(9, "c1", "a", made)
    assert launch.nodes == ("c1", "c1")
    assert launch.network == "loopback:c1"
    assert {case.pattern for case in launch.cases} == {"bandwidth"}
    assert max(case.message_bytes for case in launch.cases) == 2**20


def test_the_host_reference_of_many_nodes_measures_no_case_twice() -> None:
    """A round robin has a case of both directions of each pair for each size."""
    cases = tuple(
        Case(f"all_pairs_bandwidth/{size}/{way}", "all_pairs_bandwidth", size, 64, 0, 0, 1.0)
        for size in (65536, 2**20)
        for way in ("there", "back")
    )
    launch = PlannedLaunch(1, "a", "10.0.0.0/24", ("c1", "c2", "c3"), cases)
    made = host_reference(9, "c1", "a", Plan("quick", Stopping(0.01, 0.5), False, (launch,)))
    assert [case.name for case in made.cases] == ["bandwidth/65536/0>1", "bandwidth/1048576/0>1"]


@pytest.mark.parametrize(
    ("ranks", "ends"),
    [(("c1", "c1", "c2", "c2"), {(0, 2), (2, 0)}), (("c1", "c2", "c1", "c2"), {(0, 1), (1, 0)})],
)
def test_the_pair_among_several_ranks_of_a_node_is_one_of_two_nodes(
    ranks: tuple[str, ...], ends: set[tuple[int, int]]
) -> None:
    request = MeasurementRequest(patterns=("latency", "bandwidth"))
    (launch,) = plan(request, ranks, ((network("a"), UNKNOWN),)).launches
    assert {(case.origin, case.target) for case in launch.cases} == ends
    assert {case.name.rpartition("/")[2] for case in launch.cases} == {f"{a}>{b}" for a, b in ends}


def test_threads_have_launches_of_their_own() -> None:
    words = ("latency", "threads_latency:4", "put_latency:fence", "threads_bandwidth")
    made = of_pair(((network("a"), UNKNOWN),), (8,), words)
    measured = [{case.pattern for case in launch.cases} for launch in made.launches]
    assert measured == [
        {"latency", "put_latency"}, {"threads_latency", "threads_bandwidth"},
    ] * PROFILES["standard"].launches  # fmt: skip
    assert [launch.number for launch in made.launches] == [1, 2, 3, 4, 5, 6]


def test_patterns_of_one_kind_share_a_launch() -> None:
    assert split_by_threads(("latency", "get_bandwidth")) == (("latency", "get_bandwidth"),)
    assert split_by_threads(("threads_latency:2",)) == (("threads_latency:2",),)


@pytest.mark.parametrize("profile", ["standard", "full"])
def test_a_longer_profile_measures_a_pair_at_every_size_of_five_patterns(profile: Any) -> None:
    request = MeasurementRequest(profile=profile)
    launch, *_ = plan(request, ("c1", "c2"), ((network("a"), UNKNOWN),)).launches
    assert {case.pattern for case in launch.cases} == set(PATTERNS)
    latencies = [case.message_bytes for case in launch.cases if case.pattern == "latency"]
    assert latencies == list(DEFAULT_SIZES)
    assert launch.nodes == ("c1", "c2")


def test_a_quick_pair_has_few_cases_and_three_large_sizes_of_each_stream() -> None:
    (launch,) = plan(MeasurementRequest(), ("c1", "c2"), ((network("a"), UNKNOWN),)).launches
    assert {case.pattern for case in launch.cases} == set(PATTERNS)
    assert len(launch.cases) <= 24
    large = Counter(
        (case.pattern, case.origin)
        for case in launch.cases
        if case.message_bytes >= SUSTAINED_BYTES
    )
    for stream in (("bandwidth", 0), ("bandwidth", 1), ("bidirectional_bandwidth", 0)):
        assert large[stream] >= 3


def test_sizes_or_patterns_of_the_request_replace_the_few_of_a_quick_pair() -> None:
    def measured(**request: Any) -> set[tuple[str, int]]:
        target = ((network("a"), UNKNOWN),)
        (launch,) = plan(MeasurementRequest(**request), ("c1", "c2"), target).launches
        return {(case.pattern, case.message_bytes) for case in launch.cases}

    assert measured(patterns=("latency",)) == {("latency", size) for size in DEFAULT_SIZES}
    assert measured(sizes=(2048,)) == {(pattern, 2048) for pattern in PATTERNS}


def test_a_pair_with_device_memory_is_measured_by_what_can_have_it() -> None:
    request = MeasurementRequest(memory="cuda,host", device=1)
    made = plan(request, ("c1", "c2"), ((network("a"), UNKNOWN),))
    assert (made.memory, made.device) == ("cuda,host", 1)
    patterns = {case.pattern for case in made.launches[0].cases}
    assert patterns == {"latency", "bandwidth", "bidirectional_bandwidth"}


@pytest.mark.parametrize("ranks", [("c1", "c2"), ("c1", "c2", "c3", "c4")])
@pytest.mark.parametrize("buffers", BUFFERS)
def test_the_buffers_of_the_request_are_those_of_every_case_with_a_choice(
    ranks: tuple[str, ...], buffers: Buffers
) -> None:
    request = MeasurementRequest(profile="standard", buffers=buffers)
    made = plan(request, ranks, ((network("a"), UNKNOWN),))
    cases = [case for launch in made.launches for case in launch.cases]
    chosen = {case.pattern for case in cases if case.buffers == buffers}
    assert made.buffers == buffers
    assert {case.pattern for case in cases} & BUFFERED_PATTERNS <= chosen
    if buffers != "fewest":
        assert chosen <= BUFFERED_PATTERNS
        assert {case.buffers for case in cases if case.pattern not in chosen} == {"fewest"}


def test_collectives_in_device_memory_come_alone() -> None:
    request = MeasurementRequest(memory="cuda", patterns=("bcast",), profile="full")
    made = plan(request, ("c1", "c2", "c3"), ((network("a"), UNKNOWN),))
    assert {case.pattern for launch in made.launches for case in launch.cases} == {"bcast"}
    assert made.memory == "cuda"


@pytest.mark.parametrize("budget_s", [30.0, 60.0, 120.0])
def test_a_named_time_holds_for_a_pair_and_takes_samples_not_sizes(budget_s: float) -> None:
    targets = ((network("a"), UNKNOWN), (network("b"), UNKNOWN))
    whole, within = of_pair(targets, launches=1), of_pair(targets, launches=1, budget=budget_s)
    assert estimated_s(within.launches) <= budget_s
    assert [[case.name for case in one.cases] for one in within.launches] == [
        [case.name for case in one.cases] for one in whole.launches
    ]


def test_a_pair_gets_no_more_than_the_profile_s_time_and_a_time_too_short_is_refused() -> None:
    targets = ((network("a"), UNKNOWN),)
    assert of_pair(targets, budget=7200.0) == of_pair(targets)
    assert of_pair(targets, budget=14.0) != of_pair(targets)
    with pytest.raises(UsageError, match="too short"):
        of_pair(targets, budget=9.5)


def test_a_suite_s_programs_alternate_over_networks_as_often_as_the_profile_says() -> None:
    request = MeasurementRequest(profile="standard", tool="iperf3")
    targets = ((network("a"), UNKNOWN), (None, UNKNOWN))
    made = tool_plan(request, (JointRanks(("c1", "c2"), targets),), ("there", "back"), "there")
    assert [(one.network, one.program) for one in made.launches] == [
        ("a", "there"), ("a", "back"), (None, "there"), (None, "back"),
    ] * 3  # fmt: skip
    assert made.tool == "iperf3"


@given(st.integers(3, 40), st.sampled_from(["quick", "standard"]))
def test_of_many_nodes_a_suite_measures_pairs_and_then_all_together(
    count: int, profile: str
) -> None:
    nodes = tuple(f"c{number}" for number in range(count))
    request = MeasurementRequest(profile=profile, tool="nccl-tests")
    group = JointRanks(nodes, ((network("a"), UNKNOWN),))
    made = tool_plan(request, (group,), ("pairs", "all"), "pairs").launches
    rounds = PROFILES[profile].launches
    assert [one.nodes for one in made if one.program == "all"] == [nodes] * rounds
    pairs = [one.nodes for one in made if one.program == "pairs"]
    met = Counter(node for pair in pairs for node in pair)
    # An odd number of nodes has one that rests in each round.
    most = min(SUITE_PARTNERS, count - 1 + count % 2) * rounds
    assert most - rounds * (count % 2) * 2 <= min(met.values())
    assert max(met.values()) <= most
    if count <= SUITE_PARTNERS:
        assert len(set(map(frozenset, pairs))) == count * (count - 1) // 2


@pytest.mark.parametrize("words", [("bandwidth",), ("latency", "put_latency")])
def test_patterns_of_a_pair_are_measured_on_all_of_several_nodes(words: tuple[str, ...]) -> None:
    request = MeasurementRequest(patterns=words)
    (launch,) = plan(request, ("c1", "c2", "c3", "c4"), ((network("a"), UNKNOWN),)).launches
    measured = {case.pattern for case in launch.cases}
    assert {f"all_pairs_{words[0]}"} <= measured
    assert {one.partition(":")[0] for one in words} <= measured
