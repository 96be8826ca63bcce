"""Rows of a table: their words by column, the ones that failed, the ones that are torn.

The columns' headline, which alone tells how a table of IMB is to be read.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from typing import Literal

import msgspec

from fabricgauge.model.suite import Besides, Trouble
from fabricgauge.parse.interface import LogLine
from fabricgauge.parse.rows import ColumnUse, RowFinder, Rows

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

#: Roles whose printed values are whole numbers.
WHOLE: frozenset[Role] = frozenset({"group", "size", "repetitions"})

#: Roles that become curves; the mean has the extremes besides.
_CURVES: tuple[Role, ...] = (
    "time", "mean", "overlapped", "pure", "computation", "overlap", "bandwidth", "rate",
)  # fmt: skip


#: No program prints half as many; a row's expression is as long as it has columns.
_MOST_COLUMNS = 48


class ImbLayout(msgspec.Struct, frozen=True):
    """The roles of the printed columns from left to right; unknown ones by their words."""

    roles: tuple[Role, ...]
    unknown: tuple[str, ...] = ()

    @property
    def curves(self) -> tuple[Role, ...]:
        """The columns that become curves, in the order of ``columns_of``."""
        return tuple(role for role in _CURVES if role in self.roles)


def layout_of(words: Sequence[str]) -> ImbLayout | None:
    """The layout that a headline describes; None if the words are no headline of IMB."""
    if "#repetitions" not in words[:3] or len(words) > _MOST_COLUMNS:
        return None
    roles = tuple(_ROLES.get(word, "unknown") for word in words)
    layout = ImbLayout(roles, tuple(word for word in words if word not in _ROLES))
    twice = len(set(roles) - {"unknown"}) + len(layout.unknown) != len(roles)
    return None if twice or not layout.curves else layout


_WHOLE = r"[0-9]{1,18}"
#: What nearly all figures look like stands first: an optional part takes much longer to match.
_NUMBER = (
    r"[0-9]{1,30}\.[0-9]{0,30}"
    r"|[-+]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?(?:[eE][-+]?[0-9]{1,4})?|(?ai:nan|inf))"
)
#: IMB_output.c: ``out-of-mem.;``, ``time-out.;``, ``int-overflow;`` behind group and size.
_FAILED = re.compile(
    r"\s*(?P<numbers>\d{1,18}(?:\s+\d{1,18})?)"
    r"\s+(?P<why>out-of-mem|time-out|int-overflow|MPI_ERR)", re.ASCII
)  # fmt: skip
_TROUBLE: Mapping[str, Trouble] = {"out-of-mem": "memory", "time-out": "timeout"}


class ImbRow(msgspec.Struct, frozen=True, gc=False):
    """One row. ``words`` are the printed ones by role, ``figures`` the numbers that they are.

    ``trouble`` is set, and there are no figures, if it failed.
    """

    line: LogLine
    words: dict[Role, str]
    size: int | None
    figures: dict[Role, float] = {}
    trouble: Trouble | None = None

    @property
    def group(self) -> int:
        return int(self.words.get("group", "0"))


def row_of(line: LogLine, layout: ImbLayout) -> ImbRow | None:
    """The row that a line is; None if it is none of this layout."""
    expression, roles = _row_of(layout.roles)
    match = expression.fullmatch(line.text)
    if match is None:
        return _failed_row(line, layout)
    printed = match.groups()
    words, figures = dict(zip(roles, printed, strict=True)), map(float, printed)
    size = int(words["size"]) if "size" in words else None
    return ImbRow(line, words, size, dict(zip(roles, figures, strict=True)))


@lru_cache(maxsize=64)
def finder_of(roles: tuple[Role, ...]) -> RowFinder:
    return RowFinder(["whole" if role in WHOLE else "number" for role in roles])


@lru_cache(maxsize=64)
def cells_of(roles: tuple[Role, ...]) -> tuple[ColumnUse, ...]:
    """What each printed column is for. Extremes belong to the mean, if both are printed."""
    curves = [role for role in _CURVES if role in roles]
    extremes: dict[Role, Besides] = {"least": "minimum", "most": "maximum"}
    if not {"least", "most", "mean"} <= set(roles):
        extremes = {}
    uses: dict[Role, ColumnUse] = {
        "size": ColumnUse("size"), "repetitions": ColumnUse("samples"),
        **{role: ColumnUse("figure", place) for place, role in enumerate(curves)},
        **{role: ColumnUse("besides", curves.index("mean"), of) for role, of in extremes.items()},
    }  # fmt: skip
    return tuple(uses.get(role, ColumnUse("skipped")) for role in roles)


def plain_rows(rows: Rows, roles: tuple[Role, ...]) -> list[ImbRow]:
    """Whole rows of a layout without unknown columns."""
    sizes: Iterable[int | None] = repeat(None)
    if "size" in roles:
        sizes = rows.counts(roles.index("size"))
    return [
        ImbRow(line, dict(zip(roles, words, strict=True)), size,
               dict(zip(roles, map(float, words), strict=True)))
        for (line, words), size in zip(rows.single(), sizes, strict=False)
    ]  # fmt: skip


def is_begun(line: LogLine, words: int, layout: ImbLayout) -> bool:
    """Whether a line of so many words may be a row of which the end is missing."""
    begun = 0 < words < len(layout.roles)
    return begun and _row_of(layout.roles[:words])[0].fullmatch(line.text) is not None


def begun_row(line: LogLine, words: Sequence[str], layout: ImbLayout) -> ImbRow:
    """A row that was cut off; its size is known if another word follows it."""
    return _bad_row(line, dict(zip(layout.roles, words[:-1], strict=False)), "cut off")


@lru_cache(maxsize=64)
def _row_of(roles: tuple[Role, ...]) -> tuple["re.Pattern[str]", tuple[Role, ...]]:
    """What a row looks like, and the roles of its numbers."""
    row = r"\s+".join(
        r"\S+" if role == "unknown" else f"({_WHOLE if role in WHOLE else _NUMBER})"
        for role in roles
    )
    return re.compile(rf"\s*{row}\s*"), tuple(role for role in roles if role != "unknown")


def _bad_row(line: LogLine, words: dict[Role, str], trouble: Trouble) -> ImbRow:
    return ImbRow(line, words, int(words["size"]) if "size" in words else None, trouble=trouble)


def _failed_row(line: LogLine, layout: ImbLayout) -> ImbRow | None:
    match = _FAILED.match(line.text)
    if match is None:
        return None
    numbers = match["numbers"].split()
    roles: tuple[Role, ...] = ("group", "size") if "group" in layout.roles else ("size",)
    if len(numbers) != len(roles):
        return None
    words = {role: word for role, word in zip(roles, numbers, strict=True) if role in layout.roles}
    return _bad_row(line, words, _TROUBLE.get(match["why"], "other"))
