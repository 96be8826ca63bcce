"""What each layer takes, and what it adds to the one named before it: table and plots."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from fabricgauge.model.estimate import Estimate
from fabricgauge.model.suite import Quantity
from fabricgauge.model.varied import Layer, Varied
from fabricgauge.report import document as doc
from fabricgauge.report.content.suites import SHOWN
from fabricgauge.report.picture import (
    Mark,
    Picture,
    PlotCurve,
    canvas_text,
    estimate_mark,
    level,
    shortened,
)
from fabricgauge.words.figures import size

LONGEST_LABEL = 40
#: How far apart layers stand along the axis of sizes, in doublings: else intervals hide each other.
APART = 0.15

_SAID = (
    "Medians over the blocks, with intervals of 90 % or more where there are blocks enough. The"
    " column adds has the difference to the layer named before, block by block. A longer time and a"
    " lower bandwidth (−) are what a layer costs. One that polls less, or gathers messages, may"
    " gain."
)


def section(varied: Varied) -> Iterator[doc.Section]:
    """The ledger; nothing where no layers were varied."""
    titles = tuple(dict.fromkeys(one.title for one in varied.layers))
    if titles:
        # The last one first, so that a layer has one colour though the first one adds nothing.
        levels = varied.design.factors[0].levels[::-1]
        blocks = tuple(b for title in titles for b in _blocks(varied.layers, title, levels))
        yield doc.Section("layers", "What each layer adds", blocks, intro=_SAID)


def _blocks(layers: Sequence[Layer], title: str, levels: Sequence[str]) -> Iterator[doc.Block]:
    own = [one for one in layers if one.title == title]
    yield doc.Heading(title)
    yield doc.drawn(_pictures(own, levels))
    heads = doc.heads("size", "layer", ">median", ">interval", ">adds", ">interval")
    yield doc.Table(heads, tuple(map(_row, own)))


def _row(one: Layer) -> tuple[str, ...]:
    sized = "–" if one.message_bytes is None else size(one.message_bytes)
    added = ("–", "") if one.added is None else _words(one.added, one.quantity, "+")
    return (sized, one.level, *_words(one.figure, one.quantity), *added)


def _words(of: Estimate, quantity: Quantity, sign: str = "") -> tuple[str, str]:
    """Figure and interval, in the unit that people read."""
    unit, factor = SHOWN[quantity]
    value, low, high = (
        f"{one * factor:{sign}.4g}".replace("-", "−") for one in (of.value, of.low, of.high)
    )
    return f"{value} {unit}", f"{low} to {high}" if of.supported else "no interval"


def _pictures(layers: Sequence[Layer], levels: Sequence[str]) -> Iterator[Picture]:
    """Each layer over the sizes, then what each adds; sizes alone have a place."""
    sized = [one for one in layers if one.message_bytes is not None]
    unit, factor = SHOWN[layers[0].quantity]
    each = _drawn([(one.level, _mark(one, one.figure, factor)) for one in sized], levels)
    yield Picture("Each layer", unit, unit == "µs", each)
    shares = [
        (one.level, _mark(one, one.added, 100 / before.figure.value, "+"))
        for before, one in pairwise(sized)
        if one.added is not None
    ]
    adds = _drawn(shares, levels)
    most = max((max(-mark.low, mark.high) for _, mark in shares), default=0.0)
    if most > 0:
        nothing = level("nothing", adds, 0.0)
        span = (-1.1 * most, 1.1 * most)
        yield Picture("What each adds to the one before it", "%", False, adds, nothing, span=span)


def _drawn(marks: Sequence[tuple[str, Mark]], levels: Sequence[str]) -> tuple[PlotCurve, ...]:
    """A curve for each level, side by side."""
    middle = (len(levels) - 1) / 2
    curves = (
        PlotCurve(
            shortened(canvas_text(name), LONGEST_LABEL),
            [one._replace(x=one.x + APART * (middle - place)) for of, one in marks if of == name],
        )
        for place, name in enumerate(levels)
    )
    return tuple(one for one in curves if one.marks)


def _mark(one: Layer, of: Estimate, factor: float, sign: str = "") -> Mark:
    words = _words(of, one.quantity, sign)
    blocks = f"{of.launches} blocks"
    return estimate_mark(one.message_bytes or 0, of, factor, *words, canvas_text(one.level), blocks)
