"""Judging other suites' logs: an archive of files whose truth is known, and streams in one run.

The archive has logs of networks that are good and slow, of memory that was taken for a network,
broken logs, and files of something else. ``--keep DIR`` leaves it there with its run.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import msgspec
from benchmarks.import_truth import tables
from benchmarks.tables import heading, table

from fabricgauge.logs.readers.suites import read
from fabricgauge.model.judged import TableVerdict

FILES, STREAMS, LOGS_MB = 1000, (1000, 3000, 10_000), (15.4, 100.0)
#: Noise of each figure of a long log, as a share.
NOISE = (0.0, 0.005, 0.03)
#: Carries 12,066 MB/s of payload with an RDMA MTU of 4096.
NETWORK = "edr mtu=4096"
GOOD_MB_S, SLOW_MB_S = 12_000.0, 4_900.0
_SIZES = tuple(2**power for power in range(23))


def osu(best_mb_s: float, small_s: float = 0.15e-6) -> str:
    rows = "".join(f"{size:<10d}{_rate(size, best_mb_s, small_s):>20.2f}\n" for size in _SIZES)
    return f"# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n{rows}"


def imb(best_mb_s: float) -> str:
    rows = "".join(
        f"{size:>13d}{640:>13d}{size / rate:>13.2f}{rate:>13.2f}\n"
        for size in _SIZES
        for rate in [_rate(size, best_mb_s, 0.4e-6)]
    )
    ruler = f"#{'-' * 50}\n"
    return (
        f"{ruler}#    Intel(R) MPI Benchmarks 2021.11, MPI-1 part\n{ruler}"
        f"{ruler}# Benchmarking Uniband\n# #processes = 2\n{ruler}"
        f"       #bytes #repetitions      t[usec]   Mbytes/sec\n{rows}\n"
        "# All processes entering MPI_Finalize\n"
    )


def perftest(best_mb_s: float, other_lid: str = "0x09") -> str:
    ruler = f"{'-' * 87}\n"
    mebi = best_mb_s * 1e6 / 2**20
    return (
        f"{ruler}                    RDMA_Write BW Test\n"
        " Dual-port       : OFF          Device         : mlx5_0\n"
        " Number of qps   : 1            Transport type : IB\n"
        " Connection type : RC           Using SRQ      : OFF\n"
        " Mtu             : 4096[B]\n Link type       : IB\n"
        f"{ruler} local address: LID 0x07 QPN 0x0127 PSN 0x2f2a6e RKey 0x1f VAddr 0x007f2b\n"
        f" remote address: LID {other_lid} QPN 0x0128 PSN 0x3a2a6e RKey 0x1f VAddr 0x007f2c\n"
        f"{ruler} #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]"
        f"   MsgRate[Mpps]\n 65536      5000             {mebi:.2f}            {mebi:.2f}"
        f"                {best_mb_s / 65536:.6f}\n{ruler}"
    )


def _rate(size: int, best_mb_s: float, small_s: float) -> float:
    return size / (small_s * 1e6 + size / best_mb_s)


def _in_memory(scale: float) -> str:
    """A copy outgrows the cache; the latency is one that no network has."""
    rows = "".join(
        f"{size:<10d}{scale * (0.25 + size / (9000 if size < 2**18 else 5000)):>20.2f}\n"
        for size in _SIZES
    )
    return f"# OSU MPI Latency Test v7.4\n# Size          Latency (us)\n{rows}"


def _network(best_mb_s: float) -> Callable[[Random], str]:
    suites = (osu, imb, perftest)
    return lambda chance: chance.choice(suites)(best_mb_s * chance.uniform(0.985, 1.0))


def _broken(chance: Random) -> str:
    text = osu(GOOD_MB_S * chance.uniform(0.985, 1.0))
    return text[: text.rfind("\n1048576") + chance.randrange(9, 25)]


TRUTHS: dict[str, Callable[[Random], str]] = {
    "good": _network(GOOD_MB_S),
    "slow": _network(SLOW_MB_S),
    "memory": lambda chance: chance.choice(
        (_in_memory(chance.uniform(0.9, 1.1)), perftest(GOOD_MB_S, other_lid="0x07"))
    ),
    "broken": _broken,
    "unknown": lambda chance: chance.choice(
        ("Measured on Monday.\n", "slurmstepd: error: job 4711 cancelled\n", "", '{"a": [1]}\n')
    ),
}
_SHARES = (0.6, 0.1, 0.1, 0.1, 0.1)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print verdicts by truth with the time of the import, then the times of streams."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--files", type=int, default=FILES)
    parser.add_argument("--streams", type=int, nargs="*", default=STREAMS)
    parser.add_argument("--keep", type=Path, help="an empty folder for the archive and its run")
    parser.add_argument("--mega-bytes", type=float, nargs="*", default=LOGS_MB)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        _archive(options.keep or Path(folder), options.files)
    heads = ("tables", "passing, s", "failing, s")
    rows = [
        (f"{count:,}", *(f"{_judging_s(count, rate):.2f}" for rate in (GOOD_MB_S, SLOW_MB_S)))
        for count in options.streams
    ]
    print(heading("Judging streams", "Tables of one file, processor time of the rules alone."))
    print(table(heads, rows))
    what = "One file of OSU's tables, which become a family; files are those that the run stores."
    print(heading("Importing a long log", what))
    long_heads = (
        "log, MB",
        "noise",
        "tables",
        "s",
        "processor s",
        "MB per processor s",
        "peak, MB",
        "files, MB",
    )
    logs = [(mega_bytes, noise) for mega_bytes in options.mega_bytes for noise in NOISE]
    print(table(long_heads, [_whole_log(*log) for log in logs]))


def _archive(folder: Path, files: int) -> None:
    logs, chance = folder / "logs", Random(1)  # noqa: S311
    logs.mkdir()
    names = chance.choices(tuple(TRUTHS), _SHARES, k=files)
    for number, truth in enumerate(names):
        place = logs / f"node-{number // 100:02}" / f"{truth}-{number:04}.out"
        place.parent.mkdir(exist_ok=True)
        place.write_text(TRUTHS[truth](chance))
    used = _import(logs, folder / "runs")
    wall_s, used_s = used.wall_s, used.processor_s
    what = f"{files:,} files: {wall_s:.1f} s, {used_s:.1f} s of processors; each has one verdict."
    print(heading("An archive of logs", what))
    (report,) = (folder / "runs").glob("*/report.json")
    judged = msgspec.json.decode(report.read_bytes(), type=_Report).tables
    said = Counter((Path(one.source).name.partition("-")[0], one.outcome.value) for one in judged)
    rows = [(*key, f"{number:,}") for key, number in sorted(said.items())]
    print(table(("truth", "verdict", "files"), rows))


class _Used(NamedTuple):
    """What an import took; ``peak_bytes`` is its largest resident set."""

    wall_s: float
    processor_s: float
    peak_bytes: int


def _import(logs: Path, runs: Path) -> _Used:
    words = ("-o", str(runs), "--network", NETWORK, "--max-tables", "1000000")
    argv = [sys.executable, "-m", "fabricgauge", "import", str(logs), *words]
    began = time.perf_counter()
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL) as child:
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    wall_s = time.perf_counter() - began
    assert child.returncode in (0, 1, 3), child.returncode
    return _Used(wall_s, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)


def _whole_log(mega_bytes: float, noise: float) -> tuple[str, ...]:
    """Return size, noise, tables, times, speed and peak memory of the import of one long log."""
    chance, written, tables = Random(2), 0, 0  # noqa: S311
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "osu.out"
        with log.open("w") as file:
            while written < mega_bytes * 1e6:
                text = osu(GOOD_MB_S * chance.uniform(0.985, 1.0))
                written += file.write(_disturb(text, noise, chance) if noise else text)
                tables += 1
        used = _import(log, Path(folder) / "runs")
        files = [path.stat().st_size for path in (Path(folder) / "runs").rglob("*.json*")]
    return (
        f"{written / 1e6:.0f}", f"{noise:.1%}", f"{tables:,}",
        f"{used.wall_s:.1f}", f"{used.processor_s:.1f}",
        f"{written / used.processor_s / 1e6:.2f}", f"{used.peak_bytes / 1e6:.0f}",
        f"{sum(files) / 1e6:.0f}",
    )  # fmt: skip


def _disturb(text: str, noise: float, chance: Random) -> str:
    """Return a table of OSU with noise in each of its figures."""
    *heads, _ = text.split("\n", 2)
    rows = (line.split() for line in text.splitlines()[len(heads) :])
    noisy = (f"{size:<10}{float(rate) * chance.gauss(1, noise):>20.2f}" for size, rate in rows)
    return "\n".join((*heads, *noisy, ""))


class _Report(msgspec.Struct):
    tables: tuple[TableVerdict, ...]


def _judging_s(count: int, best_mb_s: float) -> float:
    found = tuple(read([osu(best_mb_s).encode()] * count, "log"))
    began = time.process_time()
    assert len(tables(found, NETWORK)) == count
    return time.process_time() - began


if __name__ == "__main__":
    main()
