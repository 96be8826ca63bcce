"""A check of nodes that share no folder with the head; some of them cannot take the programs."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.check.commands import PROGRAM, SHORT, Checked, Lab

pytestmark = [pytest.mark.lab, pytest.mark.engine, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
#: What a node has in common with the head: the home with the cache, the project with its MPI, /tmp.
SHARED = (str(Path.home()), str(ROOT), "/tmp")
#: Options of mount for a healthy node, and for two that cannot hold a program.
OPTIONS = {"c1": "size=60m", "c2": "size=60m", "c3": "size=16k", "c4": "size=60m,noexec"}
REASONS = {"c3": "cannot hold the", "c4": "forbids execution (mount option noexec)"}


def inside(name: str, node: str, *argv: str) -> str:
    """Run a command in a node; its working directory is one that the node has."""
    done = subprocess.run(
        [PROGRAM, "lab", "exec", "--name", name, node, "--", *argv],
        cwd="/", capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def hide(name: str, options: Mapping[str, str]) -> None:
    """Give each node folders of its own in the place of those that it shares with the head."""
    for node, words in options.items():
        for folder in (*SHARED, "/dev/shm"):
            inside(name, node, "mount", "-t", "tmpfs", "-o", words, "tmpfs", folder)


def test_nodes_with_a_full_disk_or_noexec_are_named_and_the_rest_is_measured(
    lab: Lab, tmp_path: Path
) -> None:
    name = lab("--nodes", "4")
    hide(name, OPTIONS)
    done = subprocess.run(
        [PROGRAM, "check", "--lab", name, "-o", str(tmp_path), *SHORT],
        cwd="/", capture_output=True, text=True, timeout=400, check=False,
    )  # fmt: skip
    run = Checked(done, tmp_path)
    coverage = run.words("coverage")
    for node, reason in REASONS.items():
        assert f"{node} cannot measure" in coverage and reason in coverage, run.text
    assert '"nodes":["c1","c2"]' in (run.path / "launches.jsonl").read_text()
    assert run.outcomes("path") == {"PASS"}, run.text
    kept = inside(name, "c1", "find", "/tmp", "-name", "fabricgauge*")
    assert kept == "", "the copies are removed"
    examined = subprocess.run(
        [PROGRAM, "doctor", "--lab", name, "--only", "connect"],
        cwd="/", capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    words = " ".join(examined.stdout.split())
    assert "the connections of c3,c4 are unknown" in words
    assert all(reason in words for reason in REASONS.values()), examined.stdout
