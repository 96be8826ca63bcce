"""Does every node answer?"""

from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.preflight import Preflight

ID = "reach"
TITLE = "Every node answers"
WHY = "Nothing can be started on a node that does not answer, and nothing is known of it."


def look(preflight: Preflight) -> tuple[Finding, ...] | Skipped:
    if not preflight.fabric.nodes and not preflight.fabric.unreached:
        return Skipped("there is no node to look at")
    return tuple(
        Finding(
            ID, Severity.FAIL, lost.name, "does not answer", (lost.reason,), WHY,
            "see whether the node is up, and whether you can run a command there by the same"
            " launcher (ssh NODE true)",
            nodes=(lost.name,),
        )
        for lost in preflight.fabric.unreached
    )  # fmt: skip
