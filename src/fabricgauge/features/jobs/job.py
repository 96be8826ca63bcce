"""Write the files of a job."""

import gzip
import io
import math
import os
import tarfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import msgspec

from fabricgauge.check.measure import GRACE_S, START_PER_RANK_S, START_S, launch_options
from fabricgauge.features.jobs.request import ASSUMED_NETWORKS
from fabricgauge.features.jobs.slurm.script import (
    DISCOVERY_S,
    Carried,
    Script,
    ScriptLaunch,
    script_text,
)
from fabricgauge.features.jobs.slurm.slurm import build_options
from fabricgauge.lab.host_access import nodes_are_machines
from fabricgauge.model.absence import Skipped
from fabricgauge.model.batch import (
    EACH_PORTS,
    EACH_SUBNET,
    FOUND_BASE,
    FOUND_MPIEXEC,
    BatchJob,
    Request,
)
from fabricgauge.model.engine import Engine
from fabricgauge.model.host_access import HostAccess
from fabricgauge.model.plan import Plan, PlannedLaunch
from fabricgauge.model.words.networks import is_loopback
from fabricgauge.nodes.connectivity import mpi_ports
from fabricgauge.nodes.discover.probe import read_script
from fabricgauge.nodes.engines.find import SONAMES, find_library
from fabricgauge.nodes.engines.ready_made import connect_program
from fabricgauge.nodes.launch.carrying import DIGITS, usual_bases
from fabricgauge.nodes.launch.launch import case_lines
from fabricgauge.nodes.launch.launchers import local
from fabricgauge.nodes.launch.mpi_impls import command
from fabricgauge.nodes.process import MARKER
from fabricgauge.store.files import writing
from fabricgauge.store.run_directory import RunDirectory, now_utc

#: Emulated processors may take that many times as long.
EMULATED_SLOWNESS = 6

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

    @property
    def _carried_engine(self) -> Engine:
        """The engine as the nodes have it after the job has carried it there."""
        folder = f"{FOUND_BASE}/{sha256(self._programs).hexdigest()[:DIGITS]}"
        mpi = msgspec.structs.replace(self.engine.mpi, mpiexec=Path(FOUND_MPIEXEC))
        return msgspec.structs.replace(
            self.engine, path=Path(f"{folder}/{self.engine.path.name}"), mpi=mpi,
            library_path=(f"{folder}/lib",),
        )  # fmt: skip

    @property
    def _programs(self) -> bytes:
        """The archive of the programs that a carried job brings along."""
        programs = [self.engine.path]
        connecting = connect_program()
        if not isinstance(connecting, Skipped):
            programs.append(connecting)
        return archive({path.name: (path.read_bytes(), 0o700) for path in programs})

    def _carried(self, files: Mapping[str, str]) -> Carried:
        kind, sonames = self.engine.mpi.kind, tuple(SONAMES.get(self.engine.mpi.kind, ()))
        engine_library = Path(self.engine.library).name
        mpi_library = find_library(self.engine.mpi).soname
        return Carried(
            archive({name: (text.encode(), 0o600) for name, text in files.items()}),
            self._programs, carried_bases(), "carried",
            tuple(dict.fromkeys((mpi_library, engine_library, *sonames))), self.engine.library,
            (str(self.engine.mpi.mpiexec), *LAUNCHER_NAMES.get(kind, ())),
        )  # fmt: skip

    def write(self, plan: Plan, launches: tuple[PlannedLaunch, ...]) -> JobFiles:
        """Write a job that makes ``launches`` of the plan to the run directory."""
        run_folder = self.directory.path
        with writing.storing(run_folder):
            place = writing.claim_folder(run_folder, "job-{}")
        folder = place.name
        subnets_known = not any(map(is_repeated, launches))
        starts = tuple(self._start(folder, plan, launch, subnets_known) for launch in launches)
        files = {f"cases-{launch.number}.txt": case_lines(launch.cases) for launch in launches}
        files["probe.sh"] = read_script()
        emulated = nodes_are_machines()
        slowness = EMULATED_SLOWNESS if emulated else 1
        families = (4,) if self.engine.mpi.kind == "openmpi" else (4, 6)
        options = build_options(self.request, _minutes(starts) * slowness, place)
        in_folder = {f"{folder}/{name}": text for name, text in files.items()}
        carried = self._carried(in_folder) if self.request.carried else None
        script = script_text(Script(
            self.directory.identity, "" if emulated else str(self.directory.path), folder, options,
            {MARKER: f"{self.directory.identity}/{folder}"}, starts,
            self._connection_options(launches), families, carried, slowness,
        ))  # fmt: skip
        with writing.storing(place):
            for name, content in {**files, "job.sh": script}.items():
                writing.write_whole(place / name, content.encode(), run_folder)
        job = BatchJob(
            "", folder, now_utc(), launches, plan.profile, plan.stopping, plan.check_data,
            memory=plan.memory, device=plan.device,
        )  # fmt: skip
        return JobFiles(job, place / "job.sh", options)

    def _connection_options(self, launches: tuple[PlannedLaunch, ...]) -> tuple[str, ...]:
        v4 = any(launch.subnet and ":" not in launch.subnet for launch in launches)
        tried = v4 and not self.access.hosts
        program = connect_program() if tried else Skipped("no connections to try")
        if isinstance(program, Skipped):
            return ()
        ports = mpi_ports(os.environ)
        path = self._carried_engine.path.parent / program.name if self.request.carried else program
        return str(path), str(ports.start), str(len(ports))

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
            command=command(
                self._carried_engine if self.request.carried else self.engine,
                launch,
                access,
                options,
            ),
            subnet=launch.subnet or ports_label(launch),
            alone=alone,
            technology=launch.technology if launch.ports == (EACH_PORTS,) else "",
        )


#: Names of launchers that a carried job looks for, those that belong to one MPI first. A launcher
#: named only ``mpiexec`` may belong to another MPI, so the head's is used at its own path alone.
LAUNCHER_NAMES: dict[str, tuple[str, ...]] = {
    "mpich": ("mpiexec.hydra", "mpiexec.mpich"),
    "intelmpi": ("mpiexec.hydra",),
    "openmpi": ("mpirun.openmpi", "mpirun"),
}


def carried_bases() -> tuple[str, ...]:
    """Return the private folders for a carried job's files; its first node chooses one for all."""
    return usual_bases(str(Path.home()))


def archive(files: Mapping[str, tuple[bytes, int]]) -> bytes:
    """Return a compressed archive of files with their modes; the same for the same files."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w") as tar,
    ):
        for name, (content, mode) in sorted(files.items()):
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), mode
            tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def is_repeated(launch: PlannedLaunch) -> bool:
    """Check if a job repeats a launch on each network of a kind that it finds."""
    return launch.subnet == EACH_SUBNET or launch.ports == (EACH_PORTS,)


def ports_label(launch: PlannedLaunch) -> str | None:
    """Return what identifies a network of RDMA ports in a job: ``infiniband mlx5_0:1``."""
    return f"{launch.technology} {','.join(launch.ports)}" if launch.ports else None


def plan_of(job: BatchJob, launches: tuple[PlannedLaunch, ...]) -> Plan:
    """Return a plan with just these launches of the job."""
    return Plan(
        job.profile, job.stopping, job.check_data, launches, memory=job.memory, device=job.device
    )


def limit_s(launch: PlannedLaunch) -> int:
    """Return the time limit of a launch, in seconds after its start."""
    start_s = START_S + START_PER_RANK_S * len(launch.nodes) + GRACE_S
    measuring_s = launch.longest_s * (1 + TIME_RESERVE)
    return math.ceil(start_s + max(measuring_s, launch.longest_s + launch.extension_s))


def _minutes(starts: tuple[ScriptLaunch, ...]) -> int:
    # A cluster has ports of one technology as a rule: the others cost no time.
    technologies = {start.technology for start in starts} - {""}
    limits = (
        start.limit_s * (ASSUMED_NETWORKS if start.subnet == EACH_SUBNET else 1)
        for start in starts
        if not start.technology or start.technology == min(technologies)
    )
    return 1 + math.ceil((DISCOVERY_S + sum(limits)) / 60)
