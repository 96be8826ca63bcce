"""Could every node connect to every other before anything was measured?"""

from fabricgauge.judge.interface import Context, verdict_on
from fabricgauge.model.finding import CONNECT, Finding
from fabricgauge.model.verdict import Outcome, Verdict, VerdictSubject

ID = CONNECT
TITLE = "Every node can connect to every other"


def judge(context: Context) -> tuple[Verdict, ...]:
    """One failure for each node, pair or address; nothing where all connected or nobody tried.

    Where a more basic fault explains what could not connect, such as a pulled cable, it is named.
    """
    return tuple(_verdict(one) for one in context.run.preflight if one.carries_nothing)


def _verdict(one: Finding) -> Verdict:
    of_network = one.where in ("", one.network)
    about = VerdictSubject(
        "network" if of_network else "place", one.network,
        () if of_network else one.nodes or (one.where,), "" if one.check == ID else one.check,
        place="" if of_network else one.where,
    )  # fmt: skip
    return verdict_on(
        ID, Outcome.FAIL, about, f"{one.what}; the rest was measured without it",
        evidence=(*one.evidence, one.why), remedy=one.remedy,
    )  # fmt: skip
