"""A cluster of stand-ins, and labs of its own."""

import os
import sys
from pathlib import Path

import pytest

STAND_IN = Path(__file__).with_name("stand_in.py")
PROGRAMS = (
    "ssh", "cat", "cmp", "awk", "test", "cp", "rm", "find", "grep", "sh",
    "chdef", "rmdef", "lsdef", "makenetworks", "makehosts", "getent", "makedns", "nslookup",
    "updatenode", "ip", "ping", "packimage", "pdsh", "qcu64e", "systemctl", "opaconfig",
    "exportfs", "rpm", "dnf",
)  # fmt: skip


@pytest.fixture(scope="session")
def engine() -> None:
    """Nothing here measures."""


class Cluster:
    """A head and two nodes that are directories, and the calls of the programs on them."""

    def __init__(self, home: Path) -> None:
        self.home = home
        (home / "bin").mkdir(parents=True)
        for name in PROGRAMS:
            program = home / "bin" / name
            program.write_text(f"#!{sys.executable} -IS\n{STAND_IN.read_text()}")
            program.chmod(0o755)
        for node in ("head", "c1", "c2"):
            self.file(node, "/etc/hosts").write_text("127.0.0.1 localhost\n")
            self.file(node, "/proc/sys/kernel/random/boot_id").write_text("before\n")
        self.file("head", "/etc/security/limits.conf").write_text("# End of file\n")

    def file(self, node: str, path: str) -> Path:
        """Where a node's file is kept; its directory is there."""
        place = self.home / "roots" / node / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        return place

    def without(self, *programs: str) -> None:
        for name in programs:
            (self.home / "bin" / name).unlink()

    def env(self, **more: str) -> dict[str, str]:
        tools = "/usr/bin:/bin"
        return {"PATH": f"{self.home / 'bin'}:{tools}", "STAND_IN": str(self.home), **more}

    def calls(self) -> list[list[str]]:
        """Node, program and words of every call so far."""
        file = self.home / "calls"
        raw = file.read_bytes().split(b"\x1e")[:-1] if file.exists() else []
        return [[os.fsdecode(word) for word in one.split(b"\0")[:-1]] for one in raw]

    def changes(self) -> list[list[str]]:
        """The calls on the head that change something in xCAT, an image or a node."""
        changing = {"chdef", "rmdef", "makenetworks", "makehosts", "makedns", "updatenode",
                    "packimage", "pdsh", "dnf", "opaconfig"}  # fmt: skip
        return [call[1:] for call in self.calls() if call[0] == "head" and call[1] in changing]


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path / "cluster")
