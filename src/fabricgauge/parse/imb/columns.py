"""The columns' headline, which alone tells how a table of IMB is to be read."""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from fabricgauge.model.suite import Quantity
from fabricgauge.parse.imb.benchmarks import Benchmark
from fabricgauge.parse.imb.megabyte import Megabyte
from fabricgauge.parse.table import Column

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
_TIMES: Mapping[Role, str] = {
    "time": "{}", "mean": "{}", "overlapped": "{} with computation meanwhile",
    "pure": "{} alone", "computation": "computation during {}",
}  # fmt: skip


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
    if "#repetitions" not in words[:3]:
        return None
    roles = tuple(_ROLES.get(word, "unknown") for word in words)
    layout = Layout(roles, tuple(word for word in words if word not in _ROLES))
    twice = len(set(roles) - {"unknown"}) + len(layout.unknown) != len(roles)
    return None if twice or not layout.curves else layout


def columns_of(
    layout: Layout, benchmark: Benchmark, megabyte: Megabyte, alone: bool
) -> tuple[Column, ...]:
    """One column per curve; ``alone`` is False where more than one pair was busy at once."""
    return tuple(_column(role, benchmark, megabyte, alone) for role in layout.curves)


def _column(role: Role, benchmark: Benchmark, megabyte: Megabyte, alone: bool) -> Column:
    if role in _TIMES:
        what = _TIMES[role].format(benchmark.time)
        pattern = benchmark.latency if role in ("time", "mean") and alone else None
        return Column("time", what, "mean", "µs", 1e-6, pattern)
    if role == "overlap":
        what = f"share of {benchmark.time} that computation hid"
        return Column("overlap", what, "mean", "%", 0.01)
    quantity: Quantity = "bandwidth" if role == "bandwidth" else "message_rate"
    rule = megabyte.rule if role == "bandwidth" else "messages/s"
    factor = megabyte.bytes if role == "bandwidth" else 1.0
    pattern = benchmark.stream if role == "bandwidth" and alone else None
    what = benchmark.bandwidth
    return Column(quantity, what, "mean", rule, factor, pattern, benchmark.directions)
