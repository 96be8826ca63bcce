"""The command line as a user has it, and what a check leaves."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fabricgauge.check.conclude import conclude, describe_change
from fabricgauge.judge.thresholds import DEFAULTS
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import load

PROGRAM = Path(sys.executable).with_name("fabricgauge")

Lab = Callable[..., str]

#: A short sweep: enough for every rule that decides.
SHORT = ("--patterns", "latency,bandwidth", "--sizes", "8,64K,1MiB", "--case-budget", "0.4")


def fabricgauge(*argv: str, timeout_s: float = 600, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, *argv], capture_output=True, text=True, timeout=timeout_s,
        env={**os.environ, **env}, check=False,
    )  # fmt: skip


class Checked:
    """The end of a check: exit status, output, and the newest run directory."""

    def __init__(self, done: subprocess.CompletedProcess[str], root: Path) -> None:
        self.status = done.returncode
        self.text = done.stdout + done.stderr
        #: The same without the line breaks of the terminal, which depend on the length of paths.
        self.prose = " ".join(self.text.split())
        runs = sorted(root.glob("2*"), key=lambda path: path.stat().st_mtime)
        assert runs, f"no run directory; it said: {self.text}"
        self.path = runs[-1]
        if (self.path / "report.json").exists() and not self.path.suffix:
            # A report judges the stored records again, and must find the same.
            directory = RunDirectory(self.path)
            again = conclude(load(directory), DEFAULTS)
            assert describe_change(directory, again) == "", again.verdicts

    @property
    def verdicts(self) -> list[dict[str, Any]]:
        read: list[dict[str, Any]] = json.loads((self.path / "verdicts.json").read_text())
        return read

    def outcomes(self, rule: str) -> set[str]:
        return {verdict["outcome"] for verdict in self.verdicts if verdict["rule"] == rule}

    def words(self, rule: str) -> str:
        return json.dumps([v for v in self.verdicts if v["rule"] == rule], ensure_ascii=False)


def until(condition: Callable[[], bool], timeout_s: float, what: str) -> None:
    """Wait for something that another process does."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"waited {timeout_s} s in vain for {what}"
        time.sleep(0.05)
