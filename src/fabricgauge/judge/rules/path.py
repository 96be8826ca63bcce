"""Which interfaces carried the bytes that the benchmark moved?"""

from collections.abc import Sequence

from fabricgauge.judge.interface import Context, verdict_on
from fabricgauge.judge.precedence import worst
from fabricgauge.judge.proof import Finding, findings
from fabricgauge.judge.subject import Subject
from fabricgauge.model.verdict import Figure, Outcome, Verdict

ID = "path"
TITLE = "The bytes crossed the network that was meant"

#: Lines of evidence of one verdict: eight nodes in three launches.
MOST_LINES = 48

_PIN = (
    "pin MPI to the network (MPICH: FI_TCP_IFACE or UCX_NET_DEVICES; Open MPI: --mca"
    " btl_tcp_if_include SUBNET; Intel MPI: FI_TCP_IFACE) and look at `ip route get ADDRESS`"
)


def judge(context: Context) -> tuple[Verdict, ...]:
    return tuple(_judge(context, subject) for subject in context.subjects)


def _judge(context: Context, subject: Subject) -> Verdict:
    if subject.imported:
        return verdict_on(
            ID, Outcome.SKIPPED, subject.about,
            "not known: the logs hold no interface counters, so the figures alone must speak",
        )  # fmt: skip
    if context.run.fabric.simulated:
        return verdict_on(
            ID, Outcome.SKIPPED, subject.about,
            "simulated: no network carried anything, so there is no path to prove",
        )  # fmt: skip
    found = findings(context, subject)
    outcome = worst([finding.outcome for finding in found], empty=Outcome.INCONCLUSIVE)
    decisive = [finding for finding in found if finding.outcome is outcome]
    shares = [finding.share for finding in found if finding.share is not None]
    return verdict_on(
        rule=ID,
        outcome=outcome,
        about=subject.about,
        summary=decisive[0].summary if decisive else "no counters were read: the path is unproven",
        figure=_figure(min(shares)) if shares else None,
        threshold=context.thresholds.threshold("path.share", "at least") if shares else None,
        evidence=_evidence(decisive, found),
        cause=next((finding.cause for finding in decisive), ""),
        remedy="" if outcome is Outcome.PASS else _PIN,
    )


def _evidence(decisive: Sequence[Finding], found: Sequence[Finding]) -> tuple[str, ...]:
    """What decides comes first; of thousands of nodes not everything is told."""
    lines = tuple(dict.fromkeys(line for one in (*decisive, *found) for line in one.evidence))
    if len(lines) <= MOST_LINES:
        return lines
    left = f"{len(lines) - MOST_LINES:,} more such lines follow from the counters in results.jsonl"
    return (*lines[:MOST_LINES], left)


def _figure(share: float) -> Figure:
    return Figure(share, "share", "of the sent bytes crossed the interface that was meant")
