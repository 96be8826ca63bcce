"""Read perftest's ``--out_json``: an object per run, with one row.

Up to 4.5 neither keys nor values were quoted and commas trailed (``test: Send_BW_Test,``); since
24.01 it is JSON. The same patterns read both. The object never names the unit of its bandwidths,
but its message rate shows it: rate × size is the bandwidth in bytes/s.
"""

import re
from collections.abc import Iterable, Mapping

from fabricgauge.logs.readers.interface import LogLine, Report
from fabricgauge.logs.readers.lines import number_of
from fabricgauge.logs.readers.perftest.programs import (
    GIGABITS,
    MEBIBYTES,
    PerftestLayout,
    PerftestProgram,
    curve_columns,
    form_of,
    titled,
    with_settings,
)
from fabricgauge.logs.readers.perftest.text import evidence_in, setting_name, setting_value
from fabricgauge.logs.readers.table import SuiteHeading, SuiteTable
from fabricgauge.model.suite import SuiteCurve

_PAIR = re.compile(
    r'"?([A-Za-z][\w .*-]{0,48}?)"? ?: ?(?:"([^"\n]{0,200})"|([^\s",{}\[\]]{1,100}))'
)
_TEST = re.compile(r'\b"?test"? ?: ?"?(?:Send|RDMA_Write|RDMA_Read|Atomic)')
#: perftest writes some 40 lines; the text of a longer object is not searched.
_LONGEST = 20_000
_EXPECTED = "a run of perftest: a known test and its results"
#: One of these is in each result, and a size below 10^15.
_FIGURES = {"average", "t_typical", "t_avg"}
_LARGEST = 1e15
_RESULTS = re.compile(r'\bresults"? ?: ?\{')
_INFO = re.compile(r'\btest_info"? ?: ?\{')
_ROLES = {
    "MsgSize": "size", "n_iterations": "iterations", "sl": "sl", "BW_peak": "peak",
    "BW_average": "average", "MsgRate": "rate", "t_min": "t_min", "t_max": "t_max",
    "t_typical": "t_typical", "t_avg": "t_avg", "t_stdev": "t_stdev", "percentile_99": "p99",
    "percentile_99.9": "p99.9", "tps_average": "tps", "CPU_util": "cpu",
}  # fmt: skip


def recognised(text: str) -> bool:
    head = text[:2000]
    return "test_info" in head and _TEST.search(head) is not None


def read(text: str, first_line: int, report: Report) -> Iterable[SuiteCurve]:
    """Yield the curves of each run in an object, or in an array of such objects."""
    starts = [match.start() for match in _INFO.finditer(text)]
    if not starts:
        report(LogLine(first_line, "test_info"), _EXPECTED)
    number, counted = first_line, 0
    for start, end in zip(starts, [*starts[1:], len(text)], strict=False):
        number += text.count("\n", counted, start)
        counted = start
        line = LogLine(number, "test_info")
        yield from _run(text[start : min(end, start + _LONGEST)], line, report)


def _run(text: str, line: LogLine, report: Report) -> Iterable[SuiteCurve]:
    results = _RESULTS.search(text)
    info = _pairs(text[: results.start() if results else len(text)])
    title = info.pop("test", "")
    program = titled(title)
    if program is None or results is None:
        report(line, _EXPECTED)
        return
    figures = _row(_pairs(text[results.end() :]))
    number_of_row = line.number + text.count("\n", 0, results.start())
    row = LogLine(number_of_row, " ".join(text[results.start() :].split()))
    if not {"size", "iterations"} <= set(figures) or not _FIGURES & set(figures):
        report(row, "perftest's results with message size and all figures")
        return
    settings = {setting_name(key): setting_value(value) for key, value in info.items()}
    program = with_settings(program, settings)
    heading = SuiteHeading(
        suite="perftest", version="", benchmark=program.name, title=title,
        first_line=line.number, transport="" if program.raw else "rdma", settings=settings,
        evidence=evidence_in(settings),
    )  # fmt: skip
    yield from _table(heading, program, row, figures).curves()


def _pairs(text: str) -> dict[str, str]:
    pairs = _PAIR.findall(text)
    return {name.strip(): quoted or bare for name, quoted, bare in pairs}


def _row(pairs: Mapping[str, str]) -> dict[str, float]:
    numbers: dict[str, float] = {}
    for key, role in _ROLES.items():
        number = number_of(pairs.get(key, "").rstrip("."))
        if number is not None:
            numbers[role] = number
    return numbers if 0 <= numbers.get("size", 0.0) < _LARGEST else {}


def _table(
    heading: SuiteHeading, program: PerftestProgram, row: LogLine, figures: Mapping[str, float]
) -> SuiteTable:
    layout = PerftestLayout(tuple(figures), *_unit(figures))
    columns = curve_columns(layout, program)
    table = SuiteTable(heading, tuple(columns.values()))
    if layout.factor:
        cells = form_of(layout.roles, tuple(columns)).cells
        printed = [[int(value) if role == "size" else value] for role, value in figures.items()]
        table.printed(cells, row.number, row.text, printed)
    else:
        table.failed(
            row, int(figures["size"]), "other" if figures["average"] > 0 else "not a number"
        )
    return table


def _unit(figures: Mapping[str, float]) -> tuple[str, float]:
    """Return the unit of the bandwidths and its factor, 0 if the unit is open."""
    if "average" not in figures:
        return "µs", 1e-6
    figure, rate, size = figures["average"], figures.get("rate", 0.0), figures["size"]
    fitting: list[tuple[str, float]] = []
    for rule, factor in (MEBIBYTES, GIGABITS) if figure > 0 and rate > 0 else ():
        # The loss by printing two and six decimals.
        lost = 0.005 * factor + 0.5 * size + 0.01 * figure * factor
        if abs(rate * 1e6 * size - figure * factor) <= lost:
            fitting.append((f"{rule}, by message rate × size", factor))
    if len(fitting) != 1:
        return "unknown unit: neither MiB/s nor Gb/s alone fits message rate × size", 0.0
    return fitting[0]
