"""Do all nodes together come near what their pairs carried in the same run?

A bisection is held against the slowest of its own pairs, a collective of large messages against
the time that a plain algorithm needs with the slowest pair's latency and rate. Where hosts waited
for processors, a figure says nothing of the network.
"""

from collections.abc import Iterator
from math import ceil, log2

import msgspec
import numpy as np

from fabricgauge.evidence.placement import waits
from fabricgauge.judge.interface import Said, of_networks
from fabricgauge.judge.subject import Subject
from fabricgauge.model.absence import Skipped
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.pairs import PairMatrix
from fabricgauge.model.run import Launch
from fabricgauge.model.verdict import Figure, Outcome
from fabricgauge.words import figures, patterns

ID = "concurrent"

BISECTION, COLLECTIVE = "concurrent.bisection", "concurrent.collective"

_CAUSE = (
    "links between switches that carry less than the nodes' own, an algorithm of the MPI that does"
    " not suit the nodes' order, or congestion"
)
_REMEDY = (
    "see whether the switches have all their uplinks; measure again with the nodes of one switch"
    " (-w), and with another algorithm (MPICH: MPIR_CVAR_*_ALGORITHM; Open MPI: coll_tuned; Intel"
    " MPI: I_MPI_ADJUST_*)"
)


class Held(msgspec.Struct, frozen=True):
    """A figure as a share of what the pairs' figures let expect, and the limit it is held to."""

    share: float
    limit: str
    sentence: str


@of_networks(ID)
def judge(subject: Subject) -> Said | Skipped | tuple[()]:
    cases = [(launch, one) for launch in subject.launches for one in _cases(launch)]
    if not cases or not subject.pairs:
        return ()
    if reason := _unjudged(subject):
        return Skipped(f"what all nodes do at once is not judged: {reason}")
    waiting = subject.limit("host-limited.delay")
    quiet = [
        (launch, one)
        for launch, one in cases
        if (shares := waits([one])) and float(np.median(shares)) < waiting
    ]
    held = [figure for launch, one in quiet for figure in _held(subject, launch, one)]
    if not held:
        return Skipped(
            "what all nodes do at once is not judged: half of the ranks waited for processors, or"
            " their waiting was not seen"
        )
    worst = min(held, key=lambda one: one.share / subject.limit(one.limit))
    low = worst.share < subject.limit(worst.limit)
    return Said(
        Outcome.WARN if low else Outcome.PASS,
        worst.sentence,
        Figure(worst.share, "share", "of what the pairs' own figures let expect"),
        subject.threshold(worst.limit),
        tuple(one.sentence for one in held if one.share < subject.limit(one.limit)),
        _CAUSE if low else "",
        _REMEDY if low else "",
    )


def _cases(launch: Launch) -> Iterator[Measurement]:
    """Yield bisections, and collectives of all ranks, that ended well."""
    for one in launch.completed:
        joint = one.together is not None and one.together.ranks == len(launch.nodes)
        timed = one.times is not None and one.times.median_s > 0
        if joint and timed and one.pattern in ("bisection", *_COLLECTIVES):
            yield one


def _unjudged(subject: Subject) -> str:
    """Return why no bound is known; empty if one is."""
    if subject.technology == "simulated":
        return "a simulator's collectives show the simulator"
    if subject.sharing > 1 or any(len(set(one.nodes)) < len(one.nodes) for one in subject.launches):
        return "several ranks share a node's link"
    findings = [one for each in subject.pairs for one in each.findings]
    if any(one.explanation == "oversubscription" for one in findings):
        return "a level between the switches is oversubscribed"
    if _matrix(subject, "bandwidth") is None:
        return "the pairs' own bandwidth was not measured"
    return ""


def _held(subject: Subject, launch: Launch, one: Measurement) -> Iterator[Held]:
    matrix, times = _matrix(subject, "bandwidth"), one.times
    if matrix is None or times is None:
        return
    at = f"{patterns.sentence(one.pattern)} {figures.at(one.message_bytes)}"
    if one.pattern == "bisection":
        rate = one.sample_payload_bytes / times.median_s
        bound = _slowest_across(matrix, launch)
        yield Held(
            rate / bound,
            BISECTION,
            f"{at}: {figures.rate(rate)} per pair and direction ="
            f" {figures.percent(rate / bound)} of the {figures.rate(bound)} of the slowest pair",
        )
    elif one.message_bytes >= subject.limit("fraction.from"):
        late = _matrix(subject, "latency")
        latency_s = 0.0 if late is None else float(np.nanmax(late.values))
        message_s = latency_s + one.message_bytes / float(np.nanmin(matrix.values))
        bound_s = _steps(one.pattern, len(launch.nodes)) * message_s
        yield Held(
            bound_s / times.median_s,
            COLLECTIVE,
            f"{at} takes {figures.duration(times.median_s)}; a plain algorithm over the slowest"
            f" pair needs {figures.duration(bound_s)}",
        )


#: Collectives with a plain algorithm whose time is known.
_COLLECTIVES = ("alltoall", "allgather", "bcast", "allreduce")


def _steps(pattern: str, ranks: int) -> int:
    """Return how many messages follow each other: in turns, or down (and up) a binary tree.

    Thakur, Rabenseifner and Gropp, IJHPCA 19 (2005).
    """
    levels = ceil(log2(ranks))
    return {"bcast": levels, "allreduce": 2 * levels}.get(pattern, ranks - 1)


def _slowest_across(matrix: PairMatrix, launch: Launch) -> float:
    """Return the least of what pairs of rank i and i + N/2 carried; of all pairs if none met."""
    half, place = len(launch.nodes) // 2, {name: at for at, name in enumerate(matrix.nodes)}
    met = [
        matrix.values[place[origin], place[target]]
        for one, two in zip(launch.nodes[:half], launch.nodes[half:], strict=False)
        for origin, target in ((one, two), (two, one))
        if one in place and two in place
    ]
    known = [float(value) for value in met if np.isfinite(value)]
    return min(known) if known else float(np.nanmin(matrix.values))


def _matrix(subject: Subject, quantity: str) -> PairMatrix | None:
    """Return the matrix of the largest message of a quantity with a figure in it."""
    each = [one.matrix for one in subject.pairs if one.matrix.quantity == quantity]
    known = [one for one in each if np.isfinite(one.values).any()]
    return max(known, key=lambda matrix: matrix.message_bytes, default=None)
