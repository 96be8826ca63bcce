"""Our medians divided by OSU's, with the same MPI, window and buffers.

With ``-z`` OSU prints the median of its iterations (P50) beside their mean. ``osu_latency``
times each round trip, ``osu_bw`` and ``osu_bibw`` each window of 64 messages; ``-b`` sets their
buffers. The suite is not installed with this program: a folder with its programs, built for the
same MPI, has to be named.
"""

import argparse
import statistics
from collections.abc import Sequence
from pathlib import Path

import msgspec
from benchmarks.launching import WRAPPERS, engine_for, run_engine, run_program
from benchmarks.places import Place, lab, shared_memory
from benchmarks.ratios import in_turn, spread
from benchmarks.references import add_folders, of_kind
from benchmarks.tables import bytes_text, heading, table

from benchmarks import osu
from fabricgauge.judge.stats.series import bandwidth_estimate, find_usable, time_estimate
from fabricgauge.model.engine import Engine
from fabricgauge.model.errors import FabricgaugeError
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.pattern import Buffers, Pattern, words_of
from fabricgauge.model.plan import Case

WINDOW = 64
#: No case comes near it.
BUDGET_S = 60.0
TIMEOUT_S = 120.0


class Program(msgspec.Struct, frozen=True):
    """One program of OSU with one kind of buffers, and the pattern that measures the same."""

    name: str
    pattern: Pattern
    buffers: Buffers
    options: tuple[str, ...] = ()

    @property
    def is_time(self) -> bool:
        return words_of(self.pattern).quantity == "time"


_SINGLE = ("-W", str(WINDOW), "-b", "single")
_MULTIPLE = ("-W", str(WINDOW), "-b", "multiple")
PROGRAMS = (
    Program("osu_latency", "latency", "single"),
    Program("osu_bw", "bandwidth", "single", _SINGLE),
    Program("osu_bw", "bandwidth", "multiple", _MULTIPLE),
    Program("osu_bibw", "bidirectional_bandwidth", "single", _SINGLE),
    Program("osu_bibw", "bidirectional_bandwidth", "multiple", _MULTIPLE),
)


class Span(msgspec.Struct, frozen=True):
    """Sizes that double from ``least_bytes``, and the iterations of one size."""

    least_bytes: int
    largest_bytes: int
    iterations: int

    @property
    def sizes(self) -> list[int]:
        doublings = (self.largest_bytes // self.least_bytes).bit_length()
        return [self.least_bytes << doubling for doubling in range(doublings)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table for every MPI with a folder, place and program."""
    options = _options(arguments)
    kinds = [kind for kind in options.mpi if of_kind(kind, options.osu)]
    if not kinds:
        print("medians: not compared, no folder with OSU's programs was named (--osu)")
        return
    if "shared" in options.place:
        _compare_at(shared_memory(), kinds, options)
    if "lab" in options.place:
        with lab() as virtual:
            _compare_at(virtual, kinds, options)


def _compare_at(place: Place, kinds: Sequence[str], options: argparse.Namespace) -> None:
    for kind in kinds:
        engine = engine_for(kind)
        folder = of_kind(kind, options.osu)[0]
        for program in PROGRAMS:
            if program.name in options.program and program.buffers in options.buffers:
                _compare(engine, place, folder, program, options)


def _compare(
    engine: Engine, place: Place, folder: Path, program: Program, options: argparse.Namespace
) -> None:
    title = (
        f"{program.pattern}, {program.buffers} buffers: fabricgauge / {program.name}, "
        f"{engine.mpi.kind} {engine.mpi.version}, {place.name}"
    )
    what = (
        f"Launches take turns, {options.launches} of each. Ratios: median of the launches' ratios "
        "(quartiles)."
    )
    print(heading(title, what), flush=True)
    unit = "µs" if program.is_time else "MB/s"
    heads = ("size", f"OSU P50, {unit}", "our median / P50", "OSU mean / P50")
    rows = [row for span in options.span for row in _rows(engine, place, folder, program, span,
                                                          options.launches)]  # fmt: skip
    print(table(heads, rows), flush=True)


def _rows(
    engine: Engine, place: Place, folder: Path, program: Program, span: Span, launches: int
) -> list[tuple[str, ...]]:
    def ours() -> dict[int, float]:
        return _our_medians(engine, place, program, span)

    def theirs() -> dict[int, tuple[float, float]]:
        sizes = f"{span.least_bytes}:{span.largest_bytes}"
        words = ["-m", sizes, "-i", str(span.iterations), "-x", "10", "-z", *program.options]
        path = str(folder / program.name)
        done = run_program(engine, place, path, words, timeout_s=TIMEOUT_S)
        return osu.means_and_medians(done.stdout)

    taken: list[tuple[dict[int, float], dict[int, tuple[float, float]]]] = []
    try:
        taken.extend(in_turn(ours, theirs, launches))
    except FabricgaugeError as error:
        print(f"after {len(taken)} launches of each: {error}")
    return [_row(size, taken) for size in span.sizes if taken]


def _row(
    size: int, taken: Sequence[tuple[dict[int, float], dict[int, tuple[float, float]]]]
) -> tuple[str, ...]:
    medians = [theirs[size][1] for _, theirs in taken]
    ratios = [ours[size] / theirs[size][1] for ours, theirs in taken]
    means = [theirs[size][0] / theirs[size][1] for _, theirs in taken]
    return (
        bytes_text(size),
        f"{statistics.median(medians):.2f}",
        str(spread(ratios)),
        str(spread(means)),
    )


def _our_medians(engine: Engine, place: Place, program: Program, span: Span) -> dict[int, float]:
    """Return medians by size in OSU's units: µs of half a round trip, MB/s of all directions."""
    window = 1 if program.is_time else WINDOW
    cases = [
        Case(str(size), program.pattern, size, window, 0, 1, BUDGET_S, buffers=program.buffers)
        for size in span.sizes
    ]
    measured, _ = run_engine(engine, place, cases, ("--iterations", str(span.iterations)))
    return {case.message_bytes: _figure(case) for case in measured}


def _figure(case: Measurement) -> float:
    observed = list(find_usable(1, (case,)))
    words = words_of(case.pattern)
    if words.quantity == "time":
        return time_estimate(observed).value * 1e6
    return bandwidth_estimate(observed).value * words.summed_directions * 1e-6


def _span(text: str) -> Span:
    """Read ``LEAST:LARGEST:ITERATIONS``."""
    least, largest, iterations = map(int, text.split(":"))
    return Span(least, largest, iterations)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--launches", type=int, default=5, help="of each")
    parser.add_argument("--mpi", nargs="+", choices=WRAPPERS, default=list(WRAPPERS))
    parser.add_argument("--place", nargs="+", choices=("shared", "lab"), default=["shared", "lab"])
    names = list(dict.fromkeys(program.name for program in PROGRAMS))
    parser.add_argument("--program", nargs="+", choices=names, default=names)
    parser.add_argument(
        "--buffers", nargs="+", choices=("single", "multiple"), default=["single", "multiple"]
    )
    parser.add_argument(
        "--span", nargs="+", type=_span, metavar="LEAST:LARGEST:ITERATIONS",
        default=[Span(8, 8192, 1000), Span(16384, 1 << 20, 20)],
        help="sizes in bytes that double, and the iterations of each",
    )  # fmt: skip
    add_folders(parser)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
