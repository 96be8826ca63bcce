"""The page: a template filled with a judged run, and everything that it needs inside it."""

from typing import Any

from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.verdict import Outcome
from fabricgauge.report import conclusion
from fabricgauge.report.html import (
    document,
    fabric_sections,
    fabric_together,
    suite_sections,
)
from fabricgauge.report.html.sections import case_tables, key_figures, rows_of_sum
from fabricgauge.report.interface import Judged, Setting
from fabricgauge.report.omissions import omissions
from fabricgauge.report.sweep import networks
from fabricgauge.report.traffic import MOST_NODES, traffic


def render(judged: Judged, setting: Setting) -> str:
    """One HTML file that asks nothing of any network and runs no script but its own."""
    slots, suite_slots, documents = _plots(judged)
    pairs = fabric_sections.filled(judged, documents)
    together = fabric_together.filled(judged, documents)
    return document.filled(
        "page.html.j2", documents,
        judged=judged, setting=setting, run=judged.run, Ceiling=Ceiling, Outcome=Outcome,
        headline=conclusion.headline(judged), tally=conclusion.tally(judged.verdicts),
        meaning=conclusion.MEANING, provisos=conclusion.provisos(judged),
        verdicts=conclusion.worst_first(judged.verdicts), steps=conclusion.next_steps(judged),
        key_figures=key_figures(judged), rows_of_sum=rows_of_sum, slots=slots,
        traffic=traffic(judged.run), tables=case_tables(judged), omissions=omissions(judged),
        suite_slots=suite_slots, most_nodes=MOST_NODES,
        **suite_sections.filled(judged), **pairs, **together,
    )  # fmt: skip


_Slots = dict[str | None, list[document.Slot]]


def _plots(judged: Judged) -> tuple[_Slots, list[document.Slot], list[dict[str, Any]]]:
    """Slots of our own curves by network, those of other suites' curves, and all plots."""
    from fabricgauge.report.html.series import pictures
    from fabricgauge.report.html.suite_pictures import suite_pictures, with_references

    documents: list[dict[str, Any]] = []
    slots: _Slots = {}
    for network in networks(judged):
        drawn = pictures(judged, network)
        if drawn:
            beside = (with_references(judged, picture) for picture in drawn)
            slots[network] = [document.slot(picture, documents) for picture in beside]
    return slots, [document.slot(one, documents) for one in suite_pictures(judged)], documents
