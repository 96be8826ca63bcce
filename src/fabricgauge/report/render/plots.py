"""Draw pictures as Bokeh documents; only this module imports Bokeh, which takes about a second."""

from typing import Any

import bokeh.models
from bokeh.core.types import ID
from bokeh.embed import json_item
from bokeh.plotting import figure
from bokeh.resources import Resources

from fabricgauge.model.words.figures import size
from fabricgauge.report.picture import EMPTY_MESSAGE_AT, Line, Mark, Picture, PlotCurve
from fabricgauge.report.render.palette import FLOOR, GRID, INK, LIMIT, PAPER, SERIES, SOFT

#: Untyped: the types that Bokeh ships leave out models that it re-exports.
models: Any = bokeh.models

HEIGHT_PX = 400
LABEL_EVERY_DOUBLINGS = 4
LONG_LABEL = 26
MARKERS = ("circle", "square", "triangle", "diamond", "inverted_triangle", "hex")
#: Rows of a mark's tooltip, below its curve and its place.
TOOLTIPS = [
    ("median", "@median"),
    ("interval", "@interval"),
    ("", "@also"),
    ("samples", "@samples"),
]


def library() -> str:
    """Return BokehJS itself, without widgets, tables or WebGL: 1.27 MB."""
    return "\n".join(Resources(mode="inline", components=["bokeh"]).js_raw)


def document(plot: Any, target: str) -> dict[str, Any]:
    """Return the input of ``Bokeh.embed.embed_item`` that draws the plot into the element
    ``target``.
    """
    item: dict[str, Any] = dict(json_item(plot, ID(target)))
    names: dict[str, str] = {}
    renumbered = _renumbered(item["doc"], names)
    return {**item, "doc": renumbered, "root_id": names[item["root_id"]]}


def _renumbered(value: Any, names: dict[str, str]) -> Any:
    """Return a document with its models renumbered: equal reports must be equal.

    Bokeh numbers models through the life of a process.
    """
    if isinstance(value, (list, tuple)):
        return [_renumbered(item, names) for item in value]
    if isinstance(value, dict):
        return {
            key: names.setdefault(item, f"m{len(names)}")
            if key == "id" and isinstance(item, str)
            else _renumbered(item, names)
            for key, item in value.items()
        }
    return value


def framed(height_px: int, x_label: str, y_label: str, **options: Any) -> Any:
    """Return an empty plot as wide as its place on the page."""
    return figure(
        height=height_px, sizing_mode="stretch_width", toolbar_location="above",
        tools="pan,box_zoom,wheel_zoom,reset,save", output_backend="canvas",
        x_axis_label=x_label, y_axis_label=y_label, **options,
    )  # fmt: skip


def curve_plot(picture: Picture) -> Any:
    """Draw curves with intervals, tails and limits, and a legend that hides and shows them."""
    ends = [mark.x for series in picture.series for mark in series.marks]
    plot = framed(
        HEIGHT_PX, picture.x_label, picture.y_label, min_border_right=12,
        y_axis_type="log" if picture.log else "linear", y_range=_y_range(picture),
        x_range=models.Range1d(start=min(ends) - 0.6, end=max(ends) + 0.6),
    )  # fmt: skip
    if picture.band is not None:
        low, high = picture.band
        plot.add_layout(
            models.BoxAnnotation(bottom=low, top=high, fill_color=FLOOR, fill_alpha=0.12)
        )
    items = [_draw_line(plot, line) for line in picture.lines]
    legend_items = [
        _draw_series(plot, series, place) for place, series in enumerate(picture.series)
    ]
    points = [item.renderers[-1] for item in legend_items]
    tips = [("", "@curve"), (picture.x_label, "@place"), *TOOLTIPS]
    plot.add_tools(models.HoverTool(renderers=points, tooltips=tips))
    items += legend_items
    columns = 1 if any(len(item.label.value) > LONG_LABEL for item in items) else 2
    legend = models.Legend(
        items=items[::-1], orientation="horizontal", ncols=columns, click_policy="hide",
        location="top_left",
    )  # fmt: skip
    plot.add_layout(legend, "below")
    _axes(plot, picture, ends)
    style(plot)
    return plot


def _draw_line(plot: Any, line: Line) -> Any:
    flat = len(set(line.y)) == 1
    colour = LIMIT if line.is_ceiling else FLOOR
    stroke = plot.line(line.x, line.y, color=colour, line_width=1.6,
                      line_dash="dashed" if flat else "dotdash")  # fmt: skip
    return models.LegendItem(label={"value": line.label}, renderers=[stroke])


def _draw_series(plot: Any, series: PlotCurve, place: int) -> Any:
    colour = SERIES[place % len(SERIES)]
    marker = MARKERS[(place + place // len(SERIES)) % len(MARKERS)]
    columns = {name: series.column(name) for name in Mark._fields}
    tailed = None not in columns["tail"]
    tail, curve = columns["tail" if tailed else "y"], [series.label] * len(series.marks)
    source = models.ColumnDataSource({**columns, "tail": tail, "curve": curve})
    strokes = []
    if tailed:
        strokes.append(plot.varea(x="x", y1="y", y2="tail", source=source, color=colour, alpha=0.1))
    strokes.append(plot.line("x", "y", source=source, color=colour, line_width=1.8))
    points = plot.scatter(
        "x", "y", source=source, color=colour, fill_alpha="fill", marker=marker, size=6
    )
    head = models.TeeHead(size=7, line_color=colour)
    whisker = models.Whisker(source=source, base="x", lower="low", upper="high",
                             line_color=colour, upper_head=head, lower_head=head)  # fmt: skip
    plot.add_layout(whisker)
    return models.LegendItem(label={"value": series.label}, renderers=[*strokes, points])


def _y_range(picture: Picture) -> Any:
    marks = [mark for curve in picture.series for mark in curve.marks]
    values = [y for mark in marks for y in (mark.low, mark.high, mark.tail) if y is not None]
    values += [y for line in picture.lines for y in line.y]
    if picture.span is not None:
        return models.Range1d(start=picture.span[0], end=picture.span[1])
    if not picture.log:
        return models.Range1d(start=0, end=max(values) * 1.08 or 1)
    above_zero = [y for y in values if y > 0]
    return models.Range1d(start=min(above_zero) * 0.7, end=max(above_zero) * 1.5)


def _axes(plot: Any, picture: Picture, ends: list[float]) -> None:
    doublings = range(max(0, int(min(ends))), int(max(ends)) + 1)
    labels = picture.ticks or _size_labels(doublings, min(ends))
    minor = [] if picture.ticks else [float(x) for x in doublings]
    plot.xaxis.ticker = models.FixedTicker(ticks=sorted(labels), minor_ticks=minor)
    plot.xaxis.major_label_overrides = labels
    plot.yaxis.formatter = models.NumeralTickFormatter(format="0,0.[000000]")
    if picture.log:
        decades = picture.base == 10
        plot.yaxis.ticker = models.LogTicker(
            base=picture.base, mantissas=[1, 2, 5] if decades else [1], desired_num_ticks=8,
            num_minor_ticks=5 if decades else 0,
        )  # fmt: skip
    if picture.full_scale:
        top = 100 * plot.y_range.end / picture.full_scale
        plot.extra_y_ranges = {"share": models.Range1d(start=0, end=top)}
        share = models.LinearAxis(y_range_name="share", axis_label="% of the ceiling")
        plot.add_layout(share, "right")


def _size_labels(doublings: range, first: float) -> dict[float, str]:
    labels = {float(x): size(2**x) for x in doublings if x % LABEL_EVERY_DOUBLINGS == 0}
    return {EMPTY_MESSAGE_AT: size(0), **labels} if first == EMPTY_MESSAGE_AT else labels


def style(plot: Any) -> None:
    """Set the page's colours and letters."""
    plot.background_fill_color = plot.border_fill_color = PAPER
    plot.outline_line_color = None
    plot.toolbar.logo = None
    plot.toolbar.autohide = True
    for axis in plot.axis:
        axis.axis_line_color = axis.major_tick_line_color = axis.minor_tick_line_color = SOFT
        axis.major_label_text_color, axis.axis_label_text_color = SOFT, INK
        axis.axis_label_text_font_style = "normal"
        axis.major_label_text_font_size, axis.axis_label_text_font_size = "12px", "13px"
    plot.grid.grid_line_color = GRID
    for legend in plot.legend:
        legend.label_text_color, legend.label_text_font_size = INK, "12px"
        legend.border_line_color, legend.background_fill_color = None, PAPER
        legend.spacing, legend.padding, legend.margin = 4, 4, 4
    for part in (*plot.axis, *plot.legend):
        for name in ("axis_label_text_font", "major_label_text_font", "label_text_font"):
            if name in part.properties():
                setattr(part, name, "system-ui, sans-serif")
