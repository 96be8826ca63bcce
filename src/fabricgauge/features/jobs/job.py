"""Write the files of a job."""

import math
import os
from pathlib import Path

import msgspec

from fabricgauge.check.measure import GRACE_S, START_PER_RANK_S, START_S, launch_options
from fabricgauge.features.jobs.request import ASSUMED_NETWORKS
from fabricgauge.features.jobs.slurm.options import build_options
from fabricgauge.features.jobs.slurm.script import DISCOVERY_S, Script, ScriptLaunch, script_text
from fabricgauge.model.absence import Skipped
from fabricgauge.model.batch import EACH_SUBNET, BatchJob, Request
from fabricgauge.model.engine import Engine
from fabricgauge.model.host_access import HostAccess
from fabricgauge.model.plan import Plan, PlannedLaunch
from fabricgauge.model.words.networks import is_loopback
from fabricgauge.nodes.connectivity import mpi_ports
from fabricgauge.nodes.discover.probe import read_script
from fabricgauge.nodes.engines.connect_program import connect_program
from fabricgauge.nodes.launch.launch import case_lines
from fabricgauge.nodes.launch.launchers import local
from fabricgauge.nodes.launch.mpi_impls.table import command
from fabricgauge.nodes.process import MARKER
from fabricgauge.store.files import writing
from fabricgauge.store.run_directory import RunDirectory, now_utc

#: Reserve for the unforeseen, relative to the longest time that a launch may measure.
TIME_RESERVE = 0.5


class JobFiles(msgspec.Struct, frozen=True):
    """A job as files of the run directory; ``options`` are for sbatch's command line.

    The script repeats as many of them as it can, so that a user can submit it again. On the command
    line they override ``SBATCH_…`` variables of a user's or site's profile.
    """

    job: BatchJob
    script: Path
    options: tuple[str, ...]


class JobWriter(msgspec.Struct, frozen=True):
    """Write jobs of a run. ``access`` has no hosts while no node is known."""

    directory: RunDirectory
    engine: Engine
    access: HostAccess
    request: Request

    def write(self, plan: Plan, launches: tuple[PlannedLaunch, ...]) -> JobFiles:
        """Write a job that makes ``launches`` of the plan to the run directory."""
        folder = f"job-{1 + sum(1 for _ in self.directory.path.glob('job-*'))}"
        place = self.directory.path / folder
        subnets_known = all(launch.subnet != EACH_SUBNET for launch in launches)
        starts = tuple(self._start(folder, plan, launch, subnets_known) for launch in launches)
        options = build_options(self.request, _minutes(starts), place)
        script = script_text(Script(
            self.directory.identity, str(self.directory.path), folder, options,
            {MARKER: f"{self.directory.identity}/{folder}"}, starts,
            self._connection_options(launches),
        ))  # fmt: skip
        with writing.storing(place):
            place.mkdir(writing.FOLDER_MODE)
            files = {f"cases-{launch.number}.txt": case_lines(launch.cases) for launch in launches}
            for name, content in {**files, "probe.sh": read_script(), "job.sh": script}.items():
                writing.write_whole(place / name, content.encode(), self.directory.path)
        job = BatchJob(
            "", folder, now_utc(), launches, plan.profile, plan.stopping, plan.check_data,
            memory=plan.memory, device=plan.device,
        )  # fmt: skip
        return JobFiles(job, place / "job.sh", options)

    def _connection_options(self, launches: tuple[PlannedLaunch, ...]) -> tuple[str, ...]:
        """Return options for trying connections between unknown nodes, in IPv4 as subnets are
        found.
        """
        v4 = all(":" not in (launch.subnet or "") for launch in launches)
        tried = v4 and not self.access.hosts
        program = connect_program() if tried else Skipped("no connections to try")
        if isinstance(program, Skipped):
            return ()
        ports = mpi_ports(os.environ)
        return str(program), str(ports.start), str(len(ports))

    def _start(
        self, folder: str, plan: Plan, launch: PlannedLaunch, subnets_known: bool
    ) -> ScriptLaunch:
        """Return a launch of the script.

        Without ``subnets_known`` the job finds its subnets and numbers its launches itself.
        """
        alone = is_loopback(launch.network)
        access = local.access(("here",)) if alone else self.access
        options = launch_options(plan, launch)
        return ScriptLaunch(
            number=launch.number if subnets_known else 0,
            cases=f"{folder}/cases-{launch.number}.txt",
            limit_s=limit_s(launch),
            command=command(self.engine, launch, access, options),
            subnet=launch.subnet,
            alone=alone,
        )


def plan_of(job: BatchJob, launches: tuple[PlannedLaunch, ...]) -> Plan:
    """Return a plan with just these launches of the job."""
    return Plan(
        job.profile, job.stopping, job.check_data, launches, memory=job.memory, device=job.device
    )


def limit_s(launch: PlannedLaunch) -> int:
    """Return the time limit of a launch, in seconds after its start."""
    start_s = START_S + START_PER_RANK_S * len(launch.nodes) + GRACE_S
    return math.ceil(start_s + launch.longest_s * (1 + TIME_RESERVE))


def _minutes(starts: tuple[ScriptLaunch, ...]) -> int:
    limits = (
        start.limit_s * (ASSUMED_NETWORKS if start.subnet == EACH_SUBNET else 1) for start in starts
    )
    return 1 + math.ceil((DISCOVERY_S + sum(limits)) / 60)
