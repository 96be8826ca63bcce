"""Read SuperBench: summaries of nodes, and raw results of ranks.

A summary is one JSON object per node and line (``results-summary.jsonl``, 0.2 to 0.12); raw results
are ``benchmarks/NAME/rankN/results.json`` (superbench/benchmarks/result.py). Keys are
``benchmark[:variant]/metric:rank``. Only figures with a certain unit are read:

- ``nccl-bw`` and ``rccl-bw``: µs and GB = 10^9 bytes, as nccl-tests prints them
- ``ib-loopback/IB_write_SIZE_Avg_N``: perftest's MB = 2^20 bytes, through one adapter of a node

``ib-traffic`` and newer names of ``ib-loopback`` are in GB/s of 10^9 bytes or of a thousand of
perftest's MB; the file does not state which. SuperBench's figures of a node's inside are no figures
of a network. A record does not name the other nodes. Raw results hold the programs' outputs, which
are read as those programs' logs.
"""

import re
from collections import defaultdict
from collections.abc import Iterator

import msgspec

from fabricgauge.logs.readers.interface import JsonDialect, LogLine, Report
from fabricgauge.logs.readers.table import SuiteColumn, SuiteHeading, SuiteTable
from fabricgauge.model.suite import Quantity, SuiteCurve

_SUITE = "superbench"
_RECORD = re.compile(r'\s*\{.*"node"\s*:\s*"', re.DOTALL)
_KEY = re.compile(r'"[a-z][\w.-]*(?::[\w.-]+)?/[\w.:/-]+"\s*:\s*-?\d')
_COLLECTIVE = re.compile(
    r"(?P<benchmark>[nr]ccl-bw(?::[\w.-]{1,60})?)/(?P<operation>[a-z]{1,30})_(?P<size>\d{1,15})"
    r"_(?P<place>in_place_|out_of_place_)?(?P<what>time|algbw|busbw)(?::(?P<rank>\d{1,6}))?"
)
_LOOPBACK = re.compile(
    r"(?P<benchmark>ib-loopback(?::[\w.-]{1,60})?)/IB_(?P<operation>write|read|send)_(?P<size>\d{1,15})"
    r"_(?P<what>Avg)_(?P<place>\d{1,4})(?::(?P<rank>\d{1,6}))?"
)
_DOUBTFUL = re.compile(r"ib-(?:traffic|validation|loopback)\b.*/")
_MOST = 1e15
#: Raw results with outputs that another reader knows (nccl-tests, rccl-tests, perftest).
_PRINTED = re.compile(r"(?:[nr]ccl-bw|ib-loopback)(?:[:/].*)?")
_GB = "GB = 10^9 bytes (nccl-tests)"
_MB = "MB = 2^20 bytes (perftest)"
_BUS = "{}: bus bandwidth (algorithm bandwidth times the collective's factor)"
_COLUMNS: dict[str, tuple[Quantity, str, str, float]] = {
    "time": ("time", "{}", "µs", 1e-6),
    "algbw": ("bandwidth", "{}: algorithm bandwidth (size / time)", _GB, 1e9),
    "busbw": ("bus_bandwidth", _BUS, _GB, 1e9),
    "Avg": ("bandwidth", "one-way stream, adapter to itself: {}", _MB, 2.0**20),
}
#: Benchmark, operation, place or adapter, rank, and the name of the quantity.
_Group = tuple[str, str, str, str, str]


class _RawResult(msgspec.Struct):
    """Fields of one benchmark's raw result; ``raw_data`` has a list for each command."""

    name: str
    raw_data: dict[str, object]
    run_count: int


def raw_recognised(text: str) -> bool:
    return '"raw_data"' in text and '"run_count"' in text


def printed_logs(text: str, first_line: int, report: Report) -> Iterator[str]:
    """Yield the outputs of the network's programs, one text for each start."""
    line = LogLine(first_line, text[:200])
    bare = text.strip().rstrip(",")
    try:
        raw = bare if bare.startswith("[") else f"[{bare}]"
        results = msgspec.json.decode(raw, type=list[_RawResult | None])
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        report(line, "a whole raw result of SuperBench")
        return
    logs = [
        log
        for result in results
        if result and _PRINTED.fullmatch(result.name)
        for texts in result.raw_data.values()
        if isinstance(texts, list)
        for log in texts
        if isinstance(log, str)
    ]
    if not logs:
        report(
            line, "what nccl-bw, rccl-bw or ib-loopback printed; SuperBench ran none of them here"
        )
    yield from logs


def recognised(text: str) -> bool:
    return _RECORD.match(text) is not None and _KEY.search(text) is not None


def read(text: str, first_line: int, report: Report) -> Iterator[SuiteCurve]:
    """Yield one curve for each operation, quantity and rank of a node's record."""
    line = LogLine(first_line, text[:200])
    try:
        record = msgspec.json.decode(text, type=dict[str, object])
    except (msgspec.DecodeError, RecursionError):
        report(line, "a whole record of SuperBench")
        return
    groups: defaultdict[_Group, list[tuple[int, float]]] = defaultdict(list)
    doubtful = 0
    for key, value in record.items():
        match = _COLLECTIVE.fullmatch(key) or _LOOPBACK.fullmatch(key)
        if match is None:
            doubtful += _DOUBTFUL.match(key) is not None
        elif isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _MOST:
            names = (match["benchmark"], match["operation"], match["place"] or "")
            group = (*names, match["rank"] or "", match["what"])
            groups[group].append((int(match["size"]), float(value)))
    for (benchmark, operation, place, rank, quantity_name), rows in groups.items():
        quantity, words, rule, factor = _COLUMNS[quantity_name]
        column = SuiteColumn(quantity, words.format(operation), "mean", rule, factor)
        kind = "adapter" if quantity_name == "Avg" else "placement"
        place = place.strip("_").replace("_", "-")
        settings = {"node": str(record.get("node", "")), "rank": rank, kind: place}
        heading = SuiteHeading(
            _SUITE, "", f"{benchmark} {operation}", "SuperBench's summary", first_line,
            settings=settings,
        )  # fmt: skip
        table = SuiteTable(heading, (column,))
        for size, value in sorted(rows):
            # Small messages have a bandwidth of 0.00.
            table.row(line, size, (None if value == 0 and quantity != "time" else value,))
        yield from table.curves()
    if doubtful:
        report(line, f"a unit; {doubtful} figures of ib-traffic or ib-loopback settle none")
    elif not groups:
        report(line, "figures of nccl-bw, rccl-bw or ib-loopback; SuperBench ran none of them")


JSON_DIALECT = JsonDialect(_SUITE, recognised, read)
RAW_DIALECT = JsonDialect(_SUITE, raw_recognised, lambda *_: (), printed_logs)
