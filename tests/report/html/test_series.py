import math

import msgspec
import pytest
from tests.report import sample

from fabricgauge.model.absence import Skipped
from fabricgauge.report.content.curves import pictures
from fabricgauge.report.picture import position


def test_every_measured_pattern_is_drawn_once() -> None:
    drawn = [series.label for one in pictures(sample.judged(), "net1") for series in one.series]
    assert sorted(drawn) == sorted(
        ["c1 → c2", "c1 → c2", "c2 → c1", "put c1 → c2", "put c1 → c2", "c1 ↔ c2"]
    )


def test_a_pattern_that_was_not_measured_has_no_plot() -> None:
    judged = sample.judged()
    only = tuple(curve for curve in judged.curves if curve.pattern == "latency")
    (picture,) = pictures(msgspec.structs.replace(judged, curves=only), "net1")
    assert picture.title == "Latency, half round trip"


def test_latency_is_in_microseconds_and_inside_its_interval() -> None:
    latency = pictures(sample.judged(), "net1")[0].series[0]
    point = sample.judged().curves[0].points[5]
    assert latency.marks[5].y == pytest.approx(point.time.value * 1e6)
    assert all(one.low <= one.y <= one.high for one in latency.marks)


def test_the_wire_floor_is_below_every_plausible_latency() -> None:
    picture = pictures(sample.judged(), "net1")[0]
    (wire,) = [line for line in picture.lines if line.label.startswith("wire time")]
    floor = dict(zip(wire.x, wire.y, strict=True))
    assert all(floor.get(one.x, 0) <= one.y for one in picture.series[0].marks)


def test_the_ceiling_of_both_directions_is_twice_that_of_one() -> None:
    by_title = {one.title: one for one in pictures(sample.judged(), "net1")}
    one = by_title["Bandwidth, per direction"].full_scale
    both = by_title["Bandwidth, sum of both directions"].full_scale
    assert one == pytest.approx(sample.LIMIT / 1e6)
    assert both == pytest.approx(2 * sample.LIMIT / 1e6)


def test_an_unknown_ceiling_draws_no_line() -> None:
    judged = msgspec.structs.replace(sample.judged(), ceilings={"net1": Skipped("no rate")})
    bandwidth = pictures(judged, "net1")[1]
    assert (bandwidth.lines, bandwidth.full_scale) == ((), None)


def test_the_empty_message_is_left_of_one_byte() -> None:
    assert position(0) < position(1) == 0 < position(8) == math.log2(8)
