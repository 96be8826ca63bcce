"""A job for each pair of nodes. Slurm's queue gets as many as it takes; the others follow."""

import time
from collections.abc import Callable, Mapping, Sequence

import msgspec

from fabricgauge.app.batch.job import Maker, Written
from fabricgauge.app.batch.numbers import by_folder, cluster, find_lost, intervals, scancel
from fabricgauge.app.batch.submit import hand_over
from fabricgauge.app.progress import Progress
from fabricgauge.model.batch import Batch
from fabricgauge.model.engine import Engine
from fabricgauge.model.errors import CannotRun
from fabricgauge.model.host_access import HostAccess
from fabricgauge.model.plan import Plan, PlannedLaunch
from fabricgauge.plan.pair_jobs import by_pair
from fabricgauge.run.batch import slurm
from fabricgauge.run.batch.job_state import JobState
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import jobs
from fabricgauge.words.networks import is_loopback

Pair = tuple[str, str]


class AllStuck(CannotRun):
    """Slurm takes no more jobs, and none of those that it has will start by itself."""


class PairQueue:
    """The pairs of a run that no job has measured or is about to measure.

    A job that waits for a node that is down keeps no other pair out of the queue. One that waits
    for what holds up all of them, such as its partition, does.
    """

    def __init__(self, directory: RunDirectory, batch: Batch, plan: Plan, engine: Engine) -> None:
        self._directory, self._batch, self._plan = directory, batch, plan
        self._engine = engine
        find_lost(directory)
        self._live = _handed_over(directory)
        self._states: dict[str, JobState] = {}
        self._told: set[str] = set()
        self._unclear: dict[str, tuple[Pair, list[PlannedLaunch]]] = {}
        self.submitted = 0  # jobs that Slurm is known to have taken from this program
        self._heed(slurm.states(tuple(self._live), cluster(directory)))
        under_way = {number for job in self._live.values() for number in job}
        left = by_pair(plan.launches)
        self._waiting = {
            pair: launches
            for pair, launches in left.items()
            if not under_way & {launch.number for launch in launches}
        }
        self._refused: Written | None = None

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def unclear(self) -> int:
        """How many pairs have a job that Slurm may have or not: sbatch did not say."""
        return len(self._unclear)

    def fill(self) -> None:
        """Hand jobs over until enough are in the queue, or Slurm takes no more for now.

        Raises:
            CannotRun: Slurm refused a job for another reason than the number of jobs, or it has no
                job of this run that can make room; ``AllStuck`` if none that it has will make room.
        """
        while self._waiting and self._placed < self._batch.at_once:
            pair, launches = next(iter(self._waiting.items()))
            written = self._refused or self.write_next()
            try:
                job = hand_over(written, self._directory)
            except slurm.NotNow as error:
                self._refused = written
                self._require_hope(error)
                return
            except slurm.Unclear:
                self._unclear[written.job.folder] = pair, launches
            else:
                self._took(job.number, launches)
            self._refused = None
            del self._waiting[pair]

    def _took(self, number: str, launches: Sequence[PlannedLaunch]) -> None:
        self.submitted += 1
        self._live[number] = {launch.number for launch in launches}

    def _clear_up(self) -> None:
        """Find out whether Slurm has the jobs for which sbatch gave no clear answer.

        A pair whose job Slurm does not know goes to the end of the queue: the job may still appear.
        """
        if not self._unclear:
            return
        try:
            find_lost(self._directory)
        except slurm.NoAnswer:
            return
        numbers = by_folder(self._directory)
        for folder, (pair, launches) in self._unclear.items():
            if number := numbers.get(folder):
                self._took(number, launches)
            else:
                self._waiting[pair] = launches
        self._unclear.clear()

    @property
    def _placed(self) -> int:
        """Jobs in the queue, with those that Slurm may have, without those that wait apart."""
        return len(self._live) - len(self._apart) + len(self._unclear)

    def _require_hope(self, refused: slurm.NotNow) -> None:
        """CannotRun where no job of this run will end and make room for another one."""
        moving = len(self._live) - len(self._stuck) + len(self._unclear)
        if moving or isinstance(refused, slurm.Away):
            return
        if not self._live:
            raise CannotRun(f"{refused}; no job of this run is there to make room") from refused
        raise AllStuck(
            f"{refused}; jobs of this run that will not start by themselves:"
            f" {len(self._stuck)}. {scancel(self._directory, self._stuck)} ends them"
        ) from refused

    def _heed(self, states: Mapping[str, JobState]) -> None:
        """Forget jobs that are over; no answer changes nothing."""
        self._states |= {job: state for job, state in states.items() if state.known}
        over = {job for job, state in self._states.items() if state.over}
        self._live = {job: numbers for job, numbers in self._live.items() if job not in over}

    @property
    def _stuck(self) -> dict[str, str]:
        """Jobs that will not start by themselves, and why."""
        known = ((job, self._states[job].stuck) for job in self._live if job in self._states)
        return {job: why for job, why in known if why}

    @property
    def _apart(self) -> set[str]:
        """Those of them for which no other job has to wait."""
        return {job for job in self._stuck if self._states[job].stuck_alone}

    def _tell_stuck(self, progress: Progress) -> None:
        for job, why in self._stuck.items():
            if job not in self._told:
                beside = ", the other pairs do not wait for it" if job in self._apart else ""
                ends = scancel(self._directory, (job,))
                progress.trouble(
                    f"job {job} will not start by itself: {why}; {ends} ends it{beside}"
                )
        self._told |= self._stuck.keys()

    def drain(self, progress: Progress, sleep: Callable[[float], None] = time.sleep) -> None:
        """Keep the queue filled until every pair has its job; the last ones still run then."""
        told = ""
        for wait_s in intervals():
            self.fill()
            if not self._waiting and not self._unclear:
                return
            words = f"jobs in the queue: {len(self._live)}; pairs to follow: {len(self._waiting)}"
            if self._unclear:
                words += f"; sbatch did not say whether Slurm has more: {len(self._unclear)}"
            if self._refused:
                words += "; Slurm takes no more jobs for now"
            if words != told:
                progress.stage(words)
                told = words
            sleep(wait_s)
            self._clear_up()
            self._heed(slurm.states(tuple(self._live), cluster(self._directory)))
            self._tell_stuck(progress)

    def write_next(self) -> Written:
        """The job of the next pair. Slurm decides on the order of its two nodes."""
        pair, launches = next(iter(self._waiting.items()))
        batch = self._batch
        nowhere = HostAccess(batch.starter, (), virtual=batch.virtual)
        request = msgspec.structs.replace(batch.request, nodes=len(pair), nodelist=pair, exclude=())
        places = tuple(_by_place(launch) for launch in launches)
        return Maker(self._directory, self._engine, nowhere, request).write(self._plan, places)


def _by_place(launch: PlannedLaunch) -> PlannedLaunch:
    alone = is_loopback(launch.network)
    return launch if alone else msgspec.structs.replace(launch, nodes=("0", "1"))


def _handed_over(directory: RunDirectory) -> dict[str, set[int]]:
    """Jobs of the run, with the numbers of their launches."""
    numbers = by_folder(directory)
    return {
        number: {launch.number for launch in one.launches}
        for one in jobs(directory)
        if (number := numbers[one.folder])
    }
