"""Check that every node could connect to every other node before the measurement."""

from collections.abc import Iterator

from fabricgauge.judge.interface import Context, describe_rest, judge_run
from fabricgauge.model.finding import CONNECT, Severity
from fabricgauge.model.verdict import Outcome, Verdict, VerdictSubject

ID = CONNECT

#: The check of addresses that two interfaces have.
_ADDRESSES = "addresses"


@judge_run(ID)
def judge(context: Context) -> Iterator[Verdict]:
    """Yield one failure for each node, pair or address that could not connect.

    If a more basic fault explains it, such as a pulled cable, that fault is named.
    A node whose program started late, or did not start, is a warning, and so is an address that two
    interfaces have while all connections work: which of them answers is chance.
    """
    for finding in context.run.preflight:
        outcome, summary = Outcome.WARN, finding.what
        if finding.carries_nothing:
            outcome = Outcome.FAIL
            summary = f"{summary}; {describe_rest(context.run, finding.network)}"
        elif finding.check != ID:
            is_fault = finding.severity is Severity.FAIL and finding.network
            if finding.check != _ADDRESSES or not is_fault:
                continue
        check = "" if finding.check == ID else finding.check
        about = VerdictSubject("network", finding.network, series=check)
        if finding.where not in ("", finding.network):
            nodes = finding.nodes or (finding.where,)
            about = VerdictSubject("place", finding.network, nodes, check, place=finding.where)
        yield Verdict(
            outcome, summary, evidence=(*finding.evidence, finding.why), remedy=finding.remedy,
            about=about,
        )  # fmt: skip
