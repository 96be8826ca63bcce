"""A sweep under a real Slurm in a lab: it measures idle nodes, and gives way to a job."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.features.slurm_lab.slurm_jobs import await_job, node_state, submit, until
from tests.lab.conftest import make_lab, namespaces, on, slurm_lab, slurm_programs

from fabricgauge.features.history.sweep import JOB_PREFIX, LOOK_S
from fabricgauge.lab.host_access import entry
from fabricgauge.lab.state import LabState

__all__ = ["make_lab", "namespaces", "slurm_lab", "slurm_programs"]
pytestmark = [pytest.mark.lab, pytest.mark.engine, pytest.mark.slow]


def start_sweep(state: LabState, root: Path, *words: str) -> "subprocess.Popen[str]":
    argv = [sys.executable, "-m", "fabricgauge", "history", "sweep", "-o", str(root), *words]
    return subprocess.Popen(
        [*entry(state, "head"), *argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def list_sweep_jobs(state: LabState) -> list[str]:
    jobs = on(state, "head", "squeue", "-h", "-o", "%j %T").splitlines()
    return [job for job in jobs if job.startswith(JOB_PREFIX)]


def test_a_sweep_measures_a_pair_of_idle_nodes(slurm_lab: LabState, tmp_path: Path) -> None:
    until(lambda: node_state(slurm_lab, "c2") == "idle", "the nodes are idle")
    child = start_sweep(slurm_lab, tmp_path, "--node-minutes", "20", "--pair-minutes", "10")
    text, _ = child.communicate(timeout=600)
    assert "2 of 2 nodes are idle; 1 pair to measure" in text
    (run,) = (path for path in tmp_path.iterdir() if (path / "results.jsonl").exists())
    plan = json.loads((run / "plan.json").read_text())
    assert set(plan["launches"][0]["nodes"]) == {"c1", "c2"}
    assert list_sweep_jobs(slurm_lab) == []


def test_a_sweep_gives_way_to_a_job(slurm_lab: LabState, tmp_path: Path) -> None:
    until(lambda: node_state(slurm_lab, "c2") == "idle", "the nodes are idle")
    root, jobs = tmp_path / "runs", tmp_path / "jobs"
    jobs.mkdir()
    child = start_sweep(slurm_lab, root, "--node-minutes", "20", "--pair-minutes", "10")
    until(lambda: any("RUNNING" in job for job in list_sweep_jobs(slurm_lab)), "the sweep measures")
    number = submit(slurm_lab, jobs, "true", "-N", "2", "--exclusive")
    began_s = time.monotonic()
    await_job(slurm_lab, number, "COMPLETED")
    assert time.monotonic() - began_s < LOOK_S + 45  # Slurm ends a job in up to 30 s
    text, _ = child.communicate(timeout=120)
    assert f"job {number} waits for nodes: the sweep ends" in text
    assert child.returncode == 3 or child.returncode == 1
    assert list_sweep_jobs(slurm_lab) == []
