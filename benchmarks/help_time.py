"""Time of help pages and of a stored run's report, divided by that of ``python3 -c pass``.

Both are of the same environment and take turns. Processor time counts, so that other work on the
machine adds less. The run is judged by this program first; another row has it judged anew.
"""

import argparse
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.ratios import in_turn, spread
from benchmarks.tables import heading, table

from fabricgauge.check.conclude import conclude, write_reports
from fabricgauge.check.kept_screen import NAME
from fabricgauge.judge.thresholds import DEFAULTS
from fabricgauge.model.progress import SILENT
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import load

TIMEOUT_S = 60.0
RUN = next((Path(__file__).parents[1] / "tests/fixtures/runs/0.1.0--healthy").iterdir())
#: What is started, and its most as a multiple of Python's time.
HELP = ((("--help",), "4"), (("check", "--help"), "4"))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print times and ratios of each command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=40, help="starts of each")
    pairs = parser.parse_args(arguments).pairs
    what = f"Starts take turns, {pairs} of each, after one of each that is not counted."
    print(heading("Start: fabricgauge / python3 -c pass", what), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        run = _judge(Path(folder) / RUN.name)
        rows = [_row(" ".join(words), words, pairs, most) for words, most in HELP]
        rows.append(_row("report", ("report", str(run)), pairs, "10"))
        (run / NAME).unlink()
        rows.append(_row("report, judged anew", ("report", str(run)), pairs, ""))
    print(table(("fabricgauge", "ms", "python3 -c pass, ms", "ratio (quartiles)", "most"), rows))


def _judge(run: Path) -> Path:
    """Return a copy of the stored run with the reports of this program."""
    directory = RunDirectory(shutil.copytree(RUN, run))
    write_reports(directory, conclude(load(directory), DEFAULTS), DEFAULTS, SILENT)
    return run


def _row(name: str, words: Sequence[str], pairs: int, most: str) -> tuple[str, ...]:
    program = str(Path(sys.executable).with_name("fabricgauge"))

    def our_s() -> float:
        return _processor_s((program, *words))

    our_s(), _python_s()
    taken = list(in_turn(our_s, _python_s, pairs))
    return (
        name,
        f"{statistics.median(ours for ours, _ in taken) * 1e3:.1f}",
        f"{statistics.median(python for _, python in taken) * 1e3:.1f}",
        str(spread([ours / python for ours, python in taken])),
        most,
    )


def _python_s() -> float:
    return _processor_s([sys.executable, "-c", "pass"])


def _processor_s(argv: Sequence[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, timeout=TIMEOUT_S)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
