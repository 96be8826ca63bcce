"""All checks on one preflight, and what came of them: causes above what follows from them.

What follows from a more basic fault is told with that fault, not beside it: a pulled cable makes
echoes fail, too, and a reader must be sent to the cable. The same fault on many nodes is one
finding.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from fabricgauge.doctor.checks import CHECKS
from fabricgauge.doctor.checks.addresses import ADDRESSES
from fabricgauge.doctor.places import Cluster
from fabricgauge.model.errors import UsageError
from fabricgauge.model.finding import THEREFORE, Checked, Finding, Severity
from fabricgauge.model.groups import grouped
from fabricgauge.model.preflight import Preflight
from fabricgauge.words.sentences import listed


def examine(preflight: Preflight, wanted: Collection[str] | None = None) -> tuple[Checked, ...]:
    """What each check finds; ``wanted`` are the checks that look, all without it.

    A finding is only put under another one that is shown.
    """
    cluster = Cluster(preflight)
    looking = [check for check in CHECKS if wanted is None or check.id in wanted]
    return tuple(
        msgspec.structs.replace(one, findings=together(one.findings))
        for one in folded([check.looked(cluster) for check in looking])
    )


def chosen(only: Iterable[str], skip: Iterable[str]) -> tuple[str, ...]:
    """The checks that ``--only`` and ``--skip`` leave.

    Raises:
        UsageError: a check that there is none of, or none is left.
    """
    known = [check.id for check in CHECKS]
    asked, left_out = list(only), list(skip)
    for name in (*asked, *left_out):
        if name not in known:
            raise UsageError(f"no check {name!r}; there is {', '.join(known)}")
    found = tuple(name for name in known if name in (asked or known) and name not in left_out)
    if not found:
        raise UsageError("--only and --skip leave no check")
    return found


#: check: those whose findings on the same nodes explain its own.
EXPLAINED_BY: dict[str, frozenset[str]] = {
    "link": frozenset({"port"}),
    "rate": frozenset({"link"}),
    "carried": frozenset({"link", "rate", "rdma-rate", "mtu", "addresses"}),
    "mtu": frozenset({"ipoib"}),
    "arp": frozenset({"subnets"}),
    "reverse-path": frozenset({"subnets", "addresses", "link"}),
    "ping": frozenset({"link", "port", "addresses", "subnets", "reverse-path", "arp", "firewall"}),
    "connect": frozenset(
        {"link", "port", "addresses", "subnets", "reverse-path", "arp", "firewall", "ping"}
    ),
    "names": frozenset({"addresses", "members"}),
    "counters": frozenset({"link", "mtu"}),
    "numa": frozenset({"gpu"}),
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
    by_node: dict[str, list[Finding]] = defaultdict(list)
    for finding in every:
        for node in {*finding.nodes, *finding.affects}:
            by_node[node].append(finding)
    causes = {id(one): cause for one in every if (cause := _cause(one, by_node)) is not None}
    below: dict[int, list[str]] = defaultdict(list)
    for finding in every:
        root = finding
        while id(root) in causes:  # the table of causes has no cycles
            root = causes[id(root)]
        if root is not finding:
            told = f"{THEREFORE}{finding.check}: {finding.where}: {finding.what}"
            below[id(root)].append(told)
    return tuple(
        msgspec.structs.replace(
            one,
            findings=tuple(
                msgspec.structs.replace(each, evidence=(*each.evidence, *below[id(each)]))
                for each in one.findings
                if id(each) not in causes
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
    """Nothing is hidden below what counts less than itself, or below a bridge's address, which no
    name means."""
    if cause.check == ADDRESSES.id and cause.severity is Severity.NOTE:
        return False
    if cause.check not in EXPLAINED_BY.get(finding.check, ()):
        return False
    if _WORST_FIRST.index(cause.severity) > _WORST_FIRST.index(finding.severity):
        return False
    here = not finding.network or cause.network == finding.network
    return here or cause.check in OF_A_WHOLE_NODE


#: Lines of evidence that a reader still reads; the rest is counted.
MOST_LINES = 12


def together(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings of one check with the same sentence and network put together, in order.

    Each node or pair that carries nothing stays on its own: reports name it, and take it out.
    """
    groups = grouped(
        findings,
        lambda one: (
            one.check, one.severity, one.what, one.network, one.carries_nothing and one.where
        ),
    )  # fmt: skip
    return tuple(map(_as_one, groups.values()))


def _as_one(group: tuple[Finding, ...]) -> Finding:
    first = group[0]
    if len(group) == 1:
        return msgspec.structs.replace(first, evidence=_evidence(first.evidence))
    return msgspec.structs.replace(
        first,
        where=listed(list(dict.fromkeys(one.where for one in group))),
        nodes=tuple(dict.fromkeys(node for one in group for node in one.nodes)),
        evidence=_evidence(dict.fromkeys(line for one in group for line in one.evidence)),
        affects=tuple(dict.fromkeys(node for one in group for node in one.affects)),
        mends=tuple(dict.fromkeys(command for one in group for command in one.mends)),
    )


def _evidence(lines: Iterable[str]) -> tuple[str, ...]:
    """What follows from a finding is never left out to save room."""
    every = tuple(lines)
    own = (line for line in every if not line.startswith(THEREFORE))
    consequences = (line for line in every if line.startswith(THEREFORE))
    return (*bounded(own), *bounded(consequences))


def bounded(lines: Iterable[str]) -> tuple[str, ...]:
    """The first lines, and how many more there are."""
    every = tuple(lines)
    if len(every) <= MOST_LINES:
        return every
    return (*every[: MOST_LINES - 1], f"and {len(every) - MOST_LINES + 1:,} more such lines")
