"""Read the figures of the engine and of the proof's programs, and compare them."""

import json
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

#: (pattern, bytes) → figures of one launch each: µs for latency, MB/s (10^6) for bandwidth.
Figures = dict[tuple[str, int], list[float]]


@dataclass(frozen=True)
class EngineOutput:
    """One launch of the engine."""

    figures: Mapping[tuple[str, int], float]
    copies: Mapping[int, tuple[float, float]]
    memory: tuple[str, ...]
    failures: tuple[str, ...]
    compared: int
    whole: bool


def read_engine(text: str) -> EngineOutput:
    """Read JSON Lines of the engine; lines that are none are left out."""
    figures: dict[tuple[str, int], float] = {}
    copies: dict[int, tuple[float, float]] = {}
    memory: dict[str, None] = {}
    failures, compared, whole = [], 0, False
    for line in text.splitlines():
        try:
            record = json.loads(line)
            kind = record["record"]
        except (ValueError, KeyError, TypeError):
            continue
        whole = whole or kind == "footer"
        if kind == "placement":
            for row in record.get("copies") or ():
                copies.setdefault(row["bytes"], (row["to_device_s"] * 1e6, row["to_host_s"] * 1e6))
        if kind != "case":
            continue
        for end in record.get("memory") or ():
            memory[f"rank {end['rank']}: {end['kind']} {end.get('device', '')}".strip()] = None
        if record["status"] != "ok":
            failures.append(f"{record['case']}: {record['reason']}")
            continue
        check = record["data_check"]
        compared += check.get("samples") or 0
        if not check["ok"]:
            failures.append(f"{record['case']}: data differ: {check.get('detail', '')}")
        median = record["times"]["median_s"]
        size, window = record["message_bytes"], record["window"]
        figure = median * 1e6 if record["pattern"] == "latency" else size * window / median / 1e6
        figures[record["pattern"], size] = figure
    return EngineOutput(figures, copies, tuple(memory), tuple(failures), compared, whole)


def read_pingpong(text: str) -> tuple[dict[tuple[str, int], float], tuple[str, ...]]:
    """Read the table of ``pingpong``: figures, and sizes whose data differed."""
    figures: dict[tuple[str, int], float] = {}
    bad = []
    for line in text.splitlines():
        words = line.split()
        if len(words) != 5 or not words[0].isdecimal():
            continue
        size = int(words[0])
        figures["latency", size] = float(words[1])
        if size:
            figures["bandwidth", size] = float(words[2])
        if words[4] != "same":
            bad.append(f"pingpong: {size} bytes arrived different")
    return figures, tuple(bad)


def read_osu(text: str, pattern: str) -> dict[tuple[str, int], float]:
    """Read a table of ``osu_latency`` (µs, mean) or ``osu_bw`` (MB/s)."""
    rows = (line.split() for line in text.splitlines())
    return {
        (pattern, int(row[0])): float(row[1])
        for row in rows
        if len(row) >= 2 and row[0].isdecimal() and re.fullmatch(r"[0-9.]+", row[1])
    }


def read_copies(text: str) -> dict[int, tuple[float, float]]:
    """Read the table of ``copies``: µs to the device and to the host by bytes."""
    rows = (line.split() for line in text.splitlines() if not line.startswith("#"))
    return {int(row[0]): (float(row[1]), float(row[2])) for row in rows if len(row) == 3}


def gather(launches: Iterable[Mapping[tuple[str, int], float]]) -> Figures:
    """Join the figures of several launches."""
    together: Figures = {}
    for launch in launches:
        for key, figure in launch.items():
            together.setdefault(key, []).append(figure)
    return together


def compare_figures(ours: Figures, others: Figures, other: str, both: bool = False) -> list[str]:
    """Return a Markdown table: medians of both over their launches, spread, and their ratio.

    ``both`` leaves out points that only one of them has.
    """
    lines = [
        f"| pattern | bytes | engine | {other} | engine / {other} | spread of launches |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    keys = ours.keys() & others.keys() if both else ours.keys() | others.keys()
    for key in sorted(keys):
        mine, theirs = ours.get(key, []), others.get(key, [])
        unit = "µs" if key[0] == "latency" else "MB/s"
        ratio = (
            f"{statistics.median(mine) / statistics.median(theirs):.3f}" if mine and theirs else "–"
        )
        lines.append(
            f"| {key[0]} | {key[1]} | {_figure(mine)} {unit} | {_figure(theirs)} {unit} | {ratio} |"
            f" {_spread(mine)} / {_spread(theirs)} |"
        )
    return lines


def ratios(ours: Figures, others: Figures) -> list[float]:
    """Return the ratio of both at each point that both have."""
    return [
        statistics.median(ours[key]) / statistics.median(others[key])
        for key in ours.keys() & others.keys()
        if statistics.median(others[key]) > 0
    ]


def _figure(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.2f}" if values else "–"


def _spread(values: Sequence[float]) -> str:
    if len(values) < 2:
        return "–"
    return f"± {100 * (max(values) - min(values)) / 2 / statistics.median(values):.0f} %"
