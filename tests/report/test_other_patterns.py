"""Rows about patterns without a column: which curves they are of, and which sizes."""

import msgspec
from tests.report import sample

from fabricgauge.model.estimate import Curve
from fabricgauge.model.judged import Judged
from fabricgauge.report.content.measured import other_rows

COLUMNS = ("latency", "bandwidth", "bidirectional_bandwidth")


def with_curves(*curves: Curve) -> Judged:
    usual = sample.judged()
    return msgspec.structs.replace(usual, curves=(*usual.curves, *curves))


def gets(points: int, variant: str = "") -> Curve:
    every = sample.points("get_latency", False, 1.0)
    return Curve("net1", "get_latency", "c1", "c2", tuple(every[:points]), variant)


def test_the_usual_patterns_need_no_rows() -> None:
    assert other_rows(sample.judged(), "net1", COLUMNS) == ()


def test_a_curve_has_its_smallest_and_its_largest_message() -> None:
    first, last = other_rows(with_curves(gets(9)), "net1", COLUMNS)
    assert first[:3] == ("get_latency", "c1 → c2", "0 B")
    assert last[:3] == ("", "", "128 B")


def test_a_curve_of_one_size_has_one_row_and_one_of_none_has_none() -> None:
    assert len(other_rows(with_curves(gets(1)), "net1", COLUMNS)) == 1
    assert other_rows(with_curves(gets(0)), "net1", COLUMNS) == ()


def test_a_variant_is_named_by_the_word_that_asks_for_it() -> None:
    (row,) = other_rows(with_curves(gets(1, "fence")), "net1", COLUMNS)
    assert row[:2] == ("get_latency:fence", "c1 → c2")


def test_other_networks_curves_are_left_out() -> None:
    elsewhere = msgspec.structs.replace(gets(1), network="net2")
    assert other_rows(with_curves(elsewhere), "net1", COLUMNS) == ()
