"""One HTML file that opens offline: the finding, effects over sizes, tables, provenance."""

import math
from typing import Any

from fabricgauge.model.varied import CurveEffect, Varied
from fabricgauge.report.html import document
from fabricgauge.report.html.series import Line, Picture, Series, canvas_text, position
from fabricgauge.report.interface import Setting
from fabricgauge.report.quantities import size
from fabricgauge.report.varied import words
from fabricgauge.report.varied.sweeps import sweeps_of

#: Curves beyond this have their tables but no plot.
MOST_PLOTTED = 24

#: Which of the page's colours a finding has; see style.css.
STYLES = {
    "worse": "fail",
    "different": "warn",
    "no difference": "pass",
    "undecided": "inconclusive",
}


def render(varied: Varied, _setting: Setting) -> str:
    """Like the report of a run, it fetches nothing and runs no script but its own."""
    documents: list[dict[str, Any]] = []
    slots = {
        place: document.slot(drawn, documents)
        for place, one in enumerate(varied.effects[:MOST_PLOTTED])
        if (drawn := _picture(one)) is not None
    }
    sweeps = [document.slot(drawn, documents) for drawn in sweeps_of(varied)]
    return document.filled(
        "varied.html.j2", documents, "fabricgauge.report.varied",
        varied=varied, words=words, slots=slots, sweeps=sweeps, style_of=STYLES,
        meaning=words.MEANING[varied.finding], headline=words.headline(varied),
    )  # fmt: skip


def _picture(one: CurveEffect) -> Picture | None:
    """The change over the sizes; none where fewer than two have an interval."""
    known = [e for e in one.sizes if e.message_bytes is not None and math.isfinite(e.high)]
    if len(known) < 2:
        return None
    name = canvas_text(f"{one.level} against {one.base}")
    series = Series(
        label=name,
        x=[position(each.message_bytes or 0) for each in known],
        y=[100.0 * each.change for each in known],
        low=[100.0 * each.low for each in known],
        high=[100.0 * each.high for each in known],
        tail=None,
        words={
            "size": [size(each.message_bytes or 0) for each in known],
            "curve": [name] * len(known),
            "median": [words.signed(each.change) for each in known],
            "interval": [words.interval(each) for each in known],
            "also": ["clear" if each.clear else "may be chance" for each in known],
            "count": [f"{each.blocks} blocks" for each in known],
        },
    )
    equal = Line("equal", [min(series.x), max(series.x)], [0.0, 0.0])
    farthest = 1.15 * max(1.0, *(max(abs(e.low), abs(e.high)) * 100.0 for e in known))
    return Picture(
        f"{one.factor}: {name}", "change, %", False, (series,), (equal,), None,
        span=(-farthest, farthest),
    )  # fmt: skip
