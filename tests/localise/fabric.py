"""Fabrics for the tests, from the planted ones of the benchmarks."""

import numpy as np
from benchmarks.planted import Fault, Scenario
from benchmarks.planted import measured as measured_in
from numpy.typing import NDArray

from fabricgauge.localise.detect import analyse
from fabricgauge.model.pairs import PairAnalysis, PairMatrix, Quantity
from fabricgauge.model.topology import Topology

NOWHERE = Topology()


def measured(
    nodes: int,
    *faults: Fault,
    quantity: Quantity = "bandwidth",
    noise: float = 0.01,
    passes: int = 3,
    seed: int = 1,
    oversubscribed: float = 1.0,
    collided: float = 0.0,
) -> PairMatrix:
    """A matrix with planted faults."""
    return measured_in(
        Scenario(seed, nodes, quantity, noise, passes, faults, oversubscribed, collided)
    )


def named(matrix: PairMatrix, topology: Topology = NOWHERE) -> set[tuple[str, tuple[str, ...]]]:
    """Parts and names of all faults."""
    return faults(analyse(matrix, topology))


def faults(analysis: PairAnalysis) -> set[tuple[str, tuple[str, ...]]]:
    return {
        (one.part, tuple(sorted(one.names)))
        for one in analysis.findings
        if one.explanation == "fault"
    }


def matrix_of(
    values: NDArray[np.float64], quantity: Quantity = "bandwidth", passes: int = 3
) -> PairMatrix:
    """A matrix in which every pass measured the same."""
    count = len(values)
    off = np.array(values, dtype=float)
    np.fill_diagonal(off, np.nan)
    names = tuple(f"n{i:05d}" for i in range(count))
    return PairMatrix(
        "net", quantity, 1 << 20, names, off, np.zeros_like(off), np.stack([off] * passes)
    )
