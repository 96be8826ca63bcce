"""The demonstration names the fault that it plants, and leaves no lab."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from tests.check.commands import PROGRAM

from fabricgauge.check.conclude import conclude
from fabricgauge.features.demo.verb import finds_fault
from fabricgauge.judge.thresholds import DEFAULTS
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import load

RUNS = Path(__file__).parents[2] / "fixtures" / "runs"


@pytest.mark.parametrize(
    ("run", "found"), [("slow-link", True), ("healthy", False), ("host-limited", False)]
)
def test_only_a_failed_rate_counts_as_the_found_fault(run: str, found: bool) -> None:
    (path,) = (RUNS / f"0.1.0--{run}").iterdir()
    assert finds_fault(conclude(load(RunDirectory(path)), DEFAULTS)) is found


@pytest.mark.lab
@pytest.mark.engine
@pytest.mark.alone
@pytest.mark.slow
def test_the_demonstration_ends_within_a_minute_and_leaves_its_runs(tmp_path: Path) -> None:
    page = tmp_path / "fault.html"
    done = subprocess.run(
        [PROGRAM, "demo", "-q", "-o", str(page)], capture_output=True, text=True, timeout=60,
        env={**os.environ, "XDG_DATA_HOME": str(tmp_path)}, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 3), done.stdout + done.stderr
    listed = subprocess.check_output([PROGRAM, "lab", "list"], text=True)
    assert "demo-" not in listed
    runs = sorted((tmp_path / "fabricgauge" / "runs").iterdir())
    assert len(runs) == 2
    outcomes = [json.loads((run / "report.json").read_text())["overall"] for run in runs]
    assert outcomes[0] not in ("FAIL", "INVALID")
    assert done.returncode == 3 or outcomes[1] == "FAIL"
    assert page.read_text().startswith("<!doctype html>")
