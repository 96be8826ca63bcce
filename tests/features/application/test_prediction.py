"""A mix of messages on two stacks whose curves are known."""

import msgspec
import pytest

from fabricgauge.features.application.prediction import Prediction, predict
from fabricgauge.features.application.prediction_content import delayed, headline, waiting
from fabricgauge.features.application.profile_values import (
    ApplicationProfile,
    CallMix,
    RankProfile,
    Side,
)
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.pattern import Pattern
from fabricgauge.model.suite import Quantity, SuiteCurve, SuitePoint


def curve(
    pattern: Pattern, points: dict[int, float], quantity: Quantity = "time", ranks: int = 2,
    spread: float = 0.01, mean: float = 1.0,
) -> SuiteCurve:  # fmt: skip
    """``mean`` is that of the samples as a multiple of their median."""
    made = tuple(
        SuitePoint(
            size,
            Estimate(v, v * (1 - spread), v * (1 + spread), 0.95, 5, 100),
            0,
            {"mean": v * mean},
        )
        for size, v in points.items()
    )
    return SuiteCurve(
        "fabricgauge", "", pattern, pattern, 0, ranks=ranks, what="", quantity=quantity,
        statistic="median", unit_rule="", last_line=0, points=made, pattern=pattern,
    )  # fmt: skip


def mix(
    call: str, size: int, calls: int, side: Side = "other nodes", ranks: int = 2,
    time_s: float = 0.0,
) -> CallMix:  # fmt: skip
    kind = "Collective" if call.startswith("All") else "PointToPoint"
    least = 1 << size.bit_length() >> 1
    return CallMix(call, kind, least, side, ranks, 0, calls, calls * size, time_s)  # type: ignore[arg-type]


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
    found = predict(profile(mix("Send", 1024, 1000)), "slow", SLOW, "fast", FAST)
    assert found.winner == "b"
    assert found.a.least.value == pytest.approx(1000 * 1024 / 100e6)
    assert found.a.most.value == pytest.approx(1000 * 2 * 20e-6)
    assert found.least_ratio.value == pytest.approx(0.5)
    assert found.most_ratio.value == pytest.approx(0.5)
    assert found.covered == 1.0


def test_no_stack_wins_by_figures_that_are_invalid() -> None:
    found = predict(profile(mix("Send", 1024, 10)), "a", SLOW, "b", FAST, (), ("B is INVALID",))
    assert found.winner == "undecided"
    assert headline(found) == "app: no prediction: B is INVALID"


def test_a_winner_at_call_sites_needs_no_curve_of_the_others() -> None:
    """Without sites the calls that have no curve could turn the difference: no winner."""
    send, reduce = mix("Send", 1024, 1000), mix("Reduce", 1 << 30, 1000)
    assert predict(profile(send, reduce), "slow", SLOW, "fast", FAST).winner == "undecided"
    sited = (msgspec.structs.replace(call, site=call.call) for call in (send, reduce))
    found = predict(profile(*sited), "slow", SLOW, "fast", FAST)
    assert (found.winner, found.covered) == ("b", 0.5)
    assert "+100.0 % at site Send" in headline(found)


def test_a_stack_against_itself_is_not_decided() -> None:
    assert predict(profile(mix("Send", 1024, 10)), "a", SLOW, "b", SLOW).winner == "undecided"


def test_a_difference_within_the_curves_intervals_is_not_decided() -> None:
    noisy = [curve("latency", {0: 9.5e-6, 1024: 19e-6}, spread=0.2)]
    plain = [curve("latency", {0: 10e-6, 1024: 20e-6}, spread=0.2)]
    assert predict(profile(mix("Send", 512, 10)), "a", plain, "b", noisy).winner == "undecided"


#: Of benchmarks/prediction_truth.py, per rank in ms: the lower bounds of Open MPI 4.1 and
#: MPICH 5.0 (each upper one is twice that), and the time in MPI recorded under each.
RECORDED = {
    "halo of 1 KiB": (60.0, 62.0, 724.0, 273.0),
    "halo of 64 KiB": (320.0, 309.0, 1330.0, 487.0),
    "transpose of 16 KiB": (94.0, 97.0, 704.0, 242.0),
    "halo of 1 KiB, nothing computed": (56.0, 57.0, 884.0, 153.0),
    "transpose of 16 KiB, nothing computed": (90.0, 111.0, 2050.0, 317.0),
}


@pytest.mark.parametrize("under", ["Open MPI", "MPICH"])
@pytest.mark.parametrize("program", RECORDED)
def test_what_was_recorded_between_two_mpis_names_no_wrong_winner(program: str, under: str) -> None:
    a_ms, b_ms, on_a_ms, on_b_ms = RECORDED[program]
    found = _exchanging(a_ms, b_ms, on_a_ms if under == "Open MPI" else on_b_ms)
    assert on_b_ms < on_a_ms
    assert found.winner != "a"


def test_a_difference_larger_than_what_no_curve_explains_is_decided() -> None:
    """1 s is 0.2 s more than the upper bound of 0.8 s; the stacks differ by 0.3 s or more."""
    assert _exchanging(100.0, 400.0, 1000.0).winner == "a"
    assert _exchanging(400.0, 100.0, 1000.0).winner == "b"
    assert _exchanging(100.0, 400.0, 1200.0).winner == "undecided"


def test_delays_that_medians_leave_out_are_in_the_upper_bound() -> None:
    """Medians as those of A, and a tenth of its mean: B's ranks yield the processor, A's do not."""
    a, b = ([curve("latency", {8: 10e-6}, mean=times)] for times in (15.0, 1.5))
    found = predict(profile(mix("Send", 8, 1000)), "a", a, "b", b)
    assert found.least_ratio.value == pytest.approx(1.0)
    assert found.most_ratio.value == pytest.approx(0.1)
    assert found.most_ratio.high > 1.0, "one check's mean says little of another's"
    assert found.a.most.value == pytest.approx(1000 * 2 * 150e-6)
    assert found.winner == "undecided"
    assert ["a takes" in note for note in delayed(found)] == [True], found


def test_means_of_several_checks_span_their_extremes() -> None:
    checks = [curve("latency", {8: 10e-6}, mean=times) for times in (2.0, 4.0, 12.0)]
    most = predict(profile(mix("Send", 8, 1)), "a", checks, "b", checks).a.most
    assert most.value == pytest.approx(2 * 60e-6)
    assert (most.low, most.high) == pytest.approx((2 * 9.9e-6, 2 * 120e-6))


def test_medians_of_several_checks_span_their_extremes() -> None:
    """One of three ran while others had the processors: no ratio is as sharp as one check's."""
    quiet, busy = (curve("latency", {8: time}) for time in (10e-6, 400e-6))
    found = predict(
        profile(mix("Send", 8, 1)), "a", [busy, busy, quiet], "b", [quiet, quiet, quiet]
    )
    assert found.least_ratio.value == pytest.approx(1 / 40)
    assert found.least_ratio.high > 0.9
    assert found.winner == "undecided"


def test_a_streams_mean_is_a_lower_rate() -> None:
    slow = [curve("bandwidth", {1024: 1e8}, "bandwidth", mean=0.5), *SLOW[:1]]
    plain = [curve("bandwidth", {1024: 1e8}, "bandwidth"), *SLOW[:1]]
    app = profile(mix("Send", 1024, 1), ranks=4, beside=2)
    found = predict(app, "a", slow, "b", plain)
    assert found.a.least.value == found.b.least.value
    assert found.a.most.value - found.b.most.value == pytest.approx(2 * 1024 / 1e8)


def _exchanging(a_ms: float, b_ms: float, recorded_ms: float) -> Prediction:
    """1,000 exchanges of each of two ranks."""
    a, b = ([curve("latency", {8: one * 1e-6, 16384: one * 1e-6})] for one in (a_ms, b_ms))
    app = profile(mix("Alltoall", 32768, 2000, time_s=2e-3 * recorded_ms))
    return predict(app, "Open MPI", a, "MPICH", b)


@pytest.mark.parametrize(("factor", "winner"), [(1.03, "undecided"), (1.1, "a"), (0.9, "b")])
def test_a_few_percent_name_no_winner(factor: float, winner: str) -> None:
    """Curves as sharp as that are measured; what they leave out is more."""
    plain, other = (
        [curve("latency", {0: 20e-6 * one, 1024: 20e-6 * one}, spread=0.001)]
        for one in (1.0, factor)
    )
    assert predict(profile(mix("Send", 512, 10)), "a", plain, "b", other).winner == winner


def test_ranks_that_share_a_node_share_its_link_in_the_upper_bound() -> None:
    alone = predict(profile(mix("Send", 1024, 1)), "a", SLOW, "b", FAST)
    shared = predict(profile(mix("Send", 1024, 1), ranks=4, beside=2), "a", SLOW, "b", FAST)
    assert shared.a.least.value == alone.a.least.value
    assert shared.a.most.value - alone.a.most.value == pytest.approx(2 * 1024 / 100e6)


def test_what_stays_on_a_node_is_not_counted() -> None:
    found = predict(profile(mix("Send", 1024, 10, "same node")), "a", SLOW, "b", FAST)
    assert (found.rows, found.winner) == ((), "undecided")


def test_a_collective_takes_its_own_curve_at_that_many_ranks() -> None:
    own = (*SLOW, curve("allreduce", {8: 50e-6}, ranks=4))
    app = profile(mix("Allreduce", 8, 10, ranks=4), ranks=4)
    found = predict(app, "a", own, "b", SLOW)
    assert found.a.least.value == found.a.most.value == pytest.approx(10 * 50e-6)
    assert found.b.least.value < found.b.most.value, "without a curve of its own: bounds by steps"


def test_beyond_the_sizes_of_the_latency_a_stream_is_added() -> None:
    small = (curve("latency", {0: 10e-6, 8: 12e-6}), SLOW[1])
    found = predict(profile(mix("Send", 1024, 1)), "a", small, "b", small)
    assert found.a.most.value == pytest.approx(2 * (12e-6 + 1024 / 100e6))


def test_below_the_sizes_of_a_stream_alone_there_is_no_answer() -> None:
    large = [curve("bandwidth", {1 << 20: 117e6}, "bandwidth"), curve("latency", {8: 10e-6})]
    found = predict(profile(mix("Send", 20_000, 5)), "a", large, "b", large)
    assert (found.rows, found.covered) == ((), 0.0)


def test_sizes_far_beyond_the_curves_have_no_answer() -> None:
    app = profile(mix("Send", 1 << 24, 99), mix("Send", 8, 1))
    found = predict(app, "a", SLOW, "b", FAST)
    assert found.covered == pytest.approx(0.01)
    assert found.winner == "undecided"
    assert "99 calls" in found.left_out[0]


def test_a_run_that_took_longer_than_both_stacks_waited() -> None:
    """1,000 messages of 1 KiB take at most 40 ms on the slower one; the profile's run took 1 s."""
    made = CallMix("Comm_dup", "Making", None, "unknown", 2, 0, 1, 0, 9.0)
    app = profile(mix("Send", 1024, 1000, time_s=1.0), mix("Send", 8, 1, "same node"), made)
    found = predict(app, "a", SLOW, "b", FAST)
    assert found.recorded_s == 1.0
    (note,) = waiting(found)
    assert "spent 500 ms per rank" in note
    assert not waiting(msgspec.structs.replace(found, recorded_s=0.02))
