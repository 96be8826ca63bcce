"""Instructions that the engine itself adds to one round trip, counted and not timed.

Two launches of different length are counted; their difference, divided by the round trips that
the longer one makes more, is what each of these costs. Instructions of the MPI library, of the C
library and of the clock are not the engine's own. NetPIPE is counted in the same way.
"""

import argparse
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from benchmarks import netpipe
from benchmarks.callgrind import counted, under_valgrind
from benchmarks.launching import WRAPPERS, engine_for, latency_case, run_program
from benchmarks.places import Place, shared_memory
from benchmarks.references import netpipe_program
from benchmarks.tables import heading, table

from fabricgauge.model.engine import Engine
from fabricgauge.model.errors import ToolMissing
from fabricgauge.model.measurement import Measurement
from fabricgauge.parse.engine import parse_line
from fabricgauge.run.launch import case_lines

MESSAGE_BYTES = 8
SAMPLES = (2_000, 10_000)
BUDGET_S = 300.0

#: The functions that the timed code of both ranks has been inlined into.
TIMED = ("OriginPart::round", "TargetPart::run")
#: Rows for less than this per round trip are left out.
SMALLEST_SHOWN = 0.05


class Count(msgspec.Struct, frozen=True):
    """Instructions by function over both ranks, and the round trips that they were spent on."""

    instructions: Counter[str]
    round_trips: int


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the engine's own instructions per round trip, by function."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mpi", choices=WRAPPERS, default="mpich")
    kind = parser.parse_args(arguments).mpi
    engine, place = engine_for(kind), shared_memory()
    what = (
        f"Ping-pong of {MESSAGE_BYTES} B, both ranks together; difference of two launches of "
        f"{SAMPLES[0]} and {SAMPLES[1]} samples.\nCounted by callgrind: self cost of the program's "
        "own functions, without the MPI library, the C library and the clock."
    )
    print(heading(f"The engine's own instructions per round trip, {kind}", what), flush=True)
    ours = _per_round_trip(lambda samples: _engine(engine, place, samples))
    theirs = _per_round_trip(lambda samples: _netpipe(engine, place, samples))
    shown = [(name, cost) for name, cost in ours.most_common() if cost >= SMALLEST_SHOWN]
    rows = [(name, _where(name), f"{cost:.1f}") for name, cost in shown]
    timed = sum(cost for name, cost in ours.items() if _where(name) == "timed")
    rows += [
        ("all of the engine", "timed", f"{timed:.1f}"),
        ("all of the engine", "between blocks", f"{sum(ours.values()) - timed:.1f}"),
        ("all of NetPIPE", "timed", f"{sum(theirs.values()):.1f}"),
    ]
    print(table(("function", "where", "instructions per round trip"), rows), flush=True)


def _where(function: str) -> str:
    return "timed" if function.endswith(TIMED) else "between blocks"


def _per_round_trip(count: Callable[[int], Count]) -> Counter[str]:
    short, long = (count(samples) for samples in SAMPLES)
    more = long.round_trips - short.round_trips
    cost: Counter[str] = Counter()
    for name, instructions in long.instructions.items():
        # Counter's type knows whole numbers only, but it holds and sorts any.
        cost[name] = (instructions - short.instructions[name]) / more  # type: ignore[assignment]
    return cost


def _engine(engine: Engine, place: Place, samples: int) -> Count:
    with tempfile.TemporaryDirectory() as folder:
        program, options = under_valgrind(Path(folder), str(engine.path))
        options = [*options, "--iterations", str(samples)]
        cases = case_lines([latency_case("counted", MESSAGE_BYTES, BUDGET_S)])
        done = run_program(engine, place, program, options, stdin=cases)
        (measured,) = (
            record for record in map(parse_line, done.stdout.splitlines())
            if isinstance(record, Measurement)
        )  # fmt: skip
        taken = measured.samples + measured.warmup_samples
        return Count(counted(Path(folder), str(engine.path)), taken * measured.batch)


def _netpipe(engine: Engine, place: Place, samples: int) -> Count:
    name = netpipe_program(engine.mpi.kind)
    found = shutil.which(name)
    if found is None:
        raise ToolMissing(f"{name} is not installed")
    with tempfile.TemporaryDirectory() as folder:
        program, options = under_valgrind(Path(folder), found)
        sweep = netpipe.one_size(MESSAGE_BYTES, samples, Path(folder) / "np.out")
        run_program(engine, place, program, [*options, *sweep])
        resolved = str(Path(found).resolve())
        return Count(counted(Path(folder), resolved), netpipe.TRIALS * samples)


if __name__ == "__main__":
    main()
