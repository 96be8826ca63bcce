"""Command line, then environment, then user's file, then site's, then built-in: for every verb."""

import json
from pathlib import Path

import pytest
from tests.check.commands import fabricgauge


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    path = tmp_path / "config" / "fabricgauge" / "config.toml"
    path.parent.mkdir(parents=True)
    return path


def test_each_source_outranks_the_next(config: Path) -> None:
    words = ("import", "guide-1gbe-osu-put-bw")
    config.write_text('[import]\nformat = "json"\n')
    assert json.loads(fabricgauge(*words).stdout)["overall"] == "PASS"
    by_environment = fabricgauge(*words, FABRICGAUGE_IMPORT_FORMAT="junit")
    assert by_environment.stdout.startswith("<?xml")
    by_flag = fabricgauge(*words, "--format", "csv", FABRICGAUGE_IMPORT_FORMAT="junit")
    assert by_flag.stdout.startswith("run,")


def test_a_file_sets_the_tolerance_of_comparisons(config: Path) -> None:
    pair = ("opx-uniband-mrate", "opx-psm2-uniband-mrate")
    config.write_text('[compare]\ntolerance = "3%"\nformat = "json"\n')
    assert "by more than 3 %" in json.loads(fabricgauge("compare", *pair).stdout)["headline"]


def test_an_unknown_option_in_a_file_is_named(config: Path) -> None:
    config.write_text("[report]\ncolour = 1\n")
    done = fabricgauge("report")
    assert done.returncode == 2
    assert "'colour'" in done.stderr


def test_what_a_suite_would_not_heed_is_refused() -> None:
    done = fabricgauge("check", "--lab", "--tool", "iperf3", "--sizes", "8")
    assert done.returncode == 2
    assert "--sizes" in done.stderr
