"""Whose measurements show nothing good: nodes, and ways between two nodes."""

from collections.abc import Iterable

import msgspec

from fabricgauge.model.pairs import WAYS, Finding, PairAnalysis, Suspect
from fabricgauge.stats.series import Series


class Doubted(msgspec.Struct, frozen=True):
    """Nodes that are named or suspected themselves, and pairs of which only the way is."""

    nodes: frozenset[str]
    ways: frozenset[frozenset[str]]

    def spares(self, one: Series) -> bool:
        """Whether a series shows what good pairs do."""
        ends = frozenset((one.origin, one.target))
        return not ends & self.nodes and ends not in self.ways


def doubted(analyses: Iterable[PairAnalysis]) -> Doubted:
    """Everybody whom these analyses name, suspect, or want to be measured again."""
    nodes: set[str] = set()
    ways: set[frozenset[str]] = set()
    for analysis in analyses:
        named = [one for one in analysis.findings if one.explanation == "fault"]
        everybody: list[Finding | Suspect] = [*named, *analysis.suspects, *analysis.doubtful]
        for one in everybody:
            if one.part in WAYS:
                ways.add(frozenset(one.names))
            else:
                nodes.update(nodes_of(analysis, one))
    return Doubted(frozenset(nodes), frozenset(ways))


def nodes_of(analysis: PairAnalysis, one: Finding | Suspect) -> tuple[str, ...]:
    """The nodes that are named, those of a group one by one."""
    if one.part != "group":
        return one.names[:1] if one.part == "rail" else one.names
    groups = (group.nodes for group in analysis.groups if group.name == one.names[0])
    return next(groups, ())
