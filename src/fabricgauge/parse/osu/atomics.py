"""The table of osu_oshm_atomics: a row per operation, all on words of the same size."""

from collections.abc import Iterable

import msgspec

from fabricgauge.model.suite import SuiteCurve
from fabricgauge.parse.interface import Line
from fabricgauge.parse.osu.columns import Layout
from fabricgauge.parse.table import Heading, Table


def operation_row(
    line: Line, words: list[str], heading: Heading, layout: Layout
) -> Iterable[SuiteCurve] | None:
    """The curves of one operation; None if the line is no row."""
    if len(words) != 1 + len(layout.columns):
        return None
    try:
        values = [float(word) for word in words[1:]]
    except ValueError:
        return None
    settings = {**heading.settings, "operation": words[0]}
    table = Table(msgspec.structs.replace(heading, settings=settings), layout.columns)
    table.row(line, None, values)
    return table.curves()
