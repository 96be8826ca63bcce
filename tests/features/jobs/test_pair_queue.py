"""Jobs of single pairs and a Slurm that takes few of them at a time."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.check.plan.test_pair_jobs import TEMPLATE, names

from fabricgauge.check.plan.round_robin import pair_plan
from fabricgauge.features.jobs.pair_queue import AllStuck, PairQueue
from fabricgauge.features.jobs.slurm import slurm
from fabricgauge.features.jobs.slurm.slurm import (
    Away,
    JobState,
    NoAnswer,
    NotNow,
    Submitted,
    Unclear,
)
from fabricgauge.model.absence import Skipped
from fabricgauge.model.batch import Batch, Request
from fabricgauge.model.engine import Engine, Mpi
from fabricgauge.model.errors import CannotRun
from fabricgauge.model.fabric import Topology
from fabricgauge.model.progress import SILENT, Progress
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import About, jobs, write_batch

PLAN = pair_plan(TEMPLATE, names(5))


class Slurm:
    """One that holds ``most`` jobs; each is over when it was asked for twice."""

    def __init__(self, most: int) -> None:
        self.most, self.taken = most, dict[str, int]()
        self.most_at_once, self.nodelists = 0, list[str]()

    def submit(self, options: Sequence[str], _script: Path) -> Submitted:
        if len(self._live) >= self.most:
            raise NotNow("QOSMaxSubmitJobPerUserLimit")
        number = str(100 + len(self.taken))
        self.taken[number] = 0
        self.nodelists += [one for one in options if one.startswith("--nodelist=")]
        self.most_at_once = max(self.most_at_once, len(self._live))
        return Submitted(number)

    def states(self, numbers: Sequence[str], _cluster: str = "") -> dict[str, JobState]:
        for one in numbers:
            self.taken[one] += 1
        return {one: JobState("COMPLETED" if self.taken[one] > 1 else "RUNNING") for one in numbers}

    def scripts(self, _clusters: str) -> dict[str, Submitted]:
        return {}

    @property
    def _live(self) -> list[str]:
        return [one for one, asked in self.taken.items() if asked < 2]


class OneNodeDown(Slurm):
    """One where jobs for a node never start, and all others are over when they are asked for."""

    def __init__(self, most: int, down: str, reason: str = "ReqNodeNotAvail") -> None:
        super().__init__(most)
        self.down, self.reason = down, reason

    def states(self, numbers: Sequence[str], _cluster: str = "") -> dict[str, JobState]:
        never = JobState("PENDING", f"{self.reason}, UnavailableNodes:{self.down}")
        for one in numbers:
            self.taken[one] = 0 if self._is_down(one) else 2
        return {one: never if self._is_down(one) else JobState("COMPLETED") for one in numbers}

    def _is_down(self, number: str) -> bool:
        nodes = self.nodelists[int(number) - 100].partition("=")[2]
        return self.down in nodes.split(",")


class Troubled(Progress):
    def __init__(self) -> None:
        self.troubles = list[str]()

    def trouble(self, text: str) -> None:
        self.troubles.append(text)


ENGINE = Engine(
    Path("/engine"), Mpi("mpich", "4.0", Path("/bin/mpicxx"), Path("/bin/mpiexec")), "0", (), "g++"
)


def queue(tmp_path: Path, at_once: int) -> tuple[PairQueue, RunDirectory]:
    batch = Batch(
        Request(5, nodelist=names(5)), "slurm", None, False, (), (), False, Topology(),
        pairs=PLAN, at_once=at_once,
    )  # fmt: skip
    directory = RunDirectory.create(tmp_path)
    write_batch(directory, About("", (), {}), batch)
    return PairQueue(directory, batch, PLAN, ENGINE), directory


@pytest.fixture(autouse=True)
def _no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """The connecting program is not built."""
    monkeypatch.setattr(
        "fabricgauge.features.jobs.job.connect_program", lambda: Skipped("no compiler")
    )


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Slurm:
    made = Slurm(most=2)
    monkeypatch.setattr(slurm, "submit", made.submit)
    monkeypatch.setattr(slurm, "states", made.states)
    monkeypatch.setattr(slurm, "scripts", made.scripts)
    return made


def test_every_pair_gets_its_job_although_slurm_takes_few(tmp_path: Path, small: Slurm) -> None:
    waiting, directory = queue(tmp_path, at_once=50)
    waiting.drain(SILENT, sleep=lambda _seconds: None)
    assert waiting.waiting == 0
    assert len(small.taken) == 10
    assert small.most_at_once == 2
    assert len(set(small.nodelists)) == 10
    assert {one.number for one in jobs(directory)} == set(small.taken)


def test_no_more_jobs_are_in_the_queue_than_asked_for(tmp_path: Path, small: Slurm) -> None:
    small.most = 99
    waiting, _ = queue(tmp_path, at_once=3)
    waiting.fill()
    assert (len(small.taken), waiting.waiting) == (3, 7)
    waiting.drain(SILENT, sleep=lambda _seconds: None)
    assert small.most_at_once == 3


def test_what_is_under_way_is_not_submitted_again(tmp_path: Path, small: Slurm) -> None:
    waiting, directory = queue(tmp_path, at_once=50)
    waiting.fill()
    again = PairQueue(directory, directory.read("batch.json", Batch), PLAN, ENGINE)
    assert (waiting.waiting, again.waiting) == (8, 8)


def one_node_down(monkeypatch: pytest.MonkeyPatch, most: int) -> OneNodeDown:
    made = OneNodeDown(most, names(5)[2])
    monkeypatch.setattr(slurm, "submit", made.submit)
    monkeypatch.setattr(slurm, "states", made.states)
    monkeypatch.setattr(slurm, "scripts", made.scripts)
    return made


def test_jobs_for_a_node_that_is_down_keep_no_other_out_of_the_queue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, told = one_node_down(monkeypatch, most=99), Troubled()
    waiting, _ = queue(tmp_path, at_once=2)
    waiting.drain(told, sleep=lambda _seconds: None)
    assert (len(made.taken), waiting.waiting) == (10, 0)
    first = told.troubles[0]
    assert "a requested node is down" in first
    assert "scancel 10" in first
    assert len(told.troubles) == len(set(told.troubles)) <= 4


def test_jobs_that_wait_for_what_holds_up_all_keep_their_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, told = one_node_down(monkeypatch, most=99), Troubled()
    made.reason = "PartitionDown"
    waiting, _ = queue(tmp_path, at_once=2)
    looks = iter(range(20))

    def sleep(_seconds: float) -> None:
        next(looks)

    with pytest.raises(StopIteration):
        waiting.drain(told, sleep=sleep)
    assert waiting.waiting > 0
    stuck = [number for number in made.taken if made._is_down(number)]
    assert len(stuck) == len(told.troubles) == 2
    assert "its partition starts no jobs now" in told.troubles[0]


def test_a_limit_that_stuck_jobs_alone_fill_ends_the_submitting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = one_node_down(monkeypatch, most=2)
    waiting, _ = queue(tmp_path, at_once=50)
    with pytest.raises(
        AllStuck, match=r"QOSMaxSubmit.*by themselves: 2\. scancel 10\d 10\d ends them"
    ):
        waiting.drain(SILENT, sleep=lambda _seconds: None)
    assert waiting.waiting == 10 - len(made.taken)


def test_a_resumed_run_knows_which_of_its_jobs_are_stuck(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_node_down(monkeypatch, most=2)
    waiting, directory = queue(tmp_path, at_once=50)
    with pytest.raises(AllStuck):
        waiting.drain(SILENT, sleep=lambda _seconds: None)
    again = PairQueue(directory, directory.read("batch.json", Batch), PLAN, ENGINE)
    with pytest.raises(AllStuck):
        again.fill()


def test_a_limit_that_no_job_of_ours_fills_is_an_error(tmp_path: Path, small: Slurm) -> None:
    small.most = 0
    waiting, _ = queue(tmp_path, at_once=50)
    with pytest.raises(CannotRun, match="QOSMaxSubmitJobPerUserLimit; no job of this run"):
        waiting.drain(SILENT, sleep=lambda _seconds: None)
    assert (waiting.submitted, waiting.waiting) == (0, 10)


def test_a_controller_that_is_away_is_waited_for(
    tmp_path: Path, small: Slurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(_options: Sequence[str], _script: Path) -> str:
        monkeypatch.setattr(slurm, "submit", small.submit)
        raise Away("Unable to contact slurm controller")

    monkeypatch.setattr(slurm, "submit", away)
    waiting, _ = queue(tmp_path, at_once=50)
    waiting.fill()
    assert (waiting.submitted, waiting.waiting) == (0, 10)
    waiting.drain(SILENT, sleep=lambda _seconds: None)
    assert (waiting.submitted, waiting.waiting) == (10, 0)


@pytest.mark.parametrize("taken", [True, False])
def test_an_unclear_answer_for_one_pair_does_not_keep_the_others_out(
    taken: bool, tmp_path: Path, small: Slurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    small.most, lost = 99, dict[str, Submitted]()

    def submit(options: Sequence[str], script: Path) -> Submitted:
        monkeypatch.setattr(slurm, "submit", small.submit)
        if taken:
            lost[str(script)] = small.submit(options, script)
        raise Unclear("Socket timed out")

    monkeypatch.setattr(slurm, "submit", submit)
    monkeypatch.setattr(slurm, "scripts", lambda _clusters: lost)
    waiting, directory = queue(tmp_path, at_once=50)
    waiting.fill()
    assert (waiting.submitted, waiting.unclear, waiting.waiting) == (9, 1, 0)
    waiting.drain(SILENT, sleep=lambda _seconds: None)
    assert (waiting.submitted, waiting.unclear, waiting.waiting) == (10, 0, 0)
    assert len(small.taken) == len(set(small.nodelists)) == 10
    assert {one.number for one in jobs(directory)} - {""} == set(small.taken)


def test_a_pair_that_slurm_may_have_stays_so_while_nobody_answers(
    tmp_path: Path, small: Slurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    def timed_out(_options: Sequence[str], _script: Path) -> str:
        monkeypatch.setattr(slurm, "submit", small.submit)
        raise Unclear("Socket timed out")

    def scripts(_clusters: str) -> dict[str, Submitted]:
        monkeypatch.setattr(slurm, "scripts", lambda _clusters: {})
        raise NoAnswer("squeue did not say")

    small.most = 99
    monkeypatch.setattr(slurm, "submit", timed_out)
    monkeypatch.setattr(slurm, "scripts", scripts)
    waiting, _ = queue(tmp_path, at_once=50)
    asked = list[int]()
    waiting.drain(SILENT, sleep=lambda _seconds: asked.append(waiting.unclear))
    assert asked == [1, 1]
    assert len(small.taken) == 10


def test_another_refusal_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_options: Sequence[str], _script: Path) -> str:
        raise CannotRun("sbatch did not take the job: invalid partition")

    waiting, _ = queue(tmp_path, at_once=50)
    monkeypatch.setattr(slurm, "submit", refuse)
    with pytest.raises(CannotRun, match="invalid partition"):
        waiting.fill()
