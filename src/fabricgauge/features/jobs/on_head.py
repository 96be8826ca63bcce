"""Run a command line again on the head of a lab, where its Slurm answers."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import nullcontext

from fabricgauge.check.target import own_lab
from fabricgauge.lab.host_access import entry
from fabricgauge.lab.spec import HEAD
from fabricgauge.lab.state import load_complete
from fabricgauge.model.errors import UsageError
from fabricgauge.model.request import OWN_LAB

#: Variable with the lab to which an outer program sent the command line.
_LAB_VARIABLE = "FABRICGAUGE_FROM_OUTSIDE"

#: The command line as a program; `fabricgauge` need not be in the path.
_MAIN_PROGRAM = (
    "import sys; sys.argv[0] = 'fabricgauge'; from fabricgauge.cli.main import main; main()"
)


def run_on_head(lab: str, nodes: int = 0, no_wait: bool = False) -> int:
    """Run this command line on the head; return its exit status. ``nodes`` is for a lab of its own.

    On the head ``lab_outside`` names the lab, whatever ``--lab`` is.

    Raises:
        UsageError: a job would be left in a lab that is removed at once.
    """
    is_own_lab = lab == OWN_LAB
    if is_own_lab and no_wait:
        raise UsageError(
            "--no-wait: this check's own lab is removed at its end; bring a lab up with fabricgauge"
            " lab up --slurm, and name it with --lab"
        )
    with own_lab(nodes, with_slurm=True) if is_own_lab else nullcontext(lab) as name:
        argv = [
            *entry(load_complete(name), HEAD),
            sys.executable,
            "-c",
            _MAIN_PROGRAM,
            *sys.argv[1:],
        ]
        return _run_interruptible(argv, {_LAB_VARIABLE: OWN_LAB if is_own_lab else name})


def lab_outside() -> str:
    """Return the lab to which an outer program sent us, OWN_LAB for its own; empty if none did."""
    return os.environ.get(_LAB_VARIABLE, "")


def _run_interruptible(argv: Sequence[str], variables: dict[str, str]) -> int:
    """Run a program that gets our interrupts, also those without a terminal; return its exit
    status.

    It has a session of its own: a terminal would interrupt it a second time while it ends.
    """
    with subprocess.Popen(argv, env={**os.environ, **variables}, start_new_session=True) as child:
        for number in (signal.SIGINT, signal.SIGKILL):
            try:
                return child.wait()
            except KeyboardInterrupt:
                child.send_signal(number)
        return 130
