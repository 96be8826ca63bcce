"""The OSU suite: its command line for one size, and the rows of its tables.

``osu_latency`` prints the mean half round trip over ``-i`` iterations after ``-x`` of warm-up
(README of the OSU Micro-Benchmarks 7.4). The suite is not installed with this program: a folder
with its programs, built for the same MPI, has to be named.
"""

from pathlib import Path

from fabricgauge.model.errors import CannotRun

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


def means_and_medians(text: str) -> dict[int, tuple[float, float]]:
    """Mean and median by message size, in the table's unit: ``-z`` prints P50 after the mean."""
    figures: dict[int, tuple[float, float]] = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) < 3 or not words[0].isdecimal():
            continue
        try:
            figures[int(words[0])] = float(words[1]), float(words[2])
        except ValueError:
            continue
    return figures


def messages_per_s(text: str) -> dict[int, float]:
    """Messages per second of all pairs by message size: rows of ``osu_mbw_mr``."""
    rates: dict[int, float] = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) < 3 or not words[0].isdecimal():
            continue
        try:
            rates[int(words[0])] = float(words[2])
        except ValueError:
            continue
    return rates


def collective(
    folder: Path, pattern: str, size_bytes: int, _ranks: int, iterations: int
) -> tuple[str, list[str]]:
    """Program and options of one collective at one size; reductions add floats, as IMB's do."""
    if pattern == "barrier":
        return str(folder / "osu_barrier"), ["-i", str(iterations), "-x", str(WARMUP)]
    floats = ["-T", "mpi_float"] if pattern == "allreduce" else []
    return str(folder / f"osu_{pattern}"), [*one_size(size_bytes, iterations), *floats]


def collective_s(text: str, size_bytes: int) -> float:
    """Mean over ranks of their means, from a collective's table; a barrier's has no sizes.

    Raises:
        CannotRun: there is no such row.
    """
    for line in text.splitlines():
        words = line.split()
        if not words or line.startswith("#"):
            continue
        # A barrier's row begins with its mean, which is no whole number.
        if size_bytes == 0 and not words[0].isdecimal():
            return float(words[0]) * 1e-6
        if len(words) > 1 and words[0] == str(size_bytes):
            return float(words[1]) * 1e-6
    raise CannotRun(f"OSU printed no row for {size_bytes} bytes: {text[-200:]}")
