"""Where the ranks of a launch ran, who ran elsewhere than meant, and who waited for a processor."""

from collections.abc import Iterable, Iterator, Sequence

from fabricgauge.model.absence import Skipped
from fabricgauge.model.evidence import Misplaced, Placed
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.measurement import Measurement, Placement, ProcessorUse
from fabricgauge.model.run import Launch


def placed(launch: Launch, fabric: Fabric) -> Placed:
    """What the ranks said; nothing is concluded where some of them did not say it."""
    expected = max(2, len(launch.nodes))
    if len(launch.placements) < expected:
        return Placed(launch.number, launch.placements, expected)
    nodes = by_node(launch.placements)
    machines: dict[str, list[Placement]] = {}
    for ranks in nodes:
        first = ranks[0]
        machines.setdefault(first.boot_id or f"unknown, {first.host}", []).append(first)
    return Placed(
        launch=launch.number,
        ranks=launch.placements,
        expected=expected,
        shared=tuple(_shared(launch, nodes)),
        machines=tuple(map(tuple, machines.values())),
        misplaced=tuple(
            Misplaced(one.rank, one.host, launch.nodes[one.rank])
            for one in launch.placements
            if 0 <= one.rank < len(launch.nodes) and not _is_on(fabric, one, launch.nodes[one.rank])
        ),
    )


def by_node(placements: Sequence[Placement]) -> tuple[tuple[Placement, ...], ...]:
    """Ranks that ran on the same node, in rank order: one kernel, and in it one network stack.

    The host name stands for a boot id that is not known, and for a network stack that one of the
    kernel's ranks does not tell. Several nodes may have one host name.
    """
    node_of: dict[tuple[str, str, str], int] = {}
    nodes: dict[int, list[Placement]] = {}
    unknown_stack = {one.boot_id for one in placements if not one.net_namespace}
    for one in sorted(placements, key=lambda one: one.rank):
        signs = _signs(one, by_host=one.boot_id in unknown_stack)
        known = [node_of[sign] for sign in signs if sign in node_of]
        node = min(known, default=one.rank)
        for other in set(known) - {node}:  # this rank shows that two nodes are one
            nodes[node] += nodes.pop(other)
            node_of = {sign: node if at == other else at for sign, at in node_of.items()}
        node_of.update(dict.fromkeys(signs, node))
        nodes.setdefault(node, []).append(one)
    return tuple(tuple(ranks) for ranks in nodes.values())


def _signs(one: Placement, *, by_host: bool) -> tuple[tuple[str, str, str], ...]:
    if not one.boot_id:
        return (("host", "", one.host),)
    host = (("host", one.boot_id, one.host),) if by_host else ()
    return ("stack", one.boot_id, one.net_namespace), *host


def _shared(
    launch: Launch, nodes: Sequence[tuple[Placement, ...]]
) -> Iterator[tuple[Placement, ...]]:
    """Ranks on one node that were meant for several, or all of them on the only one."""
    for ranks in nodes:
        meant = {launch.nodes[one.rank] for one in ranks if 0 <= one.rank < len(launch.nodes)}
        if len(ranks) > 1 and (len(meant) > 1 or len(nodes) == 1):
            yield ranks


def _is_on(fabric: Fabric, placement: Placement, meant: str) -> bool:
    """Check by kernel and network stack; by host name if discovery saw no such stack."""
    stack = (placement.boot_id, placement.net_namespace)
    on_stack = {one.name for one in fabric.nodes if (one.boot_id, one.net_namespace) == stack}
    if all(stack) and on_stack:
        return meant in on_stack
    names = {meant}
    node = fabric.node(meant)
    if not isinstance(node, Skipped):
        names |= {node.name, node.hostname}
    return _short(placement.host) in {_short(name) for name in names}


def _short(name: str) -> str:
    """A host name without its domain."""
    return name.partition(".")[0]


def waits(measurements: Iterable[Measurement], rank: int | None = None) -> list[float]:
    """Share of each case's time that a rank, or each of them, waited for a processor.

    Of a rank with several threads it is their mean. Steal is counted as waiting as well:
    nobody told the node's kernel of it. Where only one of the two was seen, it is the least
    that a rank waited; a case in which neither was seen has no share.
    """
    return [
        sum(shares)
        for one in measurements
        for use in one.processors
        if rank in (None, use.rank) and one.wall_s > 0 and (shares := _waited(one, use))
    ]


def _waited(one: Measurement, use: ProcessorUse) -> list[float]:
    own = use.run_delay_s
    shares = [] if isinstance(own, Skipped) else [own / (one.wall_s * one.threads)]
    steal = use.node_steal_share
    return shares if isinstance(steal, Skipped) else [*shares, steal]


def throttles(measurements: Iterable[Measurement], rank: int) -> list[float]:
    """Share of each case's time that a quota of processor time held a rank back, at most 1."""
    return [
        min(1.0, use.throttled_s / one.wall_s)
        for one in measurements
        for use in one.processors
        if use.rank == rank and one.wall_s > 0 and not isinstance(use.throttled_s, Skipped)
    ]


def unseen_waits(measurements: Iterable[Measurement]) -> str:
    """A sentence on ranks whose waiting for processors was not seen; empty if there are none."""
    found = {
        use.rank: use.run_delay_s.reason
        for one in measurements
        for use in one.processors
        if isinstance(use.run_delay_s, Skipped)
    }
    if not found:
        return ""
    rank, reason = min(found.items())
    others = f" (nor of {len(found) - 1} other ranks)" if len(found) > 1 else ""
    return f"whether rank {rank} waited for a processor could not be seen{others}: {reason}"
