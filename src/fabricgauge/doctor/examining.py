"""Run all checks on one preflight, and put consequences under their causes.

A pulled cable makes echoes fail, too: the lost echoes are shown under the cable's finding. The same
fault on many nodes is one finding.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from fabricgauge.doctor.checks import CHECKS, load_checks
from fabricgauge.doctor.places import Cluster
from fabricgauge.model.errors import UsageError
from fabricgauge.model.finding import THEREFORE, Checked, Finding, Severity
from fabricgauge.model.groups import group_by
from fabricgauge.model.preflight import Preflight
from fabricgauge.model.words.sentences import listed


def examine(preflight: Preflight, check_ids: Collection[str] | None = None) -> tuple[Checked, ...]:
    """Run the checks with ``check_ids``, or all checks, and merge their findings.

    A finding is put only under a finding that is shown.
    """
    cluster = Cluster(preflight)
    return tuple(
        msgspec.structs.replace(checked, findings=merge_findings(checked.findings))
        for checked in fold_consequences([check.run(cluster) for check in load_checks(check_ids)])
    )


def choose_checks(only: Iterable[str], skip: Iterable[str]) -> tuple[str, ...]:
    """Return the ids of the checks that ``--only`` and ``--skip`` leave.

    Raises:
        UsageError: no check has that id, or no check is left.
    """
    included, excluded = list(only), list(skip)
    for name in (*included, *excluded):
        if name not in CHECKS:
            raise UsageError(f"no check {name!r}; the checks are {', '.join(CHECKS)}")
    chosen = tuple(name for name in CHECKS if name in (included or CHECKS) and name not in excluded)
    if not chosen:
        raise UsageError("--only and --skip leave no check")
    return chosen


#: By check, the checks whose findings on the same nodes explain its findings.
EXPLAINED_BY: dict[str, frozenset[str]] = {
    "link": frozenset({"port"}),
    "rate": frozenset({"link"}),
    "carried": frozenset({"link", "rate", "rdma-rate", "mtu", "addresses"}),
    "mtu": frozenset({"ipoib"}),
    "arp": frozenset({"subnets"}),
    "reverse-path": frozenset({"subnets", "addresses", "link"}),
    "ping": frozenset({"link", "port", "addresses", "subnets", "reverse-path", "arp", "firewall"}),
    "connect": frozenset(
        {
            "link",
            "port",
            "addresses",
            "subnets",
            "reverse-path",
            "arp",
            "firewall",
            "ping",
        }
    ),
    "names": frozenset({"addresses", "members"}),
    "counters": frozenset({"link", "mtu"}),
    "numa": frozenset({"gpu"}),
}

#: Checks whose faults explain consequences in every network of the node.
NODE_WIDE = frozenset({"subnets", "arp", "firewall"})

_WORST_FIRST = tuple(Severity)


def fold_consequences(checks: Sequence[Checked]) -> tuple[Checked, ...]:
    """Move each finding that another finding explains into the evidence of that one.

    This comes before findings are merged: the same fault may be a consequence on one node only.
    """
    findings = [finding for checked in checks for finding in checked.findings]
    findings_by_node: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        for node in {*finding.nodes, *finding.affects}:
            findings_by_node[node].append(finding)
    causes = {
        id(finding): cause
        for finding in findings
        if (cause := _find_cause(finding, findings_by_node)) is not None
    }
    consequences: dict[int, list[str]] = defaultdict(list)
    for finding in findings:
        root = finding
        while id(root) in causes:  # the table of causes has no cycles
            root = causes[id(root)]
        if root is not finding:
            sentence = f"{THEREFORE}{finding.check}: {finding.where}: {finding.what}"
            consequences[id(root)].append(sentence)
    folded = []
    for checked in checks:
        roots = (finding for finding in checked.findings if id(finding) not in causes)
        evidence = ((root, (*root.evidence, *consequences[id(root)])) for root in roots)
        roots_now = tuple(msgspec.structs.replace(root, evidence=lines) for root, lines in evidence)
        folded.append(msgspec.structs.replace(checked, findings=roots_now))
    return tuple(folded)


def _find_cause(
    finding: Finding, findings_by_node: Mapping[str, Sequence[Finding]]
) -> Finding | None:
    """Return the first finding that explains this one, if its nodes are explained.

    If several nodes fail with each other, one of them may lack a cause: its partners have it.
    The faults of ``affects`` explain a finding on other nodes, the faults of its own node do not.
    """
    causes = [
        next((cause for cause in findings_by_node[node] if _explains(cause, finding)), None)
        for node in finding.affects or finding.nodes
    ]
    known_causes = [cause for cause in causes if cause is not None]
    unexplained = len(causes) - len(known_causes)
    return known_causes[0] if known_causes and unexplained <= int(len(causes) > 1) else None


def _explains(cause: Finding, finding: Finding) -> bool:
    """Check whether ``finding`` follows from ``cause``.

    A less severe finding hides nothing, nor does a bridge's address, which no name means.
    """
    if cause.check == "addresses" and cause.severity is Severity.NOTE:
        return False
    if cause.check not in EXPLAINED_BY.get(finding.check, ()):
        return False
    if _WORST_FIRST.index(cause.severity) > _WORST_FIRST.index(finding.severity):
        return False
    same_network = not finding.network or cause.network == finding.network
    return same_network or cause.check in NODE_WIDE


#: Lines of evidence that are shown; the rest is counted.
MAX_LINES = 12


def merge_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Merge findings of one check with the same sentence and network, in order.

    Each node or pair that carries nothing keeps its finding: reports name it and leave it out.
    """
    groups = group_by(
        findings,
        lambda finding: (
            finding.check, finding.severity, finding.what, finding.network,
            finding.carries_nothing and finding.where,
        ),
    )  # fmt: skip
    return tuple(map(_merge_group, groups.values()))


def _merge_group(group: tuple[Finding, ...]) -> Finding:
    first = group[0]
    if len(group) == 1:
        return msgspec.structs.replace(first, evidence=_limit_evidence(first.evidence))
    return msgspec.structs.replace(
        first,
        where=listed(list(dict.fromkeys(finding.where for finding in group))),
        nodes=tuple(dict.fromkeys(node for finding in group for node in finding.nodes)),
        evidence=_limit_evidence(dict.fromkeys(e for finding in group for e in finding.evidence)),
        affects=tuple(dict.fromkeys(node for finding in group for node in finding.affects)),
        mends=tuple(dict.fromkeys(command for finding in group for command in finding.mends)),
    )


def _limit_evidence(lines: Iterable[str]) -> tuple[str, ...]:
    """Limit evidence and consequences apart, so that evidence never hides consequences."""
    evidence, consequences = list[str](), list[str]()
    for line in lines:
        (consequences if line.startswith(THEREFORE) else evidence).append(line)
    return (*limit_lines(evidence), *limit_lines(consequences))


def limit_lines(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the first lines, and the number of further lines."""
    if len(lines) <= MAX_LINES:
        return tuple(lines)
    return (*lines[: MAX_LINES - 1], f"and {len(lines) - MAX_LINES + 1:,} more such lines")
