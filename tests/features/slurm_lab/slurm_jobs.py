"""Jobs for the tests of a lab's Slurm, through Slurm's own programs."""

import re
import time
from collections.abc import Callable
from pathlib import Path

from tests.lab.conftest import on

from fabricgauge.lab.state import LabState

#: A node is found silent after SlurmdTimeout, which is asked for every third of that time.
PATIENCE_S = 60.0


def submit(state: LabState, directory: Path, script: str, *options: str) -> str:
    """The number of a batch job whose script and output are in ``directory``."""
    path = directory / f"job-{len(list(directory.iterdir()))}.sh"
    path.write_text(f"#!/bin/sh\n{script}\n")
    words = ["--parsable", f"--chdir={directory}", f"--output={directory}/out-%j", *options]
    return on(state, "head", "sbatch", *words, str(path)).strip()


def job(state: LabState, number: str) -> dict[str, str]:
    """What ``scontrol`` shows of a job."""
    shown = on(state, "head", "scontrol", "-o", "show", "job", number)
    return dict(re.findall(r"(\w+)=(\S*)", shown))


def await_job(state: LabState, number: str, *states: str) -> dict[str, str]:
    """A job once it is in one of these states."""
    found: dict[str, str] = {}

    def there() -> bool:
        found.update(job(state, number))
        return found["JobState"] in states

    until(there, f"the job is one of {states}", found)
    return found


def node_state(state: LabState, node: str) -> str:
    """A node's state in Slurm's long form, such as ``idle`` or ``down*``."""
    return on(state, "head", "sinfo", "-h", "-N", "-n", node, "-o", "%T").strip()


def agents(state: LabState) -> tuple[int, int]:
    """How many of slurmctld's agents send something now, and what waits to be sent again."""
    shown = on(state, "head", "sdiag")
    counts = dict(re.findall(r"(Agent count|Agent queue size):\s+(\d+)", shown))
    return int(counts["Agent count"]), int(counts["Agent queue size"])


def until(holds: Callable[[], bool], *what: object) -> None:
    """Wait until something holds; a failure says what did not."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, (f"not in {PATIENCE_S:.0f} s", *what)
        time.sleep(0.1)
