"""Rows about patterns that have no column of their own in a short table."""

from collections.abc import Container, Iterator
from typing import NamedTuple

import msgspec

from fabricgauge.model.curve import Curve, CurvePoint
from fabricgauge.report.conclusion import limit_bytes_s
from fabricgauge.report.interface import Judged
from fabricgauge.report.quantities import half_width, megabytes_per_s, microseconds, percent, size
from fabricgauge.report.sweep import direction, pair_curves

HEADS = ("pattern", "between", "size", "median")

#: Part of the default set, so that they are left out beside what has columns.
_USUAL = ("put_latency", "put_bandwidth")


class Row(NamedTuple):
    """One size of one curve, by the word that asks for it; its second row does not repeat that."""

    pattern: str
    between: str
    size: str
    median: str


def other_rows(judged: Judged, network: str | None, columns: Container[str]) -> tuple[Row, ...]:
    """The smallest and the largest message of each curve of no pattern of ``columns``."""
    here = [one for one in pair_curves(judged) if one.network == network and one.points]
    alone = not any(curve.pattern in columns for curve in here)
    shown = (
        curve
        for curve in here
        if curve.pattern not in columns and (alone or curve.variant or curve.pattern not in _USUAL)
    )
    return tuple(row for curve in shown for row in _rows(judged, curve))


def _rows(judged: Judged, curve: Curve) -> Iterator[Row]:
    plain = msgspec.structs.replace(curve, variant="")  # the word has it
    ends = [curve.points[0], *curve.points[1:][-1:]]
    for number, point in enumerate(ends):
        told = ("", "") if number else (curve.word, direction(plain))
        yield Row(*told, size(point.message_bytes), _figure(judged, curve, point))


def _figure(judged: Judged, curve: Curve, point: CurvePoint) -> str:
    rate = point.bandwidth
    if rate is None:
        return f"{microseconds(point.time.value)} µs {half_width(point.time)}"
    limit = limit_bytes_s(judged, curve.network, curve.pattern)
    share = f", {percent(rate.value / limit)}" if limit else ""
    return f"{megabytes_per_s(rate.value)} MB/s {half_width(rate)}{share}"
