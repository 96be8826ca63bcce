"""A job for each pair of nodes: as many in Slurm's queue as it takes, the others after them."""

import time
from collections.abc import Callable

import msgspec

from fabricgauge.app.batch.attempts import attempts
from fabricgauge.app.batch.job import Maker, Written
from fabricgauge.app.batch.submit import cluster, hand_over
from fabricgauge.app.batch.waiting import intervals
from fabricgauge.app.progress import Progress
from fabricgauge.model.batch import Batch
from fabricgauge.model.engine import Engine
from fabricgauge.model.errors import CannotRun
from fabricgauge.model.plan import Plan, PlannedLaunch
from fabricgauge.model.reach import Reach
from fabricgauge.plan.pair_jobs import by_pair
from fabricgauge.run.batch import slurm
from fabricgauge.run.stacks.interface import is_loopback
from fabricgauge.store.jobs import jobs
from fabricgauge.store.run_directory import RunDirectory

Pair = tuple[str, str]


class PairQueue:
    """The pairs of a run that no job has measured or is about to measure."""

    def __init__(self, directory: RunDirectory, batch: Batch, plan: Plan, engine: Engine) -> None:
        self._directory, self._batch, self._plan = directory, batch, plan
        self._engine = engine
        self._live = _unfinished(directory)
        under_way = {number for job in self._live.values() for number in job}
        left = by_pair(plan.launches)
        self._waiting = {
            pair: launches
            for pair, launches in left.items()
            if not under_way & {launch.number for launch in launches}
        }
        self._refused: Written | None = None
        self._submitted = 0

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def submitted(self) -> int:
        """Jobs that Slurm has taken from this program."""
        return self._submitted

    def fill(self) -> None:
        """Hand jobs over until enough are in the queue, or Slurm takes no more for now.

        Raises:
            CannotRun: Slurm refused one for another reason than their number, or although it has
                no job of this run, so that none will make room.
        """
        while self._waiting and len(self._live) < self._batch.at_once:
            pair, launches = next(iter(self._waiting.items()))
            written = self._refused or self.write_next()
            try:
                job = hand_over(written, self._directory)
            except slurm.NotNow as error:
                self._refused = written
                if not self._live and not isinstance(error, slurm.Away):
                    raise CannotRun(f"{error}; no job of this run is there to make room") from error
                return
            self._refused = None
            self._submitted += 1
            self._live[job.number] = {launch.number for launch in launches}
            del self._waiting[pair]

    def drain(self, progress: Progress, sleep: Callable[[float], None] = time.sleep) -> None:
        """Keep the queue filled until every pair has its job; the last ones still run then."""
        told = ""
        for wait_s in intervals():
            self.fill()
            if not self._waiting:
                return
            words = f"jobs in the queue: {len(self._live)}; pairs to follow: {len(self._waiting)}"
            if self._refused:
                words += "; Slurm takes no more jobs for now"
            if words != told:
                progress.stage(words)
                told = words
            sleep(wait_s)
            states = slurm.states(tuple(self._live), cluster(self._directory))
            self._live = {
                job: numbers
                for job, numbers in self._live.items()
                if job not in states or not states[job].over
            }

    def write_next(self) -> Written:
        """The job of the next pair. Slurm decides on the order of its two nodes."""
        pair, launches = next(iter(self._waiting.items()))
        batch = self._batch
        nowhere = Reach(batch.starter, (), virtual=batch.virtual)
        request = msgspec.structs.replace(batch.request, nodes=len(pair), nodelist=pair, exclude=())
        places = tuple(_by_place(launch) for launch in launches)
        maker = Maker(self._directory, self._engine, nowhere, request, numbered=True)
        return maker.write(self._plan, places)


def _by_place(launch: PlannedLaunch) -> PlannedLaunch:
    if is_loopback(launch):
        return launch
    return msgspec.structs.replace(launch, nodes=("0", "1"))


def _unfinished(directory: RunDirectory) -> dict[str, set[int]]:
    """Jobs of the run that are not over, with the numbers of their launches."""
    said = {one.folder: one.job for one in attempts(directory.path / "raw")}
    made = {
        number: {launch.number for launch in one.launches}
        for one in jobs(directory)
        if (number := one.number or said.get(one.folder, ""))
    }
    states = slurm.states(tuple(made), cluster(directory))
    return {job: numbers for job, numbers in made.items() if not states[job].over}
