"""Our message rate and latency of many pairs divided by OSU's osu_mbw_mr and osu_multi_lat.

The suite is not installed with this program: a folder with its programs, built for the same MPI,
has to be named. Like is compared with like: its statistics are means over all pairs, so ours are
too; the medians, which fabricgauge reports, are shown beside them. What remains is what OSU 7.4
does between samples: a barrier of all ranks before every window and every round trip, so that each
is timed alone and in a network that has just run empty. Both have the same buffers.
"""

import argparse
import statistics
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec
from benchmarks.launching import WRAPPERS, engine_for, run_engine, run_program, times_of
from benchmarks.places import Place, of_ranks
from benchmarks.ratios import in_turn, spread
from benchmarks.references import add_folders, of_kind
from benchmarks.tables import bytes_text, heading, table

from benchmarks import osu
from fabricgauge.model.engine import Engine
from fabricgauge.model.errors import FabricgaugeError
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.pattern import Buffers, Pattern
from fabricgauge.model.plan import Case

SIZES = (8, 4096, 65536)
WINDOW = 64
#: A launch of either; OSU is told a number of iterations, ours keeps to it as well.
ITERATIONS = 1000
#: No case comes near it.
BUDGET_S = 30.0
TIMEOUT_S = 120.0


class Rival(msgspec.Struct, frozen=True):
    """One program of OSU and the pattern that it is compared with.

    ``theirs`` reads one figure by message size from its table; ``alike`` makes the same of our
    means, ``usual`` of our medians.
    """

    program: str
    pattern: Pattern
    window: int
    unit: str
    scale: float
    options: tuple[str, ...]
    buffers: Buffers
    theirs: Callable[[str], dict[int, float]]
    alike: Callable[[Measurement], float]
    usual: Callable[[Measurement], float]


class Figures(msgspec.Struct, frozen=True):
    """One launch of each."""

    alike: float
    usual: float
    theirs: float


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table for every MPI with a folder, place, number of ranks and program."""
    options = _options(arguments)
    kinds = [kind for kind in options.mpi if of_kind(kind, options.osu)]
    if not kinds:
        print("message rate: not compared, no folder with OSU's programs was named (--osu)")
        return
    with ExitStack() as stack:
        by_ranks = [of_ranks(stack, ranks, with_lab=options.lab) for ranks in options.ranks]
        for kind in kinds:
            engine = engine_for(kind)
            folder = of_kind(kind, options.osu)[0]
            for place in (place for some in by_ranks for place in some):
                for rival in RIVALS:
                    _compare(engine, place, folder, rival, options)


def _compare(
    engine: Engine, place: Place, folder: Path, rival: Rival, options: argparse.Namespace
) -> None:
    ranks = len(place.launch.nodes)
    title = (
        f"{rival.pattern}: fabricgauge / {rival.program}, {engine.mpi.kind} {engine.mpi.version}, "
        f"{place.name}, {ranks} ranks"
    )
    what = (
        f"Launches take turns, {options.pairs} of each per size, {options.iterations} samples of "
        "each pair of ranks.\nRatios: median of the launches' ratios (quartiles)."
    )
    print(heading(title, what), flush=True)
    rows = [_row(engine, place, folder, rival, size, options) for size in options.sizes]
    heads = ("size", f"OSU {rival.unit}", "our mean / theirs", "our median / theirs")
    print(table(heads, rows), flush=True)


def _row(
    engine: Engine, place: Place, folder: Path, rival: Rival, size: int,
    options: argparse.Namespace,
) -> tuple[str, ...]:  # fmt: skip
    figures: list[Figures] = []

    def theirs() -> float:
        asked = [*osu.one_size(size, options.iterations), *rival.options]
        program = str(folder / rival.program)
        done = run_program(engine, place, program, asked, timeout_s=TIMEOUT_S)
        return rival.theirs(done.stdout)[size]

    def ours() -> Measurement:
        case = Case(
            f"{rival.pattern}/{size}", rival.pattern, size, rival.window, 0, 1, BUDGET_S,
            buffers=rival.buffers,
        )  # fmt: skip
        told = ("--iterations", str(options.iterations))
        (measured,), _ = run_engine(engine, place, (case,), told)
        return measured

    try:
        for mine, other in in_turn(ours, theirs, options.pairs):
            figures.append(Figures(rival.alike(mine), rival.usual(mine), other))
    except FabricgaugeError as error:
        print(f"{bytes_text(size)}: after {len(figures)} launches of each: {error}")
    if not figures:
        return (bytes_text(size), "", "not measured", "not measured")
    return (
        bytes_text(size),
        f"{statistics.median(one.theirs for one in figures) * rival.scale:.3f}",
        str(spread([one.alike / one.theirs for one in figures])),
        str(spread([one.usual / one.theirs for one in figures])),
    )


def _mean_messages_per_s(measured: Measurement) -> float:
    """OSU's statistic: all messages by the mean time of the pairs."""
    assert measured.together is not None
    return measured.together.pairs * measured.window / times_of(measured).mean_s


def _median_messages_per_s(measured: Measurement) -> float:
    assert measured.together is not None
    return measured.together.messages_per_s


RIVALS = (
    Rival(
        "osu_mbw_mr", "multi_bandwidth", WINDOW, "million messages/s", 1e-6,
        ("-W", str(WINDOW), "-b", "multiple"), "multiple", osu.messages_per_s,
        _mean_messages_per_s, _median_messages_per_s,
    ),
    Rival(
        "osu_multi_lat", "multi_latency", 1, "µs", 1e6, (), "single", osu.half_round_trips_s,
        lambda measured: times_of(measured).mean_s,
        lambda measured: times_of(measured).median_s,
    ),
)  # fmt: skip


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=7, help="launches of each per size")
    parser.add_argument("--iterations", type=int, default=ITERATIONS, help="samples of each pair")
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4], help="even numbers")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="bytes, 1 or more")
    parser.add_argument("--mpi", nargs="+", choices=WRAPPERS, default=list(WRAPPERS))
    parser.add_argument("--lab", action="store_true", help="also on a lab, a node for each rank")
    add_folders(parser)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
