"""Our time of a collective divided by OSU's and IMB's, with the same MPI library.

Neither suite is installed with this program: a folder with its programs, built for the same MPI,
has to be named. Both separate iterations by a barrier, time each rank's own call and print the mean
over ranks of their means. Three figures of ours stand beside that: the median on the synchronised
clock, from the first start to the last end, which is what fabricgauge reports; the slowest rank's
median after a barrier; and the mean over ranks of their own medians after a barrier, which is
nearest to what the suites do. What lies between the first and the last is the clock, not the
barrier's speed; what lies between the last and 1 is means against medians, and chance.
"""

import argparse
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec
from benchmarks.launching import WRAPPERS, engine_for, run_program, times_of
from benchmarks.places import Place, of_ranks
from benchmarks.ratios import in_turn, spread
from benchmarks.references import add_folders, of_kind
from benchmarks.tables import bytes_text, heading, table

from benchmarks import imb, osu
from fabricgauge.logs.readers.engine import parse_line
from fabricgauge.model.engine import Engine
from fabricgauge.model.errors import CannotRun, FabricgaugeError
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.pattern import CollectivePattern
from fabricgauge.model.plan import Case
from fabricgauge.nodes.launch.launch import case_lines

PATTERNS: tuple[CollectivePattern, ...] = ("barrier", "bcast", "allreduce", "alltoall")
SIZES = (8, 4096, 65536)
ITERATIONS = 1000
BUDGET_S = 1.0
TIMEOUT_S = 120.0


class Suite(msgspec.Struct, frozen=True):
    """Another suite's command for one pattern, size and number of ranks, and its figure.

    ``figure_s(text, size_bytes)`` is the mean over ranks in seconds; it raises CannotRun where
    the output has none.
    """

    name: str
    folder: Path
    command: Callable[[Path, str, int, int, int], tuple[str, list[str]]]
    figure_s: Callable[[str, int], float]


class Ours(msgspec.Struct, frozen=True):
    """Seconds by three ways to take them, and the way that the first one came about."""

    clock_s: float
    barrier_s: float
    ranks_mean_s: float
    clock: str


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table for every MPI with a folder, place, number of ranks and suite."""
    options = _options(arguments)
    compared = [(kind, suite) for kind in options.mpi for suite in _suites(kind, options)]
    if not compared:
        print("collectives: not compared, no folder with OSU's or IMB's programs was named")
        return
    with ExitStack() as stack:
        by_ranks = [of_ranks(stack, ranks, with_lab=options.lab) for ranks in options.ranks]
        for kind, suite in compared:
            engine = engine_for(kind)
            for place in (place for places in by_ranks for place in places):
                _compare(engine, place, suite, options)


def _suites(kind: str, options: argparse.Namespace) -> Iterator[Suite]:
    for folder in of_kind(kind, options.osu):
        yield Suite("OSU", folder, osu.collective, osu.collective_s)
    for folder in of_kind(kind, options.imb):
        yield Suite("IMB", folder, imb.collective, imb.collective_s)


def _compare(engine: Engine, place: Place, suite: Suite, options: argparse.Namespace) -> None:
    ranks = len(place.launch.nodes)
    title = (
        f"Collectives: fabricgauge / {suite.name}, {engine.mpi.kind} {engine.mpi.version}, "
        f"{place.name}, {ranks} ranks"
    )
    what = (
        f"Launches take turns, {options.pairs} of each per size; {suite.name} makes "
        f"{options.iterations} iterations.\nRatios: median of the launches' ratios (quartiles)."
    )
    print(heading(title, what), flush=True)
    rows = [
        _row(engine, place, suite, pattern, size, options)
        for pattern in options.patterns
        for size in ((0,) if pattern == "barrier" else options.sizes)
    ]
    heads = (
        "operation", "size", f"{suite.name} µs", "our clock / theirs", "synchronised",
        "slowest after a barrier / theirs", "ranks' mean after a barrier / theirs",
    )  # fmt: skip
    print(table(heads, rows), flush=True)


def _row(
    engine: Engine, place: Place, suite: Suite, pattern: CollectivePattern, size: int,
    options: argparse.Namespace,
) -> tuple[str, ...]:  # fmt: skip
    pairs: list[tuple[Ours, float]] = []
    ranks = len(place.launch.nodes)

    def theirs() -> float:
        program, asked = suite.command(suite.folder, pattern, size, ranks, options.iterations)
        done = run_program(engine, place, program, asked, timeout_s=TIMEOUT_S)
        return suite.figure_s(done.stdout, size)

    try:
        # What was measured before a launch failed stays in the list.
        pairs.extend(in_turn(lambda: _ours(engine, place, pattern, size), theirs, options.pairs))
    except FabricgaugeError as error:
        print(f"{pattern}, {bytes_text(size)}: after {len(pairs)} launches of each: {error}")
    begin = (pattern, bytes_text(size))
    if not pairs:
        return (*begin, "", "not measured", "", "", "")
    on_clock = sum(mine.clock == "synchronised" for mine, _ in pairs)
    return (
        *begin,
        f"{statistics.median(other for _, other in pairs) * 1e6:.2f}",
        str(spread([mine.clock_s / other for mine, other in pairs])),
        f"{on_clock} of {len(pairs)}",
        str(spread([mine.barrier_s / other for mine, other in pairs])),
        str(spread([mine.ranks_mean_s / other for mine, other in pairs])),
    )


def _ours(engine: Engine, place: Place, pattern: CollectivePattern, size: int) -> Ours:
    """One launch with two cases: by the best clock, and after barriers.

    Raises:
        CannotRun: the launch failed, or a case was not measured.
    """
    usual, barred = (Case(name, pattern, size, 1, 0, 1, BUDGET_S) for name in ("best", "barrier"))
    lines = case_lines((usual, barred)).replace(
        "barrier pattern=", "barrier clock=barrier pattern="
    )
    done = run_program(engine, place, str(engine.path), (), stdin=lines, timeout_s=TIMEOUT_S)
    records = [parse_line(line) for line in done.stdout.splitlines()]
    measured = [record for record in records if isinstance(record, Measurement)]
    if len(measured) != 2 or any(one.together is None for one in measured):
        raise CannotRun(f"{pattern} of {size} bytes was not measured: {done.stderr[-200:]}")
    first, second = (one.together for one in measured)
    assert first is not None and second is not None
    return Ours(
        times_of(measured[0]).median_s,
        times_of(measured[1]).median_s,
        statistics.mean(second.rank_medians_s),
        first.clock,
    )


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=7, help="launches of each per size")
    parser.add_argument("--iterations", type=int, default=ITERATIONS, help="of the other suite")
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="powers of 2, bytes")
    parser.add_argument("--patterns", nargs="+", choices=PATTERNS, default=PATTERNS)
    parser.add_argument("--mpi", nargs="+", choices=WRAPPERS, default=list(WRAPPERS))
    parser.add_argument("--lab", action="store_true", help="also on a lab, a node for each rank")
    add_folders(parser)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
