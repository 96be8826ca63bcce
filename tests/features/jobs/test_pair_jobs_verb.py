"""What ``submit --pair-jobs`` says of a Slurm that takes some jobs or none."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.features.jobs.test_pair_queue import ENGINE

from fabricgauge.cli.verbs import cli
from fabricgauge.features.jobs.slurm import slurm
from fabricgauge.features.jobs.slurm.slurm import NotNow, Submitted
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import CannotRun


def submitted(root: Path, monkeypatch: pytest.MonkeyPatch, *answers: str | Exception) -> Result:
    """``submit`` for three pairs, with Slurm's answers, of which the last one stays."""
    left: Iterator[str | Exception] = iter(answers)
    last = answers[-1]

    def submit(*_: object) -> Submitted:
        said = next(left, last)
        if isinstance(said, Exception):
            raise said
        return Submitted(said)

    monkeypatch.setattr(slurm, "submit", submit)
    monkeypatch.setattr(
        "fabricgauge.features.jobs.job.connect_program", lambda: Skipped("no compiler")
    )
    monkeypatch.setattr("fabricgauge.features.jobs.options.engine_for", lambda *_: ENGINE)
    words = ("-w", "c[1-3]", "--pair-jobs", "--network", "10.0.0.0/24", "--no-wait")
    return CliRunner().invoke(cli, ["submit", *words, "-o", str(root)])


def test_a_run_of_which_slurm_takes_no_job_is_told_to_have_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = submitted(tmp_path, monkeypatch, NotNow("QOSMaxSubmitJobPerUserLimit"))
    assert isinstance(done.exception, CannotRun)
    assert "QOSMaxSubmitJobPerUserLimit" in str(done.exception)
    assert "0 of 3 jobs" in done.stderr
    assert not list(tmp_path.iterdir())


def test_those_that_slurm_has_taken_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = submitted(tmp_path, monkeypatch, "7", NotNow("QOSMaxSubmitJobPerUserLimit"))
    assert done.exit_code == 0
    assert "1 of 3 jobs" in done.stderr
    assert "Not in the queue yet: 2 pairs" in done.stderr
