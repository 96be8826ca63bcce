"""Checks inside a Slurm allocation: MPI's own launcher by way of Slurm, and srun."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.check.commands import PROGRAM, SHORT, Checked, until
from tests.features.jobs.slurm_lab import (
    MPIS_AND_LAUNCHERS,
    chosen,
    ranks,
    slurm_lab,
    until_nothing_is_left,
)

from fabricgauge.lab.host_access import entry
from fabricgauge.lab.state import LabState

pytestmark = [pytest.mark.lab, pytest.mark.engine]


@pytest.fixture(scope="module")
def slurm() -> Iterator[LabState]:
    with slurm_lab("alloc") as state:
        yield state


def check(slurm: LabState, root: Path, *words: str, nodes: int = 2) -> Checked:
    command = ("salloc", "-Q", f"-N{nodes}", str(PROGRAM), "check", "-o", str(root), *words)
    done = subprocess.run(
        [*entry(slurm, "head"), *command], capture_output=True, text=True, timeout=600, check=False
    )
    return Checked(done, root)


@pytest.mark.parametrize(("mpi", "launcher"), MPIS_AND_LAUNCHERS)
def test_ranks_are_where_they_were_meant_to_be_and_the_bytes_crossed_the_network(
    mpi: str, launcher: str, slurm: LabState, tmp_path: Path
) -> None:
    words = chosen(mpi)
    checked = check(slurm, tmp_path, "--launcher", launcher, *words, *SHORT)
    assert checked.outcomes("placement") == {"PASS"}, checked.text
    assert checked.outcomes("path") == {"PASS"}, checked.text
    assert checked.outcomes("completeness") == {"PASS"}, checked.text


def test_the_nodes_of_the_allocation_are_all_that_is_measured(
    slurm: LabState, tmp_path: Path
) -> None:
    words = ("--patterns", "all_pairs_latency", "--sizes", "8")
    checked = check(slurm, tmp_path, *words, nodes=3)
    assert "3 nodes" in checked.prose
    assert checked.outcomes("placement") == {"PASS"}, checked.text


def test_ranks_of_srun_keep_the_order_that_was_asked_for(slurm: LabState, tmp_path: Path) -> None:
    checked = check(slurm, tmp_path, "--launcher", "srun", "--place", "c2,c1", *SHORT)
    assert checked.outcomes("placement") == {"PASS"}, checked.text
    assert "c2 → c1" in checked.prose


def test_an_order_that_the_launcher_would_not_keep_is_refused(
    slurm: LabState, tmp_path: Path
) -> None:
    command = ("salloc", "-Q", "-N2", str(PROGRAM), "check", "--place", "c2,c1")
    done = subprocess.run(
        [*entry(slurm, "head"), *command, "-o", str(tmp_path), *SHORT],
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert "--launcher srun" in done.stderr


@pytest.mark.parametrize("launcher", ["slurm", "srun"])
def test_an_interrupted_check_leaves_no_step_behind(
    launcher: str, slurm: LabState, tmp_path: Path
) -> None:
    """Nor ranks: what was measured is kept."""
    words = ("--launcher", launcher, "--patterns", "latency", "--case-budget", "60")
    command = ("salloc", "-Q", "-N2", str(PROGRAM), "check", "-o", str(tmp_path), *words)
    with subprocess.Popen(
        [*entry(slurm, "head"), *command, "--half-width", "0.0001", "--sizes", "8"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    ) as running:  # fmt: skip
        until(lambda: bool(list(tmp_path.glob("*/raw/launch-01-1/stdout.jsonl"))), 60, "a launch")
        until(lambda: "fabricgauge-eng" in ranks(tmp_path), 60, "ranks")
        os.killpg(running.pid, signal.SIGINT)
        _, said = running.communicate(timeout=60)
    assert "check --resume" in said
    until_nothing_is_left(slurm, tmp_path)


def test_outside_an_allocation_the_launcher_says_what_is_missing(tmp_path: Path) -> None:
    outside = {key: value for key, value in os.environ.items() if not key.startswith("SLURM")}
    done = subprocess.run(
        [PROGRAM, "check", "--launcher", "srun", "-o", str(tmp_path)],
        capture_output=True, text=True, timeout=30, check=False, env=outside,
    )  # fmt: skip
    assert done.returncode == 2
    assert "needs a Slurm allocation" in done.stderr
