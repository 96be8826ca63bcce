"""What the profiling library costs: a call with and without it, and a whole program, in turns.

    benchmarks/profile_overhead.py [--rounds 10] [-- APP ARGUMENT...]

Each round runs everything once, in an order drawn by lot. APP runs on two ranks.
"""

import argparse
import os
import random
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fabricgauge.features.application.profile import mpi_of_command, variables
from fabricgauge.model.engine import Mpi
from fabricgauge.nodes.engines.find import embedded_mpi

CALLS = 2_000_000
SOURCE = Path(__file__).parents[1] / "tests" / "profiled" / "many.cpp"
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def seconds(mpi: Mpi, ranks: int, argv: list[str], recorded: bool, threads: str = "") -> float:
    """Wall time of a run; of the calls' program what it prints itself, in ns for a call."""
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, **AS_ROOT, **mpi.env}
        words = ["env", *(f"{k}={v}" for k, v in variables(mpi, Path(folder)).items())]
        spread = ["--oversubscribe"] if mpi.kind == "openmpi" else []
        launch = [str(mpi.mpiexec), *spread, "-n", str(ranks), *(words if recorded else ()), *argv]
        began = time.monotonic()
        done = subprocess.run([*launch, *filter(None, [threads])], env=env, check=True,
                              capture_output=True, text=True)  # fmt: skip
        wall_s = time.monotonic() - began
    return float(done.stdout) if SOURCE.stem in argv[0] else wall_s


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=10)
    options.add_argument("app", nargs="*")
    asked = options.parse_args(arguments)
    mpi = embedded_mpi()
    with tempfile.TemporaryDirectory() as folder:
        program = str(Path(folder) / SOURCE.stem)
        build = [str(mpi.mpicxx), "-O2", str(SOURCE), "-o", program]
        subprocess.run(build, check=True, env={**os.environ, **mpi.env})
        rows = {f"one call, ns, {kind}": (mpi, 1, [program, str(CALLS)], kind)
                for kind in ("single", "multiple")}  # fmt: skip
        if asked.app:
            rows["the program, s"] = (mpi_of_command(asked.app, ""), 2, asked.app, "")
        found: dict[tuple[str, bool], list[float]] = {}
        for _ in range(asked.rounds):
            turns = [(name, with_it) for name in rows for with_it in (False, True)]
            random.shuffle(turns)
            for name, with_it in turns:
                of, ranks, argv, kind = rows[name]
                found.setdefault((name, with_it), []).append(
                    seconds(of, ranks, argv, with_it, kind)
                )
    for name in rows:
        without, recorded = (np.array(found[name, with_it]) for with_it in (False, True))
        low, middle, high = np.quantile(recorded - without, [0.05, 0.5, 0.95])
        print(f"{name}: without {np.median(without):.4g}, recorded {np.median(recorded):.4g};"
              f" difference {middle:.3g} (5 to 95 %: {low:.3g} to {high:.3g}),"
              f" {middle / np.median(without):.2%}")  # fmt: skip


if __name__ == "__main__":
    main()
