"""What becomes of a run whose submission ended before it was done."""

from pathlib import Path

import msgspec
import pytest
from tests.check.commands import fabricgauge
from tests.report import sample

from fabricgauge.cli.show import Printing
from fabricgauge.features.jobs.options import (
    discarded_unless_submitted,
    show_run,
    show_when_complete,
)
from fabricgauge.features.jobs.pair_queue import AllStuck
from fabricgauge.features.jobs.slurm.slurm import Unclear
from fabricgauge.features.jobs.submit import wait_and_judge
from fabricgauge.model.batch import Batch, BatchJob, Request
from fabricgauge.model.errors import CannotRun, StoreError, UsageError
from fabricgauge.model.fabric import Topology
from fabricgauge.model.plan import Stopping
from fabricgauge.model.progress import SILENT
from fabricgauge.model.request import OWN_LAB
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import About, append_job, read_batch, write_batch
from fabricgauge.store.settings import Settings

BATCH = Batch(Request(2), "slurm", None, False, (), (), False, Topology())


def job(number: str, folder: str) -> BatchJob:
    return BatchJob(number, folder, "", (), "quick", Stopping(0.01, 0.95), False)


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    return RunDirectory.create(tmp_path)


def ends_with(error: BaseException, directory: RunDirectory, *jobs: BatchJob) -> bool:
    """Whether the run is kept."""
    with pytest.raises(type(error)), discarded_unless_submitted(directory):
        for one in jobs:
            append_job(directory, one)
        raise error
    return directory.path.exists()


def test_a_refused_job_leaves_nothing(directory: RunDirectory) -> None:
    assert not ends_with(CannotRun("invalid partition"), directory, job("", "job-1"))


def test_what_ends_before_anything_is_handed_over_leaves_nothing(directory: RunDirectory) -> None:
    assert not ends_with(KeyboardInterrupt(), directory)


@pytest.mark.parametrize(
    "error", [Unclear("it said nothing"), KeyboardInterrupt(), StoreError("the disk is full")]
)
def test_a_job_that_slurm_may_have_keeps_its_run(
    error: BaseException, directory: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ends_with(error, directory, job("", "job-1"))
    assert f"fabricgauge collect {directory.path}" in capsys.readouterr().err


def test_a_pair_that_is_refused_does_not_take_the_others_away(directory: RunDirectory) -> None:
    jobs = job("7", "job-1"), job("", "job-2")
    assert ends_with(CannotRun("node c9 is down"), directory, *jobs)


def test_a_refused_pair_does_not_take_away_one_that_slurm_may_have(directory: RunDirectory) -> None:
    assert ends_with(CannotRun("c9 is down"), directory, job("", "job-1"), job("", "job-2"))


def test_a_run_of_slurms_jobs_is_resumed_by_submit_and_another_by_check(
    directory: RunDirectory,
) -> None:
    directory.write("run.json", About("", (), {}))
    with pytest.raises(StoreError, match=f"check --resume {directory.path}"):
        read_batch(directory)
    append_job(directory, job("7", "job-1"))
    done = fabricgauge("check", "--resume", str(directory.path))
    assert done.returncode == 2
    assert f"submit --resume {directory.path}" in done.stderr


def test_a_report_of_what_nobody_has_collected_says_how_to_collect_it(
    directory: RunDirectory,
) -> None:
    write_batch(directory, About("", (), {}), BATCH)
    done = fabricgauge("report", str(directory.path))
    assert done.returncode == 3
    assert f"fabricgauge collect {directory.path}" in done.stderr


def test_a_run_that_another_program_has_collected_is_told_to_be_complete(
    directory: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_batch(directory, About("", (), {}), BATCH)

    def collect(*_: object) -> None:
        RunDirectory(directory.path).finish()
        directory.write("verdicts.json", ())

    monkeypatch.setattr("fabricgauge.features.jobs.submit.collect_results", collect)
    with pytest.raises(UsageError, match=f"report .*/{directory.identity}$"):
        wait_and_judge(directory, Settings({}, {}, {}, "", ()), SILENT)


def test_who_waits_for_stuck_jobs_alone_is_told_how_to_go_on(
    directory: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    def stuck() -> None:
        raise AllStuck("scancel 7 8 ends them")

    write_batch(directory, About("", (), {}), BATCH)
    with pytest.raises(AllStuck, match="scancel 7 8"):
        show_when_complete(directory, Printing(), SILENT, stuck)
    assert f"fabricgauge submit --resume {directory.path}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("lab", "told"),
    [
        ("", "Measure the rest with: fabricgauge submit --resume"),
        ("mine", "Measure the rest with: fabricgauge submit --lab mine --resume"),
        (OWN_LAB, "; the lab is removed."),
    ],
)
def test_how_to_go_on_is_said_where_one_can(
    lab: str,
    told: str,
    directory: RunDirectory,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("FABRICGAUGE_FROM_OUTSIDE", lab)
    judged = sample.judged()
    broken_off = msgspec.structs.replace(
        judged, run=msgspec.structs.replace(judged.run, complete=False)
    )
    write_batch(directory, About("", (), {}), BATCH)
    show_run(broken_off, directory, Printing())
    said = capsys.readouterr().err
    assert told in said
    assert str(directory.path) in said
