"""What was found wrong before the measurement, as likely causes of a bad figure."""

from collections.abc import Collection, Iterator, Sequence

from fabricgauge.model.finding import Finding, Severity
from fabricgauge.words import sentences

#: Checks whose findings a rule sees in the run itself, and those that make no stream slow.
NOT_A_CAUSE = frozenset(
    {"rate", "reach", "connect", "names", "clocks", "limits", "thp", "firewall", "likeness"}
)

#: Checks whose findings concern one interface: without a network it carries none of the traffic.
OF_AN_INTERFACE = frozenset({"link", "addresses", "counters"})

#: Commands, and lines of evidence, that stand in one sentence.
MOST_MENDS, MOST_LINES = 4, 2


def foreseen(
    preflight: Sequence[Finding], severity: Severity, network: str, ends: Collection[str]
) -> Iterator[tuple[str, str, str]]:
    """Cause, remedy and evidence of each finding about the network or about one of its ends."""
    for one in preflight:
        of_node = not one.network and one.check not in OF_AN_INTERFACE
        about = one.network == network or (of_node and set(ends) & set(one.nodes))
        if about and one.severity is severity and one.check not in NOT_A_CAUSE:
            mends = [f"on {do.node}: {sentences.command(do.argv)}" for do in one.mends[:MOST_MENDS]]
            yield (
                f"{one.where} {one.what} (found before the measurement, check {one.check})",
                "; ".join(mends) or one.remedy,
                "; ".join(one.evidence[:MOST_LINES]),
            )
