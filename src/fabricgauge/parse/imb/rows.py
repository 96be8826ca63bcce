"""Rows of a table: their words by column, the ones that failed, the ones that are torn."""

import re
from collections.abc import Mapping, Sequence

import msgspec

from fabricgauge.model.suite import Trouble
from fabricgauge.parse.imb.layout import WHOLE, Layout, Role
from fabricgauge.parse.interface import Line

_WHOLE = re.compile(r"\d{1,18}", re.ASCII)
_NUMBER = re.compile(
    r"[-+]?(?:\d{1,30}(?:\.\d{0,30})?(?:e[-+]?\d{1,4})?|nan|inf)", re.ASCII | re.IGNORECASE
)
#: IMB_output.c: ``out-of-mem.;``, ``time-out.;``, ``int-overflow;`` behind group and size.
_FAILED = re.compile(
    r"\s*(?P<numbers>\d{1,18}(?:\s+\d{1,18})?)"
    r"\s+(?P<why>out-of-mem|time-out|int-overflow|MPI_ERR)", re.ASCII
)  # fmt: skip
_TROUBLE: Mapping[str, Trouble] = {"out-of-mem": "memory", "time-out": "timeout"}


class Row(msgspec.Struct, frozen=True):
    """One row. ``words`` are the printed ones by role; ``trouble`` is set if it failed."""

    line: Line
    words: dict[Role, str]
    trouble: Trouble | None = None

    @property
    def group(self) -> int:
        return int(self.words.get("group", "0"))

    @property
    def size(self) -> int | None:
        return int(self.words["size"]) if "size" in self.words else None

    def number(self, role: Role) -> float | None:
        """The printed value, None if the table has no such column."""
        word = self.words.get(role)
        return None if word is None else float(word)


def row_of(line: Line, words: Sequence[str], layout: Layout) -> Row | None:
    """The row that a line is; None if it is none of this layout."""
    roles = layout.roles
    if len(words) != len(roles) or not _fit(words, roles):
        return _failed_row(line, layout)
    return Row(line, dict(zip(roles, words, strict=True)))


def is_begun(words: Sequence[str], layout: Layout) -> bool:
    """Whether a line may be a row of which the end is missing."""
    return 0 < len(words) < len(layout.roles) and _fit(words, layout.roles[: len(words)])


def begun_row(line: Line, words: Sequence[str], layout: Layout) -> Row:
    """A row that was cut off; its size is known if another word follows it."""
    known = dict(zip(layout.roles, words[:-1], strict=False))
    return Row(line, known, "cut off")


def _fit(words: Sequence[str], roles: Sequence[Role]) -> bool:
    return all(
        (_WHOLE if role in WHOLE else _NUMBER).fullmatch(word) is not None
        for word, role in zip(words, roles, strict=True)
        if role != "unknown"
    )


def _failed_row(line: Line, layout: Layout) -> Row | None:
    match = _FAILED.match(line.text)
    if match is None:
        return None
    numbers = match["numbers"].split()
    roles: tuple[Role, ...] = ("group", "size") if "group" in layout.roles else ("size",)
    if len(numbers) != len(roles):
        return None
    words = {role: word for role, word in zip(roles, numbers, strict=True) if role in layout.roles}
    return Row(line, words, _TROUBLE.get(match["why"], "other"))
