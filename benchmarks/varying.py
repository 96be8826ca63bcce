"""How often `compare --vary` finds a difference where there is none, and where there is one.

Three arms are the same stack behind the same library, which makes every MPI_Send later: by nothing
in two of them, by a share of the usual half round trip in the third. One long comparison is
measured on a virtual cluster, and cut into shorter ones of so many blocks, next to each other in
time. Where nothing differs the two arms' names are drawn anew for every block many times over: each
drawing is a comparison that the lot could have made.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
import numpy as np
from benchmarks.launching import WRAPPERS
from benchmarks.tables import heading, table
from numpy.typing import NDArray

from fabricgauge.features.vary.varying import Column, figures, from_figures
from fabricgauge.lab.spec import LabSpec, numbered_nodes
from fabricgauge.lab.up import down, up
from fabricgauge.model.errors import CannotRun
from fabricgauge.model.varied import Design, Factor, Varied
from fabricgauge.nodes import process
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import load

PROGRAM = Path(sys.executable).with_name("fabricgauge")
TIMEOUT_S = 3000.0
#: Blocks of the short comparisons.
LENGTHS = (7, 10, 20, 40)
#: Drawings of each short comparison of what does not differ.
DRAWINGS = 40

Logs = NDArray[np.float64]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a row per number of blocks and per planted share."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--blocks", type=int, default=120, help="of the long comparison")
    parser.add_argument("--share", type=float, default=0.03, help="of the half round trip, planted")
    parser.add_argument(
        "--sizes", default="64K,128K", help="of the messages; the share is of the first"
    )
    parser.add_argument("--case-budget", default="0.05", help="seconds of each case")
    options = parser.parse_args(arguments)
    with _slowed() as library, _lab() as lab:
        usual_s = _usual_s(lab, library, options.sizes.partition(",")[0])
        delay_ns = round(options.share * usual_s * 1e9)
        columns, logs = _measured(lab, library, delay_ns, options)
    what = (
        f"{options.blocks} blocks of three launches; MPICH, half round trips of {options.sizes},"
        f" {options.case_budget} s each.\nThe first of them: {usual_s * 1e6:.2f} µs; planted:"
        f" {delay_ns} ns for each message.\nFound: some effect is called clear."
    )
    print(heading("The same stack, and one that is slower", what), flush=True)
    heads = ("planted", "blocks", "comparisons", "found", "share", "median effect", "half width")
    rows = [
        row
        for length in LENGTHS
        if length <= options.blocks
        for row in (
            _row("0 %", _drawn(columns, logs[:2], length)),
            _row(f"{options.share:.0%}", _cut(columns, logs[[0, 2]], length)),
        )
    ]
    print(table(heads, rows))


def _row(planted: str, found: Sequence[Varied]) -> tuple[str, ...]:
    clear = sum(one.finding in ("worse", "different") for one in found)
    whole = [one.effects[0].whole for one in found]
    return (
        planted, str(found[0].design.blocks), str(len(found)), str(clear),
        f"{clear / len(found):.1%}", f"{np.median([one.change for one in whole]):+.2%}",
        f"{np.median([(one.high - one.low) / 2 for one in whole]):.2%}",
    )  # fmt: skip


def _cut(columns: Sequence[Column], logs: Logs, length: int) -> list[Varied]:
    """Comparisons of so many blocks, next to each other."""
    starts = range(0, logs.shape[1] - length + 1, length)
    return [_compared(columns, logs[:, start : start + length]) for start in starts]


def _drawn(columns: Sequence[Column], logs: Logs, length: int) -> list[Varied]:
    """The same, with the arms' names drawn anew in each block."""
    rng = np.random.default_rng(1)
    found = []
    for _ in range(DRAWINGS):
        swapped = rng.integers(2, size=logs.shape[1]).astype(bool)
        drawn = np.where(swapped[None, :, None], logs[::-1], logs)
        found += _cut(columns, drawn, length)
    return found


def _compared(columns: Sequence[Column], logs: Logs) -> Varied:
    factor = Factor("env:DELAY_NS", ("0", "more"))
    order = tuple((0, 1) for _ in range(logs.shape[1]))
    design = Design((factor,), (("0",), ("more",)), (), order, 1)
    return from_figures(design, columns, logs, 0.0)


def _measured(
    lab: str, library: Path, delay_ns: int, options: argparse.Namespace
) -> tuple[tuple[Column, ...], Logs]:
    """The figures of all launches of one long comparison, (arms, blocks, columns)."""
    with tempfile.TemporaryDirectory() as root:
        argv = (
            str(PROGRAM), "compare", "--lab", lab, "-o", root, "-q",
            "--mpi", str(WRAPPERS["mpich"]), "--vary", f"env:DELAY_NS=0,00,{delay_ns}",
            "--patterns", "latency", "--sizes", options.sizes,
            "--case-budget", options.case_budget,
            "--launches", str(options.blocks),
        )  # fmt: skip
        done = process.run(argv, timeout_s=TIMEOUT_S, env={"LD_PRELOAD": str(library)})
        if done.exit_code not in (0, 1, 3):
            raise CannotRun(f"compare --vary failed: {done.stderr[-400:]}")
        (directory,) = Path(root).glob("2*")
        design = RunDirectory(directory).read("design.json", Design)
        runs = [load(RunDirectory(directory / folder)) for folder in design.folders]
        return figures(design, runs)[:2]


def _usual_s(lab: str, library: Path, size: str) -> float:
    """The half round trip of a size, in s, from a check of three launches."""
    with tempfile.TemporaryDirectory() as root:
        argv = (
            str(PROGRAM), "check", "--lab", lab, "-o", root, "--format", "json", "-q",
            "--mpi", str(WRAPPERS["mpich"]), "--patterns", "latency", "--sizes", size,
            "--launches", "3",
        )  # fmt: skip
        done = process.run(argv, timeout_s=TIMEOUT_S, env={"LD_PRELOAD": str(library)})
        (curve,) = msgspec.json.decode(done.stdout)["curves"]
    median: float = curve["points"][0]["time"]["value"]
    return median


@contextmanager
def _slowed() -> Iterator[Path]:
    """The library that makes sends later, built with MPICH's own compiler wrapper."""
    wrapper = WRAPPERS["mpich"].with_name("mpicc.mpich")
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "slowed.so")
        source = Path(__file__).with_name("slowed.c")
        argv = (str(wrapper), "-O2", "-shared", "-fPIC", "-o", str(made), str(source))
        done = process.run(argv, timeout_s=60.0)
        if done.exit_code != 0:
            raise CannotRun(f"{wrapper} failed: {done.stderr[-400:]}")
        yield made


@contextmanager
def _lab() -> Iterator[str]:
    name = f"bench-vary-{os.getpid()}"
    up(LabSpec(name, numbered_nodes(2)))
    try:
        yield name
    finally:
        down(name)


if __name__ == "__main__":
    main()
