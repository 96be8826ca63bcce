"""Words before the program of ``scale``: an option that it lacks starts nothing."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from fabricgauge.cli.verbs import cli


@pytest.mark.parametrize("word", ["--dry-run", "--nosuch"])
def test_an_unknown_option_is_no_program(
    word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = tmp_path / "started"
    program = tmp_path / word
    program.write_text(f"#!/bin/sh\ntouch {started}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli, ["scale", word, "--", "true"])
    assert done.exit_code != 0
    assert word in f"{done.output}{done.exception}"
    assert not started.exists()
