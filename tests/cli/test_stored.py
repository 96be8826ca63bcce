"""Each kind of stored run is listed, and shown again by ``report``."""

import json
import shutil
from pathlib import Path

import pytest
from tests.cli.typed import typed

RUNS = Path(__file__).parents[1] / "fixtures" / "runs"
#: Results of features: each kind of directory that `report` shows.
STORED = RUNS.parent / "stored"
KINDS = {
    "0.1.0--healthy": ("check", "PASS", ["c1", "c2"]),
    "0.1.0--imported": ("import", "INVALID", []),
    "0.2.0--varied": ("compare --vary", "UNDECIDED", ["c1", "c2"]),
    "0.2.0--traced": ("path", "TRACED", ["vm"]),
    "0.2.0--nccl-on-a-lab": ("check", "PASS", ["c1", "c2"]),
}


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_is_listed_and_shown_by_its_identity(name: str, tmp_path: Path) -> None:
    kind, word, nodes = KINDS[name]
    folder = RUNS if (RUNS / name).exists() else STORED
    (run,) = (folder / name).iterdir()
    shutil.copytree(run, tmp_path / run.name)
    (listed,) = json.loads(typed("runs", "-o", str(tmp_path), "--format", "json").output)["runs"]
    assert (listed["kind"], listed["nodes"], listed["problem"]) == (kind, nodes, "")
    assert listed["started_utc"].startswith("2026-11-2")
    shown = typed("report", run.name[:20], "-o", str(tmp_path))
    assert shown.output.split()[0] == word


def test_traced_paths_are_found_beside_the_runs(tmp_path: Path) -> None:
    (run,) = (STORED / "0.2.0--traced").iterdir()
    shutil.copytree(run, tmp_path / "fabricgauge" / "paths" / run.name)
    (tmp_path / "fabricgauge" / "runs").mkdir()
    home = str(tmp_path)
    assert typed("report", run.name, XDG_DATA_HOME=home).output.split()[0] == "TRACED"
    assert run.name in typed("runs", XDG_DATA_HOME=home).output
    assert typed("report", "2031", XDG_DATA_HOME=home).status == 3


def test_a_damaged_comparison_is_named(tmp_path: Path) -> None:
    (run,) = (STORED / "0.2.0--varied").iterdir()
    copied = shutil.copytree(run, tmp_path / run.name)
    (copied / "varied.json").write_text('{"finding": 3}')
    answer = typed("report", str(copied))
    assert answer.status == 3
    assert "varied.json is damaged" in answer.message
    (listed,) = json.loads(typed("runs", "-o", str(tmp_path), "--format", "json").output)["runs"]
    assert "varied.json is damaged" in listed["problem"]


def test_a_profile_is_listed_as_one(tmp_path: Path) -> None:
    run = tmp_path / "20261126T205429Z-b0ab1b"
    (run / "raw" / "profile").mkdir(parents=True)
    (run / "run.json").write_text('{"started_utc": "2026-11-26T20:54:29Z"}')
    (listed,) = json.loads(typed("runs", "-o", str(tmp_path), "--format", "json").output)["runs"]
    assert (listed["kind"], listed["verdict"]) == ("profile", "")
