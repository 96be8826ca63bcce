"""One simulated launch from its cases to its raw lines."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from fabricgauge import process
from fabricgauge.model.command import Command
from fabricgauge.model.engine import Engine
from fabricgauge.model.errors import StoreError
from fabricgauge.sim.launching import launch_command, launch_files
from fabricgauge.sim.simulation import Simulation
from fabricgauge.sim.trouble import trouble

TIMEOUT_S = 600.0


class Simulated(msgspec.Struct, frozen=True):
    """``lines`` are the engine's records; ``trouble`` is why there are not all of them, or empty.

    ``wall_s`` is the time that it took here, not in the simulated cluster.
    """

    lines: tuple[str, ...]
    trouble: str
    wall_s: float


def prepared(
    cluster: Simulation,
    engine: Engine,
    hosts: Sequence[str],
    folder: Path,
    options: Sequence[str] = (),
) -> Command:
    """The command of a launch with one rank per entry of ``hosts``; its files are in ``folder``.

    Raises:
        CannotRun: a node that the cluster does not have.
        StoreError: the folder cannot be written.
    """
    place = folder.absolute()
    files = launch_files(cluster, hosts, place)
    try:
        place.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (place / name).write_text(text, "utf-8")
    except OSError as error:
        raise StoreError(
            f"cannot write {place}: {error.strerror or error}; free some space or choose another "
            "place with --output"
        ) from error
    return launch_command(cluster, engine, len(hosts), place, options)


def simulate(
    cluster: Simulation,
    engine: Engine,
    cases_text: str,
    *,
    hosts: Sequence[str] = (),
    options: Sequence[str] = (),
    timeout_s: float = TIMEOUT_S,
) -> Simulated:
    """Run the engine's cases on a simulated cluster to their end.

    ``cases_text`` is the engine's standard input. ``hosts`` has one entry per rank; without
    any there is one rank on each node. ``timeout_s`` is time of this machine.

    Raises:
        CannotRun: a node that the cluster does not have.
        StoreError: no temporary folder can be written.
    """
    with tempfile.TemporaryDirectory(prefix="fabricgauge-sim-") as folder:
        ranks = tuple(hosts) or cluster.platform.nodes
        command = prepared(cluster, engine, ranks, Path(folder), options)
        done = process.run(
            command.argv, timeout_s=timeout_s, env=command.env, stdin=cases_text, cwd=Path(folder)
        )
    wrong = trouble(done.exit_code, done.stdout, done.stderr)
    if done.timed_out:
        wrong = f"the simulation was ended after {timeout_s:g} s"
    return Simulated(tuple(done.stdout.splitlines()), wrong, done.wall_s)
