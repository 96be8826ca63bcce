"""A command line once more, on the head of a lab, whose Slurm answers there."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import nullcontext

from fabricgauge.app.target import own_lab
from fabricgauge.lab.host_access import entry
from fabricgauge.lab.spec import HEAD
from fabricgauge.lab.state import load_complete
from fabricgauge.model.errors import UsageError
from fabricgauge.model.request import OWN_LAB

#: Tells the program on the head which lab it was sent to from outside.
_FROM_OUTSIDE = "FABRICGAUGE_FROM_OUTSIDE"

#: The command line as a program; what is installed as `fabricgauge` need not be in the path.
_AGAIN = "import sys; sys.argv[0] = 'fabricgauge'; from fabricgauge.cli.main import main; main()"


def on_head(lab: str, nodes: int = 0, no_wait: bool = False) -> int:
    """Run this command line there; returns its exit status. ``nodes`` is for a lab of its own.

    There ``lab_outside`` says that it has arrived, whatever ``--lab`` says.

    Raises:
        UsageError: a job is to be left in a lab that is removed at once.
    """
    own = lab == OWN_LAB
    if own and no_wait:
        raise UsageError(
            "--no-wait: a lab of one's own is removed at the end; bring one up with fabricgauge"
            " lab up --slurm, and name it with --lab"
        )
    with own_lab(nodes, with_slurm=True) if own else nullcontext(lab) as name:
        argv = [*entry(load_complete(name), HEAD), sys.executable, "-c", _AGAIN, *sys.argv[1:]]
        return _interrupted_once(argv, {_FROM_OUTSIDE: OWN_LAB if own else name})


def lab_outside() -> str:
    """The lab that an outer program has sent us to, OWN_LAB for its own; empty for none."""
    return os.environ.get(_FROM_OUTSIDE, "")


def _interrupted_once(argv: Sequence[str], variables: dict[str, str]) -> int:
    """The exit status of a program that gets our interrupts, also those that are no terminal's.

    It has a session of its own: a terminal would interrupt it a second time, in its last words.
    """
    with subprocess.Popen(argv, env={**os.environ, **variables}, start_new_session=True) as child:
        for number in (signal.SIGINT, signal.SIGKILL):
            try:
                return child.wait()
            except KeyboardInterrupt:
                child.send_signal(number)
        return 130
