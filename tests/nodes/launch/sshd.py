"""A real sshd in nodes of a lab, with throwaway keys."""

import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fabricgauge.lab.host_access import entry
from fabricgauge.lab.state import LabState

SERVER = """\
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PidFile none
StrictModes no
UsePAM no
PermitRootLogin prohibit-password
"""
CLIENT = """\
Host *
  IdentityFile {folder}/user
  UserKnownHostsFile {folder}/known
  StrictHostKeyChecking no
  LogLevel ERROR
"""


@contextmanager
def servers(lab: LabState, nodes: Sequence[str], folder: Path) -> Iterator[Path]:
    """Yields the client's configuration file, for ``ssh -F``."""
    for name in ("host", "user"):
        keygen = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(keygen, check=True)
    (folder / "sshd_config").write_text(SERVER.format(folder=folder))
    (folder / "ssh_config").write_text(CLIENT.format(folder=folder))
    running = [_server(lab, node, folder) for node in nodes]
    try:
        yield folder / "ssh_config"
    finally:
        for server in running:
            server.terminate()
            server.wait(timeout=10)


def _server(lab: LabState, node: str, folder: Path) -> "subprocess.Popen[bytes]":
    host = entry(lab, node)
    subprocess.run([*host, "mkdir", "-p", "/run/sshd"], check=True)
    server = subprocess.Popen(
        [*host, "/usr/sbin/sshd", "-D", "-e", "-f", str(folder / "sshd_config")],
        stderr=subprocess.DEVNULL,
    )
    for _ in range(100):
        listening = subprocess.run([*host, "ss", "-Hltn", "sport = :22"], capture_output=True)
        if listening.stdout.strip():
            return server
        time.sleep(0.05)
    raise AssertionError(f"sshd on {node} does not listen")
