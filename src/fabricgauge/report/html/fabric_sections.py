"""The page's parts on a fabric of many nodes: what its templates are filled with."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from fabricgauge.model.judged import Judged
from fabricgauge.model.pairs import NodeRank, PairAnalysis
from fabricgauge.report import fabric_words as words
from fabricgauge.report.html.document import Slot, slot
from fabricgauge.report.html.fabric_heat import HeatMap, heat_map
from fabricgauge.report.html.fabric_spectrum import histogram
from fabricgauge.report.quantities import digits, percent
from fabricgauge.report.visible import visible

#: Nodes of a ranking that stand open, and all that the page has.
FIRST_NODES, MOST_NODES = 30, 1024
MOST_GROUPS = 24
HEADS = ("#", "node", "group", "sending", "receiving", "jitter", "typical", "worst partner")


class RankRow(NamedTuple):
    """One node's standing, as text."""

    place: int
    node: str
    group: str
    sending: str
    receiving: str
    jitter: str
    typical: str
    worst_partner: str
    named: bool


class MatrixPart(NamedTuple):
    """One matrix with all that was concluded from it."""

    title: str
    summary: str
    heat: Slot | None
    heat_note: str
    spectrum: Slot | None
    peaks: str
    first: tuple[RankRow, ...]
    rest: str
    rest_count: int
    left_out: int
    groups: tuple[str, ...]
    between: tuple[tuple[str, tuple[str, ...]], ...]
    between_unit: str


def filled(judged: Judged, documents: list[dict[str, Any]]) -> dict[str, Any]:
    """Values for the templates; ``fabric_summary`` is empty without a matrix of pairs."""
    found = words.findings(judged)
    return {
        "fabric_summary": list(words.summary(judged)),
        "fabric_heading": words.heading(found),
        "fabric_findings": found,
        "fabric_suspects": words.suspects(judged),
        "matrices": [_part(one, documents) for one in judged.fabric.analyses],
    }


def _part(analysis: PairAnalysis, documents: list[dict[str, Any]]) -> MatrixPart:
    heat, spectrum = heat_map(analysis), histogram(analysis)
    rows = _ranking(analysis)
    unit, factor = words.SHOWN[analysis.matrix.quantity]
    many = len(analysis.groups) > MOST_GROUPS
    return MatrixPart(
        title=words.title(analysis),
        summary=_summary(analysis),
        heat=slot(heat, documents) if heat else None,
        heat_note=_note(heat) if heat else "",
        spectrum=slot(spectrum, documents) if spectrum else None,
        peaks=" · ".join(words.value(analysis.matrix.quantity, one)
                         for one in analysis.spectrum.peaks),
        first=rows[:FIRST_NODES],
        rest=_lines(rows[FIRST_NODES:]),
        rest_count=len(rows) - min(len(rows), FIRST_NODES),
        left_out=len(analysis.ranking) - len(rows),
        groups=() if many else tuple(one.name for one in analysis.groups),
        between=() if many else _between(analysis, factor),
        between_unit=unit,
    )  # fmt: skip


def _summary(analysis: PairAnalysis) -> str:
    return (
        f"{len(analysis.matrix.nodes):,} nodes, {words.coverage(analysis)} measured;"
        f" {words.grouping(analysis)}. Typical {words.typical(analysis)}; what no node, group or"
        f" pair explains is {words.noise(analysis)}. {words.verdict(analysis).capitalize()}."
    )


def _note(heat: HeatMap) -> str:
    said = []
    if heat.block > 1:
        said.append(
            f"Each cell holds {heat.block} × {heat.block} pairs and shows the worst of them."
        )
    if heat.whole_block > heat.block:
        side = heat.whole_block
        said.append(
            f"The whole picture shows the worst of each {side} × {side} pairs; zoom in"
            f" (box or wheel) for each {'cell' if heat.block > 1 else 'pair'}."
        )
    if heat.named:
        said.append("Triangles at the edges mark what is named.")
    return " ".join(said)


def _lines(rows: Sequence[RankRow]) -> str:
    """Rows as aligned text: a thousand table rows would take longer to lay out than the rest."""
    told: list[tuple[str, ...]] = [
        ("#", "node", "group", "sending", "receiving", "jitter", "typical", "worst partner")
    ]
    told += [(str(row.place), *map(visible, row[1:-1])) for row in rows]
    widths = [max(map(len, column)) for column in zip(*told, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in told
    )


def _ranking(analysis: PairAnalysis) -> tuple[RankRow, ...]:
    named = {name for one in analysis.findings for name in one.names}
    shown = analysis.ranking[:MOST_NODES]
    return tuple(_row(analysis, place, one, named) for place, one in enumerate(shown, 1))


def _row(analysis: PairAnalysis, place: int, one: NodeRank, named: set[str]) -> RankRow:
    return RankRow(
        place=place,
        node=one.node,
        group=one.group,
        sending=words.change(one.sending),
        receiving=words.change(one.receiving),
        jitter=percent(one.jitter),
        typical=words.value(analysis.matrix.quantity, one.typical),
        worst_partner=one.worst_partner,
        named=one.node in named,
    )


def _between(
    analysis: PairAnalysis, factor: float
) -> tuple[tuple[str, tuple[str, ...]], ...]:  # fmt: skip
    """Medians from each group (row) to each; none for a single group."""
    if len(analysis.groups) < 2:
        return ()
    return tuple(
        (group.name, _cells(row, factor))
        for group, row in zip(analysis.groups, analysis.between.tolist(), strict=True)
    )


def _cells(row: Sequence[float], factor: float) -> tuple[str, ...]:
    return tuple(digits(one * factor) if one == one else "" for one in row)
