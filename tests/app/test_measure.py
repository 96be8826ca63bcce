"""What a planned launch is started with."""

from pathlib import Path

import pytest

from fabricgauge.app.measure import RunContext, planned_command
from fabricgauge.model.absence import Skipped
from fabricgauge.model.engine import Engine, Mpi
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.host_access import HostAccess
from fabricgauge.plan.plan import Wanted, plan
from fabricgauge.plan.profiles import PROFILES
from fabricgauge.store.run_directory import RunDirectory

MPI = Mpi("mpich", "5.0", Path("/opt/mpicxx"), Path("/opt/mpiexec"))
ENGINE = Engine(Path("/opt/engine"), MPI, "0", (), "g++")


def commands(patterns: tuple[str, ...], folder: Path) -> list[tuple[str, ...]]:
    wanted = Wanted(PROFILES["quick"], patterns, (8,), ("c1", "c1"), False)
    made = plan(wanted, ((None, Skipped("not pinned")),))
    access = HostAccess("local", ())
    context = RunContext(RunDirectory.create(folder), access, ENGINE, Fabric((), (), ()), made, 1)
    return [planned_command(context, launch).argv for launch in made.launches]


@pytest.mark.parametrize("words", [("latency",), ("put_latency:fence", "get_bandwidth")])
def test_mpi_is_started_for_one_thread_unless_several_are_measured(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    (argv,) = commands(words, tmp_path)
    assert "--thread-multiple" not in argv


def test_only_the_launch_that_measures_threads_lets_several_call(tmp_path: Path) -> None:
    plain, threaded = commands(("threads_latency:4", "latency"), tmp_path)
    assert "--thread-multiple" not in plain
    assert "--thread-multiple" in threaded
