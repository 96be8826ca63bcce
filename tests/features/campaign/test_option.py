"""Campaigns on disk: no measured part is lost, and a stored file leads nowhere else."""

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from tests.cli.typed import typed
from tests.features.history.runs import RECORDED

from fabricgauge.check.target import StatedRequest
from fabricgauge.features.campaign import option, running
from fabricgauge.features.campaign.campaign_file import (
    FORMAT,
    RESULT_FILE,
    RESULT_FORMAT,
    RESULT_VERSION,
    VERSION,
    CampaignResult,
    PartResult,
    find_campaign,
    read_campaign,
)
from fabricgauge.judge.thresholds import DEFAULTS
from fabricgauge.model.errors import CannotRun, StoreError, ToolMissing
from fabricgauge.model.progress import Progress
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.store import settings
from fabricgauge.store.run_directory import RunDirectory

PRINTING = SimpleNamespace(format="terminal", to=None, fail_on=())


def measure(root: Path) -> int:
    stated = StatedRequest(MeasurementRequest(), settings.load(()), Progress())
    return option.run_campaign("validation", stated, root, PRINTING)


def fill_disk(_self: RunDirectory, name: str, _value: object) -> None:
    raise StoreError(f"cannot write {name}: No space left on device")


@pytest.mark.parametrize("measured", [True, False])
def test_a_full_disk_loses_no_part_that_was_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, measured: bool
) -> None:
    def measure_part(part: Any, *others: Any) -> PartResult:
        directory: RunDirectory = others[-1]
        if measured:
            folder = directory.path / "20261126T200000Z-abc123"
            folder.mkdir()
            (folder / "results.jsonl").write_text("figures")
        return PartResult(part.name)

    monkeypatch.setattr(running, "measure_part", measure_part)
    monkeypatch.setattr(RunDirectory, "write", fill_disk)
    with pytest.raises(StoreError, match="No space left"):
        measure(tmp_path)
    assert [path.read_text() for path in tmp_path.rglob("results.jsonl")] == ["figures"] * measured
    assert len(list(tmp_path.iterdir())) == measured


@pytest.mark.parametrize(
    ("error", "broken"), [(ToolMissing("no program"), False), (CannotRun("launch broke"), True)]
)
def test_an_error_of_a_part_is_told_from_a_missing_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, broken: bool
) -> None:
    def measure_part(*_all: Any) -> PartResult:
        raise error

    monkeypatch.setattr(running, "measure_part", measure_part)
    assert measure(tmp_path) == 3
    (file,) = tmp_path.rglob("campaign.json")
    result = msgspec.json.decode(file.read_bytes(), type=CampaignResult)
    assert {part.broken for part in result.parts if part.left_out} == {broken}


def stored(tmp_path: Path, folder: str) -> tuple[CampaignResult, RunDirectory]:
    campaign = find_campaign("validation")
    part = next(part for part in campaign.part if part.patterns)
    path = tmp_path / "campaign"
    path.mkdir()
    result = CampaignResult(
        RESULT_FORMAT, RESULT_VERSION, path.name, "2026-11-26T20:00:00Z", campaign,
        (PartResult(part.name, folder, "PASS", "fine"),),
    )  # fmt: skip
    return result, RunDirectory(path)


def test_the_run_of_a_part_is_found_before_and_after_it_ended(tmp_path: Path) -> None:
    result, directory = stored(tmp_path, "20261126T200000Z-abc123.partial")
    (source,) = (RECORDED / "0.1.0--healthy").iterdir()
    shutil.copytree(source, directory.path / "20261126T200000Z-abc123")
    (part,) = option.measured_campaign(result, directory, DEFAULTS).parts
    assert part.judged is not None


@pytest.mark.parametrize(
    ("compared", "curves", "is_compared"),
    [
        (("opx-uniband-mrate", "opx-psm2-uniband-mrate"), 2, False),
        (("opx-uniband-mrate", "opx-send-instructions-opx"), 1, False),
        (("opx-send-instructions-psm2", "opx-send-instructions-opx"), 0, True),
    ],
)
def test_two_compared_references_are_shown_whatever_they_have(
    tmp_path: Path, compared: tuple[str, str], curves: int, is_compared: bool
) -> None:
    text = (
        f'format = "{FORMAT}"\nversion = {VERSION}\nname = "mine"\ntitle = "Mine"\n'
        f'[[part]]\nname = "two"\ntitle = "Two"\ncompare = {list(compared)}\n'
    )
    result = msgspec.structs.replace(
        stored(tmp_path, "")[0], campaign=read_campaign(text, "mine.toml"),
        parts=(PartResult("two"),),
    )  # fmt: skip
    directory = RunDirectory(tmp_path / "campaign")
    directory.write(RESULT_FILE, result)
    (part,) = option.measured_campaign(result, directory, DEFAULTS).parts
    assert sum(len(reference.curves) for reference in part.references) == curves
    assert bool(part.further) == is_compared
    answer = typed("report", str(directory.path))
    assert all(name in answer.output for name in compared)


@pytest.mark.parametrize("folder", ["../other", "/etc", "..", ".", "other", "a/b", "linked"])
def test_a_stored_folder_leads_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    result, directory = stored(tmp_path, folder)
    (source,) = (RECORDED / "0.1.0--healthy").iterdir()
    shutil.copytree(source, tmp_path / "other")
    (directory.path / "linked").symlink_to(tmp_path / "other")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError, match="run"):
        option.measured_campaign(result, directory, DEFAULTS)
