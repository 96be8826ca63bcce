"""perftest's table headings: which column is what, in which unit."""

import re
from collections.abc import Sequence
from functools import lru_cache

import msgspec

from fabricgauge.model.suite import Besides
from fabricgauge.parse.perftest.programs import PerftestProgram
from fabricgauge.parse.rows import RowForm
from fabricgauge.parse.table import ColumnUse, SuiteColumn

_CELL = re.compile(
    r"#(?P<count>bytes|sl|iterations)"
    r"|BW (?P<bandwidth>peak|average|Port[12])\[(?P<unit>MB|MiB|Gb)/sec\]"
    r"|MsgRate(?P<rate> Port[12]|)\[Mpps\]"
    r"|t_(?P<time>min|max|typical|avg|stdev)\[usec\]"
    r"|(?P<percentile>99(?:\.9)?)%(?:\s*percentile\[usec\])?"
    r"|(?P<tps>tps average)"
    r"|(?P<cpu>CPU_Util\[%\])"
)
#: Extracted text has the last column's second word at the end of the first column.
_MISPLACED = re.compile(r"percentile\[usec\]")
_UNITS = {
    "MB": ("MB = 2^20 bytes (perftest)", float(2**20)),
    "MiB": ("MiB = 2^20 bytes (perftest)", float(2**20)),
    "Gb": ("Gb = 10^9 bits (perftest)", 1e9 / 8),
}
MEBIBYTES, GIGABITS = _UNITS["MiB"], _UNITS["Gb"]
_BESIDES: dict[str, Besides] = {
    "t_min": "minimum", "t_max": "maximum", "t_avg": "mean", "t_stdev": "deviation",
    "p99": "p99", "p99.9": "p99.9",
}  # fmt: skip


class PerftestLayout(msgspec.Struct, frozen=True):
    """The columns in their order by role, and how the bandwidths' unit is read."""

    roles: tuple[str, ...]
    unit_rule: str
    factor: float

    @property
    def kind(self) -> str:
        return "bw" if "average" in self.roles else "lat"


@lru_cache(maxsize=64)
def layout_of(heading: str) -> tuple[PerftestLayout, str] | None:
    """The layout of a heading and what of it was not understood; None if it is none."""
    cells = list(_CELL.finditer(heading))
    roles = tuple(_role(cell) for cell in cells)
    if roles[:1] != ("size",) or "iterations" not in roles:
        return None
    if not {"average", "t_typical", "t_avg"} & set(roles):
        return None
    units = [cell["unit"] for cell in cells if cell["unit"]]
    rule, factor = _UNITS[units[0]] if units else ("µs", 1e-6)
    rest = _MISPLACED.sub("", _CELL.sub("", heading)).strip()
    return PerftestLayout(roles, rule, factor), rest


def _role(cell: "re.Match[str]") -> str:
    if cell["count"]:
        return "size" if cell["count"] == "bytes" else cell["count"]
    if cell["bandwidth"]:
        return cell["bandwidth"]
    if cell["rate"] is not None:
        return "rate" + cell["rate"]
    if cell["time"]:
        return "t_" + cell["time"]
    if cell["percentile"]:
        return "p" + cell["percentile"]
    return "tps" if cell["tps"] else "cpu"


def curve_columns(layout: PerftestLayout, program: PerftestProgram) -> dict[str, SuiteColumn]:
    """The columns that become curves, by role."""
    of_latency = layout.kind == "lat"
    columns = _of_latency(layout.roles, program) if of_latency else _of_bandwidth(layout, program)
    return {role: towards(column, program) for role, column in columns.items()}


def towards(column: SuiteColumn, program: PerftestProgram) -> SuiteColumn:
    """The column with its ends the way the program's bytes move."""
    origin = int(program.from_server)
    return msgspec.structs.replace(column, origin=origin, target=1 - origin)


def _of_latency(roles: Sequence[str], program: PerftestProgram) -> dict[str, SuiteColumn]:
    pattern = program.latency_pattern
    if "t_typical" in roles:
        column = SuiteColumn("time", program.latency, "typical", "µs", 1e-6, pattern)
        return {"t_typical": column}
    columns = {"t_avg": SuiteColumn("time", program.latency, "mean", "µs", 1e-6, pattern)}
    if "tps" in roles:
        columns["tps"] = SuiteColumn("message_rate", "round trips", "mean", "per second", 1.0)
    return columns


def _of_bandwidth(layout: PerftestLayout, program: PerftestProgram) -> dict[str, SuiteColumn]:
    rule, factor, both = layout.unit_rule, layout.factor, program.directions
    what, pattern = program.bandwidth, program.bandwidth_pattern
    columns = {"average": SuiteColumn("bandwidth", what, "mean", rule, factor, pattern, both)}
    for role in layout.roles:
        if role == "rate":
            mega = "Mpps = 10^6 messages/s"
            columns[role] = SuiteColumn("message_rate", what, "mean", mega, 1e6, None, both)
        if role.startswith("Port"):
            port = f"{what}, by port {role[-1]}"
            columns[role] = SuiteColumn("bandwidth", port, "mean", rule, factor, None, both)
    return columns


@lru_cache(maxsize=64)
def form_of(roles: tuple[str, ...], curves: tuple[str, ...]) -> RowForm:
    """What rows look like, and what each role's figure is for; those in ``curves`` become curves.

    An average of 0.00 is only the rounding of a small bandwidth where the message rate is not.
    """
    rate = roles.index("rate") if "rate" in roles else -1
    cells = {
        "size": ColumnUse("size"), "iterations": ColumnUse("samples"),
        "peak": ColumnUse("sought", besides="peak"),
        **{role: ColumnUse("besides", besides=said) for role, said in _BESIDES.items()},
        **{role: ColumnUse("figure", place) for place, role in enumerate(curves)},
    }  # fmt: skip
    if "average" in curves:
        cells["average"] = ColumnUse("figure", curves.index("average"), rounded_by=rate)
    return RowForm([cells.get(role, ColumnUse("skipped")) for role in roles])
