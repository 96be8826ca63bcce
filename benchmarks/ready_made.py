"""Ready-made engines beside those that are built here: the same figures, in turns.

    python -m benchmarks.ready_made --programs build/programs [--mpi MPICXX|MPIEXEC]…

``make wheels`` leaves the programs in ``build/programs``. Without ``--mpi`` every MPI of this
machine is measured, and those of ``.venv-impi`` and ``.venv-openmpi5``. Engines are built before
the first measurement; two ranks share this machine's memory.
"""

import argparse
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import msgspec
from benchmarks.launching import latency_case, run_engine, times_of
from benchmarks.places import shared_memory
from benchmarks.ratios import in_turn, spread
from benchmarks.tables import heading, table

from fabricgauge.model.engine import Engine, Mpi
from fabricgauge.model.errors import CannotRun, FabricgaugeError
from fabricgauge.model.plan import Case
from fabricgauge.nodes.engines.build import build
from fabricgauge.nodes.engines.find import describe_mpi, find_library, find_mpis, library_path
from fabricgauge.nodes.engines.ready_made import checked_path, find_program

ROOT = Path(__file__).parents[1]
OTHERS = (ROOT / ".venv-impi/bin/mpigxx", ROOT / ".venv-openmpi5/bin/mpicxx")
#: How far the medians may be apart.
ALIKE = 0.02
LATENCY_BYTES, STREAM_BYTES, WINDOW, BUDGET_S = 8, 1 << 20, 8, 0.4
CASES = (
    latency_case("latency", LATENCY_BYTES, BUDGET_S),
    Case("stream", "bandwidth", STREAM_BYTES, WINDOW, 0, 1, BUDGET_S),
)


class Pair(msgspec.Struct, frozen=True):
    """The two engines of an MPI."""

    library: str
    ready: Engine
    built: Engine


def main(arguments: Sequence[str] | None = None) -> None:
    """Print latency and rate of both engines under each MPI, and the ratios of the pairs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--programs", type=Path, default=ROOT / "build" / "programs")
    parser.add_argument("--mpi", type=Path, nargs="+", default=[])
    parser.add_argument("--pairs", type=int, default=10, help="launches of each engine")
    options = parser.parse_args(arguments)
    mpis = [describe_mpi(path) for path in options.mpi] or [*find_mpis(), *_others()]
    pairs = [(mpi, _engines(mpi, options.programs)) for mpi in mpis]
    what = (
        f"Two ranks in shared memory, {options.pairs} launches of each engine in turns: medians;"
        " ratio ready-made / built of each pair of launches\n"
        f"(half round trip at {LATENCY_BYTES} B; stream of 1 MiB): median and quartiles; and of the"
        " best launches, which other load disturbs least."
        f" Looked for: 1 ± {ALIKE:.2f}."
    )
    print(heading("Ready-made and built engines", what), flush=True)
    begin = time.monotonic()
    heads = (
        "MPI", "library", "ready µs", "built µs", "ratio", "best", "ready MB/s", "built MB/s",
        "ratio", "best",
    )  # fmt: skip
    print(table(heads, [_row(mpi, pair, options.pairs) for mpi, pair in pairs]))
    print(f"{time.monotonic() - begin:.0f} s")


def _others() -> list[Mpi]:
    mpis = []
    for wrapper in OTHERS:
        with suppress(FabricgaugeError):
            mpis.append(describe_mpi(wrapper))
    return mpis


def _engines(mpi: Mpi, folder: Path) -> Pair:
    """Return both engines.

    Raises:
        CannotRun: no ready-made one fits the MPI, or none can be built.
    """
    library = find_library(mpi)
    program = find_program("engine", library.soname, folder)
    if program is None:
        raise CannotRun(f"{folder} has no engine for {library.soname}; run make wheels")
    built = build(mpi)
    ready = msgspec.structs.replace(
        built, path=checked_path(program, folder), library_path=library_path(mpi, library)
    )
    return Pair(library.soname, ready, built)


def _row(mpi: Mpi, pair: Pair, launches: int) -> tuple[str, ...]:
    figures = list(in_turn(partial(_measure, pair.ready), partial(_measure, pair.built), launches))
    cells: list[str] = []
    for at, scale, best in ((0, 1e6, min), (1, 1e-6, max)):
        ready, built = ([launch[who][at] * scale for launch in figures] for who in (0, 1))
        ratios = spread([left / right for left, right in zip(ready, built, strict=True)])
        cells += [f"{spread(ready).median:.3f}", f"{spread(built).median:.3f}", str(ratios)]
        cells.append(f"{best(ready) / best(built):.3f}")
    return (f"{mpi.kind} {mpi.version}", pair.library, *cells)


def _measure(engine: Engine) -> tuple[float, float]:
    """Return the half round trip in seconds, and the stream's bytes per second."""
    (latency, stream), _ = run_engine(engine, shared_memory(), CASES)
    rate = STREAM_BYTES * WINDOW / times_of(stream).median_s
    return times_of(latency).median_s, rate


if __name__ == "__main__":
    main()
