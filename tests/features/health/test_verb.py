"""``fabricgauge health`` on the command line."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fabricgauge.cli.verbs import cli
from fabricgauge.features.health.expectations import read_expectations
from fabricgauge.model.errors import FabricgaugeError


def health(*words: str) -> Result:
    return CliRunner().invoke(cli, ["health", *words], auto_envvar_prefix="FABRICGAUGE")


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    return tmp_path


def test_this_machine_is_learned_and_passes(tmp_path: Path) -> None:
    file, state = tmp_path / "health.toml", tmp_path / "state"
    learned = health("--learn", "--to", str(file))
    assert learned.exit_code == 0, learned.output
    assert len(read_expectations(file.read_text(), "f").classes) == 1
    words = "--expect", str(file), "--state", str(state)
    done = health(*words)
    assert done.exit_code == 0, done.output
    assert done.output.startswith(("PASS: ", "WARN: "))
    assert health(*words, "--for", "nagios").output.startswith("FABRICGAUGE ")
    assert state.read_text().endswith("\nend\n")


def test_the_users_file_is_used_without_an_option(home: Path) -> None:
    (home / "fabricgauge").mkdir()
    file = home / "fabricgauge" / "health.toml"
    file.write_text('version = 1\n[[class]]\nnodes = "somebody-else"\n')
    done = health("--state", str(home / "state"))
    assert done.exit_code == 3
    assert "no class" in done.output


def test_a_script_is_written_with_its_options(tmp_path: Path) -> None:
    script = tmp_path / "health.sh"
    done = health(
        "--script", "--for", "slurm", "--drain", "--limit", "7", "--state", "/run/it's here",
        "--to", str(script),
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    lines = script.read_text().splitlines()
    assert script.stat().st_mode & 0o111
    assert lines[0] == "#!/bin/sh"
    assert {"form=slurm", "drain=yes", "limit_s=7"} < set(lines)
    assert """state='/run/it'"'"'s here'""" in lines


def test_rules_and_dashboard_are_written() -> None:
    assert health("--alerts").output.count("- alert: ") == 8
    assert json.loads(health("--dashboard").output)["title"] == "fabricgauge"


@pytest.mark.parametrize(
    "words",
    [
        ["--drain"], ["--learn", "--drain"], ["--learn", "--script"], ["-w", "c1"],
        ["--alerts", "--for", "slurm"], ["--to", "x"], ["--script", "--quiet"],
        ["--expect", "/nonexistent/x.toml"],
    ],
)  # fmt: skip
def test_an_option_without_effect_is_refused(words: list[str]) -> None:
    done = health(*words)
    assert done.exit_code != 0
    assert isinstance(done.exception, FabricgaugeError)


def test_the_environment_drains_no_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABRICGAUGE_HEALTH_DRAIN", "1")
    assert "drain=no" in health("--script").output


def test_a_mistake_in_the_file_is_an_unknown_to_nagios(tmp_path: Path) -> None:
    file = tmp_path / "health.toml"
    file.write_text("version = 9")
    done = health("--expect", str(file), "--for", "nagios")
    assert isinstance(done.exception, FabricgaugeError)
    assert str(file) in str(done.exception)
