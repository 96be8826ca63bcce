"""Pairs of nodes that fail → who is at fault."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping

from fabricgauge.model.preflight import Ping

Pair = tuple[str, str]

#: A node is accused by itself once so many of its pairs fail; a single one may be the other's.
LEAST_PAIRS = 2


def pair(one: str, other: str) -> Pair:
    """The pair's name, whichever of them came first."""
    return (one, other) if one <= other else (other, one)


def twins(pings: Iterable[Ping]) -> list[str]:
    """Nodes that send from another's address: answers to one of them reach the other."""
    senders: dict[str, set[str]] = defaultdict(set)
    for ping in pings:
        senders[ping.source_ip].add(ping.source)
    return sorted({node for nodes in senders.values() if len(nodes) > 1 for node in nodes})


def concerns(who: tuple[str, ...], name: Pair) -> bool:
    """Whether a pair is among those that ``who`` was blamed for: all of one node's, else only
    those between the nodes blamed together."""
    return who[0] in name if len(who) == 1 else set(name) <= set(who)


def blamed(
    failed: Mapping[Pair, bool], suspects: Iterable[str] = ()
) -> tuple[tuple[str, ...], ...]:
    """Groups of nodes at fault: one node, the two of a pair, or all of them.

    ``suspects``, who are known to be at fault, are taken first; then whoever fails with most
    partners. What each explains is set aside. Where every pair of three or more nodes fails,
    nobody is more at fault than another.
    """
    bad = {name for name, fails in failed.items() if fails}
    found: list[tuple[str, ...]] = []
    for node in suspects:
        if any(node in name for name in bad):
            found.append((node,))
            bad = {name for name in bad if node not in name}
    everybody = sorted({node for name in failed for node in name})
    if bad and bad == set(failed) and len(everybody) > LEAST_PAIRS:
        return (tuple(everybody),)
    while bad:
        counts = Counter(node for name in bad for node in name)
        most = max(counts.values())
        if most < LEAST_PAIRS:
            break
        worst = min(node for node, count in counts.items() if count == most)
        found.append((worst,))
        bad = {name for name in bad if worst not in name}
    well = {node for name, fails in failed.items() if not fails for node in name}
    return (*found, *(_of_pair(name, well) for name in sorted(bad)))


def _of_pair(name: Pair, well: Collection[str]) -> tuple[str, ...]:
    """Of two of whom one does well with others, the one who does with nobody."""
    alone = [node for node in name if node not in well]
    return (alone[0],) if len(alone) == 1 else name
