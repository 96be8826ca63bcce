"""Stored runs are listed with kind, start, nodes and verdict."""

import json
import shutil
from pathlib import Path

import pytest
from tests.cli.typed import typed

FIXTURES = Path(__file__).parents[1] / "fixtures" / "runs"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("0.1.0--healthy", "0.1.0--imported", "0.1.0--lost-link"):
        (run,) = (FIXTURES / name).iterdir()
        shutil.copytree(run, tmp_path / run.name)
    (tmp_path / "not-a-run").mkdir()
    return tmp_path


def listed(root: Path, *words: str) -> list[dict[str, object]]:
    answer = typed("runs", "-o", str(root), "--format", "json", *words)
    assert answer.status == 0
    runs: list[dict[str, object]] = json.loads(answer.output)["runs"]
    return runs


def test_the_newest_run_comes_first_with_kind_and_nodes(root: Path) -> None:
    runs = listed(root)
    assert [run["kind"] for run in runs] == ["import", "check", "check"]
    assert [run["nodes"] for run in runs] == [[], ["c1", "c2"], ["c1", "c2"]]
    assert [run["complete"] for run in runs] == [True, False, True]
    assert all(str(run["path"]).startswith(str(root)) for run in runs)


def test_the_verdict_is_that_of_the_stored_report(root: Path, tmp_path: Path) -> None:
    (healthy,) = (run for run in root.iterdir() if run.name.endswith("fbfd74"))
    typed("report", str(healthy), "-o", str(healthy / "report.json"))
    assert [run["verdict"] for run in listed(root)] == ["", "", "PASS"]


def test_last_limits_the_list_and_counts_the_rest(root: Path) -> None:
    assert len(listed(root, "--last", "1")) == 1
    assert len(listed(root, "-n", "0")) == 3
    assert "2 older runs" in typed("runs", "-o", str(root), "-n", "1").output


def test_a_damaged_run_is_listed_with_its_problem(root: Path) -> None:
    newest = max(run for run in root.iterdir() if run.name.startswith("2"))
    (newest / "run.json").write_text("{")
    first = listed(root)[0]
    assert "damaged" in str(first["problem"])
    assert "unreadable" in typed("runs", "-o", str(root)).output


def test_no_directory_is_no_run(tmp_path: Path) -> None:
    answer = typed("runs", "-o", str(tmp_path / "none"))
    assert answer.status == 0
    assert "0 runs" in answer.output


@pytest.mark.parametrize("suffix", ["html", "md", "csv"])
def test_the_list_has_other_formats(suffix: str, root: Path, tmp_path: Path) -> None:
    file = tmp_path / f"list.{suffix}"
    assert typed("runs", "-o", str(file), XDG_DATA_HOME=str(root)).status == 0
    assert file.stat().st_size > 20
