"""Starting the engine, or any other MPI program, in the same way at the same place."""

import uuid
from collections.abc import Sequence
from pathlib import Path

import msgspec
from benchmarks.places import Place

from fabricgauge.logs.readers.engine import parse_line
from fabricgauge.model.engine import Engine
from fabricgauge.model.errors import CannotRun
from fabricgauge.model.measurement import Measurement, Times
from fabricgauge.model.pattern import Buffers
from fabricgauge.model.plan import Case
from fabricgauge.nodes import process
from fabricgauge.nodes.engines.build import build
from fabricgauge.nodes.engines.find import describe_mpi
from fabricgauge.nodes.launch.launch import case_lines
from fabricgauge.nodes.launch.mpi_impls import command

#: Debian's wrappers (packages libmpich-dev and libopenmpi-dev).
WRAPPERS = {"mpich": Path("/usr/bin/mpicxx.mpich"), "openmpi": Path("/usr/bin/mpicxx.openmpi")}

#: A default sweep of another suite takes some minutes on a slow network.
TIMEOUT_S = 1200.0


def engine_for(kind: str) -> Engine:
    """The engine built against Debian's MPI of that kind."""
    return build(describe_mpi(WRAPPERS[kind]))


def run_program(
    engine: Engine,
    place: Place,
    program: str,
    options: Sequence[str],
    *,
    stdin: str = "",
    timeout_s: float = TIMEOUT_S,
) -> process.Completed:
    """Run ``program`` on the place's two ranks with the launcher of the engine's MPI.

    Raises:
        CannotRun: it failed or hung; what it said is quoted.
    """
    started = msgspec.structs.replace(engine, path=Path(program))
    wanted = command(started, place.launch, place.access, tuple(options))
    marker = f"bench/{uuid.uuid4()}"
    env = {**wanted.env, **place.env.get(engine.mpi.kind, {}), process.MARKER: marker}
    try:
        done = process.run(wanted.argv, timeout_s=timeout_s, env=env, stdin=stdin)
    finally:
        process.end_marked(marker)
    if done.exit_code != 0 or done.timed_out:
        raise CannotRun(f"{' '.join(wanted.argv)} failed: {(done.stderr or done.stdout)[-400:]}")
    return done


def run_engine(
    engine: Engine, place: Place, cases: Sequence[Case], options: Sequence[str] = ()
) -> tuple[tuple[Measurement, ...], float]:
    """The measurements of one launch, and its wall time in seconds from start to end.

    Raises:
        CannotRun: the launch failed, or a case was not measured.
    """
    done = run_program(engine, place, str(engine.path), options, stdin=case_lines(cases))
    records = [parse_line(line) for line in done.stdout.splitlines()]
    measured = tuple(record for record in records if isinstance(record, Measurement))
    for one in measured:
        if one.status != "ok":
            raise CannotRun(f"{one.case}: {one.status}: {one.reason}")
    if len(measured) != len(cases):
        raise CannotRun(f"{len(measured)} of {len(cases)} cases were measured")
    return measured, done.wall_s


def times_of(measured: Measurement) -> Times:
    """The statistics of a case that ``run_engine`` let through."""
    assert measured.times is not None
    return measured.times


def latency_case(name: str, size_bytes: int, budget_s: float, buffers: Buffers = "fewest") -> Case:
    """A ping-pong of two ranks."""
    return Case(name, "latency", size_bytes, 1, 0, 1, budget_s, buffers=buffers)
