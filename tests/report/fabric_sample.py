"""Fabrics of many nodes with made-up but seeded figures: matrices, findings, collectives."""

import math
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray
from tests.report import sample

from fabricgauge.judge.evidence import gather_evidence
from fabricgauge.model.fabric import Group
from fabricgauge.model.judged import Judged
from fabricgauge.model.measurement import ConcurrentResult, Measurement, Times
from fabricgauge.model.pairs import (
    FabricResult,
    NodeRank,
    PairAnalysis,
    PairFinding,
    PairMatrix,
    Quantity,
    Spectrum,
    Suspect,
)
from fabricgauge.model.pattern import Load, Pattern
from fabricgauge.model.plan import Case
from fabricgauge.model.run import Launch

TYPICAL: dict[Quantity, float] = {"latency": 1.23e-6, "bandwidth": 12.1e9}
MESSAGE_BYTES: dict[Quantity, int] = {"latency": 8, "bandwidth": 1 << 20}
QUARTER = 0.25
PER_GROUP = 4

Values = NDArray[np.float64]


def names(count: int) -> tuple[str, ...]:
    return tuple(f"n{number}" for number in range(1, count + 1))


def judged(nodes: Sequence[str], slow: int | None = 2, **also: bool) -> Judged:
    """A run of these nodes; ``slow`` is the place of one whose link has a quarter of its rate.

    ``also``: ``simulated``, or not ``crowded`` (without cases of many ranks).
    """
    base = sample.judged(verdicts=(), virtual=False)
    made = launch(nodes, also.get("simulated", False), also.get("crowded", True))
    run = msgspec.structs.replace(
        base.run, launches=(made,),
        fabric=msgspec.structs.replace(
            base.run.fabric, nodes=tuple(sample.node(name, 1) for name in nodes)
        ),
    )  # fmt: skip
    return msgspec.structs.replace(
        base, run=run, curves=(), fabric=result(nodes, slow), evidence=gather_evidence(run)
    )


def result(nodes: Sequence[str], slow: int | None = 2) -> FabricResult:
    quantities: tuple[Quantity, ...] = ("latency", "bandwidth")
    return FabricResult(tuple(analysis(nodes, quantity, slow) for quantity in quantities))


def analysis(nodes: Sequence[str], quantity: Quantity, slow: int | None) -> PairAnalysis:
    """The planted fault is named in the bandwidth only; the latency has a suspect."""
    found = matrix(nodes, quantity, slow)
    groups = tuple(
        Group(f"leaf-{1 + first // PER_GROUP}", tuple(nodes[first : first + PER_GROUP]))
        for first in range(0, len(nodes), PER_GROUP)
    )
    finite = found.values[np.isfinite(found.values)]
    typical = float(np.median(finite))
    counts, edges = np.histogram(finite, bins=40)
    is_slow = quantity == "bandwidth" and slow is not None
    return PairAnalysis(
        matrix=found, groups=groups, grouped_by="topology", typical=typical, noise=0.011,
        between=np.full((len(groups), len(groups)), typical),
        expected=np.full((len(groups) + 1, len(groups) + 1), typical),
        order=tuple(range(len(nodes))), ranking=ranking(found, typical),
        spectrum=Spectrum(tuple(edges.tolist()), tuple(counts.tolist()), (typical,)),
        findings=(finding(nodes[slow], len(nodes)),) if is_slow and slow is not None else (),
        suspects=(suspect(nodes[0], nodes[-1]),) if quantity == "latency" else (),
    )  # fmt: skip


def matrix(nodes: Sequence[str], quantity: Quantity, slow: int | None) -> PairMatrix:
    count = len(nodes)
    noise = np.random.default_rng(count)
    group = np.arange(count) // PER_GROUP
    other = group[:, None] != group[None, :]
    values: Values = TYPICAL[quantity] * (1 + 0.01 * noise.standard_normal((count, count)))
    if quantity == "latency":
        values = (values + values.T) / 2 * np.where(other, 1.09, 1.0)
    elif slow is not None:
        values[slow, :] *= QUARTER
        values[:, slow] *= QUARTER
    np.fill_diagonal(values, np.nan)
    spread = np.where(np.isfinite(values), 0.02, np.nan)
    return PairMatrix(
        "net1", quantity, MESSAGE_BYTES[quantity], tuple(nodes), values, spread, values[None],
    )  # fmt: skip


def ranking(found: PairMatrix, typical: float) -> tuple[NodeRank, ...]:
    sending = np.nanmedian(found.values, axis=1) / typical - 1
    receiving = np.nanmedian(found.values, axis=0) / typical - 1
    sign = -1 if found.quantity == "latency" else 1
    worst = np.where(np.isfinite(found.values), sign * found.values, np.inf).argmin(axis=1)
    ranks = [
        NodeRank(
            node, f"leaf-{1 + place // PER_GROUP}", float(sending[place]), float(receiving[place]),
            0.02, float(typical * (1 + sending[place])), found.nodes[int(worst[place])],
        )
        for place, node in enumerate(found.nodes)
    ]  # fmt: skip
    return tuple(sorted(ranks, key=lambda one: sign * (one.sending + one.receiving)))


def finding(node: str, count: int) -> PairFinding:
    return PairFinding(
        "node", (node,), "bandwidth", 1 << 20, QUARTER - 1, -0.754, -0.746, 1e-9, 2 * (count - 1),
        "fault", (f"alone with two known-good partners {node} sends 3.02 GB/s, they 12.1 GB/s",),
    )  # fmt: skip


def suspect(first: str, second: str) -> Suspect:
    return Suspect(
        "pair", (first, second), "latency", 0.04, "its interval reaches the others'",
        f"fabricgauge check -w {first},{second} --profile full",
    )  # fmt: skip


def launch(nodes: Sequence[str], simulated: bool, crowded: bool) -> Launch:
    base = sample.launch(1, sample.NODES, 1.0)
    assert base.header
    header = msgspec.structs.replace(base.header, simulated=simulated, ranks=len(nodes))
    cases = tuple(measurement(one, together) for one, together in crowd(len(nodes)) if crowded)
    return msgspec.structs.replace(
        base, nodes=tuple(nodes), header=header, measurements=cases, placements=()
    )


def crowd(count: int) -> Iterator[tuple[Case, ConcurrentResult]]:
    """Collectives over sizes and ranks, one of them non-blocking; load; many pairs."""
    steps = [ranks for ranks in (2, 3, 4, 8, 16, 64, 256, 1024) if ranks <= count]
    operations: tuple[Pattern, ...] = ("allreduce", "iallreduce")
    for ranks in steps:
        yield case("barrier", 0, ranks), together(ranks)
        for pattern in operations:
            hidden = 0.83 if pattern == "iallreduce" else None
            for size in (8, 1024, 65536, 1 << 20):
                yield case(pattern, size, ranks), together(ranks, overlap=hidden)
    loads: tuple[Load, ...] = ("none", "all_to_all", "incast", "permutation")
    for load in loads:
        sent = 0.0 if load == "none" else 3e9
        yield case("loaded_latency", 8, count, load=load), together(count, 1, "origin", load=sent)
    for pairs in (one for one in (1, 2, 4, 8, 64, 512) if 2 * one <= count):
        for size in (8, 65536):
            made = case("multi_bandwidth", size, 2 * pairs, 64)
            yield made, together(2 * pairs, pairs, "origin", rate=pairs * 1e6)
        yield case("multi_latency", 8, 2 * pairs), together(2 * pairs, pairs, "origin")


def case(
    pattern: Pattern, size: int, ranks: int, window: int = 1, load: Load = "none"
) -> Case:  # fmt: skip
    name = f"{pattern}/{size}/{ranks}/{load}"
    return Case(name, pattern, size, window, 0, 1, 1.0, ranks=ranks, load=load)


def together(
    ranks: int, pairs: int = 0, clock: str = "synchronised", *, overlap: float | None = None,
    rate: float = 0.0, load: float = 0.0,
) -> ConcurrentResult:  # fmt: skip
    return msgspec.convert(
        {
            "ranks": ranks, "pairs": pairs, "clock": clock, "late_starts": 3 if overlap else 0,
            "clock_error_s": 2.1e-7 if clock == "synchronised" else 0.0,
            "rank_medians_s": (), "overlap": overlap, "messages_per_s": rate,
            "load_bytes_per_s": load,
        },
        ConcurrentResult,
    )  # fmt: skip


def measurement(one: Case, of: ConcurrentResult) -> Measurement:
    middle = (2e-6 + one.message_bytes / 12e9) * (1 + math.log2(one.ranks)) * _slower(one)
    tail = 9.0 if one.load == "incast" else 1.7
    base = sample.measurement(sample.cases()[0], sample.NODES, 1.0)
    return msgspec.structs.replace(
        base, case=one.name, pattern=one.pattern, message_bytes=one.message_bytes,
        window=one.window, load=one.load, together=of, counters=(), sockets=(),
        payload_sent_bytes=(),
        times=Times(middle * 0.9, middle, middle * 0.99, middle * 1.01, 0.95, middle, middle * 1.2,
                    middle * tail, middle * tail * 2, middle * tail * 3),
    )  # fmt: skip


def _slower(one: Case) -> float:
    return {"none": 1.0, "all_to_all": 2.2, "incast": 3.4, "permutation": 1.3}[one.load]
