"""Locate the ranks of a launch, find misplaced ones, and read their waits for processors."""

from collections.abc import Iterable, Iterator, Sequence

from fabricgauge.model.absence import Skipped
from fabricgauge.model.evidence import LaunchPlacement, MisplacedRank
from fabricgauge.model.fabric import Fabric, Node
from fabricgauge.model.measurement import Measurement, Placement, ProcessorUse
from fabricgauge.model.run import Launch


def locate_ranks(launch: Launch, fabric: Fabric, *, same_boot: bool = True) -> LaunchPlacement:
    """Return where the ranks ran; nothing is concluded if some of them have no record.

    With ``same_boot`` the nodes run since discovery: another boot id is another node or run.
    """
    expected = max(2, len(launch.nodes))
    if len(launch.placements) < expected:
        return LaunchPlacement(launch.number, launch.placements, expected)
    nodes = group_by_node(launch.placements)
    machines: dict[str, list[Placement]] = {}
    for ranks in nodes:
        first = ranks[0]
        machines.setdefault(first.boot_id or f"unknown, {first.host}", []).append(first)
    return LaunchPlacement(
        launch=launch.number,
        ranks=launch.placements,
        expected=expected,
        shared=tuple(_find_shared(launch, nodes)),
        machines=tuple(map(tuple, machines.values())),
        misplaced=tuple(
            _describe_misplaced(fabric, placement, launch.nodes[placement.rank])
            for placement in launch.placements
            if 0 <= placement.rank < len(launch.nodes)
            and not _ran_on(fabric, placement, launch.nodes[placement.rank], same_boot)
        ),
    )


def group_by_node(placements: Sequence[Placement]) -> tuple[tuple[Placement, ...], ...]:
    """Group ranks by the node on which they ran, in rank order: by kernel and network stack.

    The host name replaces an unknown boot id, and the network stack if it is unknown for one of
    the kernel's ranks. Several nodes may have one host name.
    """
    node_of: dict[tuple[str, str, str], int] = {}
    nodes: dict[int, list[Placement]] = {}
    unknown_stack = {placement.boot_id for placement in placements if not placement.net_namespace}
    for placement in sorted(placements, key=lambda placement: placement.rank):
        signs = [("stack", placement.boot_id, placement.net_namespace)]
        if not placement.boot_id:
            signs = [("host", "", placement.host)]
        elif placement.boot_id in unknown_stack:
            signs.append(("host", placement.boot_id, placement.host))
        nodes_with_signs = [node_of[sign] for sign in signs if sign in node_of]
        node = min(nodes_with_signs, default=placement.rank)
        for merged in set(nodes_with_signs) - {node}:  # this rank joins two nodes into one
            nodes[node] += nodes.pop(merged)
            node_of = {
                sign: node if number == merged else number for sign, number in node_of.items()
            }
        node_of.update(dict.fromkeys(signs, node))
        nodes.setdefault(node, []).append(placement)
    return tuple(tuple(ranks) for ranks in nodes.values())


def _find_shared(
    launch: Launch, nodes: Sequence[tuple[Placement, ...]]
) -> Iterator[tuple[Placement, ...]]:
    """Yield ranks that share a node but were meant for several, or all ranks on one node."""
    for ranks in nodes:
        meant_nodes = {
            launch.nodes[placement.rank]
            for placement in ranks
            if 0 <= placement.rank < len(launch.nodes)
        }
        if len(ranks) > 1 and (len(meant_nodes) > 1 or len(nodes) == 1):
            yield ranks


def _describe_misplaced(fabric: Fabric, placement: Placement, meant: str) -> MisplacedRank:
    known = fabric.nodes_on(placement.boot_id, placement.net_namespace)
    name = known[0].name if known and placement.boot_id and placement.net_namespace else ""
    node = fabric.node(meant)
    if isinstance(node, Skipped):
        return MisplacedRank(placement.rank, placement.host, meant, name)
    differences = (
        f"its {what} is {on_rank}, that of {node.name} is {on_node}"
        for what, on_rank, on_node in (
            ("boot id", placement.boot_id, node.boot_id),
            ("network namespace", placement.net_namespace, node.net_namespace),
        )
        if on_rank and on_node and on_rank != on_node
    )
    is_unknown_boot = placement.boot_id not in {"", *(known.boot_id for known in fabric.nodes)}
    restarted = _has_name_of(placement, node) and bool(node.boot_id) and is_unknown_boot
    difference = next(differences, "")
    return MisplacedRank(placement.rank, placement.host, meant, name, difference, restarted)


def _ran_on(fabric: Fabric, placement: Placement, meant_node: str, same_boot: bool) -> bool:
    """Check by kernel and network stack; by host name if discovery saw no such stack."""
    stack = (placement.boot_id, placement.net_namespace)
    on_stack = fabric.nodes_on(*stack)
    if all(stack) and on_stack:
        return any(known.name == meant_node for known in on_stack)
    node = fabric.node(meant_node)
    if isinstance(node, Skipped):
        return _short(placement.host) == _short(meant_node)
    # A node that was not booted since discovery has its boot id.
    return _has_name_of(placement, node) and not (
        same_boot and _is_other_stack(fabric, node, placement)
    )


def _has_name_of(placement: Placement, node: Node) -> bool:
    return _short(placement.host) in {_short(node.name), _short(node.hostname)}


def _is_other_stack(fabric: Fabric, node: Node, placement: Placement) -> bool:
    if not (node.boot_id and placement.boot_id) or fabric.simulated:
        return False
    if node.boot_id != placement.boot_id:
        return True
    stacks = node.net_namespace, placement.net_namespace
    return fabric.virtual and all(stacks) and stacks[0] != stacks[1]


def _short(name: str) -> str:
    """Return a host name without its domain."""
    return name.partition(".")[0]


def waits(measurements: Iterable[Measurement], rank: int | None = None) -> list[float]:
    """Return the share of each case's time that a rank, or each rank, waited for a processor.

    The share of a rank with several threads is their mean. Steal counts as waiting as well, since
    the node's kernel does not see it. If only one of both is known, the share is a lower bound. A
    case with neither has no share.
    """
    return [
        sum(shares)
        for measurement in measurements
        for use in measurement.processors
        if rank in (None, use.rank)
        and measurement.wall_s > 0
        and (shares := _waiting_shares(measurement, use))
    ]


def _waiting_shares(measurement: Measurement, use: ProcessorUse) -> list[float]:
    delay_s = use.run_delay_s
    shares = (
        []
        if isinstance(delay_s, Skipped)
        else [delay_s / (measurement.wall_s * measurement.threads)]
    )
    steal = use.node_steal_share
    return shares if isinstance(steal, Skipped) else [*shares, steal]


def throttles(measurements: Iterable[Measurement], rank: int) -> list[float]:
    """Return the share of each case's time that a processor quota held a rank back, at most 1."""
    return [
        min(1.0, use.throttled_s / measurement.wall_s)
        for measurement in measurements
        for use in measurement.processors
        if use.rank == rank and measurement.wall_s > 0 and not isinstance(use.throttled_s, Skipped)
    ]


def unseen_waits(measurements: Iterable[Measurement]) -> str:
    """Return a sentence on ranks whose waits for processors are unknown; empty if none."""
    reasons = {
        use.rank: use.run_delay_s.reason
        for measurement in measurements
        for use in measurement.processors
        if isinstance(use.run_delay_s, Skipped)
    }
    if not reasons:
        return ""
    rank, reason = min(reasons.items())
    more_ranks = f" (and for {len(reasons) - 1} other ranks)" if len(reasons) > 1 else ""
    return f"waits for a processor are unknown for rank {rank}{more_ranks}: {reason}"
