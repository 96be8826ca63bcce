"""Know perftest's programs, by their titles or names, and the columns of their tables."""

import re
from collections.abc import Mapping
from functools import lru_cache

import msgspec

from fabricgauge.logs.readers.lines import remembered
from fabricgauge.logs.readers.rows import RowForm
from fabricgauge.logs.readers.table import ColumnUse, SuiteColumn
from fabricgauge.model.pattern import Pattern
from fabricgauge.model.suite import Besides

#: Titles as ``ctx_print_test_info`` writes them; JSON has underscores for the spaces.
_TITLE = re.compile(
    r"(?P<verb>Send_imm|Send|RDMA_Write_imm|RDMA_Write|RDMA_Read"
    r"|Atomic(?:[ _](?:CMP_AND_SWAP|FETCH_AND_ADD))?)[ _]"
    r"(?P<both>Bidirectional[ _])?(?:Post[ _]List[ _])?"
    r"(?:(?P<kind>BW|Latency)[ _])?(?:forwarding[ _])?(?:Multicast[ _])?Test"
)
NAME = re.compile(
    r"(?:^|[\s/'\"`])(?P<name>ib_(?P<verb>send|write|read|atomic)_(?P<kind>lat|bw)"
    r"|raw_ethernet_(?P<raw>bw|lat|burst_lat))(?=[\s'\"`]|$)"
)
_VERBS = {"Send": "send", "RDMA_Write": "write", "RDMA_Read": "read", "Atomic": "atomic"}


class PerftestProgram(msgspec.Struct, frozen=True):
    """A measuring program. ``verb`` is send, write, read, atomic or empty if not known.

    ``kind`` is ``lat``, ``bw`` or ``burst_lat``; ``both`` is for traffic both ways at once,
    ``half`` for one direction's share of it, ``receiver`` for what a stream's receiver timed,
    ``backward`` for the share that the server sends.
    """

    verb: str
    kind: str
    raw: bool = False
    both: bool = False
    half: bool = False
    receiver: bool = False
    backward: bool = False

    @property
    def name(self) -> str:
        if self.raw:
            return f"raw_ethernet_{self.kind}"
        return f"ib_{self.verb}_{self.kind}" if self.verb else f"perftest ({self.kind})"

    @property
    def directions(self) -> int:
        return 2 if self.both and not self.half else 1

    @property
    def latency(self) -> str:
        """Return the meaning of a time (README of perftest, "Notes on Testing Methodology")."""
        if self.kind == "burst_lat":
            return "half the time from a burst's posting to its completion"
        if self.verb == "send":
            return "half round trip (ping-pong)"
        if self.verb == "write":
            return "half round trip (ping-pong of writes, polled in memory)"
        if self.verb:
            return f"whole round trip of one {self.verb}"
        return "half round trip (send, write) or whole one (read, atomic): the log names no test"

    @property
    def bandwidth(self) -> str:
        verb = f"{self.verb}s" if self.verb else "messages"
        if self.receiver:
            return f"stream of {verb}, one way, timed by the receiver from the first one's arrival"
        if self.half:
            return f"one direction of a two-way stream of {verb}"
        directions = "both directions together" if self.both else "one way"
        return f"stream of {verb}, {directions}"

    @property
    def latency_pattern(self) -> Pattern | None:
        """Return ``latency`` where the sides answer each other in turn, by sends or writes.

        Our ``put_latency`` differs: it is a put with its flush, which the origin sees alone.
        """
        return "latency" if self.kind == "lat" and self.verb in ("send", "write") else None

    @property
    def bandwidth_pattern(self) -> Pattern | None:
        if self.half or self.receiver or self.verb not in ("send", "write"):
            return None
        if self.both:
            return "bidirectional_bandwidth"
        return "bandwidth" if self.verb == "send" else "put_bandwidth"


@remembered
def titled(text: str) -> PerftestProgram | None:
    """Return the program of a title, as far as the title alone identifies it."""
    match = _TITLE.fullmatch(text.strip()) if "Test" in text else None
    if match is None:
        return None
    verb = match["verb"].removesuffix("_imm")
    kind = {"BW": "bw", "Latency": "lat", None: "burst_lat"}[match["kind"]]
    return PerftestProgram(_VERBS.get(verb, "atomic"), kind, both=match["both"] is not None)


def named(command: str) -> PerftestProgram | None:
    match = NAME.search(command)
    if match is None:
        return None
    is_bidirectional = re.search(r"\s(?:-b|--bidirectional)(?=\s|$)", command) is not None
    if match["raw"]:
        return PerftestProgram("send", match["raw"], raw=True, both=is_bidirectional)
    return PerftestProgram(match["verb"], match["kind"], both=is_bidirectional)


def with_settings(program: PerftestProgram, settings: Mapping[str, str]) -> PerftestProgram:
    """Return the program with the facts of the settings below the title.

    A receiver starts its clock at the first arrival (``run_iter_bw_server``): for few messages its
    rate is above the network's. The README trusts the client alone.
    """
    raw = program.raw or settings.get("connection type") == "RawEth"
    receives = "rx depth" in settings and "tx depth" not in settings
    receiver = receives and program.kind == "bw" and not program.both
    return msgspec.structs.replace(program, raw=raw, receiver=receiver)


_CELL = re.compile(
    r"#(?P<count>bytes|sl|iterations)"
    r"|BW (?P<bandwidth>peak|average|Port[12])\[(?P<unit>MB|MiB|Gb)/sec\]"
    r"|MsgRate(?P<rate> Port[12]|)\[Mpps\]"
    r"|(?P<time>t_(?:min|max|typical|avg|stdev))\[usec\]"
    r"|(?P<percentile>99(?:\.9)?)%(?:\s*percentile\[usec\])?"
    r"|(?P<tps>tps) average"
    r"|(?P<cpu>CPU_Util)\[%\]"
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
    """The columns in their order by role, and the unit of the bandwidths."""

    roles: tuple[str, ...]
    unit_rule: str
    factor: float

    @property
    def kind(self) -> str:
        return "bw" if "average" in self.roles else "lat"


@lru_cache(maxsize=64)
def layout_of(heading: str) -> tuple[PerftestLayout, str] | None:
    """Return the layout of a heading and its unknown words; None if it is no heading."""
    cells = list(_CELL.finditer(heading))
    roles = tuple(_role(cell) for cell in cells)
    if roles[:1] != ("size",) or "iterations" not in roles:
        return None
    if not {"average", "t_typical", "t_avg"} & set(roles):
        return None
    units = [cell["unit"] for cell in cells if cell["unit"]]
    if len(set(units)) > 1:  # no version prints that
        return None
    rule, factor = _UNITS[units[0]] if units else ("µs", 1e-6)
    remainder = _MISPLACED.sub("", _CELL.sub("", heading)).strip()
    return PerftestLayout(roles, rule, factor), remainder


def _role(cell: "re.Match[str]") -> str:
    name, word = next((name, word) for name, word in cell.groupdict().items() if word is not None)
    return "size" if word == "bytes" else {"rate": "rate", "percentile": "p"}.get(name, "") + word


def curve_columns(layout: PerftestLayout, program: PerftestProgram) -> dict[str, SuiteColumn]:
    """Return the columns that become curves, by role, in the direction of the program's bytes."""
    columns: dict[str, SuiteColumn] = {}
    if layout.kind == "bw":
        rule, factor, directions = layout.unit_rule, layout.factor, program.directions
        meaning, pattern = program.bandwidth, program.bandwidth_pattern
        columns["average"] = SuiteColumn(
            "bandwidth", meaning, "mean", rule, factor, pattern, directions
        )
        for role in layout.roles:
            if role == "rate":
                columns[role] = SuiteColumn(
                    "message_rate", meaning, "mean", "Mpps = 10^6 messages/s", 1e6, None, directions
                )
            if role.startswith("Port"):
                port = f"{meaning}, by port {role[-1]}"
                columns[role] = SuiteColumn(
                    "bandwidth", port, "mean", rule, factor, None, directions
                )
    elif "t_typical" in layout.roles:
        columns["t_typical"] = SuiteColumn(
            "time", program.latency, "typical", "µs", 1e-6, program.latency_pattern
        )
    else:
        columns["t_avg"] = SuiteColumn(
            "time", program.latency, "mean", "µs", 1e-6, program.latency_pattern
        )
        if "tps" in layout.roles:
            columns["tps"] = SuiteColumn("message_rate", "round trips", "mean", "per second", 1.0)
    return {role: towards(column, program) for role, column in columns.items()}


def towards(column: SuiteColumn, program: PerftestProgram) -> SuiteColumn:
    """Return the column with its ends in the direction of the program's bytes.

    Bytes leave the server if the program reads, unless they are the share ``backward``.
    """
    origin = int((program.verb == "read") is not program.backward)
    return msgspec.structs.replace(column, origin=origin, target=1 - origin)


@lru_cache(maxsize=64)
def form_of(roles: tuple[str, ...], curves: tuple[str, ...]) -> RowForm:
    """Return the form of rows and the use of each role; those in ``curves`` become curves.

    An average of 0.00 is only the rounding of a small bandwidth where the message rate is not 0.
    """
    rate = roles.index("rate") if "rate" in roles else -1
    cells = {
        "size": ColumnUse("size"), "iterations": ColumnUse("samples"),
        "peak": ColumnUse("sought", besides="peak"),
        **{role: ColumnUse("besides", besides=key) for role, key in _BESIDES.items()},
        **{role: ColumnUse("figure", place) for place, role in enumerate(curves)},
    }  # fmt: skip
    if "average" in curves:
        cells["average"] = ColumnUse("figure", curves.index("average"), rounded_by=rate)
    return RowForm([cells.get(role, ColumnUse("skipped")) for role in roles])
