"""Gauges of a fabric of many nodes for Prometheus."""

from collections import Counter
from collections.abc import Iterator
from typing import get_args

from fabricgauge.model.judged import Judged
from fabricgauge.model.pairs import PairAnalysis, Part
from fabricgauge.report.fabric_words import kind, unsure

#: A collector that reads more series than this from one file is slowed down by it.
MOST_NODES = 1024

Labelled = tuple[dict[str, str], float]


def named(judged: Judged) -> Iterator[Labelled]:
    """How many of each part are named at fault: also 0, so that a series never vanishes.

    Those that a verdict only suspects are not counted: nobody is to be woken for them.
    """
    doubted = unsure(judged)
    for one in judged.fabric.analyses:
        counts = Counter(
            found.part for found in one.findings if kind(one, found, doubted) == "FAULT"
        )
        for part in get_args(Part):
            yield {**_labels(one), "part": part}, counts[part]


def typical_s(judged: Judged) -> Iterator[Labelled]:
    yield from (
        (_labels(one), one.typical)
        for one in judged.fabric.analyses
        if one.matrix.quantity == "latency"
    )


def typical_bytes_per_s(judged: Judged) -> Iterator[Labelled]:
    yield from (
        (_labels(one), one.typical)
        for one in judged.fabric.analyses
        if one.matrix.quantity == "bandwidth"
    )


def node_effects(judged: Judged) -> Iterator[Labelled]:
    """Each node's standing; none for fabrics of more nodes than a collector should read."""
    for one in judged.fabric.analyses:
        if len(one.ranking) <= MOST_NODES:
            for node in one.ranking:
                labels = {**_labels(one), "node": node.node}
                yield {**labels, "direction": "sending"}, node.sending
                yield {**labels, "direction": "receiving"}, node.receiving


def _labels(one: PairAnalysis) -> dict[str, str]:
    matrix = one.matrix
    return {
        "network": matrix.network, "quantity": matrix.quantity,
        "message_bytes": str(matrix.message_bytes),
    }  # fmt: skip
