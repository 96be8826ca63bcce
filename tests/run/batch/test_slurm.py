"""Slurm's words, from programs that stand in for its own; the lab's Slurm is in tests/app."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fabricgauge.model.errors import CannotRun, ToolMissing
from fabricgauge.run.batch import slurm
from fabricgauge.run.batch.slurm import FORGOTTEN, UNKNOWN, JobState, TooManyJobs

Fake = Callable[..., None]


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    """Put a program of this name in the way that prints this and ends so."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    def make(name: str, out: str = "", err: str = "", status: int = 0) -> None:
        program = tmp_path / name
        (tmp_path / f"{name}.out").write_text(out)
        (tmp_path / f"{name}.err").write_text(err)
        program.write_text(
            f'#!/bin/sh\ncat "{program}.out"\ncat "{program}.err" >&2\nexit {status}\n'
        )
        program.chmod(0o755)

    return make


@pytest.mark.parametrize("said", ["12", "12;cluster", "12\n"])
def test_the_number_of_a_job_is_what_sbatch_says(said: str, fake: Fake) -> None:
    fake("sbatch", said)
    assert slurm.submit((), Path("job.sh")) == "12"


@pytest.mark.parametrize(
    "said",
    [
        "sbatch: error: QOSMaxSubmitJobPerUserLimit",
        "sbatch: error: AssocMaxSubmitJobLimit\nsbatch: error: Batch job submission failed: Job"
        " violates accounting/QOS policy (job submit limit, user's size and/or time limits)",
        "sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying",
    ],
)
def test_too_many_jobs_are_told_from_other_refusals(said: str, fake: Fake) -> None:
    fake("sbatch", err=said, status=1)
    with pytest.raises(TooManyJobs):
        slurm.submit((), Path("job.sh"))


def test_a_refusal_is_quoted(fake: Fake) -> None:
    fake("sbatch", err="sbatch: error: invalid partition specified: fast\n", status=1)
    with pytest.raises(CannotRun, match="invalid partition specified: fast"):
        slurm.submit((), Path("job.sh"))


def test_without_slurm_the_program_that_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolMissing, match="sbatch"):
        slurm.submit((), Path("job.sh"))


def test_states_of_several_jobs_come_from_one_question(fake: Fake) -> None:
    fake("squeue", "7|PENDING|Resources\n8|TIMEOUT|TimeLimit\n9_[1-3]|PENDING|None\n")
    fake("sacct", "6|CANCELLED by 1000|None\n")
    found = slurm.states(("6", "7", "8"))
    assert found["7"] == JobState("PENDING", "Resources")
    assert not found["7"].over
    assert found["8"].over
    assert str(found["8"]) == "timeout (TimeLimit)"
    assert found["6"] == JobState("CANCELLED", "None")
    assert str(found["6"]) == "cancelled"


def test_a_controller_that_does_not_answer_ends_no_job(fake: Fake) -> None:
    fake("squeue", err="slurm_load_jobs error: Unable to contact slurm controller", status=1)
    found = slurm.states(("7",))
    assert found == {"7": UNKNOWN}
    assert not found["7"].over


def test_a_job_that_nobody_knows_any_more_is_over(fake: Fake) -> None:
    fake("squeue", err="slurm_load_jobs error: Invalid job id specified", status=1)
    fake("sacct", err="Slurm accounting storage is disabled", status=1)
    assert slurm.states(("7",)) == {"7": FORGOTTEN}
    assert FORGOTTEN.over


def test_no_jobs_are_no_question() -> None:
    assert slurm.states(()) == {}
