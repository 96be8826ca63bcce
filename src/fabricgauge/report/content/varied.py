"""What varying stacks and settings showed: the finding, each curve in a row, then its sizes."""

import math
from collections.abc import Iterator

from fabricgauge.model.suite import LESS_IS_BETTER
from fabricgauge.model.varied import CurveEffect, Effect, Influence, Varied
from fabricgauge.report import document as doc
from fabricgauge.report.content.effects import (
    at,
    chance,
    compared,
    crossings,
    interval,
    over_sizes,
    signed,
    spread,
    sweeps_of,
)
from fabricgauge.report.interface import Kind, Records, Setting, identified
from fabricgauge.words.figures import at as figure_at
from fabricgauge.words.figures import percent
from fabricgauge.words.sentences import counted

VERSION = "1.0"

TONES: dict[Influence, doc.Tone] = {
    "worse": "fail",
    "different": "warn",
    "no difference": "pass",
    "undecided": "inconclusive",
}

MEANING: dict[Influence, str] = {
    "worse": "some level is surely worse than the first by more than the tolerance",
    "different": "levels differ, more clearly than chance explains; none is surely worse than the"
    " first by more than the tolerance",
    "no difference": "nothing differs more than chance explains, and every curve surely differs by"
    " less than 10 %, or is worse by less than the tolerance",
    "undecided": "too few blocks, too much noise, or an arm that is not whole or not valid: whether"
    " anything differs cannot be said; measure more blocks (--launches), or on quieter nodes",
}

#: Effects at single sizes have no place in it.
RANKED = "Factors by their largest clear effect on a whole curve"

HOW = (
    "In each block every arm has one launch, in an order drawn by lot. An effect is the mean over"
    " the blocks of the difference of logarithms. Intervals come from exchanging levels within"
    " blocks, and hold for all effects of a factor at once."
)

#: Curves beyond this have their tables but no plot.
MOST_PLOTTED = 24
#: Notes that a terminal shows.
MOST_NOTES = 8


def data(varied: Varied, _setting: Setting) -> dict[str, object]:
    """The whole of it; changes are shares of the first level's figure, null is not known."""
    return {
        **identified("fabricgauge-varied", VERSION),
        "headline": headline(varied),
        "varied": varied,
    }


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
    return doc.Report(
        word=word, tone=TONES[varied.finding], headline=headline(varied),
        title="fabricgauge compare", about=f"fabricgauge · {design(varied)}",
        under=(
            doc.Paragraph(design(varied), on=doc.TEXT),
            doc.Paragraph(f"{word} means: {MEANING[varied.finding]}.", on=doc.PAGE),
        ),
        sections=(
            _notes(varied), _effects(varied), _sweeps(varied), *_curves(varied), _how(varied),
        ),
        closing="KiB is 2¹⁰ and MiB 2²⁰ bytes. A change is a share of the first level's figure.",
    )  # fmt: skip


def _notes(varied: Varied) -> doc.Section:
    notes = tuple(sorted(varied.notes, key=lambda note: "INVALID" not in note))
    limit = doc.RowLimit(
        "and {count} more notes; the HTML report has them", {doc.SCREEN: MOST_NOTES}
    )
    return doc.Section("notes", "Before you believe it", (doc.Items(notes, limit=limit),))


def _effects(varied: Varied) -> doc.Section:
    ranked = (doc.Paragraph(f"{RANKED}: {ranking(varied)}."),) if len(varied.ranking) > 1 else ()
    columns = (
        *doc.heads("curve"), *doc.heads("factor", on=doc.PAGE), *doc.heads("level", "against"),
        *doc.heads(">mean over sizes", ">interval", ">least … largest", ">chance"),
        *doc.heads("crossover", on=doc.PAGE),
    )  # fmt: skip
    rows = tuple(
        (
            doc.Cell(one.title, link=f"curve-{number}"), one.factor, one.level, one.base,
            doc.Cell(signed(one.whole.change), strong=one.whole.clear), interval(one.whole),
            spread(one), chance(one.whole), crossings(one),
        )
        for number, one in enumerate(varied.effects, 1)
    )  # fmt: skip
    return doc.Section("curves", "Effects", (*ranked, doc.Table(columns, rows)))


def _sweeps(varied: Varied) -> doc.Section:
    said = "Each value against the first one, with its interval: all sizes together, and those"
    said += " sizes whose change is least likely chance."
    plots = (doc.drawn(sweeps_of(varied)),)
    return doc.Section("sweeps", "Over the values", plots, intro=said, on=doc.PAGE)


def _curves(varied: Varied) -> Iterator[doc.Section]:
    columns = doc.heads("size", ">change", ">interval", "said", ">blocks")
    for number, one in enumerate(varied.effects, 1):
        crossed = f"crossover between {crossings(one)}"
        rows = tuple(_size(one, each) for each in one.sizes)
        blocks = (
            doc.drawn((over_sizes(one),) if number <= MOST_PLOTTED else ()),
            *((doc.Paragraph(crossed, on=doc.TEXT),) if one.crossovers else ()),
            doc.Table(columns, rows),
        )
        title = f"{one.title}: {one.factor} {one.level} against {one.base}"
        clear = any(each.clear for each in one.sizes)
        yield doc.Section(f"curve-{number}", title, blocks, on=doc.ALL if clear else doc.PAGE)


def _size(one: CurveEffect, each: Effect) -> tuple[str, ...]:
    said = compared(each, one.quantity) if each.clear else "may be chance"
    return at(each), signed(each.change), interval(each), said, str(each.blocks)


def _how(varied: Varied) -> doc.Section:
    why = " docs/explanation/varying.md gives the reasons and the rate of false alarms."
    said = f"{HOW} Confidence {varied.confidence:.1%}."
    soft = doc.Paragraph(said, kind="soft", on=doc.TEXT)
    return doc.Section("how", "How to read this", (soft, doc.Paragraph(said + why, on=doc.PAGE)))


KIND = Kind("varied", document, data, records)


def headline(varied: Varied) -> str:
    """The finding in one sentence."""
    names = " and ".join(one.name for one in varied.design.factors)
    of, effect = _worst(varied) or _most_telling(varied) or (None, None)
    told = f": {said(effect, of)}, {of.title}" if of and effect else ""
    if of and effect and effect.message_bytes is not None:
        told += f" {figure_at(effect.message_bytes)}"
    against = " (the first level is what the others are held against)" if told else ""
    return {
        "worse": f"{names} matters, and not for the better{told}{against}",
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


def _most_telling(varied: Varied) -> tuple[CurveEffect, Effect] | None:
    """The largest clear effect on a whole curve."""
    clear = [(one, one.whole) for one in varied.effects if one.whole.clear]
    return max(clear, key=lambda pair: abs(pair[1].change), default=None)


def said(effect: Effect, of: CurveEffect) -> str:
    """``mpich: 3.1 % slower than openmpi``."""
    return f"{of.factor} {of.level}: {compared(effect, of.quantity)} than {of.base}"


def ranking(varied: Varied) -> str:
    """``mpi 12 %, compiler no clear effect``."""
    told = (
        f"{name} {percent(change) if change else 'no clear effect'}"
        for name, change in varied.ranking
    )
    return ", ".join(told)


def design(varied: Varied) -> str:
    one = varied.design
    factors = "; ".join(f"{each.name}: {', '.join(each.levels)}" for each in one.factors)
    arms = counted(len(one.arms), "arm")
    return f"{factors}; {arms} in {one.blocks} blocks, order drawn with seed {one.seed}"
