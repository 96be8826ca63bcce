"""Instructions that the engine itself adds to one message, counted and not timed.

Callgrind says how often every single instruction ran. Those of the engine's own file that ran
once in every round trip, or for every message of a window, are what it adds; those of the MPI
library, of the C library and of the clock lie in other files. NetPIPE and osu_bw, counted in the
same way, stand beside it.
"""

import argparse
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from benchmarks.callgrind import Instruction, counts, under_valgrind
from benchmarks.launching import WRAPPERS, engine_for, latency_case, run_program
from benchmarks.places import Place, shared_memory
from benchmarks.references import add_folders, netpipe_program, of_kind
from benchmarks.tables import heading, table

from benchmarks import netpipe, osu
from fabricgauge.logs.readers.engine import parse_line
from fabricgauge.model.engine import Engine
from fabricgauge.model.errors import ToolMissing
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.pattern import Buffers
from fabricgauge.model.plan import Case
from fabricgauge.nodes.launch.launch import case_lines

MESSAGE_BYTES = 8
#: More than the readings that the engine makes at its start to know its clock, so that these are
#: not taken for a part of every round trip.
SAMPLES = 40_000
WINDOW = 64
WINDOWS = 2_000
BUDGET_S = 300.0


class Count(msgspec.Struct, frozen=True):
    """How often the instructions of each of two processes ran, for how many operations.

    An operation is a round trip, or a message of a window.
    """

    program: str
    processes: tuple[Counter[Instruction], ...]
    operations: int
    samples: int


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the programs' own instructions per round trip and per message of a window."""
    options = _options(arguments)
    what = (
        f"Messages of {MESSAGE_BYTES} B over shared memory, one launch of each under callgrind; "
        "origin and target together.\nWhat does not run in every operation is divided among "
        "them; callgrind slows the program,\nso that there are more blocks than usual."
    )
    kinds: list[str] = options.mpi
    print(heading("Own instructions per round trip", what), flush=True)
    rows = [(kind, *_row(count)) for kind in kinds for count in _round_trips(kind)]
    heads = ("MPI", "program", "round trips", "per sample", "in every round trip", "all else")
    print(table(heads, rows))
    print(heading(f"Own instructions per message of a window of {WINDOW}", what), flush=True)
    rows = [
        (kind, *_row(count))
        for kind in kinds
        for count in _windows(kind, of_kind(kind, options.osu))
    ]
    heads = ("MPI", "program", "messages", "per sample", "for every message", "all else")
    print(table(heads, rows))


def _row(count: Count) -> tuple[str, ...]:
    inner = sum(in_every(runs, count.operations) for runs in count.processes)
    everything = sum(sum(runs.values()) for runs in count.processes) / count.operations
    return (
        count.program,
        str(count.operations),
        f"{count.operations / count.samples:.1f}",
        f"{inner:.0f}",
        f"{everything - inner:.1f}",
    )


def in_every(runs: Counter[Instruction], operations: int) -> int:
    """How many instructions ran in every operation, counted as often as they did in each."""
    return sum(times // operations for times in runs.values())


def _round_trips(kind: str) -> Iterator[Count]:
    engine, place = engine_for(kind), shared_memory()
    yield _engine(engine, place, latency_case("counted", MESSAGE_BYTES, BUDGET_S), SAMPLES)
    yield _netpipe(engine, place)


def _windows(kind: str, folders: Sequence[Path]) -> Iterator[Count]:
    engine, place = engine_for(kind), shared_memory()
    for buffers in ("single", "multiple"):
        case = Case("counted", "bandwidth", MESSAGE_BYTES, WINDOW, 0, 1, BUDGET_S, buffers=buffers)
        yield _engine(engine, place, case, WINDOWS)
        for folder in folders[:1]:
            yield _osu(engine, place, folder, buffers)


def _engine(engine: Engine, place: Place, case: Case, samples: int) -> Count:
    with tempfile.TemporaryDirectory() as folder:
        program, options = under_valgrind(Path(folder), str(engine.path))
        options = [*options, "--iterations", str(samples)]
        done = run_program(engine, place, program, options, stdin=case_lines([case]))
        (measured,) = (
            record
            for record in map(parse_line, done.stdout.splitlines())
            if isinstance(record, Measurement)
        )
        processes = tuple(counts(Path(folder), str(engine.path)))
        # What was warm-up is not known in operations: the first few were not batched.
        operations = measured.samples * measured.batch
        name = "fabricgauge"
        if case.pattern == "bandwidth":
            operations, name = operations * case.window, f"fabricgauge, {case.buffers}"
        return Count(name, processes, operations, measured.samples)


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


def _osu(engine: Engine, place: Place, suite: Path, buffers: Buffers) -> Count:
    path = str(suite / "osu_bw")
    with tempfile.TemporaryDirectory() as folder:
        program, options = under_valgrind(Path(folder), path)
        words = [*osu.one_size(MESSAGE_BYTES, WINDOWS), "-W", str(WINDOW), "-b", buffers]
        run_program(engine, place, program, [*options, *words])
        processes = tuple(counts(Path(folder), path))
        return Count(f"osu_bw, {buffers}", processes, WINDOWS * WINDOW, WINDOWS)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mpi", nargs="+", choices=WRAPPERS, default=list(WRAPPERS))
    add_folders(parser)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
