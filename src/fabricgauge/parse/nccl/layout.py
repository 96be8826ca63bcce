"""The columns of one table of nccl-tests, as its own heading names them.

Generations (src/all_reduce.cu and src/common.cu of the versions named):

- v1.0.0: ``bytes N type op | time algbw busbw res``, time in ms
- v2.0.0-v2.11: ``size count type redop | time algbw busbw error``; without redop where there
  is none, with root for broadcast and reduce
- v2.13 on: ``size count type redop root | time algbw busbw #wrong``
- v2.19: with -I besides ``i_min i_max i_p99 i_cv%``; -S adds a timestamp

The part after ``|`` stands twice, out-of-place and in-place; rccl-tests can print one.
"""

from collections.abc import Sequence

import msgspec

from fabricgauge.model.suite import Besides
from fabricgauge.parse.nccl.rows import Cells, Row

_TIMES = ("time", "cputime")
_BESIDES: dict[str, Besides] = {"i_min": "minimum", "i_max": "maximum", "i_p99": "p99"}
_PLACEMENTS = ("out-of-place", "in-place")
_NONE = ("N/A", "-")


class Layout(msgspec.Struct, frozen=True):
    """Names of the columns in front, names of one group of figures, and the groups."""

    front: tuple[str, ...]
    group: tuple[str, ...]
    placements: tuple[str, ...] = _PLACEMENTS

    @property
    def milliseconds(self) -> bool:
        return self.front[0] == "bytes"

    def row(self, tokens: Sequence[str]) -> Row | None:
        """The row of these tokens, None if they are none; a group that is missing is None."""
        front, figures = tokens[: len(self.front)], tokens[len(self.front) :]
        if not _begins_row(front, len(self.front)):
            return None
        cells: dict[str, Cells | None] = {}
        for number, placement in enumerate(self.placements):
            part = figures[number * len(self.group) : (number + 1) * len(self.group)]
            found = self._cells(part) if len(part) == len(self.group) else None
            if part and len(part) == len(self.group) and found is None:
                return None
            cells[placement] = found
        if not any(cells.values()):
            return None
        return Row(int(front[0]), self._settings(front), cells)

    def begins(self, tokens: Sequence[str]) -> bool:
        """Whether these are a row's first columns, whatever follows."""
        return _begins_row(tokens[: len(self.front)], len(self.front))

    def _settings(self, front: Sequence[str]) -> dict[str, str]:
        named = dict(zip(self.front, front, strict=True))
        settings = {"datatype": named["type"]}
        operation = named.get("redop", named.get("op", "none"))
        if operation != "none":
            settings["operation"] = operation
        if named.get("root", "-1") != "-1":
            settings["root"] = named["root"]
        if self.group[0] == "cputime":
            settings["time"] = "CPU time"
        return settings

    def _cells(self, tokens: Sequence[str]) -> Cells | None:
        numbers = [_number(token) for token in tokens[:3]]
        if any(number is None for number in numbers) or not _is_error(tokens[3]):
            return None
        time, algorithm, bus = (number or 0.0 for number in numbers)
        more = dict(zip(self.group[4:], tokens[4:], strict=True))
        besides = {
            _BESIDES[name]: number
            for name, token in more.items()
            if name in _BESIDES and (number := _number(token)) is not None
        }
        return Cells(time, algorithm, bus, self._wrong(tokens[3]), besides)

    def _wrong(self, token: str) -> float | None:
        """Wrong elements; older versions print the largest deviation, starred if too large."""
        if token in _NONE:
            return None
        number = _number(token.rstrip("*"))
        if token.endswith("*") or number != number:
            return 1.0
        return number if self.group[3] == "#wrong" else 0.0


#: Of a table whose heading was lost: that of v2.13 on.
USUAL = Layout(("size", "count", "type", "redop", "root"), ("time", "algbw", "busbw", "#wrong"))


def layout_of(text: str, banner: str) -> Layout | None:
    """The layout that a heading line names; ``banner`` is the line above it."""
    names = text.lstrip("# ").split()
    starts = [place for place, name in enumerate(names) if name in _TIMES]
    if not starts or starts[0] < 3 or names[0] not in _FIRST or names[2] != "type":
        return None
    end = starts[1] if len(starts) > 1 else len(names) - names.count("timestamp")
    group = tuple(names[starts[0] : end])
    if len(group) < 4 or len(starts) > 2 or group[1:3] != ("algbw", "busbw"):
        return None
    return Layout(tuple(names[: starts[0]]), group, _placements(banner, len(starts)))


_FIRST = ("size", "bytes")


def _placements(banner: str, groups: int) -> tuple[str, ...]:
    if groups == 2:
        return _PLACEMENTS
    return ("in-place",) if "in-place" in banner and "out-of" not in banner else ("out-of-place",)


def _begins_row(front: Sequence[str], length: int) -> bool:
    whole = len(front) == length and all(_is_count(token) for token in front[:2])
    return whole and not _is_count(front[2])


def _is_count(token: str) -> bool:
    return token.isascii() and token.isdigit() and len(token) <= 18


def _is_error(token: str) -> bool:
    return token in _NONE or _number(token.rstrip("*")) is not None


def _number(token: str) -> float | None:
    try:
        return float(token)
    except ValueError:
        return None
