"""A page of text: the finding, each curve in a row, then its sizes."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from fabricgauge.model.varied import CurveEffect, Varied
from fabricgauge.report.interface import Setting
from fabricgauge.report.terminal_tables import grid, indented, plain
from fabricgauge.report.text_page import printed
from fabricgauge.report.varied import words

STYLES = {
    "worse": "bold white on red",
    "different": "bold black on yellow",
    "no difference": "green",
    "undecided": "bold black on cyan",
}
MOST_NOTES = 8


def render(varied: Varied, setting: Setting) -> str:
    """Plain text unless the setting asks for colour."""
    return printed(_parts(varied), setting)


def _parts(varied: Varied) -> Iterator[RenderableType]:
    line = Text(f" {varied.finding.upper()} ", style=STYLES[varied.finding]).append(" ")
    yield line.append_text(plain(words.headline(varied), "bold"))
    yield plain(words.design(varied))
    notes = sorted(varied.notes, key=lambda note: "INVALID" not in note)
    for note in notes[:MOST_NOTES]:
        yield indented(f"! {note}", 3)
    if len(notes) > MOST_NOTES:
        yield indented(f"! and {len(notes) - MOST_NOTES} more notes; the HTML report has them", 3)
    if len(varied.ranking) > 1:
        yield plain(f"{words.RANKED}: {words.ranking(varied)}")
    yield Text()
    yield from _curves(varied)
    for one in varied.effects:
        yield from _sizes(one)
    yield Text()
    yield plain(f"{words.HOW} Confidence {varied.confidence:.1%}.", "dim")


def _curves(varied: Varied) -> Iterator[RenderableType]:
    table = grid(("curve", "level", "against", "mean", "interval", "over the sizes", "chance"))
    for one in varied.effects:
        cells = (
            one.title, one.level, one.base, words.signed(one.whole.change),
            words.interval(one.whole), words.spread(one), words.chance(one.whole),
        )  # fmt: skip
        table.add_row(*(plain(cell, "bold" if one.whole.clear else "") for cell in cells))
    yield table


def _sizes(one: CurveEffect) -> Iterator[RenderableType]:
    clear = [each for each in one.sizes if each.clear]
    if not clear:
        return
    yield Text()
    yield plain(f"{one.title}: {one.factor} {one.level} against {one.base}", "bold")
    if one.crossovers:
        yield indented(f"crossover between {words.crossings(one)}")
    table = grid(("size", "change", "interval", "", "blocks"))
    for each in one.sizes:
        told = words.compared(each, one.quantity) if each.clear else ""
        cells = (words.at(each), words.signed(each.change), words.interval(each), told,
                 str(each.blocks))  # fmt: skip
        table.add_row(*map(plain, cells))
    yield table
