"""The curves that come of a table's columns."""

from collections.abc import Mapping

import msgspec

from fabricgauge.parse.imb.benchmarks import Benchmark
from fabricgauge.parse.imb.layout import Layout, Role
from fabricgauge.parse.imb.megabyte import Megabyte
from fabricgauge.parse.table import Column

_TIMES: Mapping[Role, str] = {
    "time": "{}", "mean": "{}", "overlapped": "{} with computation meanwhile",
    "pure": "{} alone", "computation": "computation during {}",
}  # fmt: skip


def columns_of(
    layout: Layout, benchmark: Benchmark, megabyte: Megabyte, company: str, ranks: int | None
) -> tuple[Column, ...]:
    """One column per curve; ``company`` says who else was busy meanwhile, empty if nobody."""
    if ranks == 2 and benchmark.of_two is not None:
        benchmark = msgspec.structs.replace(benchmark, stream=benchmark.of_two)
    columns = (_column(role, benchmark, megabyte) for role in layout.curves)
    return tuple(_in_company(column, company) if company else column for column in columns)


def _in_company(column: Column, company: str) -> Column:
    """Patterns are of one pair of ranks that has the network to itself."""
    return msgspec.structs.replace(column, what=f"{column.what}, {company}", pattern=None)


def _column(role: Role, benchmark: Benchmark, megabyte: Megabyte) -> Column:
    if role in _TIMES:
        what = _TIMES[role].format(benchmark.time)
        pattern = benchmark.latency if role in ("time", "mean") else None
        return Column("time", what, "mean", "µs", 1e-6, pattern)
    if role == "overlap":
        what = f"share of {benchmark.time} that computation hid"
        return Column("overlap", what, "mean", "%", 0.01)
    directions = benchmark.directions
    if role == "rate":
        what = benchmark.rate or benchmark.bandwidth
        return Column("message_rate", what, "mean", "messages/s", 1.0, benchmark.stream, directions)
    rule, factor, pattern = megabyte.rule, megabyte.bytes, benchmark.stream
    return Column("bandwidth", benchmark.bandwidth, "mean", rule, factor, pattern, directions)
