"""Measuring suspects once more: one pair at a time, against partners that are known to be good.

In a tournament's round many pairs measure at once, so that a slow pair may be the work of a
switch that others filled. Here all other ranks sleep. A suspect node meets good partners: if it
is slow with each of them it is at fault itself. Both ends of a suspect pair meet good partners
as well: if only the pair is slow, it is the way between them. Good pairs show what a pair does
that day.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Network
from fabricgauge.model.pairs import WAYS, Finding, Quantity, Suspect
from fabricgauge.model.plan import Case, PlannedLaunch
from fabricgauge.model.topology import Topology
from fabricgauge.plan.cases import cases
from fabricgauge.plan.profiles import MIB

_Size = tuple[Quantity, int]

#: Good partners of each suspect: one may turn out to be none, a third one decides.
PARTNERS = 3
#: So many good nodes meet each other: their pairs show how far good pairs differ.
CONTROLS = 5
#: Further suspects are left for another time: some minutes are what a check can spend on it.
MOST_SUSPECTS = 16
#: So many nodes stand for a suspect group.
NODES_OF_GROUP = 2
CASE_S = 0.5
SIZES: tuple[_Size, ...] = (("latency", 8), ("bandwidth", MIB))

#: Who meets whom, and with what.
_Meetings = dict[tuple[str, str], dict[_Size, None]]


class Again(msgspec.Struct, frozen=True):
    """What is measured again. ``left_out`` are suspects for which there was no room, by name."""

    launch: PlannedLaunch
    left_out: tuple[tuple[str, ...], ...]


def again(
    number: int,
    accused: Sequence[Finding | Suspect],
    healthy: Sequence[str],
    network: Network | None,
    payload_bytes_per_s: float,
    topology: Topology | None = None,
    doubtful: Sequence[Suspect] = (),
    order: Sequence[str] = (),
) -> Again | Skipped:
    """A launch that measures each of ``accused`` again, the worst first.

    Of ``doubtful`` pairs nobody is suspected: only they themselves are measured. ``healthy``
    are nodes that nobody suspects, the best first. ``topology`` says which nodes a suspect group
    has, and lets a node of its own group be among its partners. Ranks are in the ``order`` of
    these nodes, or as the meetings name them: a launcher need not be able to start them in
    another order than the allocation's.
    """
    within = topology or Topology()
    good = _good(accused, healthy, within)
    worst_first = sorted(accused, key=lambda one: -abs(one.effect))
    chosen = [one for one in worst_first if _nodes(one, within)][:MOST_SUSPECTS]
    if not chosen and not doubtful:
        return Skipped("nobody is suspected whose nodes are known")
    if not good:
        return Skipped("every node is suspected; there is no good partner to measure them against")
    planned = _planned(chosen, doubtful, good, within)
    nodes = dict.fromkeys(node for pair in planned for node in pair)
    ranked = (*(node for node in order if node in nodes), *(n for n in nodes if n not in order))
    launch = _launch(number, network, planned, ranked, payload_bytes_per_s)
    return Again(launch, tuple(one.names for one in worst_first if one not in chosen))


def _good(
    accused: Sequence[Finding | Suspect], healthy: Sequence[str], within: Topology
) -> tuple[str, ...]:
    """Nodes that are not suspected themselves, ends of suspect ways only after all others."""
    ends = {name for one in accused if one.part in WAYS for name in one.names}
    suspected = {
        name for one in accused if one.part not in WAYS for name in _nodes(one, within)
    }  # fmt: skip
    spared = [node for node in dict.fromkeys(healthy) if node not in suspected]
    return tuple(sorted(spared, key=lambda node: node in ends))


def _planned(
    chosen: Sequence[Finding | Suspect],
    doubtful: Sequence[Suspect],
    good: Sequence[str],
    within: Topology,
) -> _Meetings:
    planned: _Meetings = {}
    for pair, sizes in _asked(chosen, doubtful, good, within):
        known = pair[::-1] if pair[::-1] in planned else pair
        planned.setdefault(known, {}).update(dict.fromkeys(sizes))
    return planned


def _asked(
    chosen: Sequence[Finding | Suspect],
    doubtful: Sequence[Suspect],
    good: Sequence[str],
    within: Topology,
) -> Iterator[tuple[tuple[str, str], tuple[_Size, ...]]]:
    """Who is to meet whom with what: everybody's own meetings, and good pairs beside them."""
    controls = tuple(combinations(good[:CONTROLS], 2))
    for one in chosen:
        for pair in (*_meetings(one, good, within), *controls):
            yield pair, _sizes(one)
    for one in doubtful:
        own = tuple(size for size in SIZES if size[0] == one.quantity)
        for pair in (*combinations(one.names, 2), *controls):
            yield pair, own


def _nodes(one: Finding | Suspect, within: Topology) -> tuple[str, ...]:
    """The nodes that stand for what is accused; none for a group of unknown nodes."""
    if one.part == "group":
        members = (group.nodes for group in within.groups if group.name == one.names[0])
        return next(members, ())
    return one.names if one.part in WAYS else one.names[:1]


def _meetings(
    one: Finding | Suspect, good: Sequence[str], within: Topology
) -> Iterator[tuple[str, str]]:
    """Who is to meet whom: the accused among themselves, then each with good partners."""
    nodes = _nodes(one, within)
    if one.part == "group":
        nodes = nodes[:NODES_OF_GROUP]
    yield from combinations(nodes, 2)
    others = tuple(node for node in good if node not in nodes)
    for node in nodes:
        yield from ((node, partner) for partner in _partners(node, others, within))


def _partners(node: str, good: Sequence[str], within: Topology) -> tuple[str, ...]:
    """Good partners, one of them of the node's own group where there is one."""
    group = within.group_of(node)
    near = [other for other in good if group and within.group_of(other) == group][:1]
    far = [other for other in good if other not in near]
    return (*near, *far)[:PARTNERS]


def _sizes(one: Finding | Suspect) -> tuple[_Size, ...]:
    """Both quantities, for one often explains the other; also at the size of the accusation."""
    accused = ((one.quantity, one.message_bytes),) if isinstance(one, Finding) else ()
    return (*SIZES, *accused)


def _launch(
    number: int,
    network: Network | None,
    planned: _Meetings,
    nodes: tuple[str, ...],
    payload_bytes_per_s: float,
) -> PlannedLaunch:
    rank = {node: place for place, node in enumerate(nodes)}
    return PlannedLaunch(
        number=number,
        network=network.name if network else None,
        subnet=network.subnet if network else None,
        nodes=nodes,
        cases=tuple(
            case
            for (one, other), sizes in planned.items()
            for quantity, size in sizes
            for case in _cases(rank[one], rank[other], quantity, size, payload_bytes_per_s)
        ),
    )


def _cases(
    one: int, other: int, quantity: Quantity, size: int, payload_bytes_per_s: float
) -> Iterator[Case]:
    """Round trips, or a stream there and one back."""
    (case, *_) = cases((quantity,), (size,), CASE_S, payload_bytes_per_s)
    there_and_back = ((one, other), (other, one))
    for origin, target in there_and_back if quantity == "bandwidth" else there_and_back[:1]:
        yield msgspec.structs.replace(
            case, name=f"{quantity}/{size}/{origin}>{target}", origin=origin, target=target
        )
