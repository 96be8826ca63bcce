"""Our half round trip divided by that of an established benchmark, with the same MPI library.

Like is compared with like: NetPIPE reports the lowest of three trials' means, so the engine
measures three cases of the same number of round trips and the lowest of their means is taken;
against OSU and IMB, which report a mean, it is the mean of one case with separate buffers, as
these have (over shared memory that matters more than anything else). The median, which is what
fabricgauge reports, is shown beside it.
"""

import argparse
import statistics
from collections.abc import Sequence

import msgspec
from benchmarks.launching import WRAPPERS, engine_for, latency_case, run_engine, times_of
from benchmarks.places import Place, lab, shared_memory
from benchmarks.ratios import in_turn, spread
from benchmarks.references import Reference, add_folders, references
from benchmarks.tables import bytes_text, heading, table

from fabricgauge.model.engine import Engine
from fabricgauge.model.errors import FabricgaugeError
from fabricgauge.model.measurement import Measurement

SIZES = tuple(2**power for power in range(23))
#: Long enough to outlast the scheduler's slices, short enough to take turns often.
TRIAL_S = 0.04
FEWEST_REPEATS = 5
#: A launch can be unlucky as a whole, with both ranks on one processor.
LOOKS = 3
#: No trial comes near it.
BUDGET_S = 20.0


class Trial(msgspec.Struct, frozen=True):
    """One trial is ``repeats`` round trips, of which the engine times ``batch`` at once."""

    size_bytes: int
    repeats: int
    batch: int


class Pair(msgspec.Struct, frozen=True):
    """One launch of each: seconds; ``alike_s`` is ours by the other's statistic."""

    alike_s: float
    median_s: float
    theirs_s: float


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table for every MPI, place and reference."""
    options = _options(arguments)
    with lab() as virtual:
        for kind in options.mpi:
            engine = engine_for(kind)
            for place in (shared_memory(), virtual):
                for reference in references(kind, options):
                    _compare(engine, place, reference, options)


def _compare(
    engine: Engine, place: Place, reference: Reference, options: argparse.Namespace
) -> None:
    mpi = f"{engine.mpi.kind} {engine.mpi.version}"
    what = (
        f"Launches take turns, {options.pairs} of each per size; {reference.trials} trial(s) of as "
        "many round trips each.\nRatios: median of the pairs' ratios (quartiles)."
    )
    title = f"Half round trip: fabricgauge / {reference.name}, {mpi}, {place.name}"
    print(heading(title, what), flush=True)
    try:
        trials = _trials(engine, place, options.sizes)
    except FabricgaugeError as error:
        print(f"not measured: {error}", flush=True)
        return
    rows = [_row(trial, engine, place, reference, options.pairs) for trial in trials]
    alike = "lowest mean" if reference.trials > 1 else "mean"
    heads = ("size", "trips", "batch", f"{reference.name} µs", f"our {alike} / theirs",
             "our median / theirs")  # fmt: skip
    print(table(heads, rows), flush=True)


def _row(
    trial: Trial, engine: Engine, place: Place, reference: Reference, wanted: int
) -> tuple[str, ...]:
    begin = (bytes_text(trial.size_bytes), str(trial.repeats), str(trial.batch))
    pairs = _pairs(trial, engine, place, reference, wanted)
    if not pairs:
        return (*begin, "", "not measured", "not measured")
    return (
        *begin,
        f"{statistics.median(pair.theirs_s for pair in pairs) * 1e6:.3f}",
        str(spread([pair.alike_s / pair.theirs_s for pair in pairs])),
        str(spread([pair.median_s / pair.theirs_s for pair in pairs])),
    )


def _pairs(
    trial: Trial, engine: Engine, place: Place, reference: Reference, wanted: int
) -> list[Pair]:
    """As many pairs as wanted, or those until a launch failed."""

    def theirs() -> float:
        return reference.measure(engine, place, trial.size_bytes, trial.repeats)

    def ours() -> tuple[float, float]:
        measured = _measure(engine, place, reference, trial)
        return (
            min(times_of(one).mean_s for one in measured),
            statistics.median(times_of(one).median_s for one in measured),
        )

    pairs: list[Pair] = []
    try:
        pairs.extend(Pair(*mine, other) for mine, other in in_turn(ours, theirs, wanted))
    except FabricgaugeError as error:
        print(f"{bytes_text(trial.size_bytes)}: after {len(pairs)} pairs: {error}")
    return pairs


def _measure(
    engine: Engine, place: Place, reference: Reference, trial: Trial
) -> tuple[Measurement, ...]:
    cases = [
        latency_case(f"trial/{number}", trial.size_bytes, BUDGET_S, reference.buffers)
        for number in range(reference.trials)
    ]
    samples = max(FEWEST_REPEATS, trial.repeats // trial.batch)
    options = ("--iterations", str(samples))
    measured, _ = run_engine(engine, place, cases, options)
    return measured


def _trials(engine: Engine, place: Place, sizes: Sequence[int]) -> list[Trial]:
    """How many round trips last ``TRIAL_S`` at each size if nothing disturbs, from quick looks."""
    cases = [latency_case(f"look/{size}", size, 0.1) for size in sizes]
    looks = [run_engine(engine, place, cases, ("--half-width", "0.05"))[0] for _ in range(LOOKS)]
    trials = []
    for same_size in zip(*looks, strict=True):
        quickest = min(same_size, key=lambda one: times_of(one).minimum_s)
        repeats = _repeats(times_of(quickest).minimum_s)
        trials.append(Trial(quickest.message_bytes, repeats, quickest.batch))
    return trials


def _repeats(half_round_trip_s: float) -> int:
    return max(FEWEST_REPEATS, int(TRIAL_S / (2 * half_round_trip_s)))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=7, help="launches of each per size")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="bytes, 1 or more")
    parser.add_argument("--mpi", nargs="+", choices=WRAPPERS, default=list(WRAPPERS))
    add_folders(parser)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
