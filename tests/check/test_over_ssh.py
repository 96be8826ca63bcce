"""A check of nodes that are reached by ssh, as real ones are: no word of a lab."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
from tests.check.commands import PROGRAM, SHORT, Checked, Lab, until
from tests.nodes.launch.sshd import servers

from fabricgauge.lab.host_access import entry
from fabricgauge.lab.state import LabState, load_complete

pytestmark = [
    pytest.mark.lab,
    pytest.mark.engine,
    pytest.mark.skipif(os.geteuid() != 0, reason="sshd needs root to log a user in"),
    pytest.mark.skipif(not Path("/usr/sbin/sshd").is_file(), reason="sshd is not installed"),
]

#: Nothing tells the program that it is in a lab.
UNMARKED = ("env", "-u", "FABRICGAUGE_LAB", "-u", "FABRICGAUGE_SITE_FILE")

SITE = """
[[network]]
name = "fast"
subnet = "10.77.0.0/24"
rate = "1G"
"""


@pytest.mark.alone
@pytest.mark.parametrize("mpi", [None, pytest.param("openmpi", marks=pytest.mark.slow)])
def test_nodes_behind_ssh_are_proved_and_judged(mpi: str | None, lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "fabricgauge").mkdir()
    (tmp_path / "fabricgauge" / "config.toml").write_text(SITE)
    state = load_complete(lab())
    with servers(state, ("c1", "c2"), tmp_path) as config:
        where = ("-o", str(tmp_path), "-w", "c[1-2]", "--ssh-config", str(config))
        words = (*where, *(("--mpi", mpi) if mpi else ()), *SHORT)
        done = subprocess.run(
            [*entry(state, "head"), *UNMARKED, PROGRAM, "check", *words],
            env={**os.environ, "XDG_CONFIG_HOME": str(tmp_path)},
            capture_output=True, text=True, timeout=400, check=False,
        )  # fmt: skip
    checked = Checked(done, tmp_path)
    assert checked.outcomes("path") == {"PASS"}, checked.text
    assert "FAIL" not in checked.outcomes("fraction")
    # Nodes of one kernel that nobody called virtual: possible, but worth a word.
    assert checked.outcomes("placement") == {"WARN"}
    assert "declared in" in (checked.path / "fabric.json").read_text()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/usr/bin/iperf3").is_file(), reason="iperf3 is not installed")
def test_a_suites_server_ends_with_its_connection(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "fabricgauge").mkdir()
    (tmp_path / "fabricgauge" / "config.toml").write_text(SITE)
    state = load_complete(lab())
    with servers(state, ("c1", "c2"), tmp_path) as config:
        where = ("-o", str(tmp_path), "-w", "c[1-2]", "--ssh-config", str(config))
        with subprocess.Popen(
            [*entry(state, "head"), *UNMARKED, PROGRAM, "check", *where, "--tool", "iperf3"],
            env={**os.environ, "XDG_CONFIG_HOME": str(tmp_path)},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        ) as running:  # fmt: skip
            until(lambda: bool(listeners(state)), 100, "a server of iperf3")
            running.send_signal(signal.SIGINT)
            said, _ = running.communicate(timeout=100)
        assert running.returncode == 130, said
        until(lambda: not listeners(state), 20, "the end of the server")


def listeners(state: LabState) -> list[str]:
    """What listens on iperf3's port on the nodes."""
    return [
        line
        for node in ("c1", "c2")
        for line in subprocess.run(
            [*entry(state, node), "ss", "-Hltn", "sport", "=", ":52010"],
            capture_output=True, text=True, check=True,
        ).stdout.splitlines()
    ]  # fmt: skip
