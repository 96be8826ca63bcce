"""Check whether all nodes together come near what their pairs carried in the same run.

A bisection is compared with the slowest of its own pairs. A collective of large messages is
compared with the time that a plain algorithm needs with the slowest pair's latency and rate. If
hosts waited for processors, a figure does not show the network.
"""

from collections.abc import Iterator
from math import ceil, log2
from typing import NamedTuple

import numpy as np

from fabricgauge.judge.evidence.placement import waits
from fabricgauge.judge.interface import Subject, judge_networks
from fabricgauge.model.absence import Skipped
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.pairs import PairMatrix
from fabricgauge.model.pattern import Pattern
from fabricgauge.model.run import Launch
from fabricgauge.model.verdict import Figure, Outcome, Verdict
from fabricgauge.model.words import figures, patterns

ID = "concurrent"

#: Collectives whose time by a plain algorithm is known: Thakur, Rabenseifner and Gropp, IJHPCA 19
#: (2005).
_COLLECTIVES: tuple[Pattern, ...] = ("alltoall", "allgather", "bcast", "allreduce")

BISECTION, COLLECTIVE = "concurrent.bisection", "concurrent.collective"

_CAUSE = (
    "links between switches that carry less than the nodes' links, an MPI algorithm that does not"
    " suit the order of the nodes, or congestion"
)
_REMEDY = (
    "check that the switches have all their uplinks; measure again with the nodes of one switch"
    " (-w), and with another algorithm (MPICH: MPIR_CVAR_*_ALGORITHM; Open MPI: coll_tuned; Intel"
    " MPI: I_MPI_ADJUST_*)"
)


class _Share(NamedTuple):
    """A figure as a share of the bound from the pairs' own figures, and its limit's name."""

    share: float
    limit: str
    sentence: str


@judge_networks(ID)
def judge(subject: Subject) -> Verdict | Skipped | tuple[()]:
    cases = [item for item in subject.cases("bisection", *_COLLECTIVES) if _is_joint(*item)]
    if not cases or not subject.pairs:
        return ()
    if reason := _unjudged(subject):
        return Skipped(f"figures of all nodes at once are not judged: {reason}")
    waiting = subject.limit("host-limited.delay")
    quiet = [
        (launch, case)
        for launch, case in cases
        if not case.waiting and (shares := waits([case])) and float(np.median(shares)) < waiting
    ]
    shares_of_bound = [share for launch, case in quiet for share in _compare(subject, launch, case)]
    if not shares_of_bound:
        return Skipped(
            "figures of all nodes at once are not judged: half of the ranks waited for processors,"
            " or their waiting is unknown"
        )
    worst = min(shares_of_bound, key=lambda case: case.share / subject.limit(case.limit))
    low = worst.share < subject.limit(worst.limit)
    return Verdict(
        Outcome.WARN if low else Outcome.PASS,
        worst.sentence,
        Figure(worst.share, "share", "of the bound from the pairs' own figures"),
        subject.threshold(worst.limit),
        tuple(case.sentence for case in shares_of_bound if case.share < subject.limit(case.limit)),
        _CAUSE if low else "",
        _REMEDY if low else "",
    )


def _is_joint(launch: Launch, case: Measurement) -> bool:
    """Check whether all ranks took part, and their time is known."""
    joint = case.together is not None and case.together.ranks == len(launch.nodes)
    return joint and case.times is not None and case.times.median_s > 0


def _unjudged(subject: Subject) -> str:
    """Return why no bound is known; empty if one is."""
    if subject.technology == "simulated":
        return "a simulator's collectives show the simulator, not a network"
    if subject.sharing > 1 or any(
        len(set(launch.nodes)) < len(launch.nodes) for launch in subject.launches
    ):
        return "several ranks share a node's link"
    findings = (finding for analysis in subject.pairs for finding in analysis.findings)
    if any(finding.explanation == "oversubscription" for finding in findings):
        return "a level between the switches is oversubscribed"
    if _matrix(subject, "bandwidth") is None:
        return "the pairs' own bandwidth was not measured"
    return ""


def _compare(subject: Subject, launch: Launch, case: Measurement) -> Iterator[_Share]:
    matrix, times = _matrix(subject, "bandwidth"), case.times
    if matrix is None or times is None:
        return
    title = f"{patterns.sentence(case.pattern)} {figures.at(case.message_bytes)}"
    if case.pattern == "bisection":
        rate = case.sample_payload_bytes / times.median_s
        bound = _slowest_across(matrix, launch)
        yield _Share(
            rate / bound,
            BISECTION,
            f"{title}: {figures.rate(rate)} per pair and direction ="
            f" {figures.percent(rate / bound)} of the {figures.rate(bound)} of the slowest pair",
        )
    elif case.message_bytes >= subject.limit("fraction.from"):
        latencies = _matrix(subject, "latency")
        latency_s = 0.0 if latencies is None else float(np.nanmax(latencies.values))
        message_s = latency_s + case.message_bytes / float(np.nanmin(matrix.values))
        ranks, levels = len(launch.nodes), ceil(log2(len(launch.nodes)))
        # Messages in sequence: in turns, or down (and up) a binary tree.
        steps = {"bcast": levels, "allreduce": 2 * levels}.get(case.pattern, ranks - 1)
        bound_s = steps * message_s
        yield _Share(
            bound_s / times.median_s,
            COLLECTIVE,
            f"{title} takes {figures.duration(times.median_s)}; a plain algorithm over the slowest"
            f" pair needs {figures.duration(bound_s)}",
        )


def _slowest_across(matrix: PairMatrix, launch: Launch) -> float:
    """Return the slowest rate of the pairs of rank i and i + N/2, or of all if none met."""
    half, place = len(launch.nodes) // 2, {name: number for number, name in enumerate(matrix.nodes)}
    rates = [
        matrix.values[place[origin], place[target]]
        for node, partner in zip(launch.nodes[:half], launch.nodes[half:], strict=False)
        for origin, target in ((node, partner), (partner, node))
        if node in place and partner in place
    ]
    known = [float(value) for value in rates if np.isfinite(value)]
    return min(known) if known else float(np.nanmin(matrix.values))


def _matrix(subject: Subject, quantity: str) -> PairMatrix | None:
    """Return the matrix of the largest message of a quantity with a figure in it."""
    matrices = (analysis.matrix for analysis in subject.pairs)
    measured = (
        matrix
        for matrix in matrices
        if matrix.quantity == quantity and np.isfinite(matrix.values).any()
    )
    return max(measured, key=lambda matrix: matrix.message_bytes, default=None)
