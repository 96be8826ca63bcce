"""Could every node connect to every other before anything was measured?"""

from fabricgauge.judge.interface import Context, verdict_on
from fabricgauge.judge.subject import what_was_left
from fabricgauge.model.finding import CONNECT, Finding
from fabricgauge.model.run import Run
from fabricgauge.model.verdict import Outcome, Verdict, VerdictSubject

ID = CONNECT
TITLE = "Every node can connect to every other"


def judge(context: Context) -> tuple[Verdict, ...]:
    """One failure for each node, pair or address; nothing where all connected or nobody tried.

    Where a more basic fault explains what could not connect, such as a pulled cable, it is named.
    """
    run = context.run
    return tuple(_verdict(run, one) for one in run.preflight if one.carries_nothing)


def _verdict(run: Run, one: Finding) -> Verdict:
    of_network = one.where in ("", one.network)
    about = VerdictSubject(
        "network" if of_network else "place", one.network,
        () if of_network else one.nodes or (one.where,), "" if one.check == ID else one.check,
        place="" if of_network else one.where,
    )  # fmt: skip
    return verdict_on(
        ID, Outcome.FAIL, about, f"{one.what}; {what_was_left(run, one.network)}",
        evidence=(*one.evidence, one.why), remedy=one.remedy,
    )  # fmt: skip
