"""Rows of the CSV report for cases of many ranks, and for each node of a matrix of pairs."""

from collections.abc import Iterator, Mapping

from fabricgauge.model.judged import Judged
from fabricgauge.model.pairs import NodeRank, PairAnalysis
from fabricgauge.report.fabric_cases import Joint, joint

Cell = str | int | float | None

COLUMNS = (
    "ranks", "pairs", "load", "clock", "clock_error_s", "late_starts", "p90_s", "p999_s",
    "load_bytes_per_s", "node", "group", "sending_effect", "receiving_effect", "jitter_share",
    "worst_partner",
)  # fmt: skip


def rows(judged: Judged) -> Iterator[Mapping[str, Cell]]:
    """Cases first, then the nodes of each matrix, worst first."""
    for case in joint(judged.run):
        yield _of_case(case)
    for analysis in judged.fabric.analyses:
        for one in analysis.ranking:
            yield {**_of_matrix(analysis), **_of_node(analysis, one)}


def _of_case(case: Joint) -> Mapping[str, Cell]:
    given = case.confidence > 0
    return {
        "suite": "fabricgauge", "network": case.network, "pattern": case.pattern,
        "message_bytes": case.message_bytes, "window": case.window, "ranks": case.ranks,
        "pairs": case.pairs or None, "load": case.load if case.load != "none" else None,
        "time_s": case.median_s, "time_low_s": case.low_s if given else None,
        "time_high_s": case.high_s if given else None, "confidence": case.confidence or None,
        "launches": case.launches, "samples": case.samples, "p90_s": case.p90_s,
        "p99_s": case.p99_s, "p999_s": case.p999_s, "minimum_s": case.minimum_s,
        "maximum_s": case.maximum_s, "bandwidth_bytes_per_s": case.bytes_per_s or None,
        "message_rate_per_s": case.messages_per_s or None, "overlap_share": case.overlap,
        "clock": case.clock, "late_starts": case.late_starts,
        "clock_error_s": case.clock_error_s if case.clock == "synchronised" else None,
        "load_bytes_per_s": case.load_bytes_per_s or None,
    }  # fmt: skip


def _of_matrix(analysis: PairAnalysis) -> Mapping[str, Cell]:
    matrix = analysis.matrix
    return {
        "suite": "fabricgauge", "network": matrix.network,
        "pattern": f"all_pairs_{matrix.quantity}", "message_bytes": matrix.message_bytes,
    }  # fmt: skip


def _of_node(analysis: PairAnalysis, one: NodeRank) -> Mapping[str, Cell]:
    is_time = analysis.matrix.quantity == "latency"
    return {
        "node": one.node, "group": one.group or None, "sending_effect": one.sending,
        "receiving_effect": one.receiving, "jitter_share": one.jitter,
        "worst_partner": one.worst_partner,
        "time_s" if is_time else "bandwidth_bytes_per_s": one.typical,
    }  # fmt: skip
