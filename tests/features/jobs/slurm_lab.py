"""A lab with Slurm for the tests of a file, and the program on its head."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.check.commands import PROGRAM, until
from tests.lab.conftest import on

from fabricgauge.features.slurm_lab import cluster
from fabricgauge.lab.host_access import entry
from fabricgauge.lab.spec import LabSpec, NetworkSpec
from fabricgauge.lab.state import LabState
from fabricgauge.lab.up import down, up
from fabricgauge.model.errors import FabricgaugeError

INTEL = Path(os.environ.get("FABRICGAUGE_TEST_IMPI", Path(__file__).parents[3] / ".venv-impi"))

#: A node that was killed is found dead within half a minute, and a job is put back later still.
PATIENCE_S = 100.0


def chosen(mpi: str) -> tuple[str, ...]:
    """The option that names an MPI; Intel's is PyPI's, in an environment of its own."""
    if mpi == "embedded":
        return ()
    if mpi != "intelmpi":
        return "--mpi", mpi
    wrapper = INTEL / "bin" / "mpicxx"
    if not wrapper.exists():
        pytest.skip(f"{wrapper} does not exist: PyPI's impi-rt and impi-devel are not installed")
    return "--mpi", str(wrapper)


#: Each MPI with each launcher; one of them shows how a job is joined with a run.
MPIS_AND_LAUNCHERS = [
    pytest.param(
        mpi, launcher, marks=[pytest.mark.slow] * ((mpi, launcher) != ("embedded", "slurm"))
    )
    for mpi in ("embedded", "mpich", "openmpi", "intelmpi")
    for launcher in ("slurm", "srun")
]


@contextmanager
def slurm_lab(word: str, nodes: int = 3) -> Iterator[LabState]:
    """Nodes c1, c2, … with Slurm; the test is skipped where that cannot be."""
    try:
        cluster.require(("c1",))
    except FabricgaugeError as reason:
        pytest.skip(str(reason))
    name = f"t-{word}-{os.getpid()}"
    names = tuple(f"c{number}" for number in range(1, nodes + 1))
    try:
        yield up(LabSpec(name, names, (NetworkSpec("net1", 1e9),), slurm=True))
    finally:
        down(name)


def on_head(
    slurm: LabState, *words: str, timeout_s: float = 600
) -> subprocess.CompletedProcess[str]:
    """The program with these words, on the lab's head."""
    return subprocess.run(
        [*entry(slurm, "head"), str(PROGRAM), *words],
        capture_output=True, text=True, timeout=timeout_s, check=False,
    )  # fmt: skip


def ranks(root: Path) -> list[str]:
    """Processes of the runs in a folder, found by their names in the processes' environment."""
    runs = [path.name.removesuffix(".partial").encode() for path in root.glob("2*")]
    found = []
    for process in Path("/proc").iterdir():
        try:
            environment = (process / "environ").read_bytes() if process.name.isdigit() else b""
            if any(run in environment for run in runs):
                found.append((process / "comm").read_text().strip())
        except OSError:
            continue
    return found


def until_nothing_is_left(slurm: LabState, root: Path) -> None:
    """Neither jobs nor processes of the runs in a folder."""
    idle = lambda: not on(slurm, "head", "squeue", "-h").strip()  # noqa: E731
    until(idle, PATIENCE_S, "the end of all jobs")
    until(lambda: not ranks(root), 30, "the end of all ranks")
