"""Wrong medians of small messages beside load, and the scatter between launches without it.

Two ranks share this machine's memory while ``--loops`` busy loops run beside them. A median is
wrong if it is over ten times the least median of all. First cases of a launch count as any other.
A median that the engine marks as made of waits has no interval; it is counted apart.
A plain ping-pong that times each round trip, as osu_latency's P50 does, takes turns with the
engine's launches. OSU's program replaces it if its folder is named.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import msgspec
from benchmarks.launching import (
    WRAPPERS,
    engine_for,
    latency_case,
    run_engine,
    run_program,
    times_of,
)
from benchmarks.places import Place, shared_memory
from benchmarks.ratios import in_turn
from benchmarks.references import add_folders, of_kind
from benchmarks.tables import heading, table

from fabricgauge.model.engine import Engine
from fabricgauge.nodes import process


class Median(msgspec.Struct, frozen=True):
    """A case's median in seconds; ``waiting``: the engine says that waits made it."""

    seconds: float
    waiting: bool = False


SIZE_BYTES, CASES, CASE_S = 8, 10, 0.3
ROUND_TRIPS = 10_000
WRONG_FACTOR = 10.0
SOURCE = Path(__file__).with_name("ping_pong_p50.cpp")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table for the load, and one without it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mpi", choices=sorted(WRAPPERS), default="mpich")
    parser.add_argument("--launches", type=int, default=10, help=f"of {CASES} cases each")
    parser.add_argument("--loops", type=int, default=4, help="busy loops")
    parser.add_argument("--size", type=int, default=SIZE_BYTES, help="bytes of a message")
    add_folders(parser)
    options = parser.parse_args(arguments)
    engine, place = engine_for(options.mpi), shared_memory()
    what = (
        f"{options.launches} launches of each in turns, {CASES} cases each, messages of"
        f" {options.size} B. Wrong: over {WRONG_FACTOR:.0f} × the least median.\n"
        "Scatter: quartiles' distance of the launches' medians, relative to their median."
    )
    print(heading(f"Medians of small messages, {options.mpi}, shared memory", what), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        theirs = _their_program(engine, options, Path(folder))
        rows = []
        for loops in (options.loops, 0):
            with _busy(loops):
                ours = partial(_our_medians, engine, place, options.size)
                taken = list(in_turn(ours, partial(theirs, place), options.launches))
            for name, launches in zip(
                ("fabricgauge", "P50"), zip(*taken, strict=True), strict=True
            ):
                rows.append((f"{loops}", name, *_row(launches)))
    heads = (
        "loops", "program", "wrong", "first case wrong", "marked", "marked and wrong", "median, µs",
        "most, µs", "scatter",
    )  # fmt: skip
    print(table(heads, rows))


def _row(launches: Sequence[Sequence[Median]]) -> tuple[str, ...]:
    medians = [median for launch in launches for median in launch]
    most_s = WRONG_FACTOR * min(median.seconds for median in medians)
    sound = [median.seconds for median in medians if not median.waiting]
    wrong = sum(seconds > most_s for seconds in sound)
    first = sum(launch[0].seconds > most_s and not launch[0].waiting for launch in launches)
    marked = [median.seconds for median in medians if median.waiting]
    marked_wrong = sum(seconds > most_s for seconds in marked)
    middles = [statistics.median(median.seconds for median in launch) for launch in launches]
    lower, middle, upper = statistics.quantiles(middles, n=4, method="inclusive")
    return (
        f"{wrong} of {len(medians)}", f"{first} of {len(launches)}", f"{len(marked)}",
        f"{marked_wrong}", f"{middle * 1e6:.3f}",
        f"{max(sound, default=0.0) * 1e6:.3f}", f"{(upper - lower) / middle:.1%}",
    )  # fmt: skip


def _our_medians(engine: Engine, place: Place, size_bytes: int) -> list[Median]:
    cases = [
        latency_case(f"case/{number}", size_bytes, CASE_S, "single") for number in range(CASES)
    ]
    measured, _ = run_engine(engine, place, cases)
    return [Median(times_of(case).median_s, case.waiting) for case in measured]


def _their_program(
    engine: Engine, options: argparse.Namespace, folder: Path
) -> Callable[[Place], list[Median]]:
    """Return what measures a launch's medians in seconds: OSU's program, or the plain ping-pong."""
    osu = of_kind(options.mpi, options.osu)
    size = str(options.size)
    if osu:
        words = ["-m", f"{size}:{size}", "-i", str(ROUND_TRIPS), "-z", "50"]
        return partial(_osu_p50, engine, str(osu[0] / "osu_latency"), words, size)
    program = folder / "ping-pong"
    built = process.run(
        [str(WRAPPERS[options.mpi]), "-O2", str(SOURCE), "-o", str(program)], timeout_s=120
    )
    assert built.exit_code == 0, built.stderr
    words = [size, str(ROUND_TRIPS), str(CASES)]

    def measure(place: Place) -> list[Median]:
        done = run_program(engine, place, str(program), words)
        return [Median(float(word)) for word in done.stdout.split()]

    return measure


def _osu_p50(
    engine: Engine, program: str, words: Sequence[str], size: str, place: Place
) -> list[Median]:
    """Return one P50 per start: the first figure behind the mean."""
    medians = []
    for _ in range(CASES):
        done = run_program(engine, place, program, words)
        (row,) = (line.split() for line in done.stdout.splitlines() if line.split()[:1] == [size])
        medians.append(Median(float(row[2]) * 1e-6))
    return medians


@contextmanager
def _busy(loops: int) -> Iterator[None]:
    """Run that many busy loops meanwhile."""
    argv = [sys.executable, "-c", "while True: pass"]
    running = [subprocess.Popen(argv) for _ in range(loops)]
    try:
        yield
    finally:
        for loop in running:
            loop.kill()
            loop.wait()


if __name__ == "__main__":
    main()
