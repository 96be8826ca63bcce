"""Time of help pages and of a stored run's report, divided by that of ``python3 -c pass``.

Both are of the same environment and take turns. Processor time counts, so that other work on the
machine adds less.
"""

import argparse
import resource
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.ratios import in_turn, spread
from benchmarks.tables import heading, table

TIMEOUT_S = 60.0
RUN = next((Path(__file__).parents[1] / "tests/fixtures/runs/0.1.0--healthy").iterdir())
#: What is started, and its most as a multiple of Python's time.
COMMANDS = (
    (("--help",), 4),
    (("check", "--help"), 4),
    (("report", str(RUN)), 10),
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print times and ratios of each command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=40, help="starts of each")
    pairs = parser.parse_args(arguments).pairs
    program = str(Path(sys.executable).with_name("fabricgauge"))
    what = f"Starts take turns, {pairs} of each, after one of each that is not counted."
    print(heading("Start: fabricgauge / python3 -c pass", what), flush=True)
    rows = []
    for words, most in COMMANDS:

        def our_s(argv: Sequence[str] = (program, *words)) -> float:
            return _processor_s(argv)

        our_s(), _python_s()
        taken = list(in_turn(our_s, _python_s, pairs))
        rows.append((
            " ".join(words[:1] if words[0] == "report" else words),
            f"{statistics.median(ours for ours, _ in taken) * 1e3:.1f}",
            f"{statistics.median(python for _, python in taken) * 1e3:.1f}",
            str(spread([ours / python for ours, python in taken])),
            str(most),
        ))  # fmt: skip
    print(table(("fabricgauge", "ms", "python3 -c pass, ms", "ratio (quartiles)", "most"), rows))


def _python_s() -> float:
    return _processor_s([sys.executable, "-c", "pass"])


def _processor_s(argv: Sequence[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, timeout=TIMEOUT_S)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
