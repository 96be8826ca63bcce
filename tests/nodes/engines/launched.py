"""The engine of each MPI, and launches of it with any number of ranks on this machine."""

import fcntl
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import msgspec
import pytest

from fabricgauge.features.simulate.engine import find_simgrid, simulated_engine
from fabricgauge.model.engine import Engine
from fabricgauge.model.errors import ToolMissing
from fabricgauge.model.host_access import HostAccess
from fabricgauge.model.measurement import ConcurrentResult, Footer, Measurement, Record
from fabricgauge.model.plan import Case, PlannedLaunch
from fabricgauge.nodes import process
from fabricgauge.nodes.engines.build import build
from fabricgauge.nodes.engines.find import describe_mpi, embedded_mpi
from fabricgauge.nodes.launch.launch import case_lines
from fabricgauge.nodes.launch.mpi_impls import command

#: The embedded MPI's, and Debian's packages libopenmpi-dev and libmpich-dev.
MPIS = {
    "embedded": None,
    "openmpi": Path("/usr/bin/mpicxx.openmpi"),
    "mpich": Path("/usr/bin/mpicxx.mpich"),
}
#: Of one kind of MPI one build shows the wiring; Debian's MPICH is the embedded one, but older.
EACH_MPI = [pytest.param(kind, marks=[pytest.mark.slow] * (kind == "mpich")) for kind in MPIS]
#: Three ranks find what powers of two hide; eight are more of the same.
MANY = pytest.param(8, marks=pytest.mark.slow)
#: Waiting ranks of Open MPI leave the processors to the others.
YIELD = {"OMPI_MCA_mpi_yield_when_idle": "1"}


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Test processes that want an engine at once: one compiles, the others wait and take it."""
    with (Path(tempfile.gettempdir()) / f"fabricgauge-engines-{os.getuid()}").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@cache
def engine_for(kind: str) -> Engine:
    """The engine of a key of ``MPIS``, or ``simulated``; the test is skipped without its MPI."""
    with _one_at_a_time():
        if kind == "simulated":
            try:
                find_simgrid()
            except ToolMissing as missing:
                pytest.skip(str(missing))
            return simulated_engine()
        wrapper = MPIS[kind]
        if wrapper is None:
            return build(embedded_mpi())
        if not wrapper.exists():
            pytest.skip(f"{wrapper} is not installed")
        return build(describe_mpi(wrapper))


def records(engine: Engine, ranks: int, lines: str, *options: str) -> list[Record]:
    """All that a launch says whose standard input is ``lines``; it must come to its end.

    MPICH 4.0 may not return from its finalizing, which the launcher calls a failure.
    """
    launch = PlannedLaunch(1, None, None, (os.uname().nodename,) * ranks, ())
    wanted = command(engine, launch, HostAccess("local", ()), options)
    done = process.run(wanted.argv, env={**wanted.env, **YIELD}, stdin=lines, timeout_s=300)
    found = [msgspec.json.decode(line, type=Record) for line in done.stdout.splitlines()]
    assert found and isinstance(found[-1], Footer), (done.exit_code, done.stderr)
    return found


def measured(
    engine: Engine, ranks: int, cases: Sequence[Case], *options: str
) -> tuple[Measurement, ...]:
    """The records of the cases, in their order."""
    return measurements(records(engine, ranks, case_lines(cases), *options))


def measurements(found: Sequence[Record]) -> tuple[Measurement, ...]:
    return tuple(one for one in found if isinstance(one, Measurement))


def together(found: Measurement) -> ConcurrentResult:
    assert found.together is not None
    return found.together
