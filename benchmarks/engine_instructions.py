"""Instructions that the engine itself adds to one round trip, counted and not timed.

Callgrind says how often every single instruction ran. Those of the engine's own file that ran
once in every round trip are what it adds to it; those of the MPI library, of the C library and of
the clock lie in other files. NetPIPE, counted in the same way, stands beside it.
"""

import argparse
import shutil
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec
from benchmarks.callgrind import Instruction, counts, under_valgrind
from benchmarks.launching import WRAPPERS, engine_for, latency_case, run_program
from benchmarks.places import Place, shared_memory
from benchmarks.references import netpipe_program
from benchmarks.tables import heading, table

from benchmarks import netpipe
from fabricgauge.logs.readers.engine import parse_line
from fabricgauge.model.engine import Engine
from fabricgauge.model.errors import ToolMissing
from fabricgauge.model.measurement import Measurement
from fabricgauge.nodes.launch.launch import case_lines

MESSAGE_BYTES = 8
#: More than the readings that the engine makes at its start to know its clock, so that these are
#: not taken for a part of every round trip.
SAMPLES = 40_000
BUDGET_S = 300.0


class Count(msgspec.Struct, frozen=True):
    """How often the instructions of each of two processes ran, in how many round trips."""

    program: str
    processes: tuple[Counter[Instruction], ...]
    round_trips: int
    samples: int


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the programs' own instructions per round trip."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mpi", nargs="+", choices=WRAPPERS, default=list(WRAPPERS))
    kinds = parser.parse_args(arguments).mpi
    what = (
        f"Ping-pong of {MESSAGE_BYTES} B over shared memory, one launch of each under callgrind; "
        "origin and target together.\nWhat does not run in every round trip is divided among "
        "them; callgrind slows the program,\nso that there are more blocks than usual."
    )
    print(heading("Own instructions per round trip", what), flush=True)
    rows: list[tuple[str, ...]] = []
    for kind in kinds:
        engine, place = engine_for(kind), shared_memory()
        counted = (_engine(engine, place), _netpipe(engine, place))
        rows.extend((kind, *_row(count)) for count in counted)
    heads = ("MPI", "program", "round trips", "per sample", "in every round trip", "all else")
    print(table(heads, rows), flush=True)


def _row(count: Count) -> tuple[str, ...]:
    inner = sum(in_every(runs, count.round_trips) for runs in count.processes)
    everything = sum(sum(runs.values()) for runs in count.processes) / count.round_trips
    return (
        count.program,
        str(count.round_trips),
        f"{count.round_trips / count.samples:.1f}",
        f"{inner:.0f}",
        f"{everything - inner:.1f}",
    )


def in_every(runs: Counter[Instruction], round_trips: int) -> int:
    """How many instructions ran in every round trip, counted as often as they did in each."""
    return sum(times // round_trips for times in runs.values())


def _engine(engine: Engine, place: Place) -> Count:
    with tempfile.TemporaryDirectory() as folder:
        program, options = under_valgrind(Path(folder), str(engine.path))
        options = [*options, "--iterations", str(SAMPLES)]
        cases = case_lines([latency_case("counted", MESSAGE_BYTES, BUDGET_S)])
        done = run_program(engine, place, program, options, stdin=cases)
        (measured,) = (
            record
            for record in map(parse_line, done.stdout.splitlines())
            if isinstance(record, Measurement)
        )
        processes = tuple(counts(Path(folder), str(engine.path)))
        # What was warm-up is not known in operations: the first few were not batched.
        return Count("fabricgauge", processes, measured.samples * measured.batch, measured.samples)


def _netpipe(engine: Engine, place: Place) -> Count:
    found = shutil.which(netpipe_program(engine.mpi.kind))
    if found is None:
        raise ToolMissing(f"{netpipe_program(engine.mpi.kind)} is not installed")
    with tempfile.TemporaryDirectory() as folder:
        program, options = under_valgrind(Path(folder), found)
        sweep = netpipe.one_size(MESSAGE_BYTES, SAMPLES, Path(folder) / "np.out")
        run_program(engine, place, program, [*options, *sweep])
        processes = tuple(counts(Path(folder), str(Path(found).resolve())))
        return Count("NetPIPE", processes, netpipe.TRIALS * SAMPLES, netpipe.TRIALS)


if __name__ == "__main__":
    main()
