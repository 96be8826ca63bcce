"""Slurm's own programs do in a lab what they do on a cluster."""

import os
from pathlib import Path

import pytest
from tests.features.slurm_lab.slurm_jobs import await_job, node_state, submit, until
from tests.lab.conftest import MakeLab, marked, on

from fabricgauge.lab.state import LabState, lab_directory
from fabricgauge.lab.up import down

pytestmark = pytest.mark.lab

#: What installing Slurm put on the machine, and what a lab must not touch.
MACHINES = (Path("/etc/slurm"), Path("/etc/munge"), Path("/run/munge"), Path("/run/slurm"))


def machines_files() -> list[tuple[str, float, int]]:
    found = [path for top in MACHINES for path in (top, *top.rglob("*")) if path.exists()]
    return sorted((str(path), path.stat().st_mtime, path.stat().st_size) for path in found)


def test_job_runs_once_on_every_node_with_a_rank_for_mpi(slurm_lab: LabState) -> None:
    assert sorted(on(slurm_lab, "head", "srun", "-N2", "hostname").split()) == ["c1", "c2"]
    ranks = on(slurm_lab, "head", "srun", "-N2", "sh", "-c", "echo ${PMIX_RANK-$PMI_RANK}")
    assert sorted(ranks.split()) == ["0", "1"]
    on(slurm_lab, "c1", "srun", "-w", "c2", "true")  # from a node as well


def test_batch_job_writes_its_file_and_is_cancelled_when_asked(
    slurm_lab: LabState, tmp_path: Path
) -> None:
    first = submit(slurm_lab, tmp_path, "srun uname -n | sort > nodes; id -u", "-N2")
    await_job(slurm_lab, first, "COMPLETED")
    assert (tmp_path / "nodes").read_text() == "c1\nc2\n"
    assert (tmp_path / f"out-{first}").read_text() == f"{os.getuid()}\n"

    second = submit(slurm_lab, tmp_path, "echo $$ > pid; exec sleep 600", "-w", "c2")
    await_job(slurm_lab, second, "RUNNING")
    until((tmp_path / "pid").exists, "the job has begun")
    assert second in on(slurm_lab, "head", "squeue", "-h", "-o", "%i")
    on(slurm_lab, "head", "scancel", second)
    await_job(slurm_lab, second, "CANCELLED")
    until(
        lambda: int((tmp_path / "pid").read_text()) not in marked(slurm_lab.token),
        "it ended",
    )
    until(lambda: node_state(slurm_lab, "c2") == "idle", "c2 is idle")


def test_down_ends_jobs_and_daemons_and_the_machines_files_stay_as_they_were(
    slurm_programs: None, make_lab: MakeLab, tmp_path: Path
) -> None:
    before = machines_files()
    state, neighbour = make_lab(slurm=True), make_lab(nodes=("n1",), slurm=True)
    number = submit(state, tmp_path, "echo $$ > pid; srun sleep 600", "-N2")
    until((tmp_path / "pid").exists, "the job has begun")
    until(
        lambda: "R" in on(state, "head", "squeue", "-h", "-s", "-o", "%i R"),
        "so has its step",
    )
    assert node_state(neighbour, "n1") == "idle"  # another cluster, although all names are equal
    assert number not in on(neighbour, "head", "squeue", "-h", "-o", "%i")
    daemons = {daemon.process.pid for daemon in state.slurm}
    assert daemons < marked(state.token)
    assert down(state.name)
    assert not marked(state.token)
    assert not daemons & {int(entry.name) for entry in running()}
    assert not lab_directory(state.name).exists()
    assert on(neighbour, "head", "srun", "uname", "-n") == "n1\n"
    assert machines_files() == before


def test_slurm_works_wherever_the_labs_directory_is_and_whatever_the_umask(
    slurm_programs: None, make_lab: MakeLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "a b#c=[1-2]%n"
    place.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(place))
    monkeypatch.setenv("SLURM_CONF", "/nonexistent")
    usual = os.umask(0o077)
    try:
        state = make_lab(nodes=("a1", "B-2"), slurm=True)
        assert state.directory.startswith(str(place))
        assert sorted(on(state, "head", "srun", "-N2", "uname", "-n").split()) == ["B-2", "a1"]
        assert down(state.name)
    finally:
        os.umask(usual)


def running() -> list[Path]:
    """Processes that have not ended: the kernel shows no namespace of others."""
    return [entry for entry in Path("/proc").iterdir() if entry.name.isdigit() and alive(entry)]


def alive(process: Path) -> bool:
    try:
        return bool((process / "ns" / "net").readlink())
    except OSError:
        return False
