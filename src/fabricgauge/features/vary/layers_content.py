"""Show what each layer takes, and what it adds to the one named before it: table and plots."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from fabricgauge.model.estimate import Estimate
from fabricgauge.model.suite import Quantity
from fabricgauge.model.varied import Layer, Varied
from fabricgauge.model.words.figures import size
from fabricgauge.report import document as doc
from fabricgauge.report.content.suites import SHOWN
from fabricgauge.report.picture import (
    Mark,
    Picture,
    PlotCurve,
    estimate_mark,
    level_line,
    shortened,
)
from fabricgauge.report.visible import visible

LONGEST_LABEL = 40
#: Distance of layers along the axis of sizes, in doublings, so that no interval hides another.
APART = 0.15

_SAID = (
    "Medians over the blocks, with intervals of 90 % or more if there are enough blocks. The column"
    " “adds” has the difference to the previous layer, block by block. A longer time or a lower"
    " bandwidth (−) is the cost of a layer. A layer that polls less, or gathers messages, may gain."
)


def section(varied: Varied) -> Iterator[doc.Section]:
    """Yield the table; nothing if no layers were varied."""
    titles = tuple(dict.fromkeys(layer.title for layer in varied.layers))
    if titles:
        # The last layer comes first: each layer keeps its colour although the first adds nothing.
        levels = varied.design.factors[0].levels[::-1]
        blocks = tuple(b for title in titles for b in _blocks(varied.layers, title, levels))
        yield doc.Section("layers", "Cost of each layer", blocks, intro=_SAID)


def layer_blocks(varied: Varied) -> tuple[doc.Block, ...]:
    """Return the same for a page of another feature; nothing if no layers were varied."""
    blocks = [block for part in section(varied) for block in part.blocks]
    return (*blocks, doc.Paragraph(_SAID, kind="soft")) if blocks else ()


def _blocks(layers: Sequence[Layer], title: str, levels: Sequence[str]) -> Iterator[doc.Block]:
    layers_of_title = [layer for layer in layers if layer.title == title]
    yield doc.Heading(title)
    yield doc.side_by_side(_pictures(layers_of_title, levels))
    heads = doc.heads("size", "layer", ">median", ">interval", ">adds", ">interval")
    yield doc.Table(heads, tuple(map(_row, layers_of_title)))


def _row(layer: Layer) -> tuple[str, ...]:
    sized = "–" if layer.message_bytes is None else size(layer.message_bytes)
    added = ("–", "") if layer.added is None else _words(layer.added, layer.quantity, "+")
    return (sized, layer.level, *_words(layer.figure, layer.quantity), *added)


def _words(estimate: Estimate, quantity: Quantity, sign: str = "") -> tuple[str, str]:
    """Return figure and interval, in the unit that people read."""
    unit, factor = SHOWN[quantity]
    value, low, high = (
        f"{value * factor:{sign}.4g}".replace("-", "−")
        for value in (estimate.value, estimate.low, estimate.high)
    )
    return f"{value} {unit}", f"{low} to {high}" if estimate.supported else "no interval"


def _pictures(layers: Sequence[Layer], levels: Sequence[str]) -> Iterator[Picture]:
    """Yield each layer over the sizes, then what each adds; only sizes have a place."""
    sized = [layer for layer in layers if layer.message_bytes is not None]
    unit, factor = SHOWN[layers[0].quantity]
    curves = _drawn([(layer.level, _mark(layer, layer.figure, factor)) for layer in sized], levels)
    yield Picture("Each layer", unit, unit == "µs", curves)
    shares = [
        (layer.level, _mark(layer, layer.added, 100 / previous.figure.value, "+"))
        for previous, layer in pairwise(sized)
        if layer.added is not None
    ]
    adds = _drawn(shares, levels)
    largest = max((max(-mark.low, mark.high) for _, mark in shares), default=0.0)
    if largest > 0:
        nothing = level_line("nothing", adds, 0.0)
        span = (-1.1 * largest, 1.1 * largest)
        yield Picture("Change to the previous layer", "%", False, adds, nothing, span=span)


def _drawn(marks: Sequence[tuple[str, Mark]], levels: Sequence[str]) -> tuple[PlotCurve, ...]:
    middle = (len(levels) - 1) / 2
    curves = (
        PlotCurve(
            shortened(visible(name), LONGEST_LABEL),
            [
                mark._replace(x=mark.x + APART * (middle - place))
                for mark_level, mark in marks
                if mark_level == name
            ],
        )
        for place, name in enumerate(levels)
    )
    return tuple(curve for curve in curves if curve.marks)


def _mark(layer: Layer, estimate: Estimate, factor: float, sign: str = "") -> Mark:
    words = _words(estimate, layer.quantity, sign)
    blocks = f"{estimate.launches} blocks"
    return estimate_mark(
        layer.message_bytes or 0, estimate, factor, *words, visible(layer.level), blocks
    )
