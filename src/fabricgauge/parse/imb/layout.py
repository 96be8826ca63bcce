"""The columns' headline, which alone tells how a table of IMB is to be read."""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

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


class Layout(msgspec.Struct, frozen=True):
    """The roles of the printed columns from left to right; unknown ones by their words."""

    roles: tuple[Role, ...]
    unknown: tuple[str, ...] = ()

    @property
    def curves(self) -> tuple[Role, ...]:
        """The columns that become curves, in the order of ``columns_of``."""
        return tuple(role for role in _CURVES if role in self.roles)


def layout_of(words: Sequence[str]) -> Layout | None:
    """The layout that a headline describes; None if the words are no headline of IMB."""
    if "#repetitions" not in words[:3] or len(words) > _MOST_COLUMNS:
        return None
    roles = tuple(_ROLES.get(word, "unknown") for word in words)
    layout = Layout(roles, tuple(word for word in words if word not in _ROLES))
    twice = len(set(roles) - {"unknown"}) + len(layout.unknown) != len(roles)
    return None if twice or not layout.curves else layout
