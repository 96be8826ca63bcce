"""The Intel MPI Benchmarks: options for one size, and the rows of the PingPong table.

PingPong prints the mean half round trip over the repetitions ("Intel MPI Benchmarks User Guide",
PingPong: t = time / 2). The suite is not installed with this program: a folder with its programs,
built for the same MPI, has to be named.
"""

from pathlib import Path

from fabricgauge.model.errors import CannotRun


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


def collective(
    folder: Path, pattern: str, size_bytes: int, ranks: int, iterations: int
) -> tuple[str, list[str]]:
    """Program and options of one collective at one size, a power of two, with all ranks."""
    options = ["-npmin", str(ranks), "-iter", str(iterations), "-iter_policy", "off"]
    if pattern != "barrier":
        power = str(size_bytes.bit_length() - 1)
        options += ["-msglog", f"{power}:{power}"]
    return str(folder / "IMB-MPI1"), [pattern.capitalize(), *options]


def collective_s(text: str, size_bytes: int) -> float:
    """t_avg, the mean over ranks of their means: rows end in t_min, t_max and t_avg in µs.

    Raises:
        CannotRun: there is no such row.
    """
    for line in text.splitlines():
        words = line.split()
        if not words or not words[0].isdecimal():
            continue
        # A barrier's row has repetitions but no size.
        if len(words) == 4 and size_bytes == 0:
            return float(words[3]) * 1e-6
        if len(words) == 5 and words[0] == str(size_bytes):
            return float(words[4]) * 1e-6
    raise CannotRun(f"IMB printed no row for {size_bytes} bytes: {text[-200:]}")
