"""Jobs of other batch systems, with stand-ins for the programs that reach a job's nodes."""

import subprocess
from pathlib import Path

import pytest

from fabricgauge.check.target import _without_lab
from fabricgauge.model.errors import UsageError
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.nodes.launch.launchers import job

#: What each system writes, by its variable: one line for each slot, or a host with its slots.
FILES = {
    "PBS_NODEFILE": "c2.cluster\nc2.cluster\nc1.cluster\n",
    "LSB_DJOB_HOSTFILE": "c2\nc2\nc1\nc1\n",
    "PE_HOSTFILE": "c2 8 all.q@c2 UNDEFINED\nc1 8 all.q@c1 <NULL>\n",
    "OAR_NODEFILE": "c2\nc1\n",
}
PROGRAMS = {manager.variable: manager.program for manager in job.MANAGERS}
VARIABLES = (*FILES, "FLUX_URI", "SLURM_JOB_ID", "SLURM_JOB_NODELIST")


@pytest.fixture(autouse=True)
def outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def stand_in(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


@pytest.mark.parametrize("variable", FILES)
def test_a_job_names_its_nodes(
    variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hosts").write_text(FILES[variable])
    monkeypatch.setenv(variable, str(tmp_path / "hosts"))
    # The stand-in names the host, then does what a remote shell does.
    shell = 'shift; exec "$@"' if variable == "PBS_NODEFILE" else 'shift; exec sh -c "$*"'
    drop_option = '[ "$1" = -inherit ] && shift; ' if variable == "PE_HOSTFILE" else ""
    stand_in(tmp_path / "bin", PROGRAMS[variable], f'{drop_option}printf "%s: " "$1"; {shell}')
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    access = _without_lab(MeasurementRequest())
    assert [node.partition(".")[0] for node in access.nodes] == ["c2", "c1"]
    assert access.launcher == "job"
    words = ["printf", "%s|", "a b", "$(id)", "it's"]
    done = subprocess.run(
        access.hosts[0].through(words), capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{access.nodes[0]}: a b|$(id)|it's|"
    # An MPI's launcher calls it as it calls ssh.
    called = subprocess.run(
        [access.agent or "", *access.agent_options, "-x", "c1", "echo", "started"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert called.stdout == "c1: started\n"


def test_flux_lists_its_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(
        tmp_path / "bin",
        "flux",
        'case "$1 $2" in\n"hostlist instance") echo "c[1-2],d7" ;;\n'
        '"hostlist --expand") echo "c1 c2 d7" ;;\n"exec -r") shift 2; '
        'printf "rank %s: " "$1"; shift; exec "$@" ;;\nesac',
    )
    monkeypatch.setenv("FLUX_URI", "local:///run/flux/local")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    access = _without_lab(MeasurementRequest(exclude="c2"))
    assert access.nodes == ("c1", "d7")
    done = subprocess.run(
        access.hosts[1].through(["echo", "a b"]), capture_output=True, text=True, check=True
    )
    assert done.stdout == "rank 2: a b\n"


def test_without_the_systems_program_ssh_reaches_the_nodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hosts").write_text(FILES["PBS_NODEFILE"])
    monkeypatch.setenv("PBS_NODEFILE", str(tmp_path / "hosts"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    access = _without_lab(MeasurementRequest())
    assert (access.launcher, access.nodes) == ("ssh", ("c2.cluster", "c1.cluster"))


def test_nodes_outside_the_job_are_reached_by_ssh_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hosts").write_text(FILES["OAR_NODEFILE"])
    monkeypatch.setenv("OAR_NODEFILE", str(tmp_path / "hosts"))
    assert _without_lab(MeasurementRequest(nodelist="x[1-2]")).launcher == "ssh"
    with pytest.raises(UsageError, match="has no node 'x1'; it has c2, c1"):
        _without_lab(MeasurementRequest(nodelist="x1", launcher="job"))


@pytest.mark.parametrize(
    "content", ["-oProxyCommand=x\n", "$(touch x)\n", "c1;id\n"], ids=["option", "command", "list"]
)
def test_a_hostile_file_of_hosts_is_refused(
    content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hosts").write_text(content)
    monkeypatch.setenv("PBS_NODEFILE", str(tmp_path / "hosts"))
    with pytest.raises(UsageError, match="cannot be a host's name"):
        _without_lab(MeasurementRequest())


def test_a_missing_file_and_no_job_are_usage_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="PBS_NODEFILE"):
        job.LAUNCHER.reach(MeasurementRequest())
    monkeypatch.setenv("PBS_NODEFILE", "/no/such/file")
    with pytest.raises(UsageError, match="name the nodes with -w"):
        _without_lab(MeasurementRequest())
