"""Read the columns' headline, which alone gives the layout of a table of IMB; failed rows."""

import re
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from fabricgauge.logs.readers.interface import LogLine
from fabricgauge.logs.readers.rows import RowForm
from fabricgauge.logs.readers.table import ColumnUse
from fabricgauge.model.suite import Besides, Trouble

Role = Literal[
    "group", "size", "repetitions", "time", "least", "most", "mean", "overlapped", "pure",
    "computation", "overlap", "bandwidth", "rate", "defects", "unknown",
]  # fmt: skip

#: Headlines of IMB_output.c (3.0 to 2021.11), of P2P/imb_p2p_*.c and MT_benchmark.h.
_ROLES: Mapping[str, Role] = {
    "Group": "group", "#bytes": "size", "#repetitions": "repetitions", "t[usec]": "time",
    "t_min[usec]": "least", "t_max[usec]": "most", "t_avg[usec]": "mean",
    "t_ovrl[usec]": "overlapped", "t_pure[usec]": "pure", "t_CPU[usec]": "computation",
    "overlap[%]": "overlap", "Mbytes/sec": "bandwidth", "Msg/sec": "rate",
    "defects": "defects",
}  # fmt: skip
#: Roles that become curves; the curve of the mean also holds the extremes.
_CURVES: tuple[Role, ...] = (
    "time", "mean", "overlapped", "pure", "computation", "overlap", "bandwidth", "rate",
)  # fmt: skip
_EXTREMES: Mapping[Role, Besides] = {"least": "minimum", "most": "maximum"}
_OTHERS: Mapping[Role, ColumnUse] = {
    "group": ColumnUse("group"), "size": ColumnUse("size"), "repetitions": ColumnUse("samples"),
    "defects": ColumnUse("wrong"), "unknown": ColumnUse("unknown"),
}  # fmt: skip
#: No program prints half as many; a row's expression is as long as it has columns.
_MOST_COLUMNS = 48


class ImbLayout(msgspec.Struct, frozen=True):
    """The roles of the printed columns from left to right, and their places.

    ``unknown`` are the words of other columns, ``curves`` are the columns that become curves,
    ``form`` is the form of rows.
    """

    roles: tuple[Role, ...]
    places: Mapping[Role, int]
    unknown: tuple[str, ...]
    curves: tuple[Role, ...]
    form: RowForm


def layout_of(words: Sequence[str]) -> ImbLayout | None:
    """Return the layout that a headline describes; None if the words are no headline of IMB."""
    if "#repetitions" not in words[:3] or len(words) > _MOST_COLUMNS:
        return None
    roles = tuple(_ROLES.get(word, "unknown") for word in words)
    unknown = tuple(word for word in words if word not in _ROLES)
    curves = tuple(role for role in _CURVES if role in roles)
    twice = len(set(roles) - {"unknown"}) + len(unknown) != len(roles)
    if twice or not curves:
        return None
    extremes = _EXTREMES if {"least", "most", "mean"} <= set(roles) else {}
    cells = [_cell(role, curves, extremes) for role in roles]
    places = {role: place for place, role in enumerate(roles)}
    return ImbLayout(roles, places, unknown, curves, RowForm(cells))


def _cell(role: Role, curves: Sequence[Role], extremes: Mapping[Role, Besides]) -> ColumnUse:
    """Return a column's use. Benchmarks without computation print 0.00 for it.

    Extremes are of the mean, if there is one.
    """
    if role in curves:
        return ColumnUse("part" if role == "computation" else "figure", curves.index(role))
    if role in extremes:
        return ColumnUse("besides", curves.index("mean"), extremes[role])
    return _OTHERS.get(role, ColumnUse("skipped"))


#: IMB_output.c: ``out-of-mem.;``, ``time-out.;``, ``int-overflow;`` behind group and size.
_FAILED = re.compile(
    r"\s*(?P<numbers>\d{1,18}(?:\s+\d{1,18})?)"
    r"\s+(?P<why>out-of-mem|time-out|int-overflow|MPI_ERR)", re.ASCII
)  # fmt: skip
_TROUBLE: Mapping[str, Trouble] = {"out-of-mem": "memory", "time-out": "timeout"}


class FailedRow(msgspec.Struct, frozen=True):
    """A row without figures; group and size as far as they are printed."""

    line: LogLine
    trouble: Trouble
    group: int = 0
    size: int | None = None


def failed_row(line: LogLine, layout: ImbLayout) -> FailedRow | None:
    """Return the row that a line marks as failed; None for another line."""
    match = _FAILED.match(line.text)
    roles: tuple[Role, ...] = ("group", "size") if "group" in layout.roles else ("size",)
    words = match["numbers"].split() if match else ()
    if match is None or len(words) != len(roles):
        return None
    return begun_row(line, words, roles, _TROUBLE.get(match["why"], "other"))


def begun_row(
    line: LogLine, words: Sequence[str], roles: Sequence[Role], trouble: Trouble = "cut off"
) -> FailedRow:
    """Return a row of which only the first words are known."""
    whole_numbers = {
        role: int(word) for role, word in zip(roles, words, strict=False) if role in _WHOLE
    }
    return FailedRow(line, trouble, whole_numbers.get("group", 0), whole_numbers.get("size"))


_WHOLE = ("group", "size")
