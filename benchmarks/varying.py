"""How often `compare --vary` finds a difference where there is none, and where there is one.

Both arms are the same stack behind the same library, which makes every MPI_Send later: by the same
time in both (0 %), or in the second by a share of the usual half round trip (3 %). Each run is
`compare --vary` from end to end, on a virtual cluster, over latency.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
from benchmarks.launching import WRAPPERS
from benchmarks.tables import heading, table

from fabricgauge import process
from fabricgauge.lab.down import down
from fabricgauge.lab.spec import LabSpec, numbered_nodes
from fabricgauge.lab.up import up
from fabricgauge.model.errors import CannotRun

PROGRAM = Path(sys.executable).with_name("fabricgauge")
SHARES = (0.0, 0.03)
TIMEOUT_S = 600.0


class Found(msgspec.Struct, frozen=True):
    """One run: its word, and the whole curve's effect with its interval."""

    finding: str
    change: float
    low: float
    high: float

    @property
    def clear(self) -> bool:
        return self.finding in ("worse", "different")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a row per planted share."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=20, help="runs of each")
    parser.add_argument("--blocks", type=int, default=10)
    parser.add_argument("--case-budget", default="0.05", help="seconds of each case")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="append each outcome there")
    options = parser.parse_args(arguments)
    what = (
        f"{options.runs} runs of {options.blocks} blocks each; MPICH, half round trips of 8 B and"
        f" 1 KiB,\n{options.case_budget} s each in a launch. Found: an effect that is called clear."
    )
    print(heading("The same stack, and one that is slower", what), flush=True)
    rows = []
    with _slowed() as library, _lab() as lab:
        usual_s = _usual_s(lab, library)
        for share in SHARES:
            found = [
                _run(lab, library, round(share * usual_s * 1e9), options, seed)
                for seed in range(1, options.runs + 1)
            ]
            rows.append(_row(share, found))
            if options.keep:
                with options.keep.open("ab") as file:
                    for one in found:
                        file.write(msgspec.json.encode((share, one)) + b"\n")
    print(f"half round trip of 8 B: {usual_s * 1e6:.2f} µs")
    print(table(("planted", "runs", "found", "share", "words", "effect", "half width"), rows))


def _row(share: float, found: Sequence[Found]) -> tuple[str, ...]:
    clear = sum(one.clear for one in found)
    words = ", ".join(
        f"{word} {count}" for word, count in Counter(f.finding for f in found).items()
    )
    half = statistics.median((one.high - one.low) / 2 for one in found)
    return (
        f"{share:.0%}", str(len(found)), str(clear), f"{clear / len(found):.1%}", words,
        f"{statistics.median(one.change for one in found):+.2%}", f"{half:.2%}",
    )  # fmt: skip


def _run(lab: str, library: Path, delay_ns: int, options: argparse.Namespace, seed: int) -> Found:
    with tempfile.TemporaryDirectory() as root:
        argv = (
            str(PROGRAM), "compare", "--lab", lab, "-o", root, "--format", "json", "-q",
            "--mpi", str(WRAPPERS["mpich"]), "--vary", f"env:DELAY_NS=0,{delay_ns}",
            "--patterns", "latency", "--sizes", "8,1K", "--case-budget", options.case_budget,
            "--launches", str(options.blocks), "--seed", str(seed),
        )  # fmt: skip
        done = process.run(argv, timeout_s=TIMEOUT_S, env={"LD_PRELOAD": str(library)})
    if done.exit_code not in (0, 1, 3) or not done.stdout:
        raise CannotRun(f"compare --vary failed: {done.stderr[-400:]}")
    varied = json.loads(done.stdout)["varied"]
    (effect,) = varied["effects"]
    whole = effect["whole"]
    return Found(varied["finding"], whole["change"], whole["low"], whole["high"])


def _usual_s(lab: str, library: Path) -> float:
    """The half round trip of 8 B, in s, from a check of three launches."""
    with tempfile.TemporaryDirectory() as root:
        argv = (
            str(PROGRAM), "check", "--lab", lab, "-o", root, "--format", "json", "-q",
            "--mpi", str(WRAPPERS["mpich"]), "--patterns", "latency", "--sizes", "8",
            "--launches", "3",
        )  # fmt: skip
        done = process.run(argv, timeout_s=TIMEOUT_S, env={"LD_PRELOAD": str(library)})
        (curve,) = json.loads(done.stdout)["curves"]
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
