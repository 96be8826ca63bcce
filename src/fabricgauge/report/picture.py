"""What each plot shows, as columns of numbers and of text: frozen values that know no plotting."""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fabricgauge.report.visible import visible

#: Position of the empty message on the axis of log2(bytes): left of one byte.
EMPTY_MESSAGE_AT = -2.0

Cells = NDArray[np.uint16]


class PlotCurve(NamedTuple):
    """One curve ready to draw: label, positions and values in the plot's unit, tooltips.

    ``tail`` is the 99th percentile, None where the plot shows rates. Keys of ``words``
    are the columns that a tooltip shows.
    """

    label: str
    x: list[float]
    y: list[float]
    low: list[float]
    high: list[float]
    tail: list[float] | None
    words: dict[str, list[str]]


class Mark(NamedTuple):
    """One point of a curve in the plot's unit, and what pointing at it says.

    ``place`` is x in words, ``median`` and ``interval`` are y; ``tail`` is None without one.
    """

    x: float
    y: float
    low: float
    high: float
    place: str
    median: str
    interval: str
    also: str
    samples: str
    tail: float | None = None


def plot_curve(label: str, marks: Sequence[Mark], along: str = "size") -> PlotCurve:
    """The marks as columns; ``along`` is the name of the tooltip's column for x."""
    tails = [one.tail for one in marks if one.tail is not None]
    words = {
        along: [one.place for one in marks],
        "curve": [label] * len(marks),
        "median": [one.median for one in marks],
        "interval": [one.interval for one in marks],
        "also": [one.also for one in marks],
        "count": [one.samples for one in marks],
    }
    return PlotCurve(
        label,
        x=[one.x for one in marks],
        y=[one.y for one in marks],
        low=[one.low for one in marks],
        high=[one.high for one in marks],
        tail=tails if len(tails) == len(marks) else None,
        words=words,
    )


class Line(NamedTuple):
    """A limit: a floor or a ceiling."""

    label: str
    x: list[float]
    y: list[float]


class Picture(NamedTuple):
    """One plot; ``log`` is whether its y axis is logarithmic.

    ``full_scale`` is the ceiling in the plot's unit, None where there is none. ``band`` is
    a tinted range of y. Without ``span``, the range of y, a linear axis begins at 0.
    ``patterns`` are those of our own curves in it. Along x are message sizes unless ``ticks`` give
    other places their words.
    """

    title: str
    y_label: str
    log: bool
    series: tuple[PlotCurve, ...]
    lines: tuple[Line, ...]
    full_scale: float | None
    band: tuple[float, float] | None = None
    span: tuple[float, float] | None = None
    patterns: tuple[str, ...] = ()
    x_label: str = "message size"
    ticks: Mapping[float, str] = MappingProxyType({})


class GroupBlock(NamedTuple):
    """A group's place along an axis, in cells from the first."""

    name: str
    first: float
    last: float


class HeatMap(NamedTuple):
    """A matrix to draw; rows send, columns receive.

    The value of a cell of code ``c`` > 0 is ``best + (c - 1) * step``, in ``unit``; ``step``
    is below 0 where more is better. ``whole`` are larger blocks for the whole picture, or the cells
    themselves; ``block`` is how many nodes a cell holds per side. ``good`` is where the first
    colour ends, ``bad`` where the last begins; ``named`` are the cells of nodes in a finding.
    """

    title: str
    cells: Cells
    whole: Cells
    labels: tuple[str, ...]
    groups: tuple[GroupBlock, ...]
    named: tuple[int, ...]
    best: float
    step: float
    good: float
    bad: float
    typical: float
    unit: str
    block: int
    nodes: int

    @property
    def whole_side(self) -> int:
        """Cells that the blocks of the whole picture cover per side: the last may jut out."""
        return len(self.whole) * -(-len(self.cells) // len(self.whole))

    @property
    def whole_block(self) -> int:
        """How many nodes a cell of the whole picture holds per side."""
        return self.block * -(-len(self.cells) // len(self.whole))


class Histogram(NamedTuple):
    """Counts between edges; ``said`` is each bar's range in words."""

    title: str
    unit: str
    edges: tuple[float, ...]
    counts: tuple[int, ...]
    peaks: tuple[float, ...]
    said: tuple[str, ...]


Drawable = Picture | HeatMap | Histogram


def level(label: str, drawn: Sequence[PlotCurve], at: float) -> tuple[Line, ...]:
    """A line at one height over all that is drawn; none where nothing is."""
    ends = [x for one in drawn for x in one.x]
    return (Line(label, [min(ends), max(ends)], [at, at]),) if ends else ()


def position(message_bytes: float) -> float:
    """Where a message size is on the axis of log2(bytes)."""
    return math.log2(message_bytes) if message_bytes > 0 else EMPTY_MESSAGE_AT


def canvas_text(text: str) -> str:
    """Text that Bokeh draws as it is: at TeX delimiters it would ask for MathJax."""
    return visible(text).replace("$$", "$ $").replace("\\", "\\ ")
