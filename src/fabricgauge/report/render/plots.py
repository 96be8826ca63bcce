"""Turn pictures into data for draw.js, which draws them as SVG when the page opens.

The colours of curves are in style.css: people with the common colour blindnesses can distinguish
them (Okabe and Ito, "Color Universal Design", 2008; darkened for white paper). Those of matrices
are here, the same on light and on dark pages.
"""

import base64
import gzip
from typing import Any

from fabricgauge.model.words.figures import size
from fabricgauge.report.picture import (
    EMPTY_MESSAGE_AT,
    MOST_IN_WHOLE,
    Drawable,
    HeatMap,
    Histogram,
    Picture,
    PlotCurve,
    shortened,
)

#: Most node names that can be read along an axis.
MOST_NAMES = 40
MOST_GROUP_NAMES = 32
LONGEST_NAME = 16
#: More lines than this would cover the cells.
MOST_BOUNDARIES = 48
#: Digits of a place in a plot: less than a pixel.
_DIGITS = 6


def plot_data(picture: Drawable, target: str) -> dict[str, Any]:
    """Return the input of draw.js that draws the picture into the element ``target``."""
    if isinstance(picture, HeatMap):
        return {"target": target, "kind": "heat", **heat_data(picture)}
    if isinstance(picture, Histogram):
        return {"target": target, "kind": "spectrum", **spectrum_data(picture)}
    return {"target": target, "kind": "curves", **curve_data(picture)}


def curve_data(picture: Picture) -> dict[str, Any]:
    """Return curves with intervals, tails, limits and tooltips."""
    ends = [mark.x for series in picture.series for mark in series.marks]
    margin = max(0.6, 0.012 * (max(ends) - min(ends)))
    doublings = range(max(0, int(min(ends))), int(max(ends)) + 1)
    labels = {float(x): size(2**x) for x in doublings}
    if min(ends) == EMPTY_MESSAGE_AT:
        labels[EMPTY_MESSAGE_AT] = size(0)
    return {
        "x": [min(ends) - margin, max(ends) + margin], "y": _y_range(picture),
        "x_label": picture.x_label, "y_label": picture.y_label, "log": picture.log,
        "base": picture.base, "words": bool(picture.ticks), "joined": picture.joined,
        "ticks": sorted((picture.ticks or labels).items()),
        "full": picture.full_scale, "band": picture.band,
        "series": [_series_data(series) for series in picture.series],
        "lines": [
            {"label": line.label, "x": _rounded(line.x), "y": _rounded(line.y),
             "ceiling": line.is_ceiling}
            for line in picture.lines
        ],
    }  # fmt: skip


def _series_data(series: PlotCurve) -> dict[str, Any]:
    tail, fill = series.column("tail"), series.column("fill")
    words = zip(
        *map(series.column, ("place", "median", "interval", "also", "samples")), strict=True
    )
    return {
        "label": series.label, "said": list(words),
        **{name: _rounded(series.column(name)) for name in ("x", "y", "low", "high")},
        **({"tail": _rounded(tail)} if None not in tail else {}),
        **({"fill": fill} if 0.0 in fill else {}),
    }  # fmt: skip


def _rounded(values: list[Any]) -> list[float]:
    return [float(f"{value:.{_DIGITS}g}") for value in values]


def _y_range(picture: Picture) -> list[float]:
    marks = [mark for curve in picture.series for mark in curve.marks]
    values = [y for mark in marks for y in (mark.low, mark.high, mark.tail) if y is not None]
    values += [y for line in picture.lines for y in line.y]
    if picture.span is not None:
        return list(picture.span)
    if not picture.log:
        return [0, max(values) * 1.08 or 1]
    above_zero = [y for y in values if y > 0] or [1.0]  # an overlap may be 0 at all sizes
    return [min(above_zero) * 0.7, max(above_zero) * 1.5]


def heat_data(heat: HeatMap) -> dict[str, Any]:
    """Return the cells, packed, with names, groups and colours.

    ``cells`` are codes, row by row, the upper half of a symmetric matrix: all low bytes, then all
    high bytes, as gzip in base64.
    """
    import numpy as np

    codes, mirrored = heat.cells, bool((heat.cells == heat.cells.T).all())
    sent = codes[np.triu_indices(len(codes))] if mirrored else codes.ravel()
    planes = (sent & 0xFF).astype(np.uint8).tobytes() + (sent >> 8).astype(np.uint8).tobytes()
    ends = [group.first for group in heat.groups[1:]]
    drawn = 0 < len(ends) <= min(MOST_BOUNDARIES, heat.nodes // 2)
    first = max((heat.good - heat.best) / heat.step + 1, 1.0)
    return {
        "cells": base64.b64encode(gzip.compress(planes, mtime=0)).decode(), "mirrored": mirrored,
        "labels": heat.labels, "names": _axis_names(heat), "named": heat.named,
        "groups": [(group.name, group.last) for group in heat.groups],
        "ends": ends if drawn else [], "whole": MOST_IN_WHOLE,
        "best": heat.best, "step": heat.step, "good": heat.good, "bad": heat.bad,
        "typical": heat.typical, "unit": heat.unit, "worst": heat.block > 1,
        "is_calm": heat.is_calm,
        "colours": {
            "low": first, "high": max((heat.bad - heat.best) / heat.step + 1, first + 1),
        },
    }  # fmt: skip


def _axis_names(heat: HeatMap) -> list[tuple[float, str]]:
    """Return places along an axis with a name: of nodes, of groups, or of some nodes."""
    if len(heat.labels) > MOST_NAMES and 0 < len(heat.groups) <= MOST_GROUP_NAMES:
        names = [((group.first + group.last) / 2, group.name) for group in heat.groups]
    else:
        step = 1 if len(heat.labels) <= MOST_NAMES else -(-len(heat.labels) // MOST_GROUP_NAMES)
        names = [(place + 0.5, label) for place, label in enumerate(heat.labels)][::step]
    return [(place, shortened(name, LONGEST_NAME)) for place, name in names]


def spectrum_data(histogram: Histogram) -> dict[str, Any]:
    """Return the number of pairs per range; ``peaks`` are the centres of distinct levels."""
    filled = [place for place, count in enumerate(histogram.counts) if count]
    edges, most = histogram.edges, max(histogram.counts)
    return {
        "x": [edges[filled[0]], edges[filled[-1] + 1]], "y": [0.7, 1.6 * most],
        "x_label": histogram.unit, "y_label": "directed pairs", "ticks": _counts_to(most),
        "bars": [(edges[place], edges[place + 1], histogram.counts[place]) for place in filled],
        "said": [histogram.ranges[place] for place in filled], "peaks": histogram.peaks,
    }  # fmt: skip


def _counts_to(largest: int) -> list[int]:
    """Return 1, 2, 5, 10, 20 … up to the largest count: whole numbers, none twice."""
    decades = range(len(str(largest)))
    steps = (mantissa * 10**decade for decade in decades for mantissa in (1, 2, 5))
    return [step for step in steps if step <= largest]


#: A pair that was not measured.
UNMEASURED = "#c4cdd8"
HEAT_STEPS = 64
#: Good to bad, on light and on dark pages alike: a colour means the same in every report.
#: Lightness falls all the way: no two colours have the same lightness.
_HEAT_ANCHORS = ("#fef9dd", "#f7cf63", "#df7f2c", "#a02e4e", "#3a1048")


#: Least to most of a matrix without a slow pair: blues, so that nothing looks like a fault.
_CALM_ANCHORS = ("#eef5fb", "#a6c8e4", "#4f8fc0", "#1f5b8f", "#0b2f52")


def _ramp(colours: tuple[str, ...]) -> tuple[str, ...]:
    anchors = [[int(anchor[i : i + 2], 16) for i in (1, 3, 5)] for anchor in colours]
    ramp = []
    for step in range(HEAT_STEPS):
        place = step * (len(anchors) - 1) / (HEAT_STEPS - 1)
        first = min(int(place), len(anchors) - 2)
        share = place - first
        ends = zip(anchors[first], anchors[first + 1], strict=True)
        ramp.append("#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in ends))
    return tuple(ramp)


HEAT = _ramp(_HEAT_ANCHORS)
CALM = _ramp(_CALM_ANCHORS)
#: The scale with close first steps: a tenth of the span takes a third of the colours.
_LAST = HEAT_STEPS - 1
STEEP = tuple(HEAT[round(_LAST * (step / _LAST) ** 0.5)] for step in range(HEAT_STEPS))
