"""What varying stacks and settings showed: the finding, each curve in a row, then its sizes."""

import math
from collections.abc import Iterator

from fabricgauge.model.suite import LESS_IS_BETTER, Quantity
from fabricgauge.model.varied import CurveEffect, Effect, Influence, Varied
from fabricgauge.report import document as doc
from fabricgauge.report.content import layers
from fabricgauge.report.content.changes import interval, over_sizes, sweeps_of
from fabricgauge.report.interface import Kind, Records, Setting, identified
from fabricgauge.words.figures import at, percent, signed, size
from fabricgauge.words.sentences import counted

#: How each finding is shown, and what it means.
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
        "inconclusive", "too few blocks, too much noise, or an arm that is not whole or not valid:"
        " whether anything differs cannot be said; measure more blocks (--launches), or on quieter"
        " nodes",
    ),
}  # fmt: skip

#: Effects at single sizes have no place in it.
RANKED = "Factors by their largest clear effect on a whole curve"

HOW = (
    "In each block every arm has one launch, in random order. An effect is the mean over"
    " the blocks of the difference of logarithms. Intervals come from exchanging levels within"
    " blocks, and hold for all effects of a factor at once."
)

#: Curves beyond this have their tables but no plot.
MOST_PLOTTED = 24
#: Notes that a terminal shows.
MOST_NOTES = 8


def data(varied: Varied, _setting: Setting) -> dict[str, object]:
    """The whole of it; changes are shares of the first level's figure, null is not known."""
    return identified("varied", "1.1", headline=headline(varied), varied=varied)


COLUMNS = (
    "factor", "level", "base", "curve", "quantity", "less_is_better", "message_bytes", "change",
    "change_low", "change_high", "chance", "blocks", "clear",
)  # fmt: skip


def records(varied: Varied, _setting: Setting) -> Records:
    """A row per size, and one with an empty size for all of a curve together."""
    rows = (
        (
            one.factor, one.level, one.base, one.title, one.quantity,
            int(one.quantity in LESS_IS_BETTER), each.message_bytes, *_known(each), each.blocks,
            int(each.clear),
        )
        for one in varied.effects for each in (one.whole, *one.sizes)
    )  # fmt: skip
    return Records(COLUMNS, rows)


def _known(one: Effect) -> Iterator[float | None]:
    """Change, low, high and chance; None is not known."""
    ends = (one.low, one.high) if math.isfinite(one.high) else (math.nan, math.nan)
    figures = (one.change, *ends, one.chance)
    return (None if math.isnan(figure) else figure for figure in figures)


def document(varied: Varied, _setting: Setting) -> doc.Report:
    """The finding, what makes it doubtful, every effect, then each curve over its sizes."""
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
    yield doc.Section("notes", "Before you believe it", (doc.Items(notes, limit=limit),))
    yield from layers.section(varied)
    yield _effects(varied)
    said = "Each value against the first one, with its interval: all sizes together, and those"
    said += " sizes whose change is least likely chance."
    plots = (doc.drawn(sweeps_of(varied)),)
    yield doc.Section("sweeps", "Over the values", plots, intro=said, on=doc.PAGE)
    yield from _curves(varied)
    why = " docs/development/varying.md gives the reasons and the rate of false alarms."
    said = f"{HOW} Confidence {percent(varied.confidence)}."
    soft = doc.Paragraph(said, kind="soft", on=doc.TEXT)
    yield doc.Section("how", "How to read this", (soft, doc.Paragraph(said + why, on=doc.PAGE)))


def _effects(varied: Varied) -> doc.Section:
    ranking = ", ".join(
        f"{name} {percent(change) if change else 'no clear effect'}"
        for name, change in varied.ranking
    )
    ranked = (doc.Paragraph(f"{RANKED}: {ranking}."),) if len(varied.ranking) > 1 else ()
    columns = (
        *doc.heads("curve"), *doc.heads("factor", on=doc.PAGE), *doc.heads("level", "against"),
        *doc.heads(">mean over sizes", ">interval", ">least … largest", ">chance"),
        *doc.heads("crossover", on=doc.PAGE),
    )  # fmt: skip
    rows = tuple(
        (
            doc.Cell(one.title, link=f"curve-{number}"), one.factor, one.level, one.base,
            doc.Cell(signed(one.whole.change), strong=one.whole.clear), interval(one.whole),
            _spread(one), "–" if math.isnan(one.whole.chance) else f"{one.whole.chance:.3g}",
            _crossings(one),
        )
        for number, one in enumerate(varied.effects, 1)
    )  # fmt: skip
    return doc.Section("curves", "Effects", (*ranked, doc.Table(columns, rows)))


def _spread(of: CurveEffect) -> str:
    """From the least to the largest change over the sizes."""
    known = [one.change for one in of.sizes if not math.isnan(one.change)]
    return f"{signed(min(known))} … {signed(max(known))}" if known else "–"


def _crossings(of: CurveEffect) -> str:
    """Between which sizes the better one becomes the worse, or nothing."""
    return ", ".join(f"{size(one)} and {size(other)}" for one, other in of.crossovers)


def _curves(varied: Varied) -> Iterator[doc.Section]:
    columns = doc.heads("size", ">change", ">interval", "said", ">blocks")
    for number, one in enumerate(varied.effects, 1):
        crossed = f"crossover between {_crossings(one)}"
        rows = tuple(
            (
                "all sizes" if each.message_bytes is None else size(each.message_bytes),
                signed(each.change), interval(each),
                compared(each, one.quantity) if each.clear else "may be chance", str(each.blocks),
            )
            for each in one.sizes
        )  # fmt: skip
        blocks = (
            doc.drawn((over_sizes(one),) if number <= MOST_PLOTTED else ()),
            *((doc.Paragraph(crossed, on=doc.TEXT),) if one.crossovers else ()),
            doc.Table(columns, rows),
        )
        title = f"{one.title}: {one.factor} {one.level} against {one.base}"
        clear = any(each.clear for each in one.sizes)
        yield doc.Section(f"curve-{number}", title, blocks, on=doc.ALL if clear else doc.PAGE)


KIND = Kind("varied", document, data, records)


def headline(varied: Varied) -> str:
    """The finding in one sentence."""
    names = " and ".join(one.name for one in varied.design.factors)
    told = ""
    clear = [(one, one.whole) for one in varied.effects if one.whole.clear]
    largest = max(clear, key=lambda pair: abs(pair[1].change), default=None)
    if found := _worst(varied) or largest:
        of, effect = found
        said = f"{of.factor} {of.level}: {compared(effect, of.quantity)} than {of.base}"
        told = f": {said}, {of.title}"
        told += "" if effect.message_bytes is None else f" {at(effect.message_bytes)}"
    return {
        "worse": f"a level of {names} is worse than the first one{told}",
        "different": f"{names} makes a difference{told}",
        "no difference": f"{names} makes no difference that could be seen",
        "undecided": f"whether {names} makes a difference was not decided",
    }[varied.finding]


def _worst(varied: Varied) -> tuple[CurveEffect, Effect] | None:
    """What is surely worse than the first level: over a whole curve, or else at one size."""
    found = [(one, each) for one in varied.effects for each in one.surely_worse(varied.tolerance)]
    return min(
        found,
        key=lambda pair: (pair[1].message_bytes is not None, -abs(math.log1p(pair[1].change))),
        default=None,
    )


def compared(effect: Effect, quantity: Quantity) -> str:
    """``3.1 % slower``: of times more is slower, of rates less is."""
    slower = (effect.change > 0) == (quantity in LESS_IS_BETTER)
    word = {"time": ("slower", "faster")}.get(quantity, ("less", "more"))[0 if slower else 1]
    return f"{percent(abs(effect.change))} {word}"


def design(varied: Varied) -> str:
    one = varied.design
    factors = "; ".join(f"{each.name}: {', '.join(each.levels)}" for each in one.factors)
    arms = counted(len(one.arms), "arm")
    return f"{factors}; {arms} in {one.blocks} blocks, order drawn with seed {one.seed}"
