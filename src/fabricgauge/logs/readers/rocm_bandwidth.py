"""Read AMD's rocm-bandwidth-test 2.x: copies between the devices of a node, one at a time.

Source: recorded outputs of 2.3.11 and 2.6.0. Processors and GPUs share one numbering; a GPU's line
has its place on the bus. Each matrix of bandwidth becomes one curve: the median over the
connections between GPUs, with their extremes. Cells of processors, and of copies inside a GPU, do
not count.
"""

import re
from collections.abc import Iterable, Iterator
from statistics import median

from fabricgauge.logs.readers.interface import Dialect, LogLine, Report
from fabricgauge.logs.readers.lines import figure_of
from fabricgauge.logs.readers.table import SuiteColumn, SuiteHeading, SuiteTable
from fabricgauge.model.suite import Besides, GpuPairs, LogEvidence, SuiteCurve

SUITE = "rocm-bandwidth-test"
#: The devices of one node.
_MOST_DEVICES = 128

_VERSION = re.compile(r"RocmBandwidthTest Version: (?P<version>\S+)")
_DEVICE = re.compile(
    r"Device: (?P<number>\d{1,4}), +(?P<name>[^,]{1,100})(?:, +GPU-\w+)?"
    r"(?:, +(?:(?P<domain>[\da-f]{4}):)?(?P<bus>[\da-f]{1,2}):(?P<device>[\da-f]{1,2})\.[\da-f])?$"
)
#: Version 2.3 writes "Bdirectional".
_HEADING = re.compile(r"(?P<ways>Uni|Bi?)directional copy (?P<what>peak|average) bandwidth GB/s")
_OTHER = re.compile(r"(?:Inter-)?Device (?:Access|Numa Distance)|Data Path Validation")
_PROSE = re.compile(r"Launch Command is: |\.+$|=+$")
_GB = "GB = 10^9 bytes (rocm-bandwidth-test)"

_Cells = list[float | None]


class RocmBandwidthReader:
    """Reads one output after the other: its devices, then matrices with a heading each."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._begin("")

    def _begin(self, version: str) -> None:
        self._version = version
        #: Name, and place on the bus of a GPU.
        self._devices: dict[int, tuple[str, str]] = {}
        self._inside, self._heading, self._at = False, "", LogLine(0, "")
        self._columns: list[int] = []
        self._rows: dict[int, _Cells] = {}

    def line(self, line: LogLine) -> Iterator[SuiteCurve]:
        text = line.text.strip()
        if match := _VERSION.match(text):
            yield from self._close("")
            self._begin(match["version"])
        elif match := _DEVICE.match(text):
            bus = ""
            if match["bus"]:
                bus = f"{match['domain'] or '0000'}:{match['bus']:>02}:{match['device']:>02}"
            if len(self._devices) < _MOST_DEVICES:
                self._devices[int(match["number"])] = (match["name"].strip(), bus)
        elif (match := _HEADING.match(text)) or _OTHER.match(text):
            yield from self._close("")
            self._heading, self._at = match[0] if match else "", line
            self._inside = True
        elif self._inside and text.startswith("D/D") and not self._rows:
            self._columns = [int(word) for word in text.split()[1:] if word.isdecimal()]
        elif self._inside and self._is_row(line, text):
            pass
        elif text and not _PROSE.match(text):
            self._report(line, "a line of rocm-bandwidth-test")

    def end(self) -> Iterable[SuiteCurve]:
        missing = len(self._rows) < len(self._columns)
        yield from self._close("ends before the last row" if missing else "")
        self._begin("")

    def _is_row(self, line: LogLine, text: str) -> bool:
        number, *words = text.split() or [""]
        if not (number.isdecimal() and len(number) < 5 and len(words) == len(self._columns)):
            return False
        if self._heading and len(self._rows) < _MOST_DEVICES:
            self._rows[int(number)] = [None if word == "N/A" else figure_of(word) for word in words]
            self._at = line
        return True

    def _close(self, cut_off: str) -> Iterator[SuiteCurve]:
        """Yield the curve of the open matrix; other tables give none."""
        heading, rows, columns = self._heading, self._rows, self._columns
        self._inside, self._heading, self._columns, self._rows = False, "", [], {}
        if not heading or not columns:
            return
        gpus = [number for number, (_, bus) in self._devices.items() if bus and number in columns]
        figures = {
            (origin, target): figure
            for origin, row in rows.items()
            for target, figure in zip(columns, row, strict=True)
            if origin != target
        }
        matrix = [[figures.get((origin, target)) for target in gpus] for origin in gpus]
        cells = [figure for row in matrix for figure in row if figure is not None]
        sound = all(0 < figure < 1e6 for figure in cells)
        names = tuple(dict.fromkeys(self._devices[gpu][0] for gpu in gpus))
        rates = tuple(tuple(figure and figure * 1e9 for figure in row) for row in matrix)
        pairs = GpuPairs(rates, tuple(self._devices[gpu][1] for gpu in gpus), names)
        directions, way = (1, "uni") if heading.startswith("Uni") else (2, "bi")
        evidence = LogEvidence(gpu_pairs=pairs if way == "uni" and cells and sound else None)
        meaning = "memory copy between GPUs: median over the pairs"
        table = SuiteTable(
            SuiteHeading(
                SUITE, self._version, f"{way}directional copy", heading, self._at.number,
                settings={"device": ", ".join(names), "cells": str(len(cells))}, evidence=evidence,
            ),
            (SuiteColumn("bandwidth", meaning, "median", _GB, 1e9, directions=directions),),
        )  # fmt: skip
        if cells and sound:
            extremes: dict[Besides, float] = {"minimum": min(cells), "maximum": max(cells)}
            table.row(self._at, None, (median(cells),), (extremes,))
        else:
            reason = LogLine(self._at.number, f"{heading}: no way between two GPUs has a figure")
            table.failed(reason, None, "not a number" if cells else "other")
        yield from table.curves(cut_off)


DIALECT = Dialect(
    suite=SUITE,
    begins={"RocmBandwidthTest Version: ": r"RocmBandwidthTest Version: "},
    reader=RocmBandwidthReader,
)
