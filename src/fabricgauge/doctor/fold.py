"""What follows from a more basic fault is told with that fault, not beside it.

A pulled cable makes echoes fail, too; a reader must be sent to the cable.
"""

from collections.abc import Mapping, Sequence

import msgspec

from fabricgauge.model.finding import THEREFORE, Checked, Finding, Severity

#: check: those whose findings on the same nodes explain its own.
EXPLAINED_BY: dict[str, frozenset[str]] = {
    "link": frozenset({"port"}),
    "rate": frozenset({"link"}),
    "carried": frozenset({"link", "rate", "rdma-rate", "mtu", "addresses"}),
    "mtu": frozenset({"ipoib"}),
    "arp": frozenset({"subnets"}),
    "reverse-path": frozenset({"subnets", "addresses", "link"}),
    "ping": frozenset({"link", "port", "addresses", "subnets", "reverse-path", "arp", "firewall"}),
    "names": frozenset({"addresses", "members"}),
    "counters": frozenset({"link", "mtu"}),
}

#: Faults that need not share a network with what follows from them.
OF_A_WHOLE_NODE = frozenset({"subnets", "arp", "firewall"})

_WORST_FIRST = tuple(Severity)


def folded(checked: Sequence[Checked]) -> tuple[Checked, ...]:
    """The same checks; each finding that another one explains is among its evidence instead.

    Findings are still those of single places: of two nodes with the same fault, it may follow
    from something else on one of them only.
    """
    every = [finding for one in checked for finding in one.findings]
    by_node: dict[str, list[Finding]] = {}
    for finding in every:
        for node in dict.fromkeys((*finding.nodes, *finding.affects)):
            by_node.setdefault(node, []).append(finding)
    causes = {id(one): cause for one in every if (cause := _cause(one, by_node)) is not None}
    below: dict[int, list[Finding]] = {}
    for finding in every:
        if id(finding) in causes:
            below.setdefault(id(_root(finding, causes)), []).append(finding)
    return tuple(
        msgspec.structs.replace(
            one,
            findings=tuple(
                _with(finding, below.get(id(finding), ()))
                for finding in one.findings
                if id(finding) not in causes
            ),
        )
        for one in checked
    )


def _cause(finding: Finding, by_node: Mapping[str, Sequence[Finding]]) -> Finding | None:
    """The first finding that explains this one, if all of it is explained.

    Of nodes that fail with each other, one may have no fault of its own: its partners have. What
    a node says of others is explained by their faults, not by its own.
    """
    causes = [
        next((one for one in by_node[node] if _explains(one, finding)), None)
        for node in finding.affects or finding.nodes
    ]
    found = [one for one in causes if one is not None]
    unexplained = len(causes) - len(found)
    return found[0] if found and unexplained <= int(len(causes) > 1) else None


def _explains(cause: Finding, finding: Finding) -> bool:
    """Nothing is hidden below what counts less than itself."""
    if cause.check not in EXPLAINED_BY.get(finding.check, ()):
        return False
    if _WORST_FIRST.index(cause.severity) > _WORST_FIRST.index(finding.severity):
        return False
    here = not finding.network or cause.network == finding.network
    return here or cause.check in OF_A_WHOLE_NODE


def _root(finding: Finding, causes: Mapping[int, Finding]) -> Finding:
    """The table has no cycles, so this ends."""
    cause = causes.get(id(finding))
    return finding if cause is None else _root(cause, causes)


def _with(finding: Finding, consequences: Sequence[Finding]) -> Finding:
    lines = tuple(f"{THEREFORE}{one.check}: {one.where}: {one.what}" for one in consequences)
    return msgspec.structs.replace(finding, evidence=(*finding.evidence, *lines))
