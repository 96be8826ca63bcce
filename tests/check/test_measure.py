"""What a planned launch is started with."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import msgspec
import pytest

from fabricgauge.check.measure import measure, planned_command
from fabricgauge.check.plan.plan import plan
from fabricgauge.check.run_context import RunContext
from fabricgauge.check.target import Target
from fabricgauge.features.simulate.simulator import simulation
from fabricgauge.judge.thresholds import DEFAULTS
from fabricgauge.model.absence import Skipped
from fabricgauge.model.engine import Engine, Mpi
from fabricgauge.model.errors import CannotRun
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.host_access import HostAccess
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.model.run import Ended, Run
from fabricgauge.store.run_directory import RunDirectory

MPI = Mpi("mpich", "5.0", Path("/opt/mpicxx"), Path("/opt/mpiexec"))
ENGINE = Engine(Path("/opt/engine"), MPI, "0", (), "g++")


def context_of(patterns: tuple[str, ...], folder: Path, engine: Engine = ENGINE) -> RunContext:
    request = MeasurementRequest(patterns=patterns, sizes=(8,))
    made = plan(request, ("c1", "c1"), ((None, Skipped("not pinned")),))
    target = Target(HostAccess("local", ()), request, DEFAULTS, engine=engine)
    directory = RunDirectory.create(folder)
    run = Run(directory.identity, "", (), {}, Fabric((), (), ()), made, (), complete=False)
    return RunContext(target, directory, run)


def commands(patterns: tuple[str, ...], folder: Path) -> list[tuple[str, ...]]:
    context = context_of(patterns, folder)
    return [planned_command(context, launch).argv for launch in context.plan.launches]


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


class Silent:
    """Takes the place of a launch; ``limits`` are those that it was begun with."""

    limits: ClassVar[list[tuple[float, float]]] = []

    def __init__(self, *_: object, silent_s: float, started_silent_s: float, **__: object) -> None:
        self.limits.append((silent_s, started_silent_s))

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def ended(self) -> Ended:
        return Ended("ok", 0, "", (), 0.0)

    def close(self) -> None:
        pass


def test_a_simulator_has_no_limit_of_silence_and_a_launch_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabricgauge.check.measure.Running", Silent)
    monkeypatch.setattr("fabricgauge.check.measure.planned_command", lambda *_: None)
    limits = []
    for cluster in (simulation("star:2"), None):
        context = context_of(("latency",), tmp_path)
        context.target = msgspec.structs.replace(context.target, simulation=cluster)
        measure(context, context.plan.launches)
        limits.append(Silent.limits.pop())
    assert limits[0] == (math.inf, math.inf)
    assert 10 < limits[1][1] < limits[1][0] < 100


def test_what_an_mpi_refuses_is_refused_before_the_first_launch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "fabricgauge.check.measure._make_launch", lambda *_: pytest.fail("launched")
    )
    openmpi = msgspec.structs.replace(MPI, kind="openmpi", version="4.1.4")
    engine = msgspec.structs.replace(ENGINE, mpi=openmpi)
    context = context_of(("latency",), tmp_path, engine)
    (launch,) = context.plan.launches
    on_ipv6 = msgspec.structs.replace(launch, number=2, network="net6", subnet="fd00::/64")
    with pytest.raises(CannotRun, match="net6"):
        measure(context, (launch, on_ipv6))
