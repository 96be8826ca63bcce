"""Results of carried jobs: a node's copy is removed only once the head has stored them."""

import shutil
import stat
from pathlib import Path

import pytest

from fabricgauge.features.jobs.attempts import find_attempts
from fabricgauge.features.jobs.fetching import FETCHED, NoResults, fetch_results
from fabricgauge.features.jobs.slurm.slurm import JobState
from fabricgauge.model.batch import BatchJob, Request
from fabricgauge.model.errors import CannotRun
from fabricgauge.model.plan import Stopping
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import append_job

OVER = {"7": JobState("COMPLETED")}
#: srun runs the command here; the options come first.
SRUN = 'while case $1 in -*) true ;; *) false ;; esac; do shift; done; exec "$@"'


def stand_in(folder: Path, name: str, body: str) -> None:
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)


class Site:
    """A head and a first node; both are folders of this machine."""

    def __init__(self, tmp_path: Path) -> None:
        self.bin, self.base = tmp_path / "bin", tmp_path / "node"
        self.directory = RunDirectory.create(tmp_path / "runs")
        self.place = self.base / self.directory.identity
        for name, content in (("attempt-1/job", "7\n"), ("launch-01-1/exit", "0\n")):
            file = self.place / "raw" / name
            file.parent.mkdir(parents=True)
            file.write_text(content)
        stand_in(self.bin, "scontrol", 'echo "JobId=7 BatchHost=c1 X=y"')
        stand_in(self.bin, "srun", SRUN)

    @property
    def archive(self) -> Path:
        return self.directory.path / "raw" / FETCHED / "job-7.tar.gz"

    def fetch(self) -> tuple[str, ...]:
        return fetch_results(self.directory, Request(2), (str(self.base),), OVER)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    made = Site(tmp_path)
    monkeypatch.setenv("PATH", f"{made.bin}:/usr/bin:/bin")
    return made


def test_results_are_stored_then_removed_from_the_node(site: Site) -> None:
    assert site.fetch() == ()
    assert (site.directory.path / "raw/launch-01-1/exit").read_text() == "0\n"
    assert site.archive.exists() and not site.base.exists()
    assert site.fetch() == ()  # they are here: no node is asked


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("tar", 'case $1 in -c*) /usr/bin/tar "$@"; exit 2 ;; esac; exec /usr/bin/tar "$@"'),
        ("base64", "/usr/bin/base64 | head -c 120"),
        ("base64", "/usr/bin/base64; exit 1"),
        ("srun", "exit 0"),
    ],
    ids=["tar fails", "the answer is cut off", "base64 fails", "no answer"],
)
def test_results_that_did_not_arrive_whole_stay_on_the_node(
    site: Site, name: str, body: str
) -> None:
    stand_in(site.bin, name, body)
    with pytest.raises(CannotRun, match="of job 7"):
        site.fetch()
    assert (site.place / "raw/launch-01-1/exit").exists() and not site.archive.exists()
    (site.bin / name).unlink()
    stand_in(site.bin, "srun", SRUN)
    assert site.fetch() == () and (site.directory.path / "raw/launch-01-1/exit").exists()


def test_results_that_the_head_cannot_write_stay_on_the_node(site: Site) -> None:
    # A file is where the folder of a launch belongs: unpacking fails half-way.
    (site.directory.path / "raw" / "launch-01-1").touch()
    with pytest.raises(CannotRun, match="not unpacked"):
        site.fetch()
    assert site.archive.exists() and (site.place / "raw/launch-01-1/exit").exists()
    (site.directory.path / "raw" / "launch-01-1").unlink()
    # The stored archive is enough, even if the node gives nothing any more.
    stand_in(site.bin, "srun", "echo the node is down >&2; exit 1")
    (remains,) = site.fetch()
    assert "the node is down" in remains
    assert (site.directory.path / "raw/launch-01-1/exit").read_text() == "0\n"


#: What give_up has told Slurm of c1.
COMMENT = "fabricgauge: c1: /tmp cannot hold it;"


def test_results_of_a_later_start_come_before_the_reason_of_an_earlier_one(site: Site) -> None:
    stand_in(site.bin, "scontrol", f'echo "JobId=7 Comment={COMMENT} NodeList=c[1-3] BatchHost=c2"')
    assert site.fetch() == ()
    (attempt,) = find_attempts(site.directory.path / "raw")
    assert not attempt.gave_up and (site.directory.path / "raw/launch-01-1/exit").exists()


@pytest.mark.parametrize("batch_host", ["c1", "c2"])
def test_the_reason_counts_where_no_start_has_results(site: Site, batch_host: str) -> None:
    append_job(
        site.directory,
        BatchJob("7", "job-1", "", (), "quick", Stopping(0.1, 1.0), check_data=False),
    )
    shutil.rmtree(site.place)
    shown = f"JobId=7 Comment={COMMENT} NodeList=c[1-3] BatchHost={batch_host}"
    stand_in(site.bin, "scontrol", f'echo "{shown}"')
    assert site.fetch() == ()
    (attempt,) = find_attempts(site.directory.path / "raw")
    assert attempt.gave_up and attempt.unable() == {"c1": "/tmp cannot hold it"}


@pytest.mark.parametrize("kept", [COMMENT, ""])
def test_the_accounting_knows_why_a_forgotten_job_gave_up(site: Site, kept: str) -> None:
    append_job(
        site.directory,
        BatchJob("7", "job-1", "", (), "quick", Stopping(0.1, 1.0), check_data=False),
    )
    shutil.rmtree(site.place)
    stand_in(
        site.bin, "scontrol", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1"
    )
    stand_in(site.bin, "sacct", f"case $* in *NodeList,Comment*) echo 'c[1-3]|{kept}' ;; esac")
    if kept:
        assert site.fetch() == ()
        (attempt,) = find_attempts(site.directory.path / "raw")
        assert attempt.nodes == ("c1", "c2", "c3") and list(attempt.unable()) == ["c1"]
    else:
        with pytest.raises(NoResults, match="given up"):
            site.fetch()
