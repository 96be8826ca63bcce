"""Phases of ``check --lab``: the time between the lines that a check prints as it goes on.

A phase begins with its line and ends with the next one. A lab is part of this machine, so its load
is in every figure. On a loaded one suspects are measured again and again: a check is interrupted
after ``--limit`` seconds, and its phases until then are in the table.
"""

import argparse
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.tables import heading, table

NODES, REPEATS, LIMIT_S = (2, 4, 8), 3, 120.0
#: What differs from run to run is left out of a phase's name.
_VARYING = re.compile(r"[0-9]+")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table for each number of nodes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--nodes", type=int, nargs="+", default=list(NODES))
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--limit", type=float, default=LIMIT_S, help="seconds of a check")
    options = parser.parse_args(arguments)
    what = f"Wall seconds, medians (least to most) of {options.repeats} checks of a healthy lab."
    print(heading("Phases of check --lab", what), flush=True)
    for nodes in options.nodes:
        taken: defaultdict[str, list[float]] = defaultdict(list)
        for _ in range(options.repeats):
            for phase, seconds in _phases(nodes, options.limit):
                taken[phase].append(seconds)
        rows = [(phase, _spread(seconds)) for phase, seconds in taken.items()]
        print(f"\n{nodes} nodes\n{table(('phase', 'wall, s'), rows)}", flush=True)


def _spread(seconds: Sequence[float]) -> str:
    return f"{statistics.median(seconds):.2f} ({min(seconds):.2f} to {max(seconds):.2f})"


def _phases(nodes: int, limit_s: float) -> Iterator[tuple[str, float]]:
    """Yield each phase and its seconds, then the whole with the check's exit status."""
    program = str(Path(sys.executable).with_name("fabricgauge"))
    with tempfile.TemporaryDirectory() as root:
        argv = [
            program, "check", "--lab", "--lab-nodes", str(nodes), "-o", f"{root}/",
            "--format", "json",
        ]  # fmt: skip
        start = began = time.perf_counter()
        phase = "start, lab"
        with subprocess.Popen(
            argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        ) as running:
            assert running.stderr is not None
            interruption = threading.Timer(limit_s, running.send_signal, (signal.SIGINT,))
            interruption.start()
            for line in running.stderr:
                now = time.perf_counter()
                yield phase, now - began
                phase, began = _VARYING.sub("N", line.strip())[:70], now
            interruption.cancel()
        now = time.perf_counter()
        yield phase, now - began
        ending = "" if running.returncode in (0, 1, 3) else f", status {running.returncode}"
        yield f"all{ending}", now - start


if __name__ == "__main__":
    main()
