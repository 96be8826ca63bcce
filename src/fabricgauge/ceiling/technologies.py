"""The function that works out the ceiling of each technology."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from fabricgauge.ceiling import binding, ethernet, infiniband, ipoib, unframed
from fabricgauge.ceiling.packet import unknown
from fabricgauge.model.absence import Skipped
from fabricgauge.model.adapter import PATH_MTUS
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.fabric import OVER_TCP, Network
from fabricgauge.model.measurement import UsedVerbs
from fabricgauge.model.run import Launch

CEILINGS: dict[str, Callable[[Network], Ceiling | Skipped]] = {
    "ethernet": ethernet.ceiling,
    "roce-v1": ethernet.roce_v1,
    "roce-v2": ethernet.roce_v2,
    "iwarp": ethernet.iwarp,
    "infiniband": infiniband.ceiling,
    "omni-path": infiniband.omni_path,
    "ipoib": ipoib.ceiling,
    "slingshot": unframed.slingshot,
    "efa": unframed.efa,
    "nvlink": unframed.nvlink,
    "pcie": binding.pcie,
    "cxl": unframed.cxl,
    "simulated": unframed.simulated,
}


#: The RDMA MTUs that may be in force where none is stated. An adapter on an interface with an
#: MTU of 1500 has 1024 (see ``ethernet``), a subnet manager's usual one is 2048 or 4096.
LIKELY_MTUS = (1024, 2048, 4096)
RDMA = ("roce-v1", "roce-v2", "infiniband")
#: The step of their sums that has the MTU.
MTU_LABELS = ("MTU", "RDMA MTU")


def ceiling(network: Network) -> Ceiling | Skipped:
    """The ceiling of one network; Skipped with the reason when it cannot be worked out."""
    work_out = CEILINGS.get(network.technology)
    if work_out is None:
        known = ", ".join(sorted(CEILINGS))
        return Skipped(
            f"{network.name}: no ceiling is known for technology {network.technology!r}"
            f" (known: {known})"
        )
    found = unknown(network) or work_out(network)
    mtus = _shared_mtus(network)
    if not isinstance(found, Skipped) and len(mtus) > 1:
        return _of_members(network, mtus)
    is_rdma = network.technology in RDMA or network.link == "Slingshot-10"
    if isinstance(found, Skipped) or "mtu" not in network.assumed or not is_rdma:
        return found
    replace = msgspec.structs.replace
    each = {one: work_out(replace(network, stated_mtu_bytes=one)) for one in LIKELY_MTUS}
    return replace(found, by_mtu=_limits(each))


def _limits(each: Mapping[int, Ceiling | Skipped]) -> dict[int, float]:
    return {mtu: of.payload_bytes_per_s for mtu, of in each.items() if isinstance(of, Ceiling)}


def _shared_mtus(network: Network) -> tuple[int, ...]:
    """The MTUs that pairs of nodes have by their interfaces, ascending; none where one is stated.

    Of two that differ the smaller one holds, so that the largest of all has to be there twice.
    """
    if network.technology not in OVER_TCP or isinstance(network.stated_mtu_bytes, int):
        return ()
    nodes: dict[str, int] = {}
    for one in network.members:
        nodes[one.node] = max(one.mtu_bytes, nodes.get(one.node, 0))
    return tuple(sorted(set(sorted(nodes.values())[:-1])))


def _of_members(network: Network, mtus: Sequence[int]) -> Ceiling | Skipped:
    """Of pairs of several MTUs the largest one's; ``by_mtu`` has each."""
    replace, work_out = msgspec.structs.replace, CEILINGS[network.technology]
    each = {mtu: work_out(replace(network, stated_mtu_bytes=mtu)) for mtu in mtus}
    largest = each[mtus[-1]]
    if isinstance(largest, Skipped):
        return largest
    smaller = ", ".join(map(str, mtus[:-1]))
    told = f"the largest that two nodes share, which no sound figure is above; others: {smaller}"
    steps = tuple(
        replace(one, expression=told) if one.label in MTU_LABELS else one for one in largest.steps
    )
    return replace(largest, steps=steps, by_mtu=_limits(each))


def ceilings(
    networks: Iterable[Network], launches: Sequence[Launch] = ()
) -> dict[str, Ceiling | Skipped]:
    """The ceiling of each network, by the network's name.

    Where ``launches`` went over verbs it is that of their queue pairs' path MTU.
    """
    return {network.name: _of_queue_pairs(network, launches) for network in networks}


def _of_queue_pairs(network: Network, launches: Sequence[Launch]) -> Ceiling | Skipped:
    """Of several MTUs the largest one's, which no sound figure is above; ``by_mtu`` has each."""
    found, used = ceiling(network), _path_mtus(network, launches)
    if isinstance(found, Skipped) or not used:
        return found
    replace, work_out = msgspec.structs.replace, CEILINGS[network.technology]
    each = {mtu: work_out(replace(network, stated_mtu_bytes=mtu)) for mtu in used}
    largest = each[max(used)]
    if isinstance(largest, Skipped):
        return largest
    (own,) = (one for one in found.steps if one.label in MTU_LABELS)
    told = f"{_told(used)}; the network's: {own.value:g}, {own.expression}"
    steps = tuple(
        replace(one, label="path MTU", expression=told) if one.label in MTU_LABELS else one
        for one in largest.steps
    )
    return replace(largest, steps=steps, by_mtu=_limits(each) if len(used) > 1 else {})


def _path_mtus(network: Network, launches: Sequence[Launch]) -> dict[int, list[int]]:
    """The numbers of the launches by their queue pairs' path MTU, where packets are as large.

    Of Omni-Path verbs say 4096 for larger ones as well: see ``RdmaPort.path_mtu_bytes``.
    """
    found: dict[int, list[int]] = {}
    for one in launches:
        used = one.header.transport if one.header else None
        if one.network == network.name and one.completed and isinstance(used, UsedVerbs):
            found.setdefault(used.path_mtu_bytes, []).append(one.number)
    is_told = network.technology == "omni-path" and PATH_MTUS[-1] not in found
    return found if is_told or network.technology in RDMA else {}


def _told(used: Mapping[int, Sequence[int]]) -> str:
    said = "of the queue pairs, as the launches over verbs say"
    if len(used) == 1:
        return said
    each = (f"{mtu} (launch {', '.join(map(str, of))})" for mtu, of in sorted(used.items()))
    return f"{said}: {'; '.join(each)}; the largest, which no sound figure is above"
