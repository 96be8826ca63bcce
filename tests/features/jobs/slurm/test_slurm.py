"""Slurm's words, from programs that stand in for its own; the lab's Slurm is in tests/check."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fabricgauge.features.jobs.slurm import slurm
from fabricgauge.features.jobs.slurm.slurm import (
    FORGOTTEN,
    UNKNOWN,
    Away,
    JobState,
    NoAnswer,
    NotNow,
    Submitted,
    Unclear,
)
from fabricgauge.model.errors import CannotRun, ToolMissing

Fake = Callable[..., None]

POLICY = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"


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


@pytest.mark.parametrize(
    ("said", "taken"),
    [
        ("12", Submitted("12")),
        ("12\n", Submitted("12")),
        ("12;fast", Submitted("12", "fast")),
        ("Submitted batch job 12\n", Submitted("12")),
        ("Submitted batch job 12 on cluster fast\n", Submitted("12", "fast")),
        ("Welcome to Fast, 3 nodes\n---\n12\nHave a nice day\n", Submitted("12")),
    ],
)
def test_the_number_of_a_job_is_what_sbatch_says(said: str, taken: Submitted, fake: Fake) -> None:
    fake("sbatch", said)
    assert slurm.submit((), Path("job.sh")) == taken


@pytest.mark.parametrize(
    ("out", "err", "status"),
    [
        ("your job is in good hands\n", "", 0),
        ("", "", 0),
        ("", "sbatch: error: Batch job submission failed: Socket timed out on send/recv", 1),
    ],
)
def test_words_that_do_not_say_whether_there_is_a_job_are_no_refusal(
    out: str, err: str, status: int, fake: Fake
) -> None:
    fake("sbatch", out, err, status)
    with pytest.raises(Unclear, match="check with squeue"):
        slurm.submit((), Path("job.sh"))


def test_an_sbatch_that_hangs_may_have_submitted(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake("sbatch")
    (tmp_path / "sbatch").write_text("#!/bin/sh\nexec sleep 60\n")
    monkeypatch.setattr(slurm, "TIMEOUT_S", 0.3)
    with pytest.raises(Unclear):
        slurm.submit((), Path("job.sh"))


def test_a_job_inherits_nothing_of_the_job_that_submits_it(
    tmp_path: Path, fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake("sbatch")
    (tmp_path / "sbatch").write_text(f"#!/bin/sh\nenv >{tmp_path}/seen\necho 12\n")
    for name in ("SLURM_JOB_ID", "SLURM_MEM_PER_CPU", "PMIX_RANK", "SLURM_CONF", "SBATCH_WAIT",
                 "AWS_SECRET_ACCESS_KEY"):  # fmt: skip
        monkeypatch.setenv(name, "1")
    slurm.submit((), Path("job.sh"))
    seen = {line.partition("=")[0] for line in (tmp_path / "seen").read_text().splitlines()}
    assert seen >= {"SLURM_CONF", "PATH"}
    assert not seen & {"SLURM_JOB_ID", "SLURM_MEM_PER_CPU", "PMIX_RANK", "SBATCH_WAIT"}
    assert "AWS_SECRET_ACCESS_KEY" not in seen  # it would be in the job's environment on the nodes


def test_outside_an_allocation_a_users_own_settings_of_slurm_stay() -> None:
    assert "SLURM_TIME_FORMAT" not in slurm.foreign({"SLURM_TIME_FORMAT": "%s"})


@pytest.mark.parametrize(
    "said",
    [
        "sbatch: error: QOSMaxSubmitJobPerUserLimit",
        f"sbatch: error: AssocMaxSubmitJobLimit\nsbatch: error: {POLICY}",
        f"sbatch: error: QOSGrpSubmitJobsLimit\nsbatch: error: {POLICY}",
        f"sbatch: error: Batch job submission failed: {POLICY}",
        "sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying",
        "sbatch: error: Batch job submission failed: Unable to contact slurm controller",
    ],
)
def test_what_slurm_may_take_later_is_told_from_other_refusals(said: str, fake: Fake) -> None:
    fake("sbatch", err=said, status=1)
    with pytest.raises(NotNow):
        slurm.submit((), Path("job.sh"))


@pytest.mark.parametrize(
    "limit", ["QOSMaxWallDurationPerJobLimit", "AssocMaxNodePerJobLimit", "QOSMinGRES"]
)
def test_a_limit_on_one_jobs_size_or_time_is_none_on_their_number(limit: str, fake: Fake) -> None:
    said = f"sbatch: error: {limit}\nsbatch: error: Batch job submission failed: {POLICY}"
    fake("sbatch", err=said, status=1)
    with pytest.raises(CannotRun, match=limit) as refused:
        slurm.submit((), Path("job.sh"))
    assert not isinstance(refused.value, NotNow)


def test_a_controller_that_is_away_is_told_from_a_limit(fake: Fake) -> None:
    fake("sbatch", err="sbatch: error: Unable to contact slurm controller", status=1)
    with pytest.raises(Away):
        slurm.submit((), Path("job.sh"))
    fake("sbatch", err=POLICY, status=1)
    with pytest.raises(NotNow) as refused:
        slurm.submit((), Path("job.sh"))
    assert not isinstance(refused.value, Away)


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


@pytest.mark.parametrize("said", ["segfault\n", "<html>down for maintenance</html>\n"])
def test_words_that_are_no_answer_end_no_job(said: str, fake: Fake) -> None:
    fake("squeue", said)
    fake("sacct", err="Slurm accounting storage is disabled", status=1)
    assert slurm.states(("7",)) == {"7": UNKNOWN}
    fake("sacct", "7|COMPLETED|None\n")
    assert slurm.states(("7",))["7"].over


def test_a_job_of_another_cluster_is_asked_for_there(tmp_path: Path, fake: Fake) -> None:
    fake("squeue")
    (tmp_path / "squeue").write_text(
        '#!/bin/sh\necho "CLUSTER: fast"\n'
        'case "$*" in *--clusters=fast*) echo "7|RUNNING|None" ;; esac\n'
    )
    fake("sacct", status=1)
    assert slurm.states(("7",), "fast")["7"].state == "RUNNING"
    assert slurm.states(("7",)) == {"7": FORGOTTEN}


def test_a_job_that_another_cluster_of_a_federation_runs_is_not_over() -> None:
    assert not JobState("REVOKED").over


def test_no_jobs_are_no_question() -> None:
    assert slurm.states(()) == {}


def test_more_jobs_than_one_command_line_has_room_for_are_asked_for_in_parts(
    tmp_path: Path, fake: Fake
) -> None:
    for name in ("squeue", "sacct"):
        fake(name)
        (tmp_path / name).write_text(f'#!/bin/sh\necho x >>"{tmp_path}/{name}.asked"\n')
    found = slurm.states([str(number) for number in range(10_000_000, 10_020_000)])
    assert len(found) == 20_000
    assert set(found.values()) == {FORGOTTEN}
    assert len((tmp_path / "squeue.asked").read_text().splitlines()) == 20
    assert len((tmp_path / "sacct.asked").read_text().splitlines()) == 20


def test_scripts_of_jobs_are_told_with_the_cluster_that_has_them(
    tmp_path: Path, fake: Fake
) -> None:
    fake("squeue", "CLUSTER: fast\n7|/a/job 1|b/job.sh\n9_[1-3]|/c\nCLUSTER: slow\n8|/d\n")
    assert slurm.scripts("fast,slow") == {
        "/a/job 1|b/job.sh": Submitted("7", "fast"), "/d": Submitted("8", "slow"),
    }  # fmt: skip
    (tmp_path / "squeue.out").write_text("7|/a\n")
    assert slurm.scripts() == {"/a": Submitted("7")}
    assert slurm.scripts("fast") == {"/a": Submitted("7", "fast")}


@pytest.mark.parametrize(("out", "status"), [("", 1), ("<html>down</html>\n", 0)])
def test_a_squeue_that_does_not_answer_is_no_empty_queue(out: str, status: int, fake: Fake) -> None:
    fake("squeue", out, "Unable to contact slurm controller", status)
    with pytest.raises(NoAnswer):
        slurm.scripts()
