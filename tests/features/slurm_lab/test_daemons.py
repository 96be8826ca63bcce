"""Slurm's daemons can be ended and started while jobs run, and a failed start leaves nothing."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.features.slurm_lab.slurm_jobs import agents, await_job, job, node_state, submit, until
from tests.lab.conftest import MakeLab, marked, on
from tests.lab.test_lab import FABRICGAUGE

from fabricgauge.features.slurm_lab import cluster
from fabricgauge.features.slurm_lab.cluster import slurm_conf
from fabricgauge.lab import tools
from fabricgauge.lab import up as up_module
from fabricgauge.lab.spec import LabSpec
from fabricgauge.lab.state import LabState, lab_directory, load_complete, load_marks
from fabricgauge.lab.up import down, status
from fabricgauge.model.errors import LabError, ToolMissing, UsageError

pytestmark = pytest.mark.lab

#: A job that goes on until the file ``go`` is there.
WAIT = "echo $$ > pid; while [ ! -e go ]; do sleep 0.1; done; date > done"


def running(state: LabState) -> dict[str, bool]:
    (found,) = status(state.name)
    return {f"{one.program} {one.node}": one.running for one in found.slurm}


@pytest.mark.slow
def test_node_goes_down_and_its_job_fails_or_waits_when_the_node_is_killed(
    slurm_lab: LabState, tmp_path: Path
) -> None:
    fails = submit(slurm_lab, tmp_path, "exec sleep 600", "-w", "c2", "-n1", "--no-requeue")
    waits = submit(slurm_lab, tmp_path, "exec sleep 600", "-w", "c2", "-n1", "--requeue")
    for number in (fails, waits):
        await_job(slurm_lab, number, "RUNNING")
    until(lambda: len(list(tmp_path.glob("out-*"))) == 2, "both scripts run")
    cluster.kill(slurm_lab, "c2")
    assert running(slurm_lab)["slurmd c2"] is False
    assert on(slurm_lab, "c2", "echo", "here") == "here\n"  # the node itself stands
    assert await_job(slurm_lab, fails, "NODE_FAIL")["Restarts"] == "0"
    assert await_job(slurm_lab, waits, "PENDING")["Restarts"] == "1"
    assert node_state(slurm_lab, "c2") == "down*"
    assert on(slurm_lab, "head", "srun", "-N1", "uname", "-n") == "c1\n"

    # What ends the job's first start is still sent to the node, and would end its second one:
    # Slurm lets such a job wait for two minutes. Here it waits until nothing is being sent.
    until(lambda: agents(slurm_lab) == (0, 0), "slurmctld has sent everything")
    cluster.start(load_complete(slurm_lab.name), "c2")
    on(slurm_lab, "head", "scontrol", "update", f"JobId={waits}", "StartTime=now")
    await_job(slurm_lab, waits, "RUNNING")


def test_job_goes_on_when_slurmctld_and_slurmd_are_restarted(
    slurm_lab: LabState, tmp_path: Path
) -> None:
    number = submit(slurm_lab, tmp_path, WAIT, "-w", "c2")
    until((tmp_path / "pid").exists, "the job has begun")
    before = {daemon.process.pid for daemon in slurm_lab.slurm}
    state = cluster.restart(slurm_lab, "head")
    state = cluster.restart(state, "c2")
    assert all(running(state).values())
    assert len(before & {daemon.process.pid for daemon in state.slurm}) == 2  # munged and c1's
    assert job(state, number)["JobState"] == "RUNNING"
    (tmp_path / "go").touch()
    assert await_job(state, number, "COMPLETED")["Restarts"] == "0"
    assert (tmp_path / "done").exists()


def test_words_of_the_command_line_end_and_start_a_daemon(slurm_lab: LabState) -> None:
    def slurm(*words: str) -> str:
        argv = [*FABRICGAUGE, "lab", *words, "--name", slurm_lab.name]
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout

    assert slurm("slurm", "stop", "c2") == "Slurm: slurmd on c2 does not run\n"
    assert "slurmd on c2 does not run" in slurm("status")
    assert "slurmctld on head runs" in slurm("slurm", "restart", "head")
    assert "slurmd on c2 runs" in slurm("slurm", "start", "c2")
    assert "slurmctld on head does not run" in slurm("slurm", "kill", "head")
    assert "munged on head runs" in slurm("slurm", "start", "head")
    assert all(running(slurm_lab).values())


@pytest.mark.parametrize(
    ("setting", "patience_s", "message"),
    [
        ("ProctrackType=proctrack/nonsense", 60, r"slurm(d|ctld) on .* ended.*: .*nonsense"),
        ("", 0, r"slurmd on c2 of lab .* runs, but after 0 s not all nodes are idle"),
    ],
)
def test_nothing_is_left_when_a_daemon_does_not_start(
    slurm_programs: None,
    make_lab: MakeLab,
    monkeypatch: pytest.MonkeyPatch,
    setting: str,
    patience_s: float,
    message: str,
) -> None:
    drafted: list[LabState] = []
    start_all = cluster.start_all

    def seen(state: LabState) -> LabState:
        drafted.append(state)
        return start_all(state)

    monkeypatch.setattr(cluster, "start_all", seen)
    monkeypatch.setattr(cluster, "_READY_TIMEOUT_S", patience_s)
    monkeypatch.setattr(cluster, "slurm_conf", lambda *words: f"{slurm_conf(*words)}{setting}\n")
    monkeypatch.setattr(cluster, "munge_works", lambda _: True)
    monkeypatch.setattr(cluster, "present", lambda _: frozenset())
    with pytest.raises(LabError, match=message) as raised:
        make_lab(slurm=True)
    assert "\n" not in str(raised.value)
    assert not marked(drafted[0].token)
    assert not lab_directory(drafted[0].name).exists()


@pytest.mark.parametrize("step", ["munge_works", "present"])
def test_down_ends_the_daemons_of_a_lab_whose_up_was_killed(
    slurm_programs: None, step: str
) -> None:
    name = f"t-lab-slurm-killed-{os.getpid()}"
    code = (
        "import os, sys; from fabricgauge.lab import up;"
        "from fabricgauge.features.slurm_lab import cluster;"
        f"cluster.{step} = lambda *_: os.kill(os.getpid(), 9);"
        "up.up(up.LabSpec(sys.argv[1], slurm=True))"
    )
    try:
        killed = subprocess.run([sys.executable, "-c", code, name], check=False)
        assert killed.returncode == -signal.SIGKILL
        (found,) = status(name)
        assert [daemon.program for daemon in found.slurm][:1] == ["munged"]
        assert all(daemon.running for daemon in found.slurm)
        assert not found.standing
        marks = load_marks(lab_directory(name))
    finally:
        assert down(name)
    assert marks
    assert not marked(marks.token)
    assert not lab_directory(name).exists()


def test_up_fails_before_anything_is_made_when_slurm_cannot_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(LabError, match="'ALL' cannot name a node of a lab with Slurm"):
        up_module.up(LabSpec("t-lab-slurm-none", ("ALL",), slurm=True))
    monkeypatch.setattr(tools, "require", lambda _: None)
    monkeypatch.setattr(tools, "SEARCH_PATH", "/nonexistent")
    with pytest.raises(ToolMissing, match=r"slurmctld.*apt-get install .*munge slurmctld slurmd"):
        up_module.up(LabSpec("t-lab-slurm-none", slurm=True))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(LabError, match="needs root"):
        up_module.up(LabSpec("t-lab-slurm-none", slurm=True))
    assert not lab_directory("t-lab-slurm-none").exists()


def test_verbs_fail_when_the_lab_has_no_slurm(make_lab: MakeLab) -> None:
    state = make_lab()
    with pytest.raises(LabError, match="has no Slurm; .* --slurm"):
        cluster.stop(state, "c1")


def test_verbs_fail_when_there_is_no_such_node(slurm_lab: LabState) -> None:
    with pytest.raises(UsageError, match="no node 'c9'"):
        cluster.kill(slurm_lab, "c9")
