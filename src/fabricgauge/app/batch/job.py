"""What a job is to do, and the files that it needs."""

import math
import os
from pathlib import Path

import msgspec

from fabricgauge.app.batch.request import NETWORKS
from fabricgauge.app.connectivity import mpi_ports
from fabricgauge.app.measure import GRACE_S, START_PER_RANK_S, START_S, launch_options
from fabricgauge.discover.probe import read_script
from fabricgauge.engines.connect_program import connect_program
from fabricgauge.files import writing
from fabricgauge.model.absence import Skipped
from fabricgauge.model.batch import EACH_SUBNET, BatchJob, Request
from fabricgauge.model.engine import Engine
from fabricgauge.model.host_access import HostAccess
from fabricgauge.model.plan import Plan, PlannedLaunch
from fabricgauge.process import MARKER
from fabricgauge.run.batch.options import build_options
from fabricgauge.run.batch.script import DISCOVERY_S, Script, ScriptLaunch, script_text
from fabricgauge.run.launch import case_lines
from fabricgauge.run.launchers import local
from fabricgauge.run.mpi_impls.table import command
from fabricgauge.store.run_directory import RunDirectory, now_utc
from fabricgauge.words.networks import is_loopback

#: Reserve for what nobody foresees, in parts of the longest that a launch may measure.
SPARE = 0.5


class Written(msgspec.Struct, frozen=True):
    """A job as it lies in the run directory; ``options`` are for sbatch's command line.

    The script repeats those that it can, so that a user can submit it again. On the command line
    they outrank ``SBATCH_…`` variables of a user's or site's profile.
    """

    job: BatchJob
    script: Path
    options: tuple[str, ...]


class Maker(msgspec.Struct, frozen=True):
    """What all jobs of a run have in common. ``access`` has no hosts while no node is known."""

    directory: RunDirectory
    engine: Engine
    access: HostAccess
    request: Request

    def write(self, made: Plan, launches: tuple[PlannedLaunch, ...]) -> Written:
        """A job that makes ``launches``, some of the plan's, as files of the run directory."""
        folder = f"job-{1 + sum(1 for _ in self.directory.path.glob('job-*'))}"
        place = self.directory.path / folder
        known = all(one.subnet != EACH_SUBNET for one in launches)
        starts = tuple(self._start(folder, made, one, known) for one in launches)
        options = build_options(self.request, _minutes(starts), place)
        script = script_text(Script(
            self.directory.identity, str(self.directory.path), folder, options,
            {MARKER: f"{self.directory.identity}/{folder}"}, starts, self._connecting(launches),
        ))  # fmt: skip
        with writing.storing(place):
            place.mkdir(writing.FOLDER_MODE)
            files = {f"cases-{one.number}.txt": case_lines(one.cases) for one in launches}
            for name, content in {**files, "probe.sh": read_script(), "job.sh": script}.items():
                writing.write_whole(place / name, content.encode(), self.directory.path)
        job = BatchJob(
            "", folder, now_utc(), launches, made.profile, made.stopping, made.check_data,
            memory=made.memory, device=made.device,
        )  # fmt: skip
        return Written(job, place / "job.sh", options)

    def _connecting(self, launches: tuple[PlannedLaunch, ...]) -> tuple[str, ...]:
        """Nodes that are not known yet try their connections, in IPv4 as subnets are found."""
        v4 = all(":" not in (one.subnet or "") for one in launches)
        tried = v4 and not self.access.hosts
        program = connect_program() if tried else Skipped("nothing is to be tried")
        if isinstance(program, Skipped):
            return ()
        ports = mpi_ports(os.environ)
        return str(program), str(ports.start), str(len(ports))

    def _start(self, folder: str, made: Plan, launch: PlannedLaunch, known: bool) -> ScriptLaunch:
        """``known``: a job that finds its subnets itself numbers its launches itself."""
        alone = is_loopback(launch.network)
        access = local.access(("here",)) if alone else self.access
        options = launch_options(made, launch)
        return ScriptLaunch(
            number=launch.number if known else 0,
            cases=f"{folder}/cases-{launch.number}.txt",
            limit_s=limit_s(launch),
            command=command(self.engine, launch, access, options),
            subnet=launch.subnet,
            alone=alone,
        )


def plan_of(job: BatchJob, launches: tuple[PlannedLaunch, ...]) -> Plan:
    """A plan that has just these launches of the job."""
    return Plan(
        job.profile, job.stopping, job.check_data, launches, memory=job.memory, device=job.device
    )


def limit_s(launch: PlannedLaunch) -> int:
    """When a launch is ended at the latest, in seconds after its start."""
    start_s = START_S + START_PER_RANK_S * len(launch.nodes) + GRACE_S
    return math.ceil(start_s + launch.longest_s * (1 + SPARE))


def _minutes(starts: tuple[ScriptLaunch, ...]) -> int:
    each = (one.limit_s * (NETWORKS if one.subnet == EACH_SUBNET else 1) for one in starts)
    return 1 + math.ceil((DISCOVERY_S + sum(each)) / 60)
