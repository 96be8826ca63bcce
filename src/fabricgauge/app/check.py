"""The main job: discover, plan, run, prove, judge, report."""

import os
import platform
from datetime import datetime, timezone
from pathlib import Path

import msgspec

from fabricgauge import __version__
from fabricgauge.app.conclude import conclude, write_reports
from fabricgauge.app.measure import Bench, measure
from fabricgauge.app.progress import Progress
from fabricgauge.ceiling.technologies import ceiling
from fabricgauge.discover.interface import discover
from fabricgauge.judge.below_pass import below_pass
from fabricgauge.judge.thresholds import Thresholds
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.engine import Engine
from fabricgauge.model.errors import CannotRun, StoreError, UsageError
from fabricgauge.model.fabric import DeclaredNetwork, Fabric, Network
from fabricgauge.model.judged import Judged
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.model.reach import Reach
from fabricgauge.plan.plan import Wanted, host_reference, plan, remaining
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import About, load, write_beginning


class Site(msgspec.Struct, frozen=True):
    """Where to measure and with what.

    ``networks`` are names or subnets to measure, empty for all that join the nodes;
    ``unpinned`` leaves MPI its own choice of network instead.
    """

    reach: Reach
    engine: Engine
    declared: tuple[DeclaredNetwork, ...]
    networks: tuple[str, ...]
    unpinned: bool
    thresholds: Thresholds
    command: tuple[str, ...]


class Outcome(msgspec.Struct, frozen=True):
    """What a check leaves: the judged run and its directory."""

    judged: Judged
    path: Path
    interrupted: bool


Targets = tuple[tuple[Network | None, Ceiling | Skipped], ...]


def prepare(site: Site, wanted: Wanted, directory: RunDirectory, progress: Progress) -> Bench:
    """Discover and plan; the run directory then holds all that a resumption needs."""
    fabric = _discover(site, directory, progress, "discover")
    made = plan(wanted, targets(site, fabric))
    write_beginning(directory, about(site), fabric, made)
    return Bench(directory, site.reach, site.engine, fabric, made, attempt=1)


def resume(site: Site, directory: RunDirectory, progress: Progress) -> Bench:
    """A bench for what a broken-off run left undone, on the nodes as they are now."""
    if directory.complete:
        raise UsageError(f"{directory.identity} is complete; there is nothing to resume")
    run = load(directory)
    attempt = 1 + sum(1 for folder in (directory.path / "raw").glob("discover*"))
    fabric = _discover(site, directory, progress, f"discover-{attempt}")
    directory.write("fabric.json", fabric)
    return Bench(directory, site.reach, site.engine, fabric, run.plan, attempt)


def left_to_do(bench: Bench) -> tuple[PlannedLaunch, ...]:
    run = load(bench.directory)
    return remaining(
        bench.plan, tuple((la.number, m) for la in run.launches for m in la.measurements)
    )


def finish(bench: Bench, thresholds: Thresholds, progress: Progress) -> Outcome:
    """Measure what is left, judge, report; a broken-off run stays resumable.

    A disk that fills up or an interruption ends the measuring, not the judging: what
    was measured until then is judged and reported.
    """
    interrupted = False
    try:
        measure(bench, left_to_do(bench), progress)
        _explain_low_figures(bench, thresholds, progress)
    except KeyboardInterrupt:
        interrupted = True
    except StoreError as error:
        progress.trouble(str(error))
    progress.stage("judging")
    complete = not interrupted and not left_to_do(bench)
    run = msgspec.structs.replace(load(bench.directory), complete=complete)
    judged = conclude(run, thresholds)
    try:
        write_reports(bench.directory, judged)
        if complete:
            bench.directory.finish()
    except StoreError as error:
        progress.trouble(str(error))
    return Outcome(judged, bench.directory.path, interrupted)


def about(site: Site) -> About:
    environment = {
        "fabricgauge": __version__,
        "engine": str(site.engine.path),
        "engine identity": site.engine.identity,
        "MPI": f"{site.engine.mpi.kind} {site.engine.mpi.version}",
        "launcher": site.reach.launcher,
        "head": platform.node(),
        "head kernel": platform.release(),
        "python": platform.python_version(),
        "user id": str(os.getuid()),
    }
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return About(now, site.command, environment)


def targets(site: Site, fabric: Fabric) -> Targets:
    """The networks to measure with their ceilings, or MPI's own choice.

    Raises:
        CannotRun: no network joins the nodes.
        UsageError: a network that was asked for does not exist.
    """
    if site.unpinned:
        return ((None, Skipped("MPI was left its own choice of network")),)
    if not fabric.networks:
        raise CannotRun(_no_network(fabric))
    known = {network.name: network for network in fabric.networks}
    known |= {network.subnet: network for network in fabric.networks}
    for name in site.networks:
        if name not in known:
            raise UsageError(f"no network {name!r} joins the nodes; there is: {', '.join(known)}")
    chosen = [known[name] for name in site.networks] or list(fabric.networks)
    return tuple((network, ceiling(network)) for network in chosen)


def _no_network(fabric: Fabric) -> str:
    lost = "".join(f"; {node.name} was not reached: {node.reason}" for node in fabric.unreached)
    names = ", ".join(node.name for node in fabric.nodes) or "none"
    advice = (
        "" if lost else "; name at least two nodes with -w, or measure a virtual cluster: --lab"
    )
    return f"no network joins the nodes that were read ({names}){lost}{advice}"


def _discover(site: Site, directory: RunDirectory, progress: Progress, folder: str) -> Fabric:
    progress.stage(f"discovering {', '.join(site.reach.nodes)}")

    def keep(node: str, raw: str) -> None:
        directory.keep_raw(folder, node, raw)

    return discover(site.reach, site.declared, keep=keep)


def _explain_low_figures(bench: Bench, thresholds: Thresholds, progress: Progress) -> None:
    """Where a network stays below its ceiling, measure what its host does without one."""
    run = load(bench.directory)
    ceilings = {network.name: ceiling(network) for network in run.fabric.networks}
    for name in below_pass(run, ceilings, thresholds):
        progress.stage(f"{name} is below its ceiling: measuring what the host does without it")
        number = 1 + max(launch.number for launch in run.plan.launches)
        launch = host_reference(number, run.plan.launches[0].nodes[0], name, run.plan)
        if launch.network not in {made.network for made in run.launches}:
            measure(bench, (launch,), progress)
