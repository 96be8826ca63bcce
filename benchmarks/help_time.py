"""Time of ``fabricgauge --help`` divided by that of ``python3 -c pass`` of the same environment."""

import argparse
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.ratios import in_turn, spread
from benchmarks.tables import heading, table

from fabricgauge.nodes import process

TIMEOUT_S = 60.0


def main(arguments: Sequence[str] | None = None) -> None:
    """Print both times and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=40, help="starts of each")
    pairs = parser.parse_args(arguments).pairs
    program = str(Path(sys.executable).with_name("fabricgauge"))
    what = f"Starts take turns, {pairs} of each, after one of each that is not counted."
    print(heading("Start: fabricgauge --help / python3 -c pass", what))

    def our_s() -> float:
        return _wall_s([program, "--help"])

    def python_s() -> float:
        return _wall_s([sys.executable, "-c", "pass"])

    our_s(), python_s()
    taken = list(in_turn(our_s, python_s, pairs))
    row = (
        f"{statistics.median(ours for ours, _ in taken) * 1e3:.1f}",
        f"{statistics.median(python for _, python in taken) * 1e3:.1f}",
        str(spread([ours / python for ours, python in taken])),
    )
    print(table(("fabricgauge --help, ms", "python3 -c pass, ms", "ratio (quartiles)"), [row]))


def _wall_s(argv: Sequence[str]) -> float:
    done = process.run(argv, timeout_s=TIMEOUT_S)
    assert done.exit_code == 0, done.stderr
    return done.wall_s


if __name__ == "__main__":
    main()
