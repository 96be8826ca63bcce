"""Submit a job for each pair of nodes: Slurm's queue gets as many as it takes, then the others."""

import time
from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from fabricgauge.check.plan.round_robin import group_by_pair
from fabricgauge.features.jobs.job import JobFiles, JobWriter
from fabricgauge.features.jobs.numbers import (
    cluster_of,
    find_lost,
    intervals,
    number_by_folder,
    scancel_command,
)
from fabricgauge.features.jobs.slurm import slurm
from fabricgauge.features.jobs.slurm.slurm import JobState
from fabricgauge.features.jobs.submit import submit_job
from fabricgauge.model.batch import Batch
from fabricgauge.model.engine import Engine
from fabricgauge.model.errors import CannotRun
from fabricgauge.model.host_access import HostAccess
from fabricgauge.model.plan import Plan, PlannedLaunch
from fabricgauge.model.progress import Progress
from fabricgauge.model.words.networks import is_loopback
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import jobs

Pair = tuple[str, str]


class AllStuck(CannotRun):
    """Slurm takes no more jobs, and none of its jobs of this run will start by itself."""


class PairQueue:
    """Queue the pairs of a run that no job has measured or will measure.

    A job that waits for a node that is down keeps no other pair out of the queue. A job does if it
    waits for something that all jobs need, such as its partition.
    """

    def __init__(self, directory: RunDirectory, batch: Batch, plan: Plan, engine: Engine) -> None:
        self._directory, self._batch, self._plan = directory, batch, plan
        self._engine = engine
        find_lost(directory)
        self._live = _launches_by_job(directory)
        self._states: dict[str, JobState] = {}
        self._reported: set[str] = set()
        self._unclear: dict[str, tuple[Pair, list[PlannedLaunch]]] = {}
        self.submitted = 0  # jobs of this program that Slurm has accepted
        self._drop_ended(slurm.states(tuple(self._live), cluster_of(directory)))
        under_way = {number for job in self._live.values() for number in job}
        pairs = group_by_pair(plan.launches)
        self._waiting = {
            pair: launches
            for pair, launches in pairs.items()
            if not under_way & {launch.number for launch in launches}
        }
        self._refused: JobFiles | None = None

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def unclear(self) -> int:
        """Return how many pairs have a job that Slurm may have: sbatch gave no clear answer."""
        return len(self._unclear)

    def fill(self) -> None:
        """Submit jobs until enough are in the queue, or Slurm takes no more for now.

        Raises:
            CannotRun: Slurm refused a job for another reason than the number of jobs, or no job of
                this run can make room; ``AllStuck`` if none that it has will make room.
        """
        while (
            self._waiting
            and len(self._live) - len(self._stuck_alone) + len(self._unclear) < self._batch.at_once
        ):
            pair, launches = next(iter(self._waiting.items()))
            written = self._refused or self.write_next()
            try:
                job = submit_job(written, self._directory)
            except slurm.NotNow as error:
                self._refused = written
                self._require_room(error)
                return
            except slurm.Unclear:
                self._unclear[written.job.folder] = pair, launches
            else:
                self._note_submitted(job.number, launches)
            self._refused = None
            del self._waiting[pair]

    def _note_submitted(self, number: str, launches: Sequence[PlannedLaunch]) -> None:
        self.submitted += 1
        self._live[number] = {launch.number for launch in launches}

    def _resolve_unclear(self) -> None:
        """Find out if Slurm has the jobs for which sbatch gave no clear answer.

        A pair whose job Slurm does not know goes to the end of the queue: the job may still appear.
        """
        if not self._unclear:
            return
        try:
            find_lost(self._directory)
        except slurm.NoAnswer:
            return
        numbers = number_by_folder(self._directory)
        for folder, (pair, launches) in self._unclear.items():
            if number := numbers.get(folder):
                self._note_submitted(number, launches)
            else:
                self._waiting[pair] = launches
        self._unclear.clear()

    def _require_room(self, refused: slurm.NotNow) -> None:
        """Raise CannotRun if no job of this run will end and make room for another one."""
        moving = len(self._live) - len(self._stuck) + len(self._unclear)
        if moving or isinstance(refused, slurm.Away):
            return
        if not self._live:
            raise CannotRun(f"{refused}; no job of this run can make room") from refused
        raise AllStuck(
            f"{refused}; jobs of this run that will not start by themselves:"
            f" {len(self._stuck)}. {scancel_command(self._directory, self._stuck)} ends them"
        ) from refused

    def _drop_ended(self, states: Mapping[str, JobState]) -> None:
        """Forget jobs that are over; no answer changes nothing."""
        self._states |= {job: state for job, state in states.items() if state.known}
        over = {job for job, state in self._states.items() if state.over}
        self._live = {job: numbers for job, numbers in self._live.items() if job not in over}

    @property
    def _stuck(self) -> dict[str, str]:
        reasons = ((job, self._states[job].stuck) for job in self._live if job in self._states)
        return {job: why for job, why in reasons if why}

    @property
    def _stuck_alone(self) -> set[str]:
        return {job for job in self._stuck if self._states[job].stuck_alone}

    def _report_stuck(self, progress: Progress) -> None:
        for job, why in self._stuck.items():
            if job not in self._reported:
                note = "; the other pairs do not wait for it" if job in self._stuck_alone else ""
                ends = scancel_command(self._directory, (job,))
                progress.trouble(f"job {job} will not start by itself: {why}; {ends} ends it{note}")
        self._reported |= self._stuck.keys()

    def drain(self, progress: Progress, sleep: Callable[[float], None] = time.sleep) -> None:
        """Keep the queue filled until every pair has its job; the last jobs may still run then."""
        shown = ""
        for wait_s in intervals():
            self.fill()
            if not self._waiting and not self._unclear:
                return
            words = f"jobs in the queue: {len(self._live)}; pairs to follow: {len(self._waiting)}"
            if self._unclear:
                words += f"; jobs without a clear answer of sbatch: {len(self._unclear)}"
            if self._refused:
                words += "; Slurm takes no more jobs for now"
            if words != shown:
                progress.stage(words)
                shown = words
            sleep(wait_s)
            self._resolve_unclear()
            self._drop_ended(slurm.states(tuple(self._live), cluster_of(self._directory)))
            self._report_stuck(progress)

    def write_next(self) -> JobFiles:
        """Write the job of the next pair. Slurm decides on the order of its two nodes."""
        pair, launches = next(iter(self._waiting.items()))
        batch = self._batch
        unknown_hosts = HostAccess(batch.starter, (), virtual=batch.virtual)
        request = replace(batch.request, nodes=len(pair), nodelist=pair, exclude=())
        places = tuple(
            launch if is_loopback(launch.network) else replace(launch, nodes=("0", "1"))
            for launch in launches
        )
        return JobWriter(self._directory, self._engine, unknown_hosts, request).write(
            self._plan, places
        )


def _launches_by_job(directory: RunDirectory) -> dict[str, set[int]]:
    numbers = number_by_folder(directory)
    return {
        number: {launch.number for launch in job.launches}
        for job in jobs(directory)
        if (number := numbers[job.folder])
    }
