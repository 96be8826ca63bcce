"""Read the JSON report of nccl-tests (``-J``, since v2.17.0).

Source: nccl-tests v2.19.6, src/util.cu; before v2.17.9 two names were misspelt
(``average_bus_bandwidith``, ``bandwidith``). ``nan`` is written as a string, ``inf`` bare.
"""

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec

from fabricgauge.logs.readers.interface import JsonDialect, LogLine, Report
from fabricgauge.logs.readers.json_text import Elements, converted, joined, value
from fabricgauge.logs.readers.lines import number_of
from fabricgauge.logs.readers.nccl.facts import PROGRAM, NcclFacts, library_version
from fabricgauge.logs.readers.nccl.rows import NcclFigures, NcclRow, NcclTables
from fabricgauge.model.suite import Besides, SuiteCurve

_BESIDES: dict[str, Besides] = {
    "min_us": "minimum", "max_us": "maximum", "p50_us": "p50", "p95_us": "p95",
    "p99_us": "p99", "stdev_us": "deviation",
}  # fmt: skip


class JsonFigures(msgspec.Struct, frozen=True):
    """One placement's figures; ``cpu_time`` stands for ``time`` where CPU time was asked for."""

    alg_bw: float
    bus_bw: float
    time: float | None = None
    cpu_time: float | None = None
    nwrong: float | None = None

    def with_times(self, times: dict[str, float | None] | None) -> NcclFigures | None:
        """Return the figures with those of the single iterations; None without a time."""
        time = self.cpu_time if self.time is None else self.time
        if time is None:
            return None
        printed = {name: number for name, number in (times or {}).items() if number is not None}
        besides = {ours: printed[name] for name, ours in _BESIDES.items() if name in printed}
        return NcclFigures(time, self.alg_bw, self.bus_bw, self.nwrong, besides)


class JsonRow(msgspec.Struct, frozen=True):
    """One message size; either placement may be missing."""

    size: Annotated[int, msgspec.Meta(ge=0, lt=10**18)]
    type: str = ""
    redop: str = "none"
    root: str | int = -1
    out_of_place: JsonFigures | None = None
    in_place: JsonFigures | None = None
    out_of_place_per_iter: dict[str, float | None] | None = None
    in_place_per_iter: dict[str, float | None] | None = None

    @property
    def settings(self) -> dict[str, str]:
        root = str(self.root).strip()
        settings = {"datatype": self.type}
        settings |= {} if self.redop == "none" else {"operation": self.redop}
        return settings | ({} if root == "-1" else {"root": root})

    @property
    def cells(self) -> dict[str, NcclFigures | None]:
        printed = (
            ("out-of-place", self.out_of_place, self.out_of_place_per_iter),
            ("in-place", self.in_place, self.in_place_per_iter),
        )
        return {
            placement: cells
            for placement, figures, times in printed
            if figures is not None and (cells := figures.with_times(times)) is not None
        }


class JsonDevice(msgspec.Struct, frozen=True):
    hostname: str = ""
    device_info: str = ""
    group: str | int = ""


def recognised(text: str) -> bool:
    return '"nccl_version"' in text


def read(text: str, first_line: int, report: Report) -> Iterator[SuiteCurve]:
    """Yield the curves of one report; if it is cut off, those of its whole rows."""
    text = joined(text)
    facts = _facts(text, first_line)
    tables = NcclTables(facts)
    results = Elements(text, "results")
    for element in results:
        line = LogLine(first_line + element.line, str(element.value)[:200])
        row = converted(element.value, JsonRow)
        cells = row.cells if row is not None else {}
        if row is None or not cells:
            report(line, "a row of nccl-tests' JSON report")
        else:
            yield from tables.add(line, NcclRow(row.size, row.settings, cells))
    wrong = _part(value(text, "out_of_bounds"), "count")
    if _number(wrong):
        line = LogLine(first_line, f"out of bounds values: {wrong}")
        tables.failed(line, "corrupt")
    sign = f"the JSON report breaks off behind the row of {tables.last_bytes} bytes"
    sign = sign if tables.any else "the JSON report has no results"
    average: dict[str, str] = {}
    for name in ("bandwidth", "bandwidith"):
        number = _number(_part(value(text, f"average_bus_{name}"), name))
        if number is not None and not average:
            average["average bus bandwidth"] = f"{number:g} GB/s, the mean over all sizes"
    yield from tables.close("" if results.complete else sign, average)


def _facts(text: str, first_line: int) -> NcclFacts:
    facts = NcclFacts(started=True, first_line=first_line, title="JSON report of nccl-tests")
    arguments = value(text, "args")
    match = PROGRAM.search(str(arguments[0])) if isinstance(arguments, list) and arguments else None
    facts.program = match[0] if match else ""
    code = value(text, "nccl_version")
    if isinstance(code, int) and 0 < code < 10**9:
        facts.settings["nccl"] = library_version(code)
    iterations = value(text, "iterations")
    facts.iterations = iterations if isinstance(iterations, int) else 0
    for element in Elements(text, "devices"):
        device = converted(element.value, JsonDevice)
        if device is not None:
            facts.add_rank(device.hostname, device.device_info, str(device.group))
    return facts


def _part(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _number(value: Any) -> float | None:
    is_number = isinstance(value, (int, float, str)) and not isinstance(value, bool)
    return number_of(str(value)) if is_number else None


JSON_DIALECT = JsonDialect("nccl-tests", recognised, read)
