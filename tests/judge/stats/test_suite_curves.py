import msgspec
import pytest
from tests.report import sample

from fabricgauge.judge.stats.curves import convert_engine_curve, suite_curves
from fabricgauge.model.estimate import Curve
from fabricgauge.model.pattern import BUFFERED_PATTERNS
from fabricgauge.model.suite import SuiteCurve


def of(pattern: str) -> tuple[Curve, SuiteCurve]:
    (found,) = [one for one in sample.judged().curves[:5] if one.pattern == pattern]
    return found, convert_engine_curve(found, "0.1.0", "run")


def test_a_latency_pattern_gives_times_with_their_intervals() -> None:
    ours, made = of("latency")
    assert (made.quantity, made.pattern, made.statistic) == ("time", "latency", "median")
    assert [one.estimate for one in made.points] == [one.time for one in ours.points]
    assert made.points[3].besides["p99"] == ours.points[3].p99_s


@pytest.mark.parametrize(
    ("pattern", "directions"), [("bandwidth", 1), ("bidirectional_bandwidth", 2)]
)
def test_a_stream_gives_bandwidth_and_in_how_many_directions(pattern: str, directions: int) -> None:
    ours, made = of(pattern)
    assert (made.quantity, made.directions) == ("bandwidth", directions)
    assert [one.estimate for one in made.points] == [one.bandwidth for one in ours.points]


def test_nodes_network_and_window_stay_with_the_curve() -> None:
    _, made = of("bandwidth")
    assert made.hosts == ("c1", "c2")
    assert made.settings == {"network": "net1", "window": "64"}


def test_chosen_buffers_of_the_cases_stay_with_the_curves_of_messages() -> None:
    run = sample.judged().run
    launches = tuple(
        msgspec.structs.replace(
            launch,
            measurements=tuple(
                msgspec.structs.replace(case, buffers="multiple")
                if case.pattern in BUFFERED_PATTERNS
                else case
                for case in launch.measurements
            ),
        )
        for launch in run.launches
    )
    found = suite_curves(msgspec.structs.replace(run, launches=launches))
    assert {curve.settings.get("buffers") for curve in found} == {"multiple", None}
    for curve in found:
        assert ("buffers" in curve.settings) == (curve.pattern in BUFFERED_PATTERNS)


def test_a_run_gives_its_own_curves_then_those_of_other_suites() -> None:
    run = sample.judged().run
    foreign = of("latency")[1]
    first = msgspec.structs.replace(run.launches[0], curves=(foreign,))
    found = suite_curves(msgspec.structs.replace(run, launches=(first, *run.launches[1:])))
    assert found[-1] == foreign
    assert {one.suite for one in found[:-1]} == {"fabricgauge"}
    assert all(one.points for one in found)


def test_one_nodes_loopback_is_no_curve_of_the_network() -> None:
    run = sample.judged().run
    alone = tuple(msgspec.structs.replace(one, network="loopback:c1") for one in run.launches)
    assert suite_curves(msgspec.structs.replace(run, launches=alone)) == ()
