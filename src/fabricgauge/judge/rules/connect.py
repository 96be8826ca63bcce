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
    for one in context.run.preflight:
        if not one.carries_nothing:
            if one.check == ID:
                yield _of_starts(one)
            continue
        check = "" if one.check == ID else one.check
        about = VerdictSubject("network", one.network, series=check)
        if one.where not in ("", one.network):
            nodes = one.nodes or (one.where,)
            about = VerdictSubject("place", one.network, nodes, check, place=one.where)
        yield Said(
            Outcome.FAIL, f"{one.what}; {what_was_left(context.run, one.network)}",
            evidence=(*one.evidence, one.why), remedy=one.remedy, about=about,
        )  # fmt: skip


def _of_starts(one: Finding) -> Said:
    """What the programs' starts show; it is no fault of a network."""
    place = one.where if one.where != one.network else ""
    about = VerdictSubject("network", one.network)
    if place:
        about = VerdictSubject("place", one.network, one.nodes, place=place)
    return Said(
        Outcome.WARN, one.what, evidence=(*one.evidence, one.why), remedy=one.remedy, about=about
    )
