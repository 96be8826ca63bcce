"""Find the medium that messages crossed, and ranks of a log that share a node unstated."""

from collections.abc import Iterable, Iterator

import msgspec
import numpy as np

from fabricgauge.judge.ceiling.technologies import Floor
from fabricgauge.judge.subject import Subject
from fabricgauge.model.absence import Skipped
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.model.verdict import Outcome, Verdict

UNPLACED = "ranks of one node exchange messages through memory, and the log does not name the nodes"
STATE_NODES = "state the node of each rank, in rank order: fabricgauge import --hosts c1,c1,c2,c2"


def crossed_medium(subject: Subject, foreign: SuiteCurve | None) -> Floor:
    """Return the medium that a message crossed; TCP only if its connections carried the payload.

    Other suites show no connections: there the log's own transport counts, or else the network's
    usual one. The transport of one log does not count for the others.
    """
    medium = subject.medium or "rdma"  # the quickest adapter if none is known
    if foreign is None:
        if subject.evidence.over_tcp:
            return "tcp"
        return "rdma" if medium == "tcp" else medium
    if foreign.transport == "tcp":
        return "tcp"
    return "rdma" if (medium, foreign.transport) == ("tcp", "rdma") else medium


def describe_shared_nodes(subject: Subject) -> str:
    """Return a sentence if some pairs of unplaced ranks are quicker than the network; else empty.

    If all of them are, it is not their places: the network is another than stated.
    """
    if isinstance(subject.ceiling, Skipped) or not _has_unplaced_ranks(subject):
        return ""
    least_s = subject.limit(f"floor.{crossed_medium(subject, None)}")
    most = subject.ceiling.payload_bytes_per_s * (1 + subject.limit("above-ceiling.tolerance"))
    quick = 0
    for analysis in subject.pairs:
        values = analysis.matrix.values
        is_quick = values < least_s if analysis.matrix.quantity == "latency" else values > most
        count = int(np.count_nonzero(is_quick))
        quick = max(quick, count if count < np.count_nonzero(values > 0) else 0)
    return f"ranks share a node: {quick:,} directed pairs are quicker than the network" * (
        quick > 0
    )


def doubt_faults(subject: Subject, verdicts: Iterable[Verdict]) -> Iterator[Verdict]:
    """Yield the verdicts; no fault is sure if a slow pair may be inside a node."""
    reason = describe_shared_nodes(subject)
    for verdict in verdicts:
        if reason and verdict.outcome in (Outcome.FAIL, Outcome.WARN):
            yield msgspec.structs.replace(
                verdict, outcome=Outcome.INCONCLUSIVE, cause=reason, remedy=STATE_NODES
            )
        else:
            yield verdict


def _has_unplaced_ranks(subject: Subject) -> bool:
    return subject.imported and any(
        curve.evidence.rank_pairs.ranks
        not in (len(launch.hosts_of(curve)), len(curve.evidence.rank_nodes))
        for launch in subject.launches
        for curve in launch.curves
        if curve.evidence.rank_pairs
    )
