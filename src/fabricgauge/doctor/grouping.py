"""The same fault on many nodes is one finding."""

from collections.abc import Iterable

import msgspec

from fabricgauge.doctor.wording import listed
from fabricgauge.model.finding import THEREFORE, Finding

#: Lines of evidence that a reader still reads; the rest is counted.
MOST_LINES = 12


def together(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings of one check with the same sentence and network put together, in order."""
    groups: dict[tuple[str, str, str, str], list[Finding]] = {}
    for one in findings:
        key = (one.check, one.severity.value, one.what, one.network)
        groups.setdefault(key, []).append(one)
    return tuple(_one(group) for group in groups.values())


def _one(group: list[Finding]) -> Finding:
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
    """What follows from a finding is never left out for want of room."""
    own: list[str] = []
    consequences: list[str] = []
    for line in lines:
        (consequences if line.startswith(THEREFORE) else own).append(line)
    return (*bounded(own), *bounded(consequences))


def bounded(lines: Iterable[str]) -> tuple[str, ...]:
    """The first lines, and how many more there are."""
    every = tuple(lines)
    if len(every) <= MOST_LINES:
        return every
    return (*every[: MOST_LINES - 1], f"and {len(every) - MOST_LINES + 1:,} more such lines")
