"""NetPIPE: its command line, and what its output file says (Debian's 3.7.2).

NetPIPE bounces a message ``repeats`` times for each trial, divides the time by the repeats and by
two, and reports the lowest of its trials' means (netpipe(1), and the comment on the reported time
in NetPIPE 3.7's netpipe.c). The size sweep runs from 1 byte; there is no empty message.
"""

from pathlib import Path

#: TRIALS in NetPIPE 3.7's netpipe.h is 7 or 3; Debian's programs make 3: with ``-n 10000``
#: callgrind counts 30,000 round trips.
TRIALS = 3

#: Debian's program for each MPI (packages netpipe-mpich2 and netpipe-openmpi).
PROGRAMS = {"mpich": "NPmpich2", "openmpi": "NPopenmpi"}


def one_size(size_bytes: int, repeats: int, output: Path) -> list[str]:
    """Options for one message size; ``repeats`` round trips per trial."""
    size = str(size_bytes)
    return ["-p", "0", "-l", size, "-u", size, "-n", str(repeats), "-o", str(output)]


def default_sweep(largest_bytes: int, output: Path) -> list[str]:
    """Options for all sizes up to ``largest_bytes``, everything else as NetPIPE chooses."""
    return ["-u", str(largest_bytes), "-o", str(output)]


def half_round_trips_s(text: str) -> dict[int, float]:
    """Half round trip by message size, from NetPIPE's output file.

    The file's third column is rounded to 10 ns, so the time is worked out from the second,
    which is in units of 2^20 bit/s. A line that is not three numbers is left out.
    """
    times: dict[int, float] = {}
    for line in text.splitlines():
        row = _row(line)
        if row:
            size_bytes, mebibit_s = row
            times[size_bytes] = size_bytes * 8 / (mebibit_s * 2**20)
    return times


def _row(line: str) -> tuple[int, float] | None:
    words = line.split()
    if len(words) != 3:
        return None
    try:
        size_bytes, mebibit_s = int(words[0]), float(words[1])
    except ValueError:
        return None
    return (size_bytes, mebibit_s) if size_bytes > 0 and 0 < mebibit_s < float("inf") else None
