"""Print this process's id, then become a daemon's program with its output in a file.

The script uses only the standard library (``python -I -S become.py``). Its arguments are the
OUTPUT file and the daemon's COMMAND. The daemon runs in a new session, in the directory ``/``.
"""

import os
import sys


def main() -> None:
    output, argv = sys.argv[1], sys.argv[2:]
    try:
        output_fd = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        null = os.open(os.devnull, os.O_RDONLY)
        print(os.getpid(), flush=True)  # noqa: T201 -- the answer that the lab waits for
        for source, number in ((null, 0), (output_fd, 1), (output_fd, 2)):
            os.dup2(source, number)
        os.chdir("/")
        os.execv(argv[0], argv)  # noqa: S606 -- an argv list, on purpose
    except OSError as error:
        sys.exit(f"{error.filename or argv[0]}: {error.strerror}")


if __name__ == "__main__":
    main()
