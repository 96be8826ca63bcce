"""The cost of comparing each case's first sample: engines with it and without it, in turns.

The engine without it is built from a copy of the sources in which one line differs. Ratios are
those of two launches, or two checks, that stand next to each other: with / without.
"""

import argparse
import contextlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from unittest.mock import patch

from benchmarks.launching import engine_for, latency_case, run_engine, times_of
from benchmarks.places import Place, lab, shared_memory
from benchmarks.ratios import in_turn, spread
from benchmarks.tables import heading, table

from fabricgauge.cli import main as program
from fabricgauge.model.engine import Engine
from fabricgauge.model.plan import Case
from fabricgauge.nodes import process
from fabricgauge.nodes.engines import build

CASE_S, WINDOW, MIB = 0.3, 16, 1 << 20
CASES = (
    *(latency_case(f"latency/{size}", size, CASE_S) for size in (8, 8192, MIB)),
    Case("bandwidth/8", "bandwidth", 8, WINDOW, 0, 1, CASE_S),
    Case("bandwidth/65536", "bandwidth", 65_536, WINDOW, 0, 1, CASE_S),
    Case("bandwidth/4194304", "bandwidth", 4 * MIB, WINDOW, 0, 1, CASE_S),
    Case("bidirectional/1048576", "bidirectional_bandwidth", MIB, WINDOW, 0, 1, CASE_S),
    Case("put/1048576", "put_bandwidth", MIB, WINDOW, 0, 1, CASE_S),
    Case("allreduce/8", "allreduce", 8, 1, 0, 1, CASE_S),
    Case("allreduce/1048576", "allreduce", MIB, 1, 0, 1, CASE_S),
)  # fmt: skip
COMPARES = "return !Host::simulated && !options.check_data;"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the ratios of case medians and launches, then those of whole checks of a lab."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--launches", type=int, default=10)
    parser.add_argument("--checks", type=int, default=6)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child is not None:
        check_with(Path(options.child))
        return
    what = f"{options.launches} launches and {options.checks} checks of each in turns."
    print(heading("Comparing each case's first sample", what), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        without = _copy_without(Path(folder))
        engines = engine_for("mpich"), _engine_from(without)
        for place in _places():
            print(f"\n{place.name}\n{_launch_table(engines, place, options.launches)}", flush=True)
        print(f"\nchecks of a lab\n{_check_table(without, options.checks)}", flush=True)


@contextlib.contextmanager
def sources_in(folder: Path) -> Iterator[None]:
    """Take the engine's sources from another folder meanwhile."""
    with patch.object(build, "INSTALLED", folder), patch.object(build, "CHECKOUT", folder):
        yield


def check_with(folder: Path) -> None:
    """Check a lab of two nodes with the engine of that folder; this ends the process."""
    with sources_in(folder), tempfile.TemporaryDirectory() as root:
        sys.argv = ["fabricgauge", "check", "--lab", "-o", f"{root}/", "--format", "json"]
        program.main()


def _copy_without(folder: Path) -> Path:
    copied = folder / "engine"
    shutil.copytree(build.CHECKOUT, copied)
    header = copied / "src" / "mpi_running.hpp"
    text = header.read_text()
    assert text.count(COMPARES) == 1
    header.write_text(text.replace(COMPARES, "static_cast<void>(options); return false;"))
    return copied


def _engine_from(folder: Path) -> Engine:
    with sources_in(folder):
        return engine_for("mpich")


def _places() -> Iterator[Place]:
    yield shared_memory()
    with lab() as place:
        yield place


def _launch_table(engines: tuple[Engine, Engine], place: Place, launches: int) -> str:
    compared, plain = (partial(run_engine, engine, place, CASES) for engine in engines)
    pairs = list(in_turn(compared, plain, launches))
    rows = [("launch", *_cells([(ours[1], theirs[1]) for ours, theirs in pairs], 1.0, "s"))]
    for place_in_list, case in enumerate(CASES):
        medians = [
            (times_of(ours[0][place_in_list]).median_s, times_of(theirs[0][place_in_list]).median_s)
            for ours, theirs in pairs
        ]
        assert all(theirs[0][place_in_list].data_check.samples == 0 for _, theirs in pairs)
        assert all(ours[0][place_in_list].data_check.samples > 0 for ours, _ in pairs)
        rows.append((case.name, *_cells(medians, 1e6, "µs")))
    return table(("case", "with", "without", "ratio"), rows)


def _check_table(without: Path, checks: int) -> str:
    timed = partial(_time_check, build.CHECKOUT), partial(_time_check, without)
    pairs = list(in_turn(*timed, checks))
    return table(("", "with", "without", "ratio"), [("check --lab", *_cells(pairs, 1.0, "s"))])


def _time_check(folder: Path) -> float:
    argv = [sys.executable, "-m", "benchmarks.first_comparison", "--child", str(folder)]
    began = time.perf_counter()
    done = process.run(argv, timeout_s=300.0, env=dict(os.environ))
    assert done.exit_code in (0, 1, 3), done.stderr
    return time.perf_counter() - began


def _cells(pairs: Sequence[tuple[float, float]], factor: float, unit: str) -> tuple[str, str, str]:
    middles = (spread([pair[side] * factor for pair in pairs]).median for side in (0, 1))
    ratios = spread([ours / theirs for ours, theirs in pairs])
    ours, theirs = (f"{middle:.3f} {unit}" for middle in middles)
    return ours, theirs, str(ratios)


if __name__ == "__main__":
    main()
