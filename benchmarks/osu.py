"""The OSU suite: its command line for one size, and the rows of its latency table.

``osu_latency`` prints the mean half round trip over ``-i`` iterations after ``-x`` of warm-up
(README of the OSU Micro-Benchmarks 7.4). The suite is not installed with this program: a folder
with its programs, built for the same MPI, has to be named.
"""

WARMUP = 100


def one_size(size_bytes: int, iterations: int) -> list[str]:
    """Options of ``osu_latency`` for one message size."""
    return ["-m", f"{size_bytes}:{size_bytes}", "-i", str(iterations), "-x", str(WARMUP)]


def half_round_trips_s(text: str) -> dict[int, float]:
    """Mean half round trip by message size, from the table that ``osu_latency`` prints."""
    times: dict[int, float] = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) < 2 or not words[0].isdecimal():
            continue
        try:
            times[int(words[0])] = float(words[1]) * 1e-6
        except ValueError:
            continue
    return times
