"""The bench of a proof: it starts programs, keeps every output, and minds the time."""

import ctypes
import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Status = Literal["done", "failed", "skipped"]


@dataclass(frozen=True)
class Completed:
    """What a program gave; ``exit_status`` is -1 if it could not be started or ran out of time."""

    exit_status: int
    stdout: str
    stderr: str
    seconds: float
    why: str = ""

    @property
    def last_words(self) -> str:
        """The last line of words that it wrote, its end by a signal, or why it wrote none."""
        if self.why:
            return self.why
        text = f"{self.stdout}\n{self.stderr}"
        if signals := re.findall(r"Signal: (.+?\(\d+\))", text):
            return f"a rank was ended by a signal: {signals[0]}"
        lines = [line.strip() for line in text.splitlines() if re.search(r"\w", line)]
        return lines[-1][:300] if lines else f"exit status {self.exit_status}"


@dataclass
class Result:
    """One step's outcome: a sentence, and lines of Markdown for the report."""

    status: Status
    sentence: str
    lines: list[str] = field(default_factory=list)
    seconds: float = 0.0


@dataclass
class Bench:
    """Where things lie, and what is left of the time."""

    root: Path
    work: Path
    raw: Path
    items: Mapping[str, Path]
    missing: Mapping[str, str]
    rehearsal: bool
    deadline: float
    numbers: int = 0
    driver: str = ""

    @property
    def left_s(self) -> float:
        return self.deadline - time.monotonic()

    def folder(self, item: str) -> Path:
        """Return the folder into which an item was unpacked."""
        return self.work / item

    def lacks(self, *needs: str) -> str:
        """Return why one of these items cannot be used; empty if all can."""
        return next(
            (self.missing.get(need, f"no part holds {need}") for need in needs
             if need not in self.items), "",
        )  # fmt: skip

    def execute(
        self, name: str, argv: Sequence[str], *, limit_s: float = 60.0,
        env: Mapping[str, str] | None = None, text: str = "",
    ) -> Completed:  # fmt: skip
        """Run a program, end all that it started, and keep its output as a file."""
        self.numbers += 1
        limit_s = max(1.0, min(limit_s, self.left_s))
        begin = time.monotonic()
        try:
            process = subprocess.Popen(
                list(argv), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                env={**os.environ, **(env or {})}, start_new_session=True, text=True,
                errors="replace",
            )  # fmt: skip
        except OSError as error:
            completed = Completed(
                -1, "", "", 0.0, f"{argv[0]} could not be started: {error.strerror}"
            )
        else:
            why = ""
            try:
                stdout, stderr = process.communicate(text, timeout=limit_s)
            except subprocess.TimeoutExpired:
                _end(process)
                stdout, stderr = process.communicate()
                why = f"it had not ended after {limit_s:.0f} s and was stopped"
            _end(process)
            completed = Completed(
                -1 if why else process.returncode, stdout, stderr, time.monotonic() - begin, why
            )
        self._keep(name, argv, env or {}, completed)
        return completed

    def _keep(
        self, name: str, argv: Sequence[str], env: Mapping[str, str], completed: Completed
    ) -> None:
        words = [f"{key}={value}" for key, value in env.items()]
        head = (
            f"$ {shlex.join([*words, *argv])}\n# exit status {completed.exit_status},"
            f" {completed.seconds:.2f} s{f', {completed.why}' if completed.why else ''}\n"
        )
        path = self.raw / f"{self.numbers:03d}-{re.sub(r'[^A-Za-z0-9_-]+', '-', name)}"
        path.with_suffix(".out").write_text(completed.stdout, errors="replace")
        path.with_suffix(".txt").write_text(head + completed.stderr, errors="replace")


def _end(process: "subprocess.Popen[str]") -> None:
    """End a program's whole process group, which it leads."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def find_driver(library: str = "libcuda.so.1") -> tuple[str, str]:
    """Return the name of the first GPU that the driver shows, or an empty name and why."""
    try:
        cuda = ctypes.CDLL(library)
    except OSError as error:
        return "", f"there is no NVIDIA driver: {error}"
    try:
        result = cuda.cuInit(0)
        count, device, name = ctypes.c_int(), ctypes.c_int(), ctypes.create_string_buffer(128)
        if result or cuda.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
            return "", f"NVIDIA's driver shows no GPU (cuInit returned {result})"
        cuda.cuDeviceGet(ctypes.byref(device), 0)
        cuda.cuDeviceGetName(name, 127, device)
    except AttributeError as error:
        return "", f"{library} is not NVIDIA's driver: {error}"
    return name.value.decode(errors="replace"), ""
