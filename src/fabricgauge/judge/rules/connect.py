"""Could every node connect to every other before anything was measured?"""

from fabricgauge.judge.interface import Context
from fabricgauge.model.finding import THEREFORE, Finding
from fabricgauge.model.verdict import Outcome, Verdict

ID = "connect"
TITLE = "Every node can connect to every other"


def judge(context: Context) -> tuple[Verdict, ...]:
    """One failure for each node, pair or address; nothing where all connected or nobody tried.

    Where a more basic fault explains what could not connect, such as a pulled cable, it is named.
    """
    return tuple(_verdict(one) for one in context.run.preflight if _stops_connections(one))


def _stops_connections(one: Finding) -> bool:
    follows = any(line.startswith(f"{THEREFORE}{ID}:") for line in one.evidence)
    return one.check == ID or follows


def _verdict(one: Finding) -> Verdict:
    subject = one.network if one.where == one.network else f"{one.network}, {one.where}"
    return Verdict(
        ID, Outcome.FAIL, subject, f"{one.what}; the rest was measured without it",
        evidence=(*one.evidence, one.why), remedy=one.remedy,
    )  # fmt: skip
