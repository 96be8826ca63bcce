"""What a planned launch is started with."""

from pathlib import Path

import pytest

from fabricgauge.app.measure import planned_command
from fabricgauge.app.run_context import RunContext
from fabricgauge.app.target import Target
from fabricgauge.judge.thresholds import DEFAULTS
from fabricgauge.model.absence import Skipped
from fabricgauge.model.engine import Engine, Mpi
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.host_access import HostAccess
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.model.run import Run
from fabricgauge.plan.plan import plan
from fabricgauge.store.run_directory import RunDirectory

MPI = Mpi("mpich", "5.0", Path("/opt/mpicxx"), Path("/opt/mpiexec"))
ENGINE = Engine(Path("/opt/engine"), MPI, "0", (), "g++")


def commands(patterns: tuple[str, ...], folder: Path) -> list[tuple[str, ...]]:
    request = MeasurementRequest(patterns=patterns, sizes=(8,))
    made = plan(request, ("c1", "c1"), ((None, Skipped("not pinned")),))
    target = Target(HostAccess("local", ()), request, DEFAULTS, engine=ENGINE)
    directory = RunDirectory.create(folder)
    run = Run(directory.identity, "", (), {}, Fabric((), (), ()), made, (), complete=False)
    context = RunContext(target, directory, run)
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
