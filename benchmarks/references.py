"""The established benchmarks that the engine is compared with, one row each.

NetPIPE is packaged by Debian for MPICH and Open MPI. OSU and IMB are used where a folder with
their programs, built for the same MPI, is named.
"""

import argparse
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec
from benchmarks.launching import run_program
from benchmarks.places import Place

from benchmarks import imb, netpipe, osu
from fabricgauge.model.engine import Engine
from fabricgauge.model.errors import CannotRun, ToolMissing
from fabricgauge.model.pattern import Buffers

#: A launch takes about a second; MPICH 4.0's shutdown now and then never ends.
TIMEOUT_S = 20.0


Measure: TypeAlias = Callable[[Engine, Place, int, int], float]


class Reference(msgspec.Struct, frozen=True):
    """Another benchmark's half round trip, and the buffers with which the engine is like it.

    ``measure(engine, place, size_bytes, repeats)`` starts it once and returns seconds: the
    lowest mean of ``trials`` trials of ``repeats`` round trips each. OSU and IMB never receive into
    the buffer that they send from; NetPIPE, like the engine unless it is asked, has but one.
    """

    name: str
    trials: int
    buffers: Buffers
    measure: Measure


def add_folders(parser: argparse.ArgumentParser) -> None:
    """Options that name folders with the programs of OSU and IMB."""
    for suite, program in (("osu", "osu_latency and osu_bw"), ("imb", "IMB-MPI1")):
        parser.add_argument(
            f"--{suite}", action="append", default=[], type=_named, metavar="MPI=DIR",
            help=f"folder with {program}, built for that MPI (mpich or openmpi)",
        )  # fmt: skip


def references(kind: str, options: argparse.Namespace) -> list[Reference]:
    """NetPIPE, and the suites that were named for this kind of MPI."""
    found = [Reference("NetPIPE", netpipe.TRIALS, "fewest", _netpipe)]
    for folder in of_kind(kind, options.osu):
        measure = _suite(folder / "osu_latency", osu.one_size, osu.half_round_trips_s)
        found.append(Reference("OSU", 1, "single", measure))
    for folder in of_kind(kind, options.imb):
        measure = _suite(folder / "IMB-MPI1", imb.one_size, imb.half_round_trips_s)
        found.append(Reference("IMB", 1, "single", measure))
    return found


def of_kind(kind: str, folders: Sequence[tuple[str, Path]]) -> list[Path]:
    """The folders that were named for this kind of MPI."""
    return [folder for named, folder in folders if named == kind]


def netpipe_program(kind: str) -> str:
    """NetPIPE for that MPI; ToolMissing where Debian has none."""
    if kind not in netpipe.PROGRAMS:
        raise ToolMissing(f"there is no NetPIPE for {kind}")
    return netpipe.PROGRAMS[kind]


def _netpipe(engine: Engine, place: Place, size_bytes: int, repeats: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "np.out"
        options = netpipe.one_size(size_bytes, repeats, output)
        program = netpipe_program(engine.mpi.kind)
        try:
            run_program(engine, place, program, options, timeout_s=TIMEOUT_S)
        except CannotRun:
            # A shutdown that hangs does so once the row has been written.
            if not output.exists() or not netpipe.half_round_trips_s(output.read_text()):
                raise
        return netpipe.half_round_trips_s(output.read_text())[size_bytes]


def _suite(
    program: Path,
    options: Callable[[int, int], list[str]],
    parse: Callable[[str], dict[int, float]],
) -> Measure:
    def measure(engine: Engine, place: Place, size_bytes: int, repeats: int) -> float:
        chosen = options(size_bytes, repeats)
        done = run_program(engine, place, str(program), chosen, timeout_s=TIMEOUT_S)
        return parse(done.stdout)[size_bytes]

    return measure


def _named(text: str) -> tuple[str, Path]:
    kind, _, folder = text.partition("=")
    if kind not in netpipe.PROGRAMS or not Path(folder).is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is not mpich=DIR or openmpi=DIR")
    return kind, Path(folder).absolute()
