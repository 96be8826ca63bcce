"""Could every node connect to every other before anything was measured?"""

from collections.abc import Iterator

from fabricgauge.judge.interface import Context, Said, of_run
from fabricgauge.judge.subject import what_was_left
from fabricgauge.model.finding import CONNECT, Finding
from fabricgauge.model.verdict import Outcome, VerdictSubject

ID = CONNECT


@of_run(ID)
def judge(context: Context) -> Iterator[Said]:
    """One failure for each node, pair or address; nothing where all connected or none tried.

    Where a more basic fault explains what could not connect, such as a pulled cable, it is named.
    A node whose program started late, or did not start, is a warning.
    """
    for finding in context.run.preflight:
        if not finding.carries_nothing:
            if finding.check == ID:
                yield _of_starts(finding)
            continue
        check = "" if finding.check == ID else finding.check
        about = VerdictSubject("network", finding.network, series=check)
        if finding.where not in ("", finding.network):
            nodes = finding.nodes or (finding.where,)
            about = VerdictSubject("place", finding.network, nodes, check, place=finding.where)
        yield Said(
            Outcome.FAIL, f"{finding.what}; {what_was_left(context.run, finding.network)}",
            evidence=(*finding.evidence, finding.why), remedy=finding.remedy, about=about,
        )  # fmt: skip


def _of_starts(one: Finding) -> Said:
    """Return what the programs' starts show; it is no fault of a network."""
    place = one.where if one.where != one.network else ""
    about = VerdictSubject("network", one.network)
    if place:
        about = VerdictSubject("place", one.network, one.nodes, place=place)
    return Said(
        Outcome.WARN, one.what, evidence=(*one.evidence, one.why), remedy=one.remedy, about=about
    )
