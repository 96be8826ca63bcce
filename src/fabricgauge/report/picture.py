"""Hold the content of each plot as columns of numbers and text; know no plotting library."""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from fabricgauge.model.estimate import Estimate
from fabricgauge.model.pairs import PairAnalysis, Quantity
from fabricgauge.model.words.figures import size
from fabricgauge.model.words.networks import named

if TYPE_CHECKING:  # help lists formats, and draws no matrix
    import numpy as np
    from numpy.typing import NDArray

#: Position of the empty message on the axis of log2(bytes): left of one byte.
EMPTY_MESSAGE_AT = -2.0

#: Most cells per side of a matrix with a pixel each on the page; larger views show blocks.
MOST_IN_WHOLE = 384

#: The unit that people read, and the factor to it.
SHOWN: dict[Quantity, tuple[str, float]] = {"latency": ("µs", 1e6), "bandwidth": ("MB/s", 1e-6)}
WHAT: dict[Quantity, str] = {
    "latency": "latency, half round trip",
    "bandwidth": "bandwidth, per direction",
}


def title(analysis: PairAnalysis) -> str:
    """Return ``net1: bandwidth, per direction, 1 MiB``."""
    matrix = analysis.matrix
    return f"{named(matrix.network)}: {WHAT[matrix.quantity]}, {size(matrix.message_bytes)}"


class Mark(NamedTuple):
    """Hold one point of a curve in the plot's unit, and its tooltip.

    ``place`` is x in words, ``median`` and ``interval`` are y, ``samples`` their count. ``tail`` is
    the 99th percentile, None if the plot shows rates. ``fill`` is 0 for a point that a second
    measurement refuted: it is drawn hollow.
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
    fill: float = 1.0


def estimate_mark(
    message_bytes: int, estimate: Estimate, factor: float, median: str, interval: str, note: str,
    samples: str, tail: float | None = None,
) -> Mark:  # fmt: skip
    """Return a mark over its message size; ``factor`` converts the estimate to the plot's unit."""
    y, low, high = (value * factor for value in (estimate.value, estimate.low, estimate.high))
    place = size(message_bytes)
    return Mark(position(message_bytes), y, low, high, place, median, interval, note, samples, tail)


class PlotCurve(NamedTuple):
    """Hold one curve ready to draw: its label, and its points from left to right."""

    label: str
    marks: Sequence[Mark]

    def column(self, name: str) -> list[Any]:
        """Return a field of each point, by its name in ``Mark``."""
        return [getattr(mark, name) for mark in self.marks]


class Line(NamedTuple):
    """Hold a limit: a floor or a ceiling."""

    label: str
    x: list[float]
    y: list[float]
    is_ceiling: bool = False


class Picture(NamedTuple):
    """Hold one plot; ``log`` makes its y axis logarithmic, its labels powers of ``base``.

    ``full_scale`` is the ceiling in the plot's unit, or None. ``band`` is a tinted range of y.
    Without ``span``, the range of y, a linear axis begins at 0. ``patterns`` are those of our own
    curves in it. The x axis shows message sizes, unless ``ticks`` give words to other places.
    Points that are not ``joined`` have no line between them.
    """

    title: str
    y_label: str
    log: bool
    series: tuple[PlotCurve, ...]
    lines: tuple[Line, ...] = ()
    full_scale: float | None = None
    band: tuple[float, float] | None = None
    span: tuple[float, float] | None = None
    patterns: tuple[str, ...] = ()
    x_label: str = "message size"
    ticks: Mapping[float, str] = MappingProxyType({})
    base: int = 10
    joined: bool = True


class GroupBlock(NamedTuple):
    """Hold a group's place along an axis, in cells from the first."""

    name: str
    first: float
    last: float


class HeatMap(NamedTuple):
    """Hold a matrix to draw; rows send, columns receive.

    The value of a cell of code ``c`` > 0 is ``best + (c - 1) * step``, in ``unit``; ``step`` is
    below 0 if more is better. ``block`` is the number of nodes per side of a cell. The first colour
    ends at ``good``, the last begins at ``bad``; ``named`` are the cells of nodes in a finding.
    ``is_calm``: no pair is beyond the noise, and the colours span the least to the largest value.
    """

    title: str
    cells: "NDArray[np.uint16]"
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
    is_calm: bool = False

    @property
    def joined(self) -> int:
        """Return the cells per side of a block of the whole picture; the last block may jut out."""
        return -(-len(self.cells) // MOST_IN_WHOLE)


class Histogram(NamedTuple):
    """Hold counts between edges; ``ranges`` is each bar's range in words."""

    title: str
    unit: str
    edges: tuple[float, ...]
    counts: tuple[int, ...]
    peaks: tuple[float, ...]
    ranges: tuple[str, ...]


Drawable = Picture | HeatMap | Histogram


def level_line(label: str, curves: Sequence[PlotCurve], height: float) -> tuple[Line, ...]:
    """Return a line at one height over all curves; none without a curve."""
    ends = [mark.x for curve in curves for mark in curve.marks]
    return (Line(label, [min(ends), max(ends)], [height, height]),) if ends else ()


def position(message_bytes: float) -> float:
    """Return the position of a message size on the axis of log2(bytes)."""
    return math.log2(message_bytes) if message_bytes > 0 else EMPTY_MESSAGE_AT


def shortened(text: str, longest: int) -> str:
    """Return a name for a legend or an axis, cut to that many letters."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
