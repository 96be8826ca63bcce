"""Nothing of the head's environment goes to the nodes but what ranks need."""

import os
from pathlib import Path

import pytest

from fabricgauge.logs.tools import running
from fabricgauge.model.host_access import LaunchCommand
from fabricgauge.nodes.launch import launch
from fabricgauge.nodes.launch.environment import forwarded_names, withheld_names
from fabricgauge.nodes.launch.launchers import slurm

SECRETS = {"AWS_SECRET_ACCESS_KEY": "k3y", "GITHUB_TOKEN": "t0ken", "http_proxy": "u:pw@proxy",
           "BASH_FUNC_x%%": "() { :; }", "DISPLAY": ":0", "MY_MPI_HOME": "/opt",
           "SLURM_JWT": "t0ken", "NVIDIA_API_KEY": "k3y", "LD_SECRET": "s3cret",
           "FABRICGAUGE_PASSWORD": "pw", "NCCL_TOKEN": "t0ken"}  # fmt: skip
NEEDED = {"UCX_TLS": "tcp", "FI_PROVIDER": "tcp", "I_MPI_FABRICS": "ofi", "OMPI_MCA_btl": "tcp",
          "PMI_RANK": "0", "SLURM_JOB_ID": "7", "MPIR_CVAR_NOLOCAL": "1", "LC_ALL": "C",
          "LD_LIBRARY_PATH": "/opt/lib", "SSH_AUTH_SOCK": "/tmp/agent"}  # fmt: skip


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**SECRETS, **NEEDED}.items():
        monkeypatch.setenv(name, value)


def test_names_of_a_site_are_added() -> None:
    assert set(forwarded_names({**SECRETS, **NEEDED})) == set(NEEDED)
    assert withheld_names({**SECRETS, **NEEDED}) == set(SECRETS)
    more = {"FABRICGAUGE_HAND_ON": "MY_MPI_HOME, DISPLAY nothing SLURM_JWT"}
    assert set(forwarded_names({**SECRETS, **NEEDED, **more})) == {
        *NEEDED, *more, "MY_MPI_HOME", "DISPLAY", "SLURM_JWT"
    }  # fmt: skip


def assert_only_what_is_needed(printed: str) -> None:
    seen = {line.partition("=")[0] for line in printed.splitlines()}
    assert seen >= {*NEEDED, "PATH", "FABRICGAUGE_CHILD", "TOLD"}
    assert not seen & set(SECRETS)


def test_a_launcher_does_not_have_the_users_secrets(tmp_path: Path) -> None:
    command = LaunchCommand(("env",), {"TOLD": "1"})
    list(launch.Running(command, "", tmp_path, silent_s=10.0, marker=f"env-{os.getpid()}"))
    assert_only_what_is_needed((tmp_path / "stdout.jsonl").read_text())


def test_a_suites_programs_do_not_have_them(tmp_path: Path) -> None:
    work = running.SuiteLaunch(LaunchCommand(("env",), {"TOLD": "1"}))
    _, lines = running.run_suite(work, tmp_path, silent_s=10.0, marker=f"env-{os.getpid()}")
    assert_only_what_is_needed("\n".join(lines))


def test_a_step_on_a_node_is_told_by_name_what_it_gets() -> None:
    (host,) = slurm.access("12", ("c1",), "slurm").hosts
    (export,) = [word for word in host.prefix if word.startswith("--export=")]
    names = export.removeprefix("--export=").split(",")
    assert set(names) >= {*NEEDED, "PATH"} and not set(names) & set(SECRETS)
