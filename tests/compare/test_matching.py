import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.compare.simulated import bare, curve

from fabricgauge.compare.matching import Unlike, as_times, match
from fabricgauge.model.errors import UsageError
from fabricgauge.model.pattern import Pattern
from fabricgauge.model.suite import SuiteCurve


def one(pattern: Pattern | None = "bandwidth", **said: object) -> SuiteCurve:
    return curve(pattern, [(8, bare(1e-6))], **said)


def between(origin: str, target: str, network: str = "") -> SuiteCurve:
    return one(hosts=(origin, target), settings={"network": network} if network else {})


def pairs(a: list[SuiteCurve], b: list[SuiteCurve]) -> list[tuple[int, int]]:
    """Places of what was matched, and nothing that was lost."""
    matched, alone = match(a, b)
    met = [curve for pair in matched for curve in pair] + [found.curve for found in alone]
    assert {id(curve) for curve in (*a, *b)} == {id(curve) for curve in met}
    place = {id(curve): n for side in (a, b) for n, curve in enumerate(side)}
    return sorted((place[id(x)], place[id(y)]) for x, y in matched)


def test_each_direction_is_held_against_its_own() -> None:
    there, back = between("c1", "c2"), between("c2", "c1")
    assert pairs([there, back], [between("c2", "c1"), between("c1", "c2")]) == [(0, 1), (1, 0)]


def test_a_side_that_names_no_nodes_is_held_against_each_direction() -> None:
    assert pairs([one(suite="osu")], [between("c1", "c2"), between("c2", "c1")]) == [(0, 0), (0, 1)]


def test_a_side_with_one_direction_of_the_same_nodes_leaves_the_other_alone() -> None:
    a, b = [between("c1", "c2")], [between("c1", "c2"), between("c2", "c1")]
    assert pairs(a, b) == [(0, 0)]
    assert "same direction (c2 → c1)" in match(a, b)[1][0].reason


def test_networks_are_told_apart_before_directions() -> None:
    a = [between("c1", "c2", "net1"), between("c1", "c2", "net2")]
    assert pairs(a, list(reversed([between("c1", "c2", "net1"), between("c1", "c2", "net2")]))) == [
        (0, 1), (1, 0),
    ]  # fmt: skip


def test_the_only_network_of_each_side_is_compared_whatever_its_name() -> None:
    assert pairs([between("c1", "c2", "tcp")], [between("n1", "n2", "opa")]) == [(0, 0)]


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (one(pairs=2), "2 pairs"),
        (one(directions=2), "2 directions"),
        (one(quantity="message_rate"), "bandwidth of it, no message rate"),
        (one("latency"), "no such curve"),
    ],
)
def test_what_is_of_another_kind_is_left_out_with_the_reason(
    other: SuiteCurve, reason: str
) -> None:
    matched, alone = match([one()], [other])
    assert matched == []
    assert any(reason in found.reason for found in alone)


def test_a_collective_matches_that_of_another_suite_by_what_it_does() -> None:
    osu = one(None, suite="osu", benchmark="osu_allreduce", what="Allreduce")
    imb = one(None, suite="imb", benchmark="Allreduce", what="allreduce")
    assert pairs([osu], [imb]) == [(0, 0)]


def test_a_collective_of_another_number_of_ranks_is_another_measurement() -> None:
    few, many, unknown = (
        one(None, suite="imb", benchmark="Allreduce", what="allreduce", ranks=ranks)
        for ranks in (8, 64, None)
    )
    assert pairs([few], [many]) == []
    assert pairs([few], [few]) == pairs([few], [unknown]) == [(0, 0)]
    assert pairs([one(ranks=2)], [one(ranks=64)]) == [(0, 0)]  # the first two of 64


def test_two_benchmarks_of_one_suite_are_not_mixed() -> None:
    blocking = one(None, suite="osu", benchmark="osu_allreduce", what="Allreduce")
    other = one(None, suite="osu", benchmark="osu_allreduce_persistent", what="Allreduce")
    assert pairs([blocking], [other]) == []


def test_one_benchmark_under_two_descriptions_is_matched_and_columns_are_not_mixed() -> None:
    a = one(None, suite="nccl", benchmark="all_reduce_perf", what="out-of-place")
    b = one(None, suite="nccl", benchmark="all_reduce_perf", what="all-reduce out of place")
    assert pairs([a], [b]) == [(0, 0)]
    in_place = one(None, suite="nccl", benchmark="all_reduce_perf", what="in-place")
    assert pairs([a, in_place], [a, in_place]) == [(0, 0), (1, 1)]


def test_a_pingpongs_bandwidth_beside_its_time_is_compared_once() -> None:
    time = one("latency", suite="imb", benchmark="PingPong", first_line=5)
    rate = one(None, suite="imb", benchmark="PingPong", first_line=5, quantity="bandwidth",
               what="ping-pong bandwidth (size / half round trip)")  # fmt: skip
    messages = msgspec.structs.replace(
        rate, quantity="message_rate", what="ping-pong messages per second (1 / half round trip)"
    )
    kept, left = as_times("A", [time, rate, messages])
    assert kept == [time]
    assert [found.curve for found in left] == [rate, messages]
    assert as_times("A", [messages]) == ([messages], [])


def test_a_pingpongs_bandwidth_alone_becomes_the_half_round_trip_that_it_is() -> None:
    rate = curve("bandwidth", [(1 << 20, bare(0.01))], quantity="bandwidth",
                 what="ping-pong bandwidth (size / half round trip)")  # fmt: skip
    (made,), _ = as_times("A", [msgspec.structs.replace(rate, pattern=None)])
    assert (made.pattern, made.quantity) == ("latency", "time")
    assert made.points[0].estimate.value == pytest.approx(0.01)


curves = st.builds(
    one,
    st.sampled_from(("latency", "bandwidth", None)),
    suite=st.sampled_from(("osu", "imb")),
    benchmark=st.sampled_from(("x", "y")),
    hosts=st.sampled_from(((), ("c1", "c2"), ("c2", "c1"))),
    pairs=st.integers(1, 2),
    ranks=st.sampled_from((None, 2, 4)),
    settings=st.sampled_from(({}, {"network": "n1"}, {"network": "n2", "window": "4"})),
)


@given(st.lists(curves, max_size=8), st.lists(curves, max_size=8))
def test_every_curve_is_matched_or_told_of(a: list[SuiteCurve], b: list[SuiteCurve]) -> None:
    pairs(a, b)


def test_unlike_curves_meet_only_when_they_are_named() -> None:
    send = one("latency", benchmark="ib_send_lat", quantity="time")
    write = one(None, benchmark="ib_write_lat", quantity="time", what="half round trip of writes")
    assert pairs([send], [write]) == []
    for name in ("ib_send_lat", "latency", "IB_SEND_LAT"):
        matched, alone = match([send], [write], [Unlike(name, "ib_write_lat")])
        assert (matched, alone) == ([(send, write)], [])
    matched, _ = match([send], [write], [Unlike("ib_write_lat", "ib_send_lat")])
    assert matched == []


def test_unlike_curves_of_another_quantity_or_of_more_pairs_are_refused() -> None:
    send = one("bandwidth", benchmark="ib_send_bw")
    names = [Unlike("ib_send_bw", "b")]
    for other, said in (
        (one(None, benchmark="b", quantity="time"), "b of B time"),
        (one(None, benchmark="b", pairs=2), "b of B bandwidth of 2 pairs"),
    ):
        with pytest.raises(UsageError, match="--pair ib_send_bw=b .*" + said):
            match([send], [other], names)


@pytest.mark.parametrize(
    ("second", "said"),
    [
        (Unlike("latency", "bandwidth"), "different quantities"),
        (Unlike("l", "latency"), "an earlier --pair"),
        (Unlike("none", "latency"), "A has no usable figure of 'none'"),
    ],
)
def test_each_stated_pair_is_compared_or_refused(second: Unlike, said: str) -> None:
    sides = [one("latency", benchmark="l", quantity="time"), one("bandwidth", benchmark="b")]
    first = Unlike("latency", "latency")
    assert len(match(sides, sides, [first, Unlike("b", "bandwidth")])[0]) == 2
    for stated in ([first, second], [second, first]):
        with pytest.raises(UsageError, match=f"{said}|an earlier --pair"):
            match(sides, sides, stated)
    with pytest.raises(UsageError, match=f"--pair {second.a}={second.b}.*{said}"):
        match(sides, sides, [first, second])


def test_a_stated_curve_that_broke_at_b_is_lost() -> None:
    """B's curve has no figure: its absence is B's, not the user's."""
    time = one("latency", benchmark="l", quantity="time")
    matched, alone = match([time], [], [Unlike("l", "l")])
    assert (matched, [entry.side for entry in alone]) == ([], ["A"])
