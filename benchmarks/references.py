"""The established benchmarks that the engine is compared with, one row each.

NetPIPE is packaged by Debian for MPICH and Open MPI. OSU and IMB are used where a folder with
their programs, built for the same MPI, is named.
"""

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec
from benchmarks import imb, netpipe, osu
from benchmarks.launching import run_program
from benchmarks.places import Place

from fabricgauge.model.engine import Engine
from fabricgauge.model.errors import CannotRun, ToolMissing

#: A launch takes about a second; MPICH 4.0's shutdown now and then never ends.
TIMEOUT_S = 20.0

#: OSU and IMB never receive into the buffer that they send from; NetPIPE, like the engine
#: unless told otherwise, has but one.
SEPARATE = ("--separate-buffers",)


class Reference(msgspec.Struct, frozen=True):
    """Another benchmark's half round trip, and how the engine has to measure to be like it.

    ``measure(engine, place, size_bytes, repeats)`` starts it once and returns seconds: the
    lowest mean of ``trials`` trials of ``repeats`` round trips each.
    """

    name: str
    trials: int
    engine_options: tuple[str, ...]
    measure: Callable[[Engine, Place, int, int], float]


def add_folders(parser: argparse.ArgumentParser) -> None:
    """Options that name folders with the programs of OSU and IMB."""
    for suite, program in (("osu", "osu_latency and osu_bw"), ("imb", "IMB-MPI1")):
        parser.add_argument(
            f"--{suite}", action="append", default=[], type=_of_kind, metavar="MPI=DIR",
            help=f"folder with {program}, built for that MPI (mpich or openmpi)",
        )  # fmt: skip


def references(kind: str, options: argparse.Namespace) -> list[Reference]:
    """NetPIPE, and the suites that were named for this kind of MPI."""
    return [
        Reference("NetPIPE", netpipe.TRIALS, (), _netpipe),
        *(Reference("OSU", 1, SEPARATE, _osu(folder)) for of, folder in options.osu if of == kind),
        *(Reference("IMB", 1, SEPARATE, _imb(folder)) for of, folder in options.imb if of == kind),
    ]


def netpipe_program(kind: str) -> str:
    """NetPIPE for that MPI; ToolMissing where Debian has none."""
    if kind not in netpipe.PROGRAMS:
        raise ToolMissing(f"there is no NetPIPE for {kind}")
    return netpipe.PROGRAMS[kind]


def _netpipe(engine: Engine, place: Place, size_bytes: int, repeats: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "np.out"
        options = netpipe.one_size(size_bytes, repeats, output)
        run_program(engine, place, netpipe_program(engine.mpi.kind), options, timeout_s=TIMEOUT_S)
        return netpipe.half_round_trips_s(output.read_text())[size_bytes]


def _osu(folder: Path) -> Callable[[Engine, Place, int, int], float]:
    def measure(engine: Engine, place: Place, size_bytes: int, repeats: int) -> float:
        options = osu.one_size(size_bytes, repeats)
        program = str(folder / "osu_latency")
        done = run_program(engine, place, program, options, timeout_s=TIMEOUT_S)
        return osu.half_round_trips_s(done.stdout)[size_bytes]

    return measure


def _imb(folder: Path) -> Callable[[Engine, Place, int, int], float]:
    def measure(engine: Engine, place: Place, size_bytes: int, repeats: int) -> float:
        options = imb.one_size(size_bytes, repeats)
        program = str(folder / "IMB-MPI1")
        done = run_program(engine, place, program, options, timeout_s=TIMEOUT_S)
        return imb.half_round_trips_s(done.stdout)[size_bytes]

    return measure


def _of_kind(text: str) -> tuple[str, Path]:
    kind, _, folder = text.partition("=")
    if kind not in netpipe.PROGRAMS or not Path(folder).is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is not mpich=DIR or openmpi=DIR")
    return kind, Path(folder).absolute()
