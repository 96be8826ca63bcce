"""Draw heat maps and spectra as Bokeh plots, and choose the plot of each kind of picture."""

import base64
import gzip
from typing import Any

import bokeh.models

from fabricgauge.report.picture import Drawable, HeatMap, Histogram, shortened
from fabricgauge.report.render.palette import HEAT, LIMIT, SERIES, SOFT, STEEP, UNMEASURED
from fabricgauge.report.render.plots import curve_plot, document, framed, style

#: Untyped: the types that Bokeh ships leave out models that it re-exports.
models: Any = bokeh.models

HEAT_HEIGHT_PX, SPECTRUM_HEIGHT_PX = 640, 300
#: Room at the edges for the marks of named nodes, as a share of the side.
MARGIN = 0.03
#: Most node names that can be read along an axis.
MOST_NAMES = 40
MOST_GROUP_NAMES = 32
LONGEST_NAME = 16
#: More lines than this would cover the cells.
MOST_BOUNDARIES = 48
#: Best pairs far from the others widen the first colour's range, at most to this multiple of the
#: range of all colours.
MOST_PADDING = 64
#: Events for boot.js: Bokeh has no tooltip that can name rows and columns of an image.
LISTENED = ("mousemove", "mouseleave", "tap", "rangesupdate")


def plot_data(picture: Drawable, target: str) -> dict[str, Any]:
    """Return the plot as data for boot.js; a heat map carries the data of its tooltip."""
    if isinstance(picture, HeatMap):
        return {**document(heat_plot(picture), target), "heat": heat_facts(picture)}
    if isinstance(picture, Histogram):
        return document(spectrum_plot(picture), target)
    return document(curve_plot(picture), target)


def heat_plot(heat: HeatMap) -> Any:
    """Draw cells with group boundaries and a colour bar; boot.js adds names and values."""
    cells = len(heat.cells)
    margin = MARGIN * cells if heat.named else 0.0
    bounds = (-margin, cells)
    plot = framed(
        HEAT_HEIGHT_PX, "receives", "sends",
        x_range=models.Range1d(start=-margin, end=cells, bounds=bounds),
        y_range=models.Range1d(start=cells, end=-margin, bounds=bounds),
    )  # fmt: skip
    coded, value_colours = _colours(heat)
    _image(plot, heat.whole, len(heat.whole) * heat.joined, coded, "whole")
    if heat.whole is not heat.cells:
        _image(plot, heat.cells[:1, :1], cells, coded, "cells").visible = False
    _boundaries(plot, heat, cells)
    _marks(plot, heat, -margin / 2)
    bar = models.ColorBar(
        color_mapper=value_colours, width=12, margin=0, padding=4,
        major_label_text_color=SOFT, background_fill_color=None,
        ticker=models.BasicTicker(desired_num_ticks=6),
        formatter=models.NumeralTickFormatter(format="0,0.[000]"),
    )  # fmt: skip
    plot.add_layout(bar, "right")
    style(plot)
    plot.grid.visible = False
    _name_axes(plot, heat)
    plot.subscribed_events = set(LISTENED)
    return plot


def heat_facts(heat: HeatMap) -> dict[str, Any]:
    """Return what boot.js needs to name the pair and the value of a cell.

    ``cells`` are the codes, row by row, as gzip of little-endian 16-bit numbers in base64; empty if
    the plot has them itself. A browser unpacks them faster than BokehJS does.
    """
    little = heat.cells.astype("<u2").tobytes()
    packed = b"" if heat.whole is heat.cells else gzip.compress(little, mtime=0)
    return {
        "cells": base64.b64encode(packed).decode(), "each": heat.joined,
        "labels": heat.labels, "best": heat.best, "step": heat.step, "unit": heat.unit,
        "typical": heat.typical, "worst": heat.block > 1, "whole": len(heat.whole),
        "groups": [(group.name, group.last) for group in heat.groups],
    }  # fmt: skip


def _colours(heat: HeatMap) -> tuple[Any, Any]:
    """Return a scale over codes for the cells, and one over values for the bar."""
    first = max((heat.good - heat.best) / heat.step + 1, 1.0)
    last = max((heat.bad - heat.best) / heat.step + 1, first + 1)
    padding = min(round(len(STEEP) * (first - 1) / (last - first)), MOST_PADDING * len(STEEP))
    coded = models.LinearColorMapper(
        palette=[HEAT[0]] * padding + list(STEEP), low=1, high=last, low_color=UNMEASURED
    )
    rising = heat.step > 0
    value_colours = models.LinearColorMapper(
        palette=list(STEEP if rising else reversed(STEEP)),
        low=min(heat.good, heat.bad), high=max(heat.good, heat.bad),
    )  # fmt: skip
    return coded, value_colours


def _image(plot: Any, codes: Any, side: int, mapper: Any, name: str) -> Any:
    """Add an image; the one called ``cells`` is empty until boot.js fills it on zooming in."""
    source = models.ColumnDataSource({"codes": [codes]}, name=name)
    return plot.image(
        image="codes", x=0, y=0, dw=side, dh=side, source=source, color_mapper=mapper, name=name
    )


def _boundaries(plot: Any, heat: HeatMap, cells: int) -> None:
    ends = [group.first for group in heat.groups[1:]]
    if 0 < len(ends) <= min(MOST_BOUNDARIES, heat.nodes // 2):
        zeros, sides = [0] * len(ends), [cells] * len(ends)
        plot.segment(ends, zeros, ends, sides, color=SOFT, line_width=1)
        plot.segment(zeros, ends, sides, ends, color=SOFT, line_width=1)


def _marks(plot: Any, heat: HeatMap, outside: float) -> None:
    """Draw triangles along the edges: a named node is visible even if its cells are thin."""
    middles = [place + 0.5 for place in heat.named]
    if middles:
        edge = [outside] * len(middles)
        plot.scatter(middles, edge, marker="inverted_triangle", size=10, color=LIMIT)
        plot.scatter(edge, middles, marker="triangle", angle=-1.5708, size=10, color=LIMIT)


def _name_axes(plot: Any, heat: HeatMap) -> None:
    if len(heat.labels) <= MOST_NAMES:
        named = {place + 0.5: label for place, label in enumerate(heat.labels)}
    elif 0 < len(heat.groups) <= MOST_GROUP_NAMES:
        named = {(group.first + group.last) / 2: group.name for group in heat.groups}
    else:
        step = -(-len(heat.labels) // MOST_GROUP_NAMES)
        places = range(0, len(heat.labels), step)
        named = {place + 0.5: heat.labels[place] for place in places}
    short = {place: shortened(name, LONGEST_NAME) for place, name in named.items()}
    for axis in (plot.xaxis, plot.yaxis):
        axis.ticker = models.FixedTicker(ticks=sorted(named))
        axis.major_label_overrides = short
        axis.major_tick_line_color = None
    plot.xaxis.major_label_orientation = 1.0


def spectrum_plot(histogram: Histogram) -> Any:
    """Draw the number of pairs per range; dashed lines are the centres of distinct levels."""
    filled = [place for place, count in enumerate(histogram.counts) if count]
    columns = {
        "left": histogram.edges, "right": histogram.edges[1:], "count": histogram.counts,
        "range": histogram.ranges,
    }  # fmt: skip
    bars = {name: [column[place] for place in filled] for name, column in columns.items()}
    plot = framed(
        SPECTRUM_HEIGHT_PX, histogram.unit, "directed pairs", min_border_right=12,
        y_axis_type="log", y_range=models.Range1d(start=0.7, end=1.6 * max(histogram.counts)),
    )  # fmt: skip
    bars_drawn = plot.quad(
        left="left", right="right", top="count", bottom=0.7, line_color=None,
        fill_color=SERIES[0], source=models.ColumnDataSource(bars),
    )  # fmt: skip
    tips = [("", "@range"), ("directed pairs", "@count{0,0}")]
    plot.add_tools(models.HoverTool(renderers=[bars_drawn], tooltips=tips))
    for peak in histogram.peaks:
        plot.add_layout(models.Span(
            location=peak, dimension="height", line_color=LIMIT, line_dash="dashed"
        ))  # fmt: skip
    style(plot)
    plot.xaxis.formatter = models.NumeralTickFormatter(format="0,0.[000]")
    plot.yaxis.ticker = models.FixedTicker(ticks=_counts_to(max(histogram.counts)))
    plot.yaxis.formatter = models.NumeralTickFormatter(format="0,0")
    return plot


def _counts_to(largest: int) -> list[int]:
    """Return 1, 2, 5, 10, 20 … up to the largest count: whole numbers, none twice."""
    decades = range(len(str(largest)))
    steps = (mantissa * 10**decade for decade in decades for mantissa in (1, 2, 5))
    return [step for step in steps if step <= largest]
