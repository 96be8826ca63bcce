"""Show the effects of varied stacks and settings: the finding, a row per curve, then its sizes."""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from fabricgauge.model.estimate import Estimate
from fabricgauge.model.groups import group_by
from fabricgauge.model.suite import LESS_IS_BETTER, Quantity
from fabricgauge.model.varied import CurveEffect, Effect, Influence, Layer, Varied
from fabricgauge.model.words.figures import at, percent, signed, size
from fabricgauge.model.words.sentences import counted
from fabricgauge.report import document as doc
from fabricgauge.report.content.changes import (
    interval,
    level_tables,
    metric,
    metric_blocks,
    over_sizes,
    plot_levels,
    plot_sweeps,
)
from fabricgauge.report.content.suites import SHOWN
from fabricgauge.report.interface import Kind, Records, Setting, versioned
from fabricgauge.report.picture import (
    Mark,
    Picture,
    PlotCurve,
    estimate_mark,
    level_line,
    shortened,
)
from fabricgauge.report.visible import visible

#: Tone and meaning of each finding.
FINDINGS: dict[Influence, tuple[doc.Tone, str]] = {
    "worse": ("fail", "some level is surely worse than the first by more than the tolerance"),
    "different": (
        "warn", "levels differ, more clearly than chance explains; none is surely worse than the"
        " first by more than the tolerance",
    ),
    "no difference": (
        "pass", "nothing differs more than chance explains, and every curve surely differs by less"
        " than 10 %, or is worse by less than the tolerance",
    ),
    "undecided": (
        "inconclusive", "too few blocks, too much noise, or an incomplete or invalid arm: a"
        " difference is neither shown nor excluded; measure more blocks (--launches), or on quieter"
        " nodes",
    ),
}  # fmt: skip

#: Title of the ranking; effects at single sizes do not count.
RANKED = "Factors by their largest clear effect on a whole curve"

HOW = (
    "In each block every arm has one launch, in random order. An effect is the mean over"
    " the blocks of the difference of logarithms. Intervals come from exchanging levels within"
    " blocks, and hold for all effects of a factor at once."
)

#: Most curves with a plot.
MOST_PLOTTED = 24
#: Most notes on a terminal.
MOST_NOTES = 8


def data(varied: Varied, _setting: Setting) -> dict[str, object]:
    """Return everything; changes are shares of the first level's figure, null is unknown."""
    return versioned("varied", "1.2", headline=headline(varied), varied=varied)


COLUMNS = (
    "factor", "level", "base", "curve", "quantity", "less_is_better", "message_bytes", "change",
    "change_low", "change_high", "chance", "blocks", "clear",
)  # fmt: skip


def records(varied: Varied, _setting: Setting) -> Records:
    """Return a row per size, and one with an empty size for the whole curve."""
    rows = (
        (
            effect.factor, effect.level, effect.base, effect.title, effect.quantity,
            int(effect.quantity in LESS_IS_BETTER), part.message_bytes, *_known(part), part.blocks,
            int(part.clear),
        )
        for effect in varied.effects for part in (effect.whole, *effect.sizes)
    )  # fmt: skip
    return Records(COLUMNS, rows)


def _known(effect: Effect) -> Iterator[float | None]:
    """Yield change, low, high and chance; None is unknown."""
    ends = (effect.low, effect.high) if math.isfinite(effect.high) else (math.nan, math.nan)
    figures = (effect.change, *ends, effect.chance)
    return (None if math.isnan(figure) else figure for figure in figures)


def document(varied: Varied, _setting: Setting) -> doc.Report:
    """Show the finding, its doubts, every effect, then each curve over its sizes."""
    word = varied.finding.upper()
    tone, meaning = FINDINGS[varied.finding]
    return doc.Report(
        word=word, tone=tone, headline=headline(varied),
        title="fabricgauge compare", about=f"fabricgauge · {design(varied)}",
        under=(
            doc.Paragraph(design(varied), on=doc.TEXT),
            doc.Paragraph(f"{word} means: {meaning}.", on=doc.PAGE),
        ),
        sections=tuple(_sections(varied)),
        closing="KiB is 2¹⁰ and MiB 2²⁰ bytes. A change is a share of the first level's figure.",
    )  # fmt: skip


def _sections(varied: Varied) -> Iterator[doc.Section]:
    notes = tuple(sorted(varied.notes, key=lambda note: "INVALID" not in note))
    more = "and {count} more notes; the HTML report has them"
    limit = doc.RowLimit(more, {doc.SCREEN: MOST_NOTES})
    yield doc.Section("notes", "Caveats", (doc.Items(notes, limit=limit),))
    yield from layers_section(varied)
    yield _levels(varied)
    yield _metrics(varied)
    yield _effects(varied)
    intro = "Each value against the first one, with its interval: all sizes together, and those"
    intro += " sizes whose change is least likely chance."
    plots = (doc.side_by_side(plot_sweeps(varied)),)
    yield doc.Section("sweeps", "Over the values", plots, intro=intro, on=doc.PAGE)
    yield from _curves(varied)
    why = " docs/development/varying.md gives the reasons and the rate of false alarms."
    intro = f"{HOW} Confidence {percent(varied.confidence)}."
    soft = doc.Paragraph(intro, kind="soft", on=doc.TEXT)
    yield doc.Section("how", "How to read this", (soft, doc.Paragraph(intro + why, on=doc.PAGE)))


def _levels(varied: Varied) -> doc.Section:
    plots = doc.side_by_side(plot_levels(varied))
    blocks: tuple[doc.Block, ...] = (plots, *level_tables(varied))
    intro = "Medians over the blocks. A rate is the sum, with the average of one in brackets."
    return doc.Section("levels", "Figures over the numbers", blocks, intro=intro)


def _metrics(varied: Varied) -> doc.Section:
    """Show every figure of each level against the first one in one plot, with mean and range."""
    blocks: list[doc.Block] = []
    by_level = group_by(varied.effects, lambda effect: (effect.factor, effect.level, effect.base))
    for (factor, level, base), effects in by_level.items():
        metrics = [
            metric(
                effect.title, part.message_bytes, effect.quantity, part.change, part.low, part.high
            )
            for effect in effects for part in effect.sizes if math.isfinite(part.change)
        ]  # fmt: skip
        blocks += metric_blocks(metrics, f"{factor} {base}", f"{factor} {level}")
    on = doc.ALL if len({effect.title for effect in varied.effects}) > 1 else doc.PAGE
    return doc.Section("metrics", "All metrics", tuple(blocks), nav="All metrics", on=on)


def _effects(varied: Varied) -> doc.Section:
    ranking = ", ".join(
        f"{name} {percent(change) if change else 'no clear effect'}"
        for name, change in varied.ranking
    )
    ranked = (doc.Paragraph(f"{RANKED}: {ranking}."),) if len(varied.ranking) > 1 else ()
    # Levels of two factors may have one name.
    on = doc.ALL if len(varied.ranking) > 1 else doc.PAGE
    columns = (
        *doc.heads("curve"), *doc.heads("factor", on=on), *doc.heads("level", "against"),
        *doc.heads(">mean over sizes", ">interval", ">least … largest", ">chance"),
        *doc.heads("crossover", on=doc.PAGE),
    )  # fmt: skip
    all_changes = [
        [part.change for part in effect.sizes if not math.isnan(part.change)]
        for effect in varied.effects
    ]
    rows = tuple(
        (
            doc.Cell(effect.title, link=f"curve-{number}"), effect.factor, effect.level,
            effect.base,
            doc.Cell(signed(effect.whole.change), strong=effect.whole.clear),
            interval(effect.whole),
            f"{signed(min(changes))} … {signed(max(changes))}" if changes else "–",
            "–" if math.isnan(effect.whole.chance) else f"{effect.whole.chance:.3g}",
            _crossings(effect),
        )
        for number, (effect, changes) in enumerate(zip(varied.effects, all_changes, strict=True), 1)
    )  # fmt: skip
    return doc.Section("curves", "Effects", (*ranked, doc.Table(columns, rows)))


def _crossings(curve_effect: CurveEffect) -> str:
    """Return the sizes between which the better one becomes the worse, or nothing."""
    return ", ".join(
        f"{size(smaller)} and {size(larger)}" for smaller, larger in curve_effect.crossovers
    )


def _curves(varied: Varied) -> Iterator[doc.Section]:
    columns = doc.heads("size", ">change", ">interval", "meaning", ">blocks")
    for number, effect in enumerate(varied.effects, 1):
        crossed = f"crossover between {_crossings(effect)}"
        rows = tuple(
            (
                "all sizes" if part.message_bytes is None else size(part.message_bytes),
                signed(part.change), interval(part),
                describe_effect(part, effect.quantity) if part.clear else "may be chance",
                str(part.blocks),
            )
            for part in effect.sizes
        )  # fmt: skip
        blocks = (
            doc.side_by_side((over_sizes(effect),) if number <= MOST_PLOTTED else ()),
            *((doc.Paragraph(crossed, on=doc.TEXT),) if effect.crossovers else ()),
            doc.Table(columns, rows),
        )
        title = f"{effect.title}: {effect.factor} {effect.level} against {effect.base}"
        clear = any(part.clear for part in effect.sizes)
        yield doc.Section(f"curve-{number}", title, blocks, on=doc.ALL if clear else doc.PAGE)


KIND = Kind("varied", document, data, records)


def headline(varied: Varied) -> str:
    names = " and ".join(factor.name for factor in varied.design.factors)
    detail = ""
    clear = [(effect, effect.whole) for effect in varied.effects if effect.whole.clear]
    largest = max(clear, key=lambda pair: abs(pair[1].change), default=None)
    if candidate := _worst(varied) or largest:
        curve_effect, effect = candidate
        comparison = f"{describe_effect(effect, curve_effect.quantity)} than {curve_effect.base}"
        detail = f": {curve_effect.factor} {curve_effect.level}: {comparison}, {curve_effect.title}"
        detail += "" if effect.message_bytes is None else f" {at(effect.message_bytes)}"
    return {
        "worse": f"a level of {names} is worse than the first one{detail}",
        "different": f"{names} makes a difference{detail}",
        "no difference": f"{names} shows no difference",
        "undecided": f"undecided whether {names} makes a difference",
    }[varied.finding]


def _worst(varied: Varied) -> tuple[CurveEffect, Effect] | None:
    """Return what is surely worse than the first level: a whole curve, or else one size."""
    worse = [
        (effect, part)
        for effect in varied.effects
        for part in effect.find_worse_effects(varied.tolerance)
    ]
    return min(
        worse,
        key=lambda pair: (pair[1].message_bytes is not None, -abs(math.log1p(pair[1].change))),
        default=None,
    )


def describe_effect(effect: Effect, quantity: Quantity) -> str:
    """Return ``3.1 % slower``: a longer time is slower, a lower rate as well."""
    slower = (effect.change > 0) == (quantity in LESS_IS_BETTER)
    word = {"time": ("slower", "faster")}.get(quantity, ("less", "more"))[0 if slower else 1]
    return f"{percent(abs(effect.change))} {word}"


def design(varied: Varied) -> str:
    design_ = varied.design
    factors = "; ".join(f"{factor.name}: {', '.join(factor.levels)}" for factor in design_.factors)
    arms = counted(len(design_.arms), "arm")
    return f"{factors}; {arms} in {design_.blocks} blocks, order drawn with seed {design_.seed}"


LONGEST_LABEL = 40
#: Distance of layers along the axis of sizes, in doublings, so that no interval hides another.
APART = 0.15

_SAID = (
    "Medians over the blocks, with intervals of 90 % or more if there are enough blocks. The column"
    " “adds” has the difference to the previous layer, block by block. A longer time or a lower"
    " bandwidth (−) is the cost of a layer. A layer that polls less, or gathers messages, may gain."
)


def layers_section(varied: Varied) -> Iterator[doc.Section]:
    """Yield the table; nothing if no layers were varied."""
    titles = tuple(dict.fromkeys(layer.title for layer in varied.layers))
    if titles:
        # The last layer comes first: each layer keeps its colour although the first adds nothing.
        levels = varied.design.factors[0].levels[::-1]
        blocks = tuple(b for title in titles for b in _blocks(varied.layers, title, levels))
        yield doc.Section("layers", "Cost of each layer", blocks, intro=_SAID)


def layer_blocks(varied: Varied) -> tuple[doc.Block, ...]:
    """Return the same for a page of another feature; nothing if no layers were varied."""
    blocks = [block for part in layers_section(varied) for block in part.blocks]
    return (*blocks, doc.Paragraph(_SAID, kind="soft")) if blocks else ()


def _blocks(layers: Sequence[Layer], title: str, levels: Sequence[str]) -> Iterator[doc.Block]:
    layers_of_title = [layer for layer in layers if layer.title == title]
    yield doc.Heading(title)
    yield doc.side_by_side(_pictures(layers_of_title, levels))
    heads = doc.heads("size", "layer", ">median", ">interval", ">adds", ">interval")
    rows = []
    for layer in layers_of_title:
        sized = "–" if layer.message_bytes is None else size(layer.message_bytes)
        added = ("–", "") if layer.added is None else _words(layer.added, layer.quantity, "+")
        rows.append((sized, layer.level, *_words(layer.figure, layer.quantity), *added))
    yield doc.Table(heads, tuple(rows))


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
