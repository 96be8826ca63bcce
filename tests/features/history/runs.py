"""Run directories for tests of the history: synthetic ones, and recorded ones."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
from benchmarks.synthetic_history import LATENCY_S, RATE_BYTES_S, make_fabric, write_run
from numpy.typing import NDArray

RECORDED = Path(__file__).parents[2] / "fixtures" / "runs"
NODES = tuple(f"n{number}" for number in range(8))

Change = Callable[[int, NDArray[np.float64]], object]


def write_runs(
    root: Path, runs: int, change: Change = lambda _run, _rates: None, first: int = 0
) -> Path:
    """Write daily runs of eight nodes; ``change`` may alter the rates of a run."""
    root.mkdir(exist_ok=True)
    random = np.random.default_rng(first + 5)
    for number in range(first, first + runs):
        rates = RATE_BYTES_S * np.exp(random.normal(0, 0.004, len(NODES)))
        change(number, rates)
        latencies = LATENCY_S * np.exp(random.normal(0, 0.02, len(NODES)))
        firmware = "22.41" if number < 50 else "22.43"
        write_run(root, number, NODES, make_fabric(NODES, firmware), rates, latencies,
                  rounds=range(7))  # fmt: skip
    return root


def copy_recorded(root: Path, case: str) -> Path:
    """Copy a recorded run into a directory of runs; return its path there."""
    (source,) = (RECORDED / f"0.1.0--{case}").iterdir()
    target = root / source.name
    root.mkdir(exist_ok=True)
    shutil.copytree(source, target)
    return target
