"""Rows of a table: their words by column, the ones that failed, the ones that are torn."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec

from fabricgauge.model.suite import Trouble
from fabricgauge.parse.imb.layout import WHOLE, Layout, Role
from fabricgauge.parse.interface import Line

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


class Row(msgspec.Struct, frozen=True):
    """One row. ``words`` are the printed ones by role, ``figures`` the numbers that they are.

    ``trouble`` is set, and there are no figures, if it failed.
    """

    line: Line
    words: dict[Role, str]
    size: int | None
    figures: dict[Role, float] = {}
    trouble: Trouble | None = None

    @property
    def group(self) -> int:
        return int(self.words.get("group", "0"))


def row_of(line: Line, layout: Layout) -> Row | None:
    """The row that a line is; None if it is none of this layout."""
    expression, roles = _row_of(layout.roles)
    match = expression.fullmatch(line.text)
    if match is None:
        return _failed_row(line, layout)
    printed = match.groups()
    words, figures = dict(zip(roles, printed, strict=True)), map(float, printed)
    size = int(words["size"]) if "size" in words else None
    return Row(line, words, size, dict(zip(roles, figures, strict=True)))


def is_begun(line: Line, words: int, layout: Layout) -> bool:
    """Whether a line of so many words may be a row of which the end is missing."""
    begun = 0 < words < len(layout.roles)
    return begun and _row_of(layout.roles[:words])[0].fullmatch(line.text) is not None


def begun_row(line: Line, words: Sequence[str], layout: Layout) -> Row:
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


def _bad_row(line: Line, words: dict[Role, str], trouble: Trouble) -> Row:
    return Row(line, words, int(words["size"]) if "size" in words else None, trouble=trouble)


def _failed_row(line: Line, layout: Layout) -> Row | None:
    match = _FAILED.match(line.text)
    if match is None:
        return None
    numbers = match["numbers"].split()
    roles: tuple[Role, ...] = ("group", "size") if "group" in layout.roles else ("size",)
    if len(numbers) != len(roles):
        return None
    words = {role: word for role, word in zip(roles, numbers, strict=True) if role in layout.roles}
    return _bad_row(line, words, _TROUBLE.get(match["why"], "other"))
