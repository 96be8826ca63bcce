"""A mix of messages on two stacks whose curves are known."""

import msgspec
import pytest

from fabricgauge.compare.prediction import predicted
from fabricgauge.model.application import ApplicationProfile, CallMix, RankProfile, Side
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.pattern import Pattern
from fabricgauge.model.suite import Quantity, SuiteCurve, SuitePoint
from fabricgauge.report.content.prediction import waiting


def curve(
    pattern: Pattern, points: dict[int, float], quantity: Quantity = "time", ranks: int = 2,
    spread: float = 0.01,
) -> SuiteCurve:  # fmt: skip
    made = tuple(
        SuitePoint(size, Estimate(v, v * (1 - spread), v * (1 + spread), 0.95, 5, 100), 0)
        for size, v in points.items()
    )
    return SuiteCurve(
        "fabricgauge", "", pattern, pattern, "", quantity, "median", "", 0, 0, made,
        pattern=pattern, ranks=ranks,
    )  # fmt: skip


def mix(call: str, size: int, calls: int, side: Side = "other nodes", ranks: int = 2) -> CallMix:
    kind = "Collective" if call.startswith("All") else "PointToPoint"
    least = 1 << size.bit_length() >> 1
    return CallMix(call, kind, least, side, ranks, 0, calls, calls * size, 1.0)  # type: ignore[arg-type]


def profile(*mixes: CallMix, ranks: int = 2, beside: int = 1) -> ApplicationProfile:
    each = tuple(
        RankProfile(
            one, one // beside * beside, f"c{one // beside}", 1.0, 0.5, 1, 0, 0, "finalized"
        )
        for one in range(ranks)
    )
    return ApplicationProfile("app", "", ranks, 0.0, 0.0, each, mixes)


SLOW = (curve("latency", {0: 10e-6, 1024: 20e-6, 1 << 20: 10e-3}),
        curve("bandwidth", {1024: 100e6, 1 << 20: 117e6}, "bandwidth"))  # fmt: skip
FAST = (curve("latency", {0: 5e-6, 1024: 10e-6, 1 << 20: 5e-3}),
        curve("bandwidth", {1024: 200e6, 1 << 20: 234e6}, "bandwidth"))  # fmt: skip


def test_the_stack_that_is_twice_as_fast_everywhere_wins() -> None:
    found = predicted(profile(mix("Send", 1024, 1000)), "slow", SLOW, "fast", FAST)
    assert found.winner == "b"
    assert found.a.least.value == pytest.approx(1000 * 1024 / 100e6)
    assert found.a.most.value == pytest.approx(1000 * 2 * 20e-6)
    assert found.least_ratio.value == pytest.approx(0.5)
    assert found.most_ratio.value == pytest.approx(0.5)
    assert found.covered == 1.0


def test_a_stack_against_itself_is_not_decided() -> None:
    assert predicted(profile(mix("Send", 1024, 10)), "a", SLOW, "b", SLOW).winner == "undecided"


def test_a_difference_within_the_curves_intervals_is_not_decided() -> None:
    noisy = [curve("latency", {0: 9.5e-6, 1024: 19e-6}, spread=0.2)]
    plain = [curve("latency", {0: 10e-6, 1024: 20e-6}, spread=0.2)]
    assert predicted(profile(mix("Send", 512, 10)), "a", plain, "b", noisy).winner == "undecided"


@pytest.mark.parametrize(("factor", "winner"), [(1.03, "undecided"), (1.1, "a"), (0.9, "b")])
def test_a_few_percent_name_no_winner(factor: float, winner: str) -> None:
    """Curves as sharp as that are measured; what they leave out is more."""
    plain, other = (
        [curve("latency", {0: 20e-6 * one, 1024: 20e-6 * one}, spread=0.001)]
        for one in (1.0, factor)
    )
    assert predicted(profile(mix("Send", 512, 10)), "a", plain, "b", other).winner == winner


def test_ranks_that_share_a_node_share_its_link_in_the_upper_bound() -> None:
    alone = predicted(profile(mix("Send", 1024, 1)), "a", SLOW, "b", FAST)
    shared = predicted(profile(mix("Send", 1024, 1), ranks=4, beside=2), "a", SLOW, "b", FAST)
    assert shared.a.least.value == alone.a.least.value
    assert shared.a.most.value - alone.a.most.value == pytest.approx(2 * 1024 / 100e6)


def test_what_stays_on_a_node_is_not_counted() -> None:
    found = predicted(profile(mix("Send", 1024, 10, "same node")), "a", SLOW, "b", FAST)
    assert (found.rows, found.winner) == ((), "undecided")


def test_a_collective_takes_its_own_curve_at_that_many_ranks() -> None:
    own = (*SLOW, curve("allreduce", {8: 50e-6}, ranks=4))
    app = profile(mix("Allreduce", 8, 10, ranks=4), ranks=4)
    found = predicted(app, "a", own, "b", SLOW)
    assert found.a.least.value == found.a.most.value == pytest.approx(10 * 50e-6)
    assert found.b.least.value < found.b.most.value, "without a curve of its own: bounds by steps"


def test_beyond_the_sizes_of_the_latency_a_stream_is_added() -> None:
    small = (curve("latency", {0: 10e-6, 8: 12e-6}), SLOW[1])
    found = predicted(profile(mix("Send", 1024, 1)), "a", small, "b", small)
    assert found.a.most.value == pytest.approx(2 * (12e-6 + 1024 / 100e6))


def test_below_the_sizes_of_a_stream_alone_there_is_no_answer() -> None:
    large = [curve("bandwidth", {1 << 20: 117e6}, "bandwidth"), curve("latency", {8: 10e-6})]
    found = predicted(profile(mix("Send", 20_000, 5)), "a", large, "b", large)
    assert (found.rows, found.covered) == ((), 0.0)


def test_sizes_far_beyond_the_curves_have_no_answer() -> None:
    app = profile(mix("Send", 1 << 24, 99), mix("Send", 8, 1))
    found = predicted(app, "a", SLOW, "b", FAST)
    assert found.covered == pytest.approx(0.01)
    assert found.winner == "undecided"
    assert "99 calls" in found.left_out[0]


def test_a_run_that_took_longer_than_both_stacks_waited() -> None:
    """1,000 messages of 1 KiB take at most 40 ms on the slower one; the profile's run took 1 s."""
    made = CallMix("Comm_dup", "Making", None, "unknown", 2, 0, 1, 0, 9.0)
    app = profile(mix("Send", 1024, 1000), mix("Send", 8, 1, "same node"), made)
    found = predicted(app, "a", SLOW, "b", FAST)
    assert found.recorded_s == 1.0
    (note,) = waiting(found)
    assert "spent 500 ms per rank" in note
    assert not waiting(msgspec.structs.replace(found, recorded_s=0.02))
