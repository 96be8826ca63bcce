"""Read ReFrame's performance logs (``perflogs/SYSTEM/PARTITION/TEST.log``, 4.0 and later).

The first line names the columns, divided by a sign that the site chooses: ``NAME_value`` and
``NAME_unit`` for each variable, and facts of the test. A site's unit is only a word: a ``MB/s`` is
that of the suite that the test ran. Only tests whose names contain a program of OSU (``osu_bw``)
are read; its MB is 10^6 bytes. The logs have no message sizes.
"""

import re
from collections.abc import Iterable, Sequence

from fabricgauge.logs.readers.interface import Dialect, LogLine, Report
from fabricgauge.logs.readers.lines import figure_of, split_csv
from fabricgauge.logs.readers.osu.titles import OsuBenchmark, benchmark_of
from fabricgauge.logs.readers.table import SuiteColumn, SuiteHeading, SuiteTable
from fabricgauge.model.suite import Quantity, SuiteCurve

_SUITE = "reframe"
_BEGIN = r"^(?:result|job_completion_time|name)([|,;\t])(?:.*\1)?\w+_value\1\w+_unit\b"
_PROGRAM = re.compile(r"\bosu_[a-z_]{1,40}")
_MB = "MB = 10^6 bytes (OSU)"
_UNITS: dict[str, tuple[Quantity, str, float]] = {
    "us": ("time", "µs", 1e-6), "ms": ("time", "ms", 1e-3), "ns": ("time", "ns", 1e-9),
    "s": ("time", "s", 1.0), "MB/s": ("bandwidth", _MB, 1e6), "GB/s": ("bandwidth", _MB, 1e9),
}  # fmt: skip
#: Columns with the place and the resources of a test.
_FACTS = (
    "result", "job_completion_time", "job_nodelist", "jobid", "environ", "partition", "system",
    "num_tasks", "num_tasks_per_node",
)  # fmt: skip
_MOST_COLUMNS = 512


class ReframeReader:
    """Reads rows; each is one run of a test. Only the columns' names are kept."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._sign = "|"
        self._names: Sequence[str] = ()

    def line(self, line: LogLine) -> Iterable[SuiteCurve]:
        if heading := re.match(_BEGIN, line.text):
            self._sign = heading[1]
            self._names = split_csv(line.text, self._sign)[:_MOST_COLUMNS]
            return ()
        cells = split_csv(line.text, self._sign)
        if len(cells) == len(self._names):
            return self._row(line, dict(zip(self._names, cells, strict=True)))
        if line.text.strip():
            self._report(line, "a row of ReFrame with as many columns as its heading")
        return ()

    def end(self) -> Iterable[SuiteCurve]:
        return ()

    def _row(self, line: LogLine, row: dict[str, str]) -> Iterable[SuiteCurve]:
        names = " ".join(row.get(key, "") for key in ("name", "unique_name", "short_name", "descr"))
        variables = [name.removesuffix("_value") for name in row if name.endswith("_value")]
        curves: list[SuiteCurve] = []
        for variable in variables:
            programs = map(benchmark_of, _PROGRAM.findall(f"{names} {variable}"))
            benchmark = next((program for program in programs if program is not None), None)
            if benchmark is None:
                self._report(line, "a test whose name contains its program of OSU")
                break
            unit = row.get(f"{variable}_unit", "")
            if unit not in _UNITS:
                self._report(line, f"a unit of OSU for {variable}, not “{unit[:20]}”")
                continue
            curves += self._curves(line, row, variable, benchmark, unit)
        return curves

    def _curves(
        self, line: LogLine, row: dict[str, str], variable: str, benchmark: OsuBenchmark, unit: str
    ) -> Iterable[SuiteCurve]:
        quantity, rule, factor = _UNITS[unit]
        # A latency of an unknown size may be any message's.
        pattern = benchmark.pattern if quantity == "bandwidth" else None
        column = SuiteColumn(
            quantity, benchmark.what, "mean", rule, factor, pattern, benchmark.directions
        )
        heading = SuiteHeading(
            _SUITE, "", benchmark.name, f"{row.get('name', '')} {variable}".strip(), line.number,
            settings={name: row.get(name, "") for name in _FACTS} | {"variable": variable},
        )  # fmt: skip
        table = SuiteTable(heading, (column,))
        table.row(line, None, (figure_of(row[f"{variable}_value"]),))
        return table.curves()


DIALECT = Dialect(_SUITE, {"_value": _BEGIN}, ReframeReader)
