"""Time and memory of analysing all pairs, from 256 nodes to 10,240.

Each size has a child process of its own, so that its peak memory is its own. The matrix is of one
pass, in leaves of 32 nodes, with a slow node, a slow sender, a slow uplink and heavy-tailed noise.
"""

import argparse
import time
from collections.abc import Sequence

import msgspec
import numpy as np
from benchmarks.own_process import in_own_process, peak_mb
from benchmarks.tables import heading, table
from numpy.typing import NDArray

from fabricgauge.judge.localise.detect import analyse
from fabricgauge.model.fabric import Group, Topology
from fabricgauge.model.pairs import PairMatrix

SIZES = (256, 512, 1024, 2048, 4096, 10_240)
LEAF = 32
LINK_BYTES_S = 12.3e9
NOISE = 0.02
TIMEOUT_S = 900.0
#: Rows that are made at once, so that making the matrix takes no memory that analysing does not.
_ROWS = 64


class Taken(msgspec.Struct, frozen=True):
    """What one analysis took, and the fault findings' names."""

    nodes: int
    making_s: float
    analysis_s: float
    processor_s: float
    before_mb: float
    peak_mb: float
    named: tuple[str, ...]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table with a row for each size."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        print(msgspec.json.encode(_taken(options.child)).decode())
        return
    what = (
        f"Bandwidth of one pass, {NOISE:.0%} noise, leaves of {LEAF} nodes as topology, three "
        "faults; wall and\n"
        "processor time of analyse() alone; the peak is the whole process's, matrix included."
    )
    print(heading("Analysis of all pairs by the number of nodes", what), flush=True)
    taken = [
        in_own_process("benchmarks.pair_scale", size, Taken, TIMEOUT_S) for size in options.sizes
    ]
    rows = [_row(one) for one in taken]
    heads = ("nodes", "directed pairs", "analysis, s", "processor, s", "ns per pair",
             "matrix made, MB", "peak, MB", "named")  # fmt: skip
    print(table(heads, rows))


def _row(taken: Taken) -> tuple[str, ...]:
    pairs = taken.nodes * (taken.nodes - 1)
    return (
        f"{taken.nodes:,}",
        f"{pairs:,}",
        f"{taken.analysis_s:.2f}",
        f"{taken.processor_s:.2f}",
        f"{taken.processor_s / pairs * 1e9:.0f}",
        f"{taken.before_mb:,.0f}",
        f"{taken.peak_mb:,.0f}",
        ", ".join(taken.named),
    )


def _taken(nodes: int) -> Taken:
    start = time.perf_counter()
    matrix, topology = _matrix(nodes), _leaves(nodes)
    made, before, used = time.perf_counter(), peak_mb(), time.process_time()
    analysis = analyse(matrix, topology)
    ended, processor_s = time.perf_counter(), time.process_time() - used
    named = tuple(f"{one.part} {one.names[0]}" for one in analysis.findings)
    return Taken(
        nodes, made - start, ended - made, processor_s, before, peak_mb(), named
    )  # fmt: skip


def _names(nodes: int) -> tuple[str, ...]:
    return tuple(f"n{i:05d}" for i in range(nodes))


def _leaves(nodes: int) -> Topology:
    names = _names(nodes)
    return Topology(tuple(
        Group(f"leaf{first // LEAF}", names[first : first + LEAF], "spine")
        for first in range(0, nodes, LEAF)
    ))  # fmt: skip


def _matrix(nodes: int) -> PairMatrix:
    rng = np.random.default_rng(nodes)
    sending, receiving = LINK_BYTES_S * (1 + 0.002 * rng.standard_normal((2, nodes)))
    sending[3] *= 0.5
    receiving[3] *= 0.5
    sending[nodes // 2] *= 0.8
    leaf = np.arange(nodes) // LEAF
    uplink = np.full(nodes // LEAF, LINK_BYTES_S)
    uplink[-1] *= 0.7
    values = np.empty((nodes, nodes))
    for first in range(0, nodes, _ROWS):
        rows = slice(first, first + _ROWS)
        strip = np.minimum(sending[rows, None], receiving[None, :])
        crossing = leaf[rows, None] != leaf[None, :]
        ways = np.minimum(uplink[leaf[rows], None], uplink[leaf][None, :])
        strip = np.where(crossing, np.minimum(strip, ways), strip)
        values[rows] = strip * _noise(rng, strip.shape)
    np.fill_diagonal(values, np.nan)
    spread = np.full((nodes, nodes), 1.35 * NOISE, dtype=np.float32)
    np.fill_diagonal(spread, np.nan)
    return PairMatrix(
        "net", "bandwidth", 1 << 20, _names(nodes), values, spread, values[np.newaxis]
    )


def _noise(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    wide = np.where(rng.random(shape) < 0.1, 4.0, 1.0) / np.sqrt(2.5)
    factor: NDArray[np.float64] = np.exp(NOISE * wide * rng.standard_normal(shape))
    return factor


if __name__ == "__main__":
    main()
