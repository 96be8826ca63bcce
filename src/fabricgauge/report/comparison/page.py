"""A comparison as one HTML file that opens offline: outcome, both curves, tables, provenance."""

from typing import Any

from fabricgauge.model.comparison import Comparison
from fabricgauge.report.comparison import words
from fabricgauge.report.html import document
from fabricgauge.report.interface import Setting

#: Pairs beyond this have their tables but no plot: the file would grow past what mail takes.
MOST_PLOTTED = 24

#: Which of the page's colours an outcome has; see style.css.
STYLES = {
    "regression": "fail",
    "no regression": "pass",
    "undecided": "inconclusive",
    "nothing comparable": "inconclusive",
}


def render(comparison: Comparison, _setting: Setting) -> str:
    """Like the report of a run, it fetches nothing and runs no script but its own."""
    documents: list[dict[str, Any]] = []
    slots = _slots(comparison, documents)
    return document.filled(
        "comparison.html.j2", documents, "fabricgauge.report.comparison",
        comparison=comparison, words=words, slots=slots, style_of=STYLES,
        meaning=words.MEANING[comparison.outcome], headline=words.headline(comparison),
        plotted=min(MOST_PLOTTED, len(comparison.pairs)),
    )  # fmt: skip


def _slots(
    comparison: Comparison, documents: list[dict[str, Any]]
) -> dict[int, list[document.Slot]]:
    """The plots of each pair by its place; a pair without any has no entry."""
    if not comparison.pairs:
        return {}
    from fabricgauge.report.comparison.pictures import pictures

    names = (comparison.a.name, comparison.b.name)
    found = {}
    for place, pair in enumerate(comparison.pairs[:MOST_PLOTTED]):
        drawn = pictures(pair, comparison.tolerance, names)
        if drawn:
            found[place] = [document.slot(one, documents) for one in drawn]
    return found
