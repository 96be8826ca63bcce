"""The Intel MPI Benchmarks: options for one size, and the rows of the PingPong table.

PingPong prints the mean half round trip over the repetitions ("Intel MPI Benchmarks User Guide",
PingPong: t = time / 2). The suite is not installed with this program: a folder with its programs,
built for the same MPI, has to be named.
"""


def one_size(size_bytes: int, iterations: int) -> list[str]:
    """Options of ``IMB-MPI1`` for PingPong at a power of two; IMB adds 0 B by itself."""
    power = str(size_bytes.bit_length() - 1)
    return ["PingPong", "-msglog", f"{power}:{power}", "-iter", str(iterations),
            "-iter_policy", "off"]  # fmt: skip


def half_round_trips_s(text: str) -> dict[int, float]:
    """Mean half round trip by message size: rows of bytes, repetitions, µs, MB/s."""
    times: dict[int, float] = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) != 4 or not (words[0].isdecimal() and words[1].isdecimal()):
            continue
        try:
            times[int(words[0])] = float(words[2]) * 1e-6
        except ValueError:
            continue
    return times
