"""Reading other suites' logs: speed of each suite, and peak memory of two sizes of a mixture."""

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path

import msgspec
from benchmarks.tables import bytes_text, heading, table

from fabricgauge.logs.read_files import read_file
from fabricgauge.logs.readers.suites import read
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.nodes import process

FIXTURES = Path(__file__).parents[1] / "tests" / "fixtures"
SUITES = ("osu", "imb", "perftest")
#: What launchers, kernels and job scripts write between two tables.
NOISE = (
    b"[c1:04711] mca: base: component_find: unable to open mca_btl_openib (ignored)\n"
    b"slurmstepd: error: Detected 1 oom-kill event(s) in StepId=4711.0\n"
    b"[Sat Nov 21 22:46:07 2026] mlx5_core 0000:5e:00.0: Port module event: module 0, plugged\n"
    b"+ srun -N2 --ntasks-per-node=1 --cpu-bind=cores --mpi=pmix osu_bw -m 1:4194304\n"
)
SMALL_BYTES = 2**23
#: One suite alone is read in turn with the others, so often, and as much of it.
TURNS, TURN_BYTES, BLOCK_BYTES = 30, 200_000, 2**15
TIMEOUT_S = 3600.0


class Reading(msgspec.Struct):
    """What one child measured; ``peak_bytes`` is its largest resident set."""

    wall_s: float
    processor_s: float
    curves: int
    strange: int
    peak_bytes: int


def main(arguments: Sequence[str] | None = None) -> None:
    """Print MB/s and peak memory for a mixed log, for tables alone and for noise alone."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size-mib", type=int, default=64, help="the larger log, up to 1024")
    parser.add_argument("--content", choices=CONTENTS, help="read logs of this content alone")
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.read is not None:
        sys.stdout.write(msgspec.json.encode(_read(options.read)).decode())
        return
    size = min(options.size_mib, 1024) * 2**20
    print(heading("Reading other suites' logs", "Each log is read once by a child process."))
    heads = ("content", "log", "MB/s", "MB per processor second", "peak of the child, MB")
    names = (options.content,) if options.content else CONTENTS
    print(table(heads, [_row(name, each) for name in names for each in (SMALL_BYTES, size)]))
    if not options.content:
        print(table(("suite alone", "MB per processor second, best of 30 turns"), _of_suites()))


def _of_suites() -> list[tuple[str, ...]]:
    """Each suite's speed; whatever else the machine does disturbs all of them alike."""
    blocks = {name: _blocks(pieces) for name, pieces in ALONE.items()}
    least_s = dict.fromkeys(blocks, TIMEOUT_S)
    for _ in range(TURNS):
        for name, read_blocks in blocks.items():
            began = time.process_time()
            list(read(read_blocks))
            least_s[name] = min(least_s[name], time.process_time() - began)
    return [(name, f"{sum(map(len, blocks[name])) / least_s[name] / 1e6:.1f}") for name in blocks]


def _blocks(pieces: Sequence[bytes]) -> list[bytes]:
    """Whole pieces, over and over, in blocks such as files are read in."""
    blocks: list[bytes] = []
    block, written = b"", 0
    for piece in cycle(pieces):
        block += piece
        if len(block) >= BLOCK_BYTES:
            written += len(block)
            blocks.append(block)
            block = b""
        if written >= TURN_BYTES:
            return blocks
    raise AssertionError("there is nothing to read")


def _row(name: str, size_bytes: int) -> tuple[str, ...]:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.out"
        written = _write(log, CONTENTS[name], size_bytes)
        argv = [sys.executable, "-m", "benchmarks.log_reading", "--read", str(log)]
        done = process.run(argv, timeout_s=TIMEOUT_S)
        assert done.exit_code == 0, done.stderr
    reading = msgspec.json.decode(done.stdout, type=Reading)
    figures = (written / reading.wall_s / 1e6, written / reading.processor_s / 1e6)
    peak = f"{reading.peak_bytes / 1e6:.0f}"
    return name, bytes_text(size_bytes), *(f"{each:.1f}" for each in figures), peak


def _read(log: Path) -> Reading:
    curves = strange = 0
    began, began_processor = time.perf_counter(), time.process_time()
    for found in read_file(log):
        if isinstance(found, SuiteCurve):
            curves += 1
        else:
            strange += 1
    wall_s, processor_s = time.perf_counter() - began, time.process_time() - began_processor
    peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # KiB on Linux
    return Reading(wall_s, processor_s, curves, strange, peak_bytes)


def _write(log: Path, pieces: Sequence[bytes], size_bytes: int) -> int:
    written = 0
    with log.open("wb") as file:
        for piece in cycle(pieces):
            written += file.write(piece)
            if written >= size_bytes:
                return written
    raise AssertionError("there is nothing to write")


def _tables(*suites: str) -> Iterator[bytes]:
    for suite in suites or SUITES:
        for path in sorted((FIXTURES / suite).glob("*.out")):
            yield path.read_bytes() + b"\n"


_TABLES = tuple(_tables())
#: All sizes of a default run, in the columns' widths of osu_util.h.
_OSU = b"# OSU MPI Latency Test v7.4\n# Size          Latency (us)\n" + b"".join(
    b"%-10d%18.2f\n" % (2**power, 1.37 * power + 1) for power in range(23)
)
#: The same for IMB, in the widths of IMB_output.c; its recorded output ends at 4 KiB.
_IMB_FULL = b"""# Intel(R) MPI Benchmarks 2021.11, MPI-1 part
#---------------------------------------------------
# Benchmarking PingPong
# #processes = 2
#---------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
""" + b"".join(
    b"%13d %12d %12.2f %12.2f\n" % (size, 1000, 1.37 + size / 1e4, size / (1.37 + size / 1e4))
    for size in (0, *(2**power for power in range(23)))
)
_IMB = (FIXTURES / "imb" / "2021.11--mpi1-4-ranks.out").read_bytes()
_PERFTEST = (FIXTURES / "perftest" / "4.5--write-bw-all-sizes.out").read_bytes()
ALONE: dict[str, tuple[bytes, ...]] = {
    "osu_latency, 23 sizes": (_OSU,),
    "IMB PingPong, 24 sizes": (_IMB_FULL + b"# All processes entering MPI_Finalize\n",),
    "IMB-MPI1 with 4 ranks": (_IMB,),
    "ib_write_bw, 23 sizes": (_PERFTEST,),
    **{f"recorded outputs of {suite}": tuple(_tables(suite)) for suite in SUITES},
}
CONTENTS: dict[str, tuple[bytes, ...]] = {
    "tables and noise": tuple(each for one in _TABLES for each in (one, NOISE * 20)),
    "tables": _TABLES,
    "noise": (NOISE * 100,),
    "noise, no two lines alike": tuple(
        NOISE.replace(b"4711", b"%d" % place)
        .replace(b"22:46:07", b"22:46:%02d.%d" % divmod(place, 60))
        .replace(b"4194304", b"%d" % (place * 4096))
        for place in range(5000)
    ),
}


if __name__ == "__main__":
    main()
