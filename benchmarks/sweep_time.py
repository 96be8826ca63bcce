"""Time for a whole sweep of latency and bandwidth, divided by what others take for theirs.

Ours: latency at 0 B to 4 MiB and bandwidth at 1 B to 4 MiB in one launch, each until the interval
of its median is within ±1 %, or its time budget of the standard profile is spent. Theirs: their
own defaults for the same sizes. NetPIPE's sweep is one of ping-pongs alone (it draws latency and
throughput from these); OSU's and IMB's are a ping-pong and a bandwidth test.
"""

import argparse
import statistics
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from benchmarks.launching import WRAPPERS, engine_for, run_engine, run_program
from benchmarks.places import LAB_RATE_BIT_S, Place, lab, shared_memory
from benchmarks.ratios import in_turn, spread
from benchmarks.references import add_folders, netpipe_program, of_kind
from benchmarks.tables import heading, table

from benchmarks import netpipe
from fabricgauge.check.plan.cases import plan_cases
from fabricgauge.check.plan.profiles import DEFAULT_SIZES, PROFILES
from fabricgauge.model.engine import Engine
from fabricgauge.model.errors import FabricgaugeError

LARGEST_BYTES = DEFAULT_SIZES[-1]
PROFILE = PROFILES["standard"]


class Sweep(msgspec.Struct, frozen=True):
    """Another benchmark's sweep: what it comprises, and its wall time in seconds."""

    name: str
    wall_s: Callable[[Engine, Place], float]


class Ours(msgspec.Struct, frozen=True):
    """Wall time in seconds, and how many of the cases reached ±1 % within their budget."""

    wall_s: float
    cases: int
    reached: int


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table of sweeps for every place."""
    options = _options(arguments)
    what = (
        f"Launches take turns, {options.pairs} of each, wall time of everything that is started; "
        "ratios: median (quartiles)."
    )
    print(heading("Sweep, 0 B to 4 MiB: fabricgauge's time / theirs", what), flush=True)
    heads = ("place", "MPI", "other sweep", "theirs, s", "ours, s", "at ±1 %", "ours / theirs")
    rows: list[tuple[str, ...]] = []
    with lab() as virtual:
        for kind in options.mpi:
            engine = engine_for(kind)
            for place in (shared_memory(), virtual):
                sweeps = _sweeps(kind, options)
                rows.extend(_row(engine, place, sweep, options.pairs) for sweep in sweeps)
    print(table(heads, rows), flush=True)


def _row(engine: Engine, place: Place, sweep: Sweep, pairs: int) -> tuple[str, ...]:
    taken: list[tuple[Ours, float]] = []
    try:
        taken.extend(
            in_turn(lambda: _ours(engine, place), lambda: sweep.wall_s(engine, place), pairs)
        )
    except FabricgaugeError as error:
        print(f"{sweep.name}: after {len(taken)} pairs: {error}")
    begin = (place.name, f"{engine.mpi.kind} {engine.mpi.version}", sweep.name)
    if not taken:
        return (*begin, "", "", "", "not measured")
    return (
        *begin,
        f"{statistics.median(theirs for _, theirs in taken):.1f}",
        f"{statistics.median(ours.wall_s for ours, _ in taken):.1f}",
        " ".join(f"{ours.reached}/{ours.cases}" for ours, _ in taken),
        str(spread([ours.wall_s / theirs for ours, theirs in taken])),
    )


def _ours(engine: Engine, place: Place) -> Ours:
    wanted = [
        case
        for case in plan_cases(
            ("latency", "bandwidth"), DEFAULT_SIZES, PROFILE.pair_case_s, LAB_RATE_BIT_S / 8
        )
        if case.origin == 0  # the others measure one direction as well
    ]
    options = ("--half-width", str(PROFILE.relative_half_width))
    measured, wall_s = run_engine(engine, place, wanted, options)
    return Ours(wall_s, len(measured), sum(one.stop == "interval" for one in measured))


def _sweeps(kind: str, options: argparse.Namespace) -> list[Sweep]:
    found = [Sweep("NetPIPE ping-pong", _netpipe)]
    for folder in of_kind(kind, options.osu):
        both = _each([f"{folder}/osu_latency"], [f"{folder}/osu_bw"])
        found.append(Sweep("OSU latency + bw", both))
    for folder in of_kind(kind, options.imb):
        both = _each([f"{folder}/IMB-MPI1", "PingPong", "Uniband"])
        found.append(Sweep("IMB PingPong + Uniband", both))
    return found


def _netpipe(engine: Engine, place: Place) -> float:
    with tempfile.TemporaryDirectory() as folder:
        options = netpipe.default_sweep(LARGEST_BYTES, Path(folder) / "np.out")
        return run_program(engine, place, netpipe_program(engine.mpi.kind), options).wall_s


def _each(*commands: Sequence[str]) -> Callable[[Engine, Place], float]:
    def wall_s(engine: Engine, place: Place) -> float:
        return sum(run_program(engine, place, argv[0], argv[1:]).wall_s for argv in commands)

    return wall_s


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=1, help="sweeps of each (NetPIPE: minutes)")
    parser.add_argument("--mpi", nargs="+", choices=WRAPPERS, default=list(WRAPPERS))
    add_folders(parser)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
