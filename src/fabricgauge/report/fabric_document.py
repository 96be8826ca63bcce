"""What the JSON report says of a fabric of many nodes; the matrices lie beside it."""

import math

import msgspec

from fabricgauge.model.judged import Judged
from fabricgauge.model.pairs import (
    Finding,
    NodeRank,
    PairAnalysis,
    Quantity,
    Spectrum,
    Suspect,
    matrix_keys,
)
from fabricgauge.model.topology import Group

#: The file of the run directory that holds the matrices.
MATRICES = "matrices.npz"


class MatrixDocument(msgspec.Struct, frozen=True):
    """One matrix without its cells: where they are, and what they say.

    ``unit`` is that of every figure of the quantity. ``array`` is the name under which
    ``file`` holds the values; ``between`` has null where nothing was measured.
    """

    network: str
    quantity: Quantity
    message_bytes: int
    unit: str
    file: str
    array: str
    nodes: tuple[str, ...]
    coverage: float
    typical: float
    noise: float
    grouped_by: str
    groups: tuple[Group, ...]
    between: tuple[tuple[float | None, ...], ...]
    order: tuple[int, ...]
    ranking: tuple[NodeRank, ...]
    spectrum: Spectrum
    findings: tuple[Finding, ...]
    suspects: tuple[Suspect, ...]


def matrices(judged: Judged) -> tuple[MatrixDocument, ...]:
    analyses = judged.fabric.analyses
    keys = matrix_keys([one.matrix for one in analyses])
    return tuple(_matrix(one, key) for one, key in zip(analyses, keys, strict=True))


def _matrix(one: PairAnalysis, key: str) -> MatrixDocument:
    matrix = one.matrix
    return MatrixDocument(
        network=matrix.network,
        quantity=matrix.quantity,
        message_bytes=matrix.message_bytes,
        unit="s" if matrix.quantity == "latency" else "bytes/s",
        file=MATRICES,
        array=f"{key}.values",
        nodes=matrix.nodes,
        coverage=matrix.coverage,
        typical=one.typical,
        noise=one.noise,
        grouped_by=one.grouped_by,
        groups=one.groups,
        between=tuple(tuple(map(_known, row)) for row in one.between.tolist()),
        order=one.order,
        ranking=one.ranking,
        spectrum=one.spectrum,
        findings=one.findings,
        suspects=one.suspects,
    )


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
