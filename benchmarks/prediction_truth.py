"""`compare --mix` against the truth: its ratio of two settings, and the ratio that programs have.

python -m benchmarks.prediction_truth --pair mpis|yield|eager|buffers|networks [-- APP ARGUMENT...]

Both settings are measured by `check` in turns, each on a lab of two nodes. Then `scale`, which
proves the path, launches every program under A and B in turns; its profile tells the time in MPI.
That includes waiting for the other rank, which no curve knows: the fastest quarter of the launches
has the least of it. APP is linked with Open MPI, and is launched beside this script's programs.
"""

import argparse
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path

import msgspec
import numpy as np
from benchmarks.launching import WRAPPERS
from benchmarks.ratios import in_turn, spread
from benchmarks.tables import heading
from numpy.typing import NDArray

from fabricgauge.compare.sides import find_side
from fabricgauge.features.application.prediction import Prediction, Span, predict, recorded_s
from fabricgauge.features.application.profile import FOLDER, read_profiles
from fabricgauge.features.application.profile_values import ApplicationProfile
from fabricgauge.lab.spec import LabSpec, NetworkSpec, numbered_nodes
from fabricgauge.lab.up import down, up
from fabricgauge.model.engine import Mpi
from fabricgauge.model.errors import CannotRun
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.model.words.figures import duration
from fabricgauge.nodes import process
from fabricgauge.nodes.engines.find import describe_mpi, embedded_mpi

PROGRAM = Path(sys.executable).with_name("fabricgauge")
SOURCE = Path(__file__).with_name("exchanging.cpp")
TIMEOUT_S = 600.0
#: Messages of both programs are between 8 B and the largest of these.
MEASURED = (
    "--profile", "quick", "--launches", "1", "--case-budget", "0.2",
    "--patterns", "latency,bandwidth", "--sizes", "8,64,512,4K,16K,64K,256K,1MiB",
)  # fmt: skip
OWN = {
    "halo of 1 KiB": ("halo", "3000", "1024", "20000"),
    "halo of 64 KiB": ("halo", "300", "65536", "20000"),
    "transpose of 16 KiB": ("transpose", "1000", "16384", "20000"),
    "halo of 1 KiB, nothing computed": ("halo", "3000", "1024", "0"),
    "transpose of 16 KiB, nothing computed": ("transpose", "1000", "16384", "0"),
}
DRAWINGS = 2000
#: Checks of each side, in turns with the other's.
CHECKS = 3
HEADS = ("program", "predicted, alone", "all at once", "measured median", "fastest quarter",
         "A predicted", "A measured", "B predicted", "B measured", "winner")  # fmt: skip

F64 = NDArray[np.float64]


class Setting(msgspec.Struct, frozen=True):
    """One side: a kind of MPI, variables of it, and the rate of the lab's network in bit/s."""

    name: str
    kind: str = "openmpi"
    variables: Mapping[str, str] = {}
    rate_bit_s: float = 1e9

    @property
    def mpi(self) -> Mpi:
        return embedded_mpi() if self.kind == "mpich" else describe_mpi(WRAPPERS[self.kind])


_AS_IT_IS = Setting("as it is")
#: Sources: ompi_info --param btl tcp --level 9 of Open MPI 4.1.4.
PAIRS = {
    "mpis": (Setting("Open MPI"), Setting("MPICH", "mpich")),
    "yield": (
        _AS_IT_IS, Setting("yielding", variables={"OMPI_MCA_mpi_yield_when_idle": "1"}),
    ),
    "eager": (
        _AS_IT_IS,
        Setting("eager up to 512 B", variables={
            f"OMPI_MCA_btl_tcp_{one}": "512" for one in ("eager_limit", "rndv_eager_limit")
        }),
    ),
    "buffers": (
        _AS_IT_IS,
        Setting("buffers of 4 KiB", variables={
            f"OMPI_MCA_btl_tcp_{one}": "4096" for one in ("sndbuf", "rcvbuf")
        }),
    ),
    "networks": (Setting("1 Gb/s"), Setting("200 Mb/s", rate_bit_s=2e8)),
}  # fmt: skip


class Side(msgspec.Struct, frozen=True):
    """A setting, the lab that it is measured on, its program of ours, and its curves."""

    setting: Setting
    lab: str
    built: Path
    curves: tuple[SuiteCurve, ...] = ()


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a row for each program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pair", choices=PAIRS, default="mpis")
    parser.add_argument("--rounds", type=int, default=12, help="launches of each program, A and B")
    parser.add_argument("app", nargs="*")
    options = parser.parse_args(arguments)
    programs: dict[str, tuple[str, ...]] = dict(OWN)
    if options.app:
        programs[Path(options.app[0]).name] = tuple(options.app)
    with ExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        both = [
            _built(stack, setting, root / str(place))
            for place, setting in enumerate(PAIRS[options.pair])
        ]
        turns = in_turn(lambda: _curves(both[0], root), lambda: _curves(both[1], root), CHECKS)
        measured = zip(both, zip(*turns, strict=True), strict=True)
        both = [
            msgspec.structs.replace(one, curves=tuple(chain(*found))) for one, found in measured
        ]
        names = " against ".join(f"{one.setting.name} ({_version(one)})" for one in both)
        what = (
            f"A against B: {names}. Two ranks on two nodes of a lab, {options.rounds} launches of"
            " each in turns.\nRatios are B by A, with 95 % intervals; times are a rank's."
        )
        print(heading("A prediction against the truth", what), flush=True)
        print(" | ".join(HEADS), flush=True)
        for name, argv in programs.items():
            print(" | ".join(_row(name, argv, both, options.rounds, root)), flush=True)


def _version(one: Side) -> str:
    mpi = one.setting.mpi
    return f"{mpi.kind} {mpi.version}"


def _built(stack: ExitStack, setting: Setting, root: Path) -> Side:
    """A setting with a lab of its own, and the program of this script."""
    name = stack.enter_context(_lab(root.name, setting.rate_bit_s))
    mpi = setting.mpi
    root.mkdir()
    built = root / SOURCE.stem
    argv = [str(mpi.mpicxx), "-O2", str(SOURCE), "-o", str(built)]
    subprocess.run(argv, check=True, env={**os.environ, **mpi.env})
    return Side(setting, name, built)


def _curves(on: Side, root: Path) -> tuple[SuiteCurve, ...]:
    """Those of one check; of several, the prediction takes the median at each size."""
    folder = Path(tempfile.mkdtemp(dir=root))
    run = _fabricgauge(on, folder, "check", "--mpi", str(on.setting.mpi.mpicxx), *MEASURED)
    return find_side(str(run), root)[1]


@contextmanager
def _lab(number: str, rate_bit_s: float) -> Iterator[str]:
    name = f"bench-mix-{os.getpid()}-{number}"
    up(LabSpec(name, numbered_nodes(2), (NetworkSpec("net1", rate_bit_s),)))
    try:
        yield name
    finally:
        down(name)


def _fabricgauge(on: Side, root: Path, verb: str, *words: str) -> Path:
    """The run directory that a verb leaves; a launch that is not proved to be valid is none."""
    argv = (str(PROGRAM), verb, "-q", "-o", str(root), "--lab", on.lab, *words)
    done = process.run(argv, timeout_s=TIMEOUT_S, env=dict(on.setting.variables))
    found = sorted(root.glob("2*"))
    if not found or (verb == "scale" and done.exit_code):
        said = (done.stderr + done.stdout)[:900]
        raise CannotRun(f"{verb} under {on.setting.name} failed: {said}")
    return found[-1]


def _row(
    name: str, argv: Sequence[str], both: Sequence[Side], rounds: int, root: Path
) -> tuple[str, ...]:  # fmt: skip
    """Both predictions and both truths of a program."""
    a, b = both
    folder = root / name.replace(" ", "-")
    pairs = list(
        in_turn(lambda: _launched(a, argv, folder), lambda: _launched(b, argv, folder), rounds)
    )
    said = predict(pairs[0][0], a.setting.name, a.curves, b.setting.name, b.curves)
    times = np.array([[recorded_s(one) / one.size for one in pair] for pair in pairs])
    return (
        name, _ratio(said.least_ratio), _ratio(said.most_ratio),
        str(spread([float(one) for one in times[:, 1] / times[:, 0]])), _ratio(fastest(times)),
        _told(said, 0), _quartiles(times[:, 0]), _told(said, 1), _quartiles(times[:, 1]),
        f"{said.winner}, {said.covered:.0%} of calls",
    )  # fmt: skip


def _launched(on: Side, argv: Sequence[str], folder: Path) -> ApplicationProfile:
    """One launch on both nodes: its profile."""
    program = argv if Path(argv[0]).exists() or shutil.which(argv[0]) else (str(on.built), *argv)
    folder.mkdir(exist_ok=True)
    root = Path(tempfile.mkdtemp(dir=folder))
    run = _fabricgauge(on, root, "scale", "--mpi", str(on.setting.mpi.mpicxx), "--at", "2",
                       "--launches", "1", "--", *program)  # fmt: skip
    return read_profiles(run / "raw" / "launch-001" / FOLDER)[0]


def fastest(times: F64) -> Span:
    """B by A of the mean of each side's fastest quarter, with a bootstrap's 95 % interval.

    ``times`` is (rounds, 2): a round's launches of A and B.
    """
    few = max(1, math.ceil(len(times) / 4))
    drawn = np.random.default_rng(1).integers(len(times), size=(DRAWINGS, len(times)))

    def ratios(of: F64) -> list[float]:
        means = np.sort(of, axis=-2)[..., :few, :].mean(axis=-2)
        return [float(one) for one in np.atleast_1d(means[..., 1] / means[..., 0])]

    low, high = np.quantile(ratios(times[drawn]), [0.025, 0.975])
    return Span(float(low), ratios(times)[0], float(high))


def _ratio(one: Span) -> str:
    return f"{one.value:.2f} ({one.low:.2f} to {one.high:.2f})"


def _told(said: Prediction, which: int) -> str:
    bounds = (said.a, said.b)[which]
    return " to ".join(duration(one.value / said.ranks) for one in (bounds.least, bounds.most))


def _quartiles(times: F64) -> str:
    found = spread([float(one) for one in times])
    return f"{duration(found.median)} ({duration(found.lower)} to {duration(found.upper)})"


if __name__ == "__main__":
    main()
