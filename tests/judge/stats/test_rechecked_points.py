"""A point that a second measurement refutes carries the second figure."""

import msgspec
import pytest
from tests.judge import planted

from fabricgauge.judge.stats.curves import curves, suite_curves
from fabricgauge.model.run import Run


def with_recheck(factor: float) -> tuple[Run, int]:
    """A healthy run in which its first latency case was measured again, ``factor`` times slower."""
    run = planted.run(planted.sound_launches())
    launch = next(one for one in run.launches if one.measurements)
    case = next(one for one in launch.measurements if one.pattern == "latency" and one.times)
    assert case.times
    low, middle, high = (
        value * factor for value in (case.times.low_s, case.times.median_s, case.times.high_s)
    )
    times = msgspec.structs.replace(case.times, low_s=low, median_s=middle, high_s=high)
    second = msgspec.structs.replace(case, times=times)
    again = msgspec.structs.replace(launch, number=99, purpose="again", measurements=(second,))
    run = msgspec.structs.replace(run, launches=(*run.launches, again))
    return run, case.message_bytes


@pytest.mark.parametrize(("factor", "refuted"), [(0.25, True), (1.0, False)])
def test_only_a_figure_apart_from_the_first_refutes_it(factor: float, refuted: bool) -> None:
    run, message_bytes = with_recheck(factor)
    points = [
        point for curve in curves(run) if curve.pattern == "latency" for point in curve.points
    ]
    found = [point for point in points if point.recheck]
    assert len(found) == refuted
    assert all(point.message_bytes == message_bytes for point in found)


@pytest.mark.parametrize("rechecked", [True, False])
def test_a_refuted_point_is_compared_by_its_second_figure(rechecked: bool) -> None:
    """Once a first latency was four times too long: it is no regression, and hides none."""
    run, message_bytes = with_recheck(0.25)
    if not rechecked:
        run = msgspec.structs.replace(run, launches=run.launches[:-1])
    (point,) = [
        point
        for curve in suite_curves(run, settled=True)
        if curve.pattern == "latency"
        for point in curve.points
        if point.message_bytes == message_bytes
    ]
    first_s = planted.median_s("latency", message_bytes)
    second_s = 0.25 * first_s if rechecked else first_s
    assert point.estimate.value == pytest.approx(second_s, rel=0.01)
    assert point.estimate.high == pytest.approx(first_s, rel=0.01)
    assert point.estimate.low == pytest.approx(second_s, rel=0.01)
