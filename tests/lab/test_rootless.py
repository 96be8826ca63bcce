"""The same lab for an ordinary user, and a clear word where that is forbidden."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fabricgauge.lab import up as up_module
from fabricgauge.lab.spec import LabSpec
from fabricgauge.lab.state import lab_directory
from fabricgauge.model.errors import LabError
from fabricgauge.nodes import process

#: `env` in between: the program that setpriv itself starts is still opened with root's rights.
USER = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "env"]

SCRIPT = """
import subprocess, sys
from fabricgauge.lab.up import down
from fabricgauge.lab.state import LabFault
from fabricgauge.lab.faults import heal, inject
from fabricgauge.lab.host_access import access
from fabricgauge.lab.spec import LabSpec
from fabricgauge.lab.up import status
from fabricgauge.lab.up import up
name = sys.argv[1]
state = up(LabSpec(name))
try:
    lab = access(state)
    print(state.rootless, status(name)[0].standing)
    for fault in (
        LabFault("rate", "c1", "net1", 1e8), LabFault("loss", "c1", "net1", 0.5),
        LabFault("drops", "c1", "net1", 5), LabFault("memlock", "c1", amount=65536),
    ):
        state = inject(state, fault)
    heal(state)
    argv = [*lab.head_prefix, lab.agent, "-x", "c2", "uname -n; getent hosts c1; tc qdisc"]
    subprocess.run(argv, check=True)
finally:
    print(down(name), down(name))
"""


def ordinary_python() -> str:
    """A Python that an ordinary user can start and that can load this environment's packages."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for candidate in (sys.executable, f"/usr/bin/{version}"):
        argv = [*USER, candidate, "-c", "import fabricgauge.lab.up"]
        if shutil.which(candidate) and not _run(argv).returncode:
            return candidate
    pytest.skip(f"no {version} here that an ordinary user may start")


def _run(argv: list[str], home: str = "/") -> "subprocess.CompletedProcess[str]":
    env = {
        "PATH": os.environ["PATH"],
        "HOME": home,
        "PYTHONPATH": os.pathsep.join(word for word in sys.path if word),
        "XDG_RUNTIME_DIR": home,
    }
    return subprocess.run(argv, env=env, cwd="/", capture_output=True, text=True, check=False)


@pytest.mark.lab
def test_lab_works_without_root(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("the other lab tests already run without root")
    if not shutil.which("setpriv"):
        pytest.skip("setpriv is not installed, so this test cannot drop root's privileges")
    tried = _run([*USER, "unshare", "-Urnm", "true"])
    if tried.returncode:
        pytest.skip(f"user namespaces are forbidden here: {tried.stderr.strip()}")
    shown = _run([*USER, ordinary_python(), "-c", SCRIPT, f"t-lab-user-{os.getpid()}"])
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert "True True" in lines
    assert "True False" in lines
    assert "c2" in lines
    assert any(line.split()[:2] == ["10.77.0.11", "c1"] for line in lines)
    assert any("tbf" in line for line in lines)


def test_up_fails_clearly_when_user_namespaces_are_forbidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 65534)
    monkeypatch.setattr("fabricgauge.lab.tools.path_of", lambda tool: tool)

    def refused(argv: list[str], **_: object) -> process.Completed:
        assert "--map-root-user" in argv
        reason = "unshare: unshare failed: Operation not permitted"
        return process.Completed(tuple(argv), 0, "", reason, 0.0)

    monkeypatch.setattr(process, "run", refused)
    with pytest.raises(LabError, match=r"unshare failed.*max_user_namespaces.*run as root"):
        up_module.up(LabSpec("t-lab-forbidden"))
    assert not lab_directory("t-lab-forbidden").exists()
