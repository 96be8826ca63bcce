"""Run a program of the user's on this terminal."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence

from fabricgauge.model.errors import ToolMissing


def run_in_foreground(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Run a program to its end; its input and output are this process's own.

    ``env`` is added to this process's environment. An interrupt goes to the program, which handles
    it. Returns the exit status; if a signal ended the program, 128 and the signal's number, as a
    shell does.

    Raises:
        ToolMissing: the program does not exist or is not executable.
    """
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        child = subprocess.Popen(
            list(argv),
            env={**os.environ, **env},
            preexec_fn=lambda: signal.signal(signal.SIGINT, before),
        )
        try:
            status = child.wait()
        except BaseException:  # a signal to this process ends its child as well
            child.terminate()
            child.wait()
            raise
    except OSError as error:
        raise ToolMissing(
            f"cannot start {argv[0]}: {error.strerror}; install it or name its path"
        ) from error
    finally:
        signal.signal(signal.SIGINT, before)
    return status if status >= 0 else 128 - status
