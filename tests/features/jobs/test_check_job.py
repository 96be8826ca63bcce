"""Jobs that run check itself: the words of their check, their script, and what is refused."""

import shlex
import shutil
from pathlib import Path

import msgspec
import pytest
from tests.cli.typed import typed

from fabricgauge.cli.show import Printing
from fabricgauge.features.campaign.campaign_file import (
    RESULT_FILE,
    RESULT_FORMAT,
    RESULT_VERSION,
    CampaignResult,
    PartResult,
    find_campaign,
)
from fabricgauge.features.jobs.check_job import (
    JOBS,
    OWN_ROOT,
    check_words,
    script_of,
    submit_check,
    with_nodes,
)
from fabricgauge.features.jobs.options import Submission
from fabricgauge.features.jobs.slurm import slurm
from fabricgauge.model.batch import Request
from fabricgauge.model.errors import CannotRun, UsageError
from fabricgauge.model.progress import SILENT
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.model.verdict import Strictness

#: Stored results of earlier versions: runs, and those of features.
FIXTURES = tuple(Path(__file__).parents[2] / "fixtures" / name for name in ("runs", "stored"))
HEALTHY, FAILS, UNDECIDED = "0.1.0--healthy", "0.1.0--slow-link", "0.1.0--unpinned"


def test_the_job_s_check_gets_what_was_asked_for() -> None:
    request = MeasurementRequest(
        tool="imb:PingPong", tool_path="/opt/imb", network=("net1", "net2"), unpinned=True,
        launches=3, nodelist="c[1-2]",
    )  # fmt: skip
    words = check_words(request, "", Path("/runs"))
    assert words[1:6] == ("-m", "fabricgauge", "check", "--launcher", "slurm")
    assert words[6:] == (
        "--tool", "imb:PingPong", "--tool-path", "/opt/imb", "--network", "net1", "--network",
        "net2", "--unpinned", "--launches", "3", "--output", "/runs", "--quiet",
    )  # fmt: skip


def test_a_campaign_is_handed_on_by_name_or_whole_path(tmp_path: Path) -> None:
    by_name = check_words(MeasurementRequest(), "validation", tmp_path)
    assert by_name[6:8] == ("--campaign", "validation")
    file = tmp_path / "mine.toml"
    file.touch()
    assert str(file.resolve()) in check_words(MeasurementRequest(), str(file), tmp_path)


def test_an_option_that_the_check_would_not_get_is_refused() -> None:
    with pytest.raises(UsageError, match="--sizes has no effect on a job that runs check"):
        check_words(MeasurementRequest(tool="osu", sizes=(8,)), "", Path("/runs"))


def test_no_word_is_read_by_the_job_s_shell() -> None:
    words = check_words(MeasurementRequest(tool="osu", network=("a; $(b)'c",)), "", Path("/r s"))
    line = script_of(words, Path("/r s/jobs")).splitlines()[-1]
    assert shlex.split(line.removeprefix("exec "))[: len(words)] == list(words)


def test_a_job_has_two_nodes_unless_others_are_stated() -> None:
    request = MeasurementRequest(ppn=4)
    assert with_nodes(Request(0), request, ()).nodes == 2
    assert with_nodes(Request(0), request, ("c1", "c2", "c3")).nodes == 3
    assert with_nodes(Request(8), request, ()).ppn == 4


def stored(name: str, root: Path, identity: str) -> Path:
    """Copy a stored run of the fixtures to a root, under an identity."""
    (run,) = next(folder / name for folder in FIXTURES if (folder / name).exists()).iterdir()
    return Path(shutil.copytree(run, root / identity))


def campaign_of(run: Path, outcome: str) -> None:
    """Make the directory above a run its campaign's, with one part."""
    campaign = find_campaign("validation")
    campaign = msgspec.structs.replace(campaign, part=campaign.part[:1])
    part = PartResult(campaign.part[0].name, run.name, outcome, "measured")
    result = CampaignResult(
        RESULT_FORMAT, RESULT_VERSION, run.parent.name, "2026-11-26T20:00:00Z", campaign, (part,)
    )
    (run.parent / RESULT_FILE).write_bytes(msgspec.json.encode(result))


@pytest.mark.parametrize(
    ("name", "fail_on", "status"),
    [
        (HEALTHY, (), 0), (FAILS, (), 1), (UNDECIDED, (), 3), (UNDECIDED, ("inconclusive",), 1),
    ],
)  # fmt: skip
@pytest.mark.parametrize("campaign", ["", "validation"])
def test_a_job_s_own_verdict_is_the_exit_status(
    name: str, fail_on: tuple[Strictness, ...], status: int, campaign: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """While the job runs, another check stores a newer run of another verdict beside it."""
    root, other = tmp_path / "runs", HEALTHY if status else FAILS

    def run_job(*_: object) -> None:
        own = root / JOBS / "0001" / OWN_ROOT
        words = (root / JOBS / "0001" / "job.sh").read_text()
        assert f"--output {own} " in words
        if campaign:
            run = stored(name, own / "20261126T000000Z-job", "20261126T000001Z-run")
            campaign_of(run, "PASS")
        else:
            stored(name, own, "20261126T000000Z-job")
        stored(other, root, "20261126T000009Z-other")

    monkeypatch.setattr("fabricgauge.features.jobs.check_job.wait_for_jobs", run_job)
    monkeypatch.setattr(slurm, "submit", lambda *_: slurm.Submitted("7", ""))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("FABRICGAUGE_SITE_FILE", str(tmp_path / "none"))
    submission = Submission(Printing("json", fail_on), SILENT)
    request = MeasurementRequest()
    assert submit_check(request, campaign, Request(2), root, submission) == status
    # The run is where other verbs list it.
    assert (root / "20261126T000000Z-job").is_dir()
    assert not (root / JOBS / "0001" / OWN_ROOT).exists()


def test_a_job_without_a_run_shows_no_other_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "fabricgauge.features.jobs.check_job.wait_for_jobs",
        lambda *_: stored(HEALTHY, tmp_path, "20261126T000009Z-other"),
    )
    monkeypatch.setattr(slurm, "submit", lambda *_: slurm.Submitted("7", ""))
    submission = Submission(Printing("json"), SILENT)
    with pytest.raises(CannotRun, match="job 7 left no run"):
        submit_check(MeasurementRequest(), "", Request(2), tmp_path, submission)


@pytest.mark.parametrize(("words", "status"), [((), 3), (("--fail-on", "inconclusive"), 1)])
def test_report_ends_with_the_outcome_of_a_stored_comparison(
    words: tuple[str, ...], status: int, tmp_path: Path
) -> None:
    varied = stored("0.2.0--varied", tmp_path, "20261126T000000Z-vary")
    assert typed("report", str(varied), *words).status == status
