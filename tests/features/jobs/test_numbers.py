"""Jobs of which sbatch did not say whether Slurm has taken them."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.features.jobs.test_submit_verb import job

from fabricgauge.features.jobs.collect import explain_no_results
from fabricgauge.features.jobs.numbers import find_lost, job_numbers_of, wait_for_lost
from fabricgauge.features.jobs.slurm import slurm
from fabricgauge.features.jobs.slurm.slurm import JobState, NoAnswer, Submitted
from fabricgauge.features.jobs.submit import unfinished
from fabricgauge.model.batch import Batch, Request
from fabricgauge.model.fabric import Topology
from fabricgauge.model.progress import SILENT
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import About, append_job, jobs, write_batch

Known = dict[str, Submitted]


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    """A run with a job whose number nobody knows, of a user who names a cluster."""
    made = RunDirectory.create(tmp_path)
    request = Request(2, further=("--clusters=fast",))
    write_batch(
        made, About("", (), {}), Batch(request, "slurm", None, False, (), (), False, Topology())
    )
    append_job(made, job("", "job-1"))
    return made


def answering(known: Known, asked: list[str]) -> Callable[[str], Known]:
    def scripts(clusters: str) -> Known:
        asked.append(clusters)
        return known

    return scripts


def test_a_job_is_found_by_its_script_and_its_number_written_down(
    directory: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[str]()
    script = f"/mnt/other{directory.path}/job-1/job.sh"
    known = {script: Submitted("7", "fast"), "/else/job-1/job.sh": Submitted("8")}
    monkeypatch.setattr(slurm, "scripts", answering(known, asked))
    find_lost(directory)
    find_lost(directory)
    assert job_numbers_of(directory) == ("7",)
    assert jobs(directory)[0].cluster == "fast"
    assert asked == ["fast"]


def test_a_job_that_slurm_does_not_know_was_never_taken(
    directory: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {"/else/job-1/job.sh": Submitted("8")}
    monkeypatch.setattr(slurm, "scripts", answering(known, []))
    assert unfinished(directory) == {}
    assert job_numbers_of(directory) == ()


def test_a_lost_job_that_waits_keeps_the_run_from_being_resumed(
    directory: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    pending = JobState("PENDING")
    known = {f"{directory.path}/job-1/job.sh": Submitted("7")}
    monkeypatch.setattr(slurm, "scripts", answering(known, []))
    monkeypatch.setattr(slurm, "states", lambda jobs, _cluster: dict.fromkeys(jobs, pending))
    assert unfinished(directory) == {"7": pending}


def test_a_queue_that_nobody_tells_keeps_the_run_from_being_resumed(
    directory: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(_clusters: str) -> Known:
        raise NoAnswer("squeue did not say")

    monkeypatch.setattr(slurm, "scripts", silent)
    with pytest.raises(NoAnswer):
        unfinished(directory)
    found = answering({f"{directory.path}/job-1/job.sh": Submitted("7")}, [])
    wait_for_lost(directory, SILENT, lambda _s: monkeypatch.setattr(slurm, "scripts", found))
    assert job_numbers_of(directory) == ("7",)


def test_a_run_whose_numbers_are_known_asks_nobody(
    directory: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[str]()
    monkeypatch.setattr(slurm, "scripts", answering({}, asked))
    append_job(directory, job("7", "job-1"))
    find_lost(directory)
    assert asked == []


def test_a_job_that_was_never_taken_is_told_by_its_script(directory: RunDirectory) -> None:
    append_job(directory, job("7", "job-2"))
    said = explain_no_results(directory, {"7": JobState("FAILED")})
    assert "Slurm has no job job-1/job.sh, job 7 is failed" in said
