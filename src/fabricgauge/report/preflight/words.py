"""What a preflight's reports say in words: the conclusion, what was looked at, what was not."""

import shlex
from collections import Counter
from collections.abc import Iterator

from fabricgauge.model.finding import Checked, Command, Diagnosis, Severity
from fabricgauge.report.visible import visible

#: Of more nodes the first and the last are named.
MOST_NAMED = 16


def conclusion(diagnosis: Diagnosis) -> str:
    """``1 finding (1 FAIL): 12 checks, 3 could not look``; never ``no finding`` for no look."""
    looked = [one for one in diagnosis.checked if one.skipped is None]
    missing = len(diagnosis.checked) - len(looked)
    if not looked:
        return "nothing could be checked"
    counts = Counter(finding.severity.value for finding in diagnosis.findings)
    told = ", ".join(f"{counts[one.value]} {one.value}" for one in Severity if counts[one.value])
    count = counts.total()
    found = f"{count} finding{'s' * (count != 1)} ({told})" if count else "no finding"
    rest = f", {missing} more could not look" if missing else ""
    return f"{found}: {len(looked)} check{'s' * (len(looked) != 1)} looked{rest}"


def looked_at(diagnosis: Diagnosis) -> str:
    """Nodes, networks, and how long counters were watched."""
    nodes = ", ".join(diagnosis.nodes) or "no node"
    if len(diagnosis.nodes) > MOST_NAMED:
        nodes = f"{len(diagnosis.nodes):,} nodes, {diagnosis.nodes[0]} to {diagnosis.nodes[-1]}"
    networks = ", ".join(diagnosis.networks) or "no network"
    watched = f"; counters watched for {diagnosis.seconds:g} s" if diagnosis.seconds else ""
    return visible(f"{nodes}; {networks}{watched}")


def command(one: Command) -> str:
    """A command as a person may paste it, with the node that it is for."""
    where = f"on {one.node}: " if one.node else "here: "
    return visible(f"{where}{shlex.join(one.argv)}")


def not_looked(diagnosis: Diagnosis) -> Iterator[tuple[str, str]]:
    """Checks that could not look, and trials that could not be made, each with the reason.

    A trial is left out where a check says the same.
    """
    reasons = {one.check: one.skipped.reason for one in diagnosis.checked if one.skipped}
    yield from reasons.items()
    for what, why in diagnosis.untried.items():
        if why not in reasons.values():
            yield f"part of {what}", why


def silent(diagnosis: Diagnosis) -> tuple[Checked, ...]:
    """Checks that looked and have no finding of their own."""
    return tuple(one for one in diagnosis.checked if not one.skipped and not one.findings)
