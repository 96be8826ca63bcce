"""How the program ends where nobody reads what it prints, or where it stands on nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(sys.executable).with_name("fabricgauge")
RUN = next((Path(__file__).parents[1] / "fixtures" / "runs" / "0.1.0--healthy").iterdir())
VERBS = {"help": "--help", "verb's help": "check --help", "report": f"report {RUN}"}


def shell(command: str) -> "subprocess.CompletedProcess[str]":
    env = {**os.environ, "FABRICGAUGE_SITE_FILE": "/none", "XDG_CONFIG_HOME": "/none"}
    return subprocess.run(
        ["/bin/sh", "-c", command.replace("fabricgauge", str(PROGRAM), 1)],
        capture_output=True, text=True, timeout=60, env=env, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("where", "said"),
    [(">/dev/full", "No space left on device"), (">&-", "standard output is closed")],
)
def test_what_cannot_be_printed_is_neither_a_pass_nor_a_failure(
    verb: str, where: str, said: str
) -> None:
    done = shell(f"fabricgauge {VERBS[verb]} {where}")
    assert done.returncode == 3
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("verb", VERBS)
def test_a_closed_standard_error_changes_nothing(verb: str) -> None:
    assert shell(f"fabricgauge {VERBS[verb]} 2>&- </dev/null").returncode == 0
    assert shell(f"fabricgauge {VERBS[verb]} >/dev/full 2>&-").returncode == 3


def test_a_reader_that_goes_away_early_changes_nothing() -> None:
    done = shell(f"(fabricgauge report {RUN} --format json; echo status $? >&2) | head -c 1")
    assert done.stderr == "status 0\n"


def test_a_directory_that_was_removed_is_said(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    done = shell(f"cd {tmp_path}/gone && rmdir {tmp_path}/gone && exec fabricgauge report x")
    assert (done.returncode, done.stdout) == (2, "")
    assert "the working directory was removed" in done.stderr
    assert done.stderr.count("\n") == 1
