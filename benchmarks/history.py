"""The history of many nodes: build, queries, what drift is found after how many runs, false alarms.

    python -m benchmarks.history [--runs 10000] [--nodes 1000] [--part index|drift]

Index: run directories in the format of real ones, in which each node meets two partners, are read
by the program's own reader; fabric.json is a hard link to one file. Drift: series with noise as it
is measured, judged run by run, without directories.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from benchmarks.synthetic_history import LATENCY_S, RATE_BYTES_S, make_fabric, write_run
from numpy.typing import NDArray

from fabricgauge.features.history.drift import Policy, find_drift
from fabricgauge.features.history.index import open_index
from fabricgauge.features.history.series import Selection, read_history
from fabricgauge.features.history.series_content import describe_series
from fabricgauge.features.history.values import Group, SeriesKey

#: Runs before a drift begins, and runs in which it must be found.
BEFORE, AFTER = 60, 30
#: Histories of each case of drift, and years of daily runs for false alarms.
HISTORIES, YEARS = 100, 200
DRIFTS = (0.03, 0.05, 0.10)
#: Nodes of a network. With 128 a tenth of the histories and years is simulated.
NODES = (2, 4, 16, 128)


def main(words: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--part", choices=("index", "drift"))
    options = parser.parse_args(words)
    if options.part != "drift":
        index_table(options.runs, options.nodes)
    if options.part != "index":
        drift_table()
        false_alarm_table()


def index_table(runs: int, nodes: int) -> None:
    """Print the seconds of writing, building, rebuilding and asking, and the size of the index."""
    with tempfile.TemporaryDirectory() as folder:
        root, file = Path(folder) / "runs", Path(folder) / "index.sqlite"
        root.mkdir()
        _timed(f"write {runs:,} run directories of {nodes:,} nodes",
               lambda: _write(root, runs, nodes))  # fmt: skip
        _timed("build the index", lambda: _read(root, file, figures=False))
        print(f"  index: {file.stat().st_size / 1e6:.0f} MB")
        _timed("list: nothing is new", lambda: _read(root, file, figures=False))
        node = frozenset({f"n{nodes // 2}"})
        _timed("series of one node", lambda: _read(root, file, Selection(nodes=node)))
        pattern = Selection(nodes=node, pattern="all_pairs_bandwidth")
        _timed("its changes of level", lambda: _changes(root, file, pattern))
        _timed("drift of all nodes", lambda: _drift(root, file))
        _write(root, 1, nodes, first=runs)
        _timed("one more run", lambda: _read(root, file, figures=False))
        file.unlink()
        _timed("rebuild", lambda: _read(root, file, figures=False))


def _timed(what: str, work: Callable[[], object]) -> None:
    began, before = time.perf_counter(), os.times()
    work()
    elapsed, after = time.perf_counter() - began, os.times()
    processor = sum(after[:4]) - sum(before[:4])
    print(f"  {what}: {elapsed:.2f} s, of processors {processor:.2f} s", flush=True)


def _write(root: Path, runs: int, nodes: int, first: int = 0) -> None:
    random = np.random.default_rng(first)
    names = [f"n{number}" for number in range(nodes)]
    shared = root.parent / "fabric.json"
    shared.write_bytes(make_fabric(names))
    for number in range(first, first + runs):
        rates = RATE_BYTES_S * np.exp(random.normal(0, 0.005, nodes))
        latencies = LATENCY_S * np.exp(random.normal(0, 0.03, nodes))
        path = write_run(root, number, names, b"", rates, latencies)
        (path / "fabric.json").unlink()
        os.link(shared, path / "fabric.json")


def _read(
    root: Path, file: Path, selection: Selection | None = None, figures: bool = True
) -> Sequence[Group]:
    with open_index(root, file) as connection:
        stored = read_history(connection, root, selection or Selection(), figures=figures)
    return stored.groups


def _changes(root: Path, file: Path, selection: Selection) -> None:
    with open_index(root, file) as connection:
        stored = read_history(connection, root, selection)
    for group in stored.groups:
        describe_series(stored, group, 0, 0.02)


def _drift(root: Path, file: Path) -> None:
    find_drift(_read(root, file), Policy())


# Drift and false alarms, on tables of figures.

Noise = Callable[[np.random.Generator, tuple[int, int]], NDArray[np.float64]]


def normal(random: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Return factors that vary by 1 %."""
    return np.exp(random.normal(0, 0.01, shape))


def quiet(random: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Return factors that vary by 0.3 %."""
    return normal(random, shape) ** 0.3


def loud(random: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Return factors that vary by 3 %."""
    return normal(random, shape) ** 3


def skewed(random: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Return factors of 1 %, of which one in twenty loses up to half: a busy host."""
    busy = random.random(shape) < 0.05
    return normal(random, shape) * np.where(busy, random.uniform(0.5, 1.0, shape), 1.0)


def lasting(random: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Return factors of 1 % of which half of each lasts to the next run (AR(1), 0.5)."""
    steps = random.normal(0, 0.01 * np.sqrt(1 - 0.25), shape)
    logs = np.empty(shape)
    logs[0] = random.normal(0, 0.01, shape[1])
    for row in range(1, shape[0]):
        logs[row] = 0.5 * logs[row - 1] + steps[row]
    return np.exp(logs)


def lasting_more(random: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Return factors of 2 % of which half of each lasts to the next run."""
    return lasting(random, shape) ** 2


NOISES: dict[str, Noise] = {
    "normal, 0.3 %": quiet, "normal, 1 %": normal, "normal, 3 %": loud, "1 %, busy 5 %": skewed,
    "lasting, 1 %": lasting, "lasting, 2 %": lasting_more,
}  # fmt: skip


def _group(values: NDArray[np.float64]) -> Group:
    key = SeriesKey("", "ib", "sender", "all_pairs_bandwidth", "", "", "mpich", 1 << 20)
    places = tuple((f"n{column}",) for column in range(values.shape[1]))
    figures = values.astype(np.float32)
    return Group(key, places, tuple(range(len(values))), figures, np.full_like(figures, np.nan))


def drift_table() -> None:
    """Print after how many runs a node's loss is found, and how often others were named."""
    print("\nA node that loses a share: runs to the alarm, median (90 %), at 1 false alarm a year;"
          " ! histories in which another node was named by then")  # fmt: skip
    print(f"{'nodes':>6} {'noise':>14} " + " ".join(f"{share:>14.0%}" for share in DRIFTS))
    for nodes in NODES:
        for name, noise in NOISES.items():
            cells = [_runs_until_found(nodes, noise, share) for share in DRIFTS]
            print(f"{nodes:>6} {name:>14} " + " ".join(f"{cell:>14}" for cell in cells), flush=True)


def _runs_until_found(nodes: int, noise: Noise, share: float) -> str:
    waits: list[float] = []
    others = 0
    for seed in range(_fewer(HISTORIES, nodes)):
        random = np.random.default_rng(seed)
        values = noise(random, (BEFORE + AFTER, nodes))
        values[BEFORE:, 0] *= 1 - share
        wait, other = float("inf"), False
        for after in range(3, AFTER + 1):
            alarms = find_drift([_group(values[: BEFORE + after])], Policy()).alarms
            other = other or any(alarm.place not in ((), ("n0",)) for alarm in alarms)
            if any(alarm.place == ("n0",) for alarm in alarms):
                wait = after
                break
        waits.append(wait)
        others += other
    middle, late = (_count(float(np.quantile(waits, part, method="lower"))) for part in (0.5, 0.9))
    return f"{middle} ({late}){f' !{others}' if others else ''}"


def _fewer(count: int, nodes: int) -> int:
    return count if nodes < 100 else count // 10


def _count(runs: float) -> str:
    return f">{AFTER}" if runs == float("inf") else f"{runs:.0f}"


def false_alarm_table() -> None:
    """Print the runs with an alarm in a year of daily runs of a sound network."""
    print("\nA sound network: runs of a year with a false alarm, mean and its standard error;"
          " stated are at most 1")  # fmt: skip
    print(f"{'nodes':>6} " + " ".join(f"{name:>16}" for name in NOISES))
    for nodes in NODES:
        cells = [_false_alarms(nodes, noise) for noise in NOISES.values()]
        print(f"{nodes:>6} " + " ".join(f"{cell:>16}" for cell in cells), flush=True)


def _false_alarms(nodes: int, noise: Noise) -> str:
    """Return the mean over some years, each judged at every tenth run."""
    first, last, step = 40 + 8, 40 + 365, 10
    yearly: list[float] = []
    for year in range(_fewer(YEARS, nodes)):
        values = noise(np.random.default_rng(1000 + year), (last, nodes))
        alarmed = [
            bool(find_drift([_group(values[:run])], Policy()).alarms)
            for run in range(first, last, step)
        ]
        yearly.append(365 * float(np.mean(alarmed)))
    error = float(np.std(yearly, ddof=1)) / len(yearly) ** 0.5
    return f"{np.mean(yearly):.2f} ± {error:.2f}"


if __name__ == "__main__":
    main(sys.argv[1:])
