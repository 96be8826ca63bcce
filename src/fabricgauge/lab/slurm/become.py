"""Become a daemon's program with its output in a file, and say which process that is.

Runs by itself with nothing but the standard library (``python -I -S become.py``):
arguments are the OUTPUT file and the daemon's COMMAND. It prints its process id; that
process then is the daemon, in a session of its own, in the directory ``/``.
"""

import os
import sys


def main() -> None:
    output, argv = sys.argv[1], sys.argv[2:]
    try:
        written = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        null = os.open(os.devnull, os.O_RDONLY)
        print(os.getpid(), flush=True)  # noqa: T201 -- the answer that the lab waits for
        for source, number in ((null, 0), (written, 1), (written, 2)):
            os.dup2(source, number)
        os.chdir("/")
        os.execv(argv[0], argv)  # noqa: S606 -- an argv list, on purpose
    except OSError as error:
        sys.exit(f"{error.filename or argv[0]}: {error.strerror}")


if __name__ == "__main__":
    main()
