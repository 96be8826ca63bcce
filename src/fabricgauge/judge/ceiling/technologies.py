"""Compute the ceiling of each technology."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Literal, NamedTuple

import msgspec

from fabricgauge.judge.ceiling.capacity import unknown
from fabricgauge.model.absence import Skipped
from fabricgauge.model.adapter import PATH_MTUS
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.fabric import OVER_TCP, Network
from fabricgauge.model.measurement import UsedVerbs
from fabricgauge.model.run import Launch

#: The path of a small message: the kernel's TCP, an adapter, or a path between memories.
Floor = Literal["tcp", "rdma", "iwarp", "slingshot", "efa", "memory"]


class Technology(NamedTuple):
    """The module of this folder with the ceiling's function, and the floor of latency."""

    ceiling: str
    floor: Floor


#: A module is loaded if a network has the technology. ``ipoib`` is TCP over either link.
TECHNOLOGIES: dict[str, Technology] = {
    "ethernet": Technology("ethernet.ceiling", "tcp"),
    "roce-v1": Technology("ethernet.roce_v1", "rdma"),
    "roce-v2": Technology("ethernet.roce_v2", "rdma"),
    "iwarp": Technology("ethernet.iwarp", "iwarp"),
    "infiniband": Technology("infiniband.ceiling", "rdma"),
    "omni-path": Technology("infiniband.omni_path", "rdma"),
    "ipoib": Technology("infiniband.ipoib", "tcp"),
    "slingshot": Technology("unframed.slingshot", "slingshot"),
    "efa": Technology("unframed.efa", "efa"),
    "nvlink": Technology("unframed.nvlink", "memory"),
    "pcie": Technology("capacity.pcie", "memory"),
    "cxl": Technology("unframed.cxl", "memory"),
    "simulated": Technology("unframed.simulated", "rdma"),
}

#: The RDMA MTUs that may be in force if none is stated. An adapter on an interface with an
#: MTU of 1500 has 1024 (see ``ethernet``), a subnet manager's usual one is 2048 or 4096.
LIKELY_MTUS = (1024, 2048, 4096)
RDMA = ("roce-v1", "roce-v2", "infiniband")
#: The step of their sums that has the MTU.
MTU_LABELS = ("MTU", "RDMA MTU")


def ceiling(network: Network) -> Ceiling | Skipped:
    """Return the ceiling of one network; Skipped with the reason if it cannot be worked out."""
    if network.technology not in TECHNOLOGIES:
        listed = ", ".join(sorted(TECHNOLOGIES))
        return Skipped(
            f"{network.name}: no ceiling is known for technology {network.technology!r}"
            f" (known: {listed})"
        )
    best = unknown(network) or _work_out(network)
    mtus = _shared_mtus(network)
    if not isinstance(best, Skipped) and len(mtus) > 1:
        smaller = ", ".join(map(str, mtus[:-1]))
        return _ceiling_of_largest(
            network,
            mtus,
            f"the largest that two nodes share, which no sound figure is above; others: {smaller}",
        )
    is_rdma = network.technology in RDMA or network.link == "Slingshot-10"
    if isinstance(best, Skipped) or "mtu" not in network.assumed or not is_rdma:
        return best
    return msgspec.structs.replace(best, by_mtu=_limits(_work_out_each(network, LIKELY_MTUS)))


def _work_out(network: Network) -> Ceiling | Skipped:
    module, _, function = TECHNOLOGIES[network.technology].ceiling.partition(".")
    work_out: Callable[[Network], Ceiling | Skipped] = getattr(
        import_module(f"fabricgauge.judge.ceiling.{module}"), function
    )
    return work_out(network)


def _work_out_each(network: Network, mtus: Iterable[int]) -> dict[int, Ceiling | Skipped]:
    replace = msgspec.structs.replace
    return {mtu: _work_out(replace(network, stated_mtu_bytes=mtu)) for mtu in mtus}


def _limits(ceiling_of_mtu: Mapping[int, Ceiling | Skipped]) -> dict[int, float]:
    return {
        mtu: limit.payload_bytes_per_s
        for mtu, limit in ceiling_of_mtu.items()
        if isinstance(limit, Ceiling)
    }


def _ceiling_of_largest(
    network: Network, mtus: Collection[int], expression: str, label: str = ""
) -> Ceiling | Skipped:
    """Return the ceiling of the largest of these MTUs; ``by_mtu`` has each of several.

    ``expression`` and ``label`` are those of the MTU's step; an empty label stays as it is.
    """
    replace, by_mtu = msgspec.structs.replace, _work_out_each(network, mtus)
    largest = by_mtu[max(mtus)]
    if isinstance(largest, Skipped):
        return largest
    steps = tuple(
        replace(step, label=label or step.label, expression=expression)
        if step.label in MTU_LABELS
        else step
        for step in largest.steps
    )
    return replace(largest, steps=steps, by_mtu=_limits(by_mtu) if len(mtus) > 1 else {})


def _shared_mtus(network: Network) -> tuple[int, ...]:
    """Return the MTUs of pairs of nodes by their interfaces, ascending; none if one is stated.

    The smaller one of two holds, so that the largest of all counts only if two nodes have it.
    """
    if network.technology not in OVER_TCP or isinstance(network.stated_mtu_bytes, int):
        return ()
    nodes: dict[str, int] = {}
    for member in network.members:
        nodes[member.node] = max(member.mtu_bytes, nodes.get(member.node, 0))
    return tuple(sorted(set(sorted(nodes.values())[:-1])))


def ceilings(
    networks: Iterable[Network], launches: Sequence[Launch] = ()
) -> dict[str, Ceiling | Skipped]:
    """Return the ceiling of each network, by the network's name.

    If ``launches`` went over verbs, it is that of their queue pairs' path MTU.
    """
    return {network.name: _ceiling_of_queue_pairs(network, launches) for network in networks}


def _ceiling_of_queue_pairs(network: Network, launches: Sequence[Launch]) -> Ceiling | Skipped:
    """Return the ceiling of the largest path MTU, which no sound figure exceeds."""
    of_network, used = ceiling(network), _path_mtus(network, launches)
    if isinstance(of_network, Skipped) or not used:
        return of_network
    (mtu_step,) = (step for step in of_network.steps if step.label in MTU_LABELS)
    stated = f"the network's: {mtu_step.value:g}, {mtu_step.expression}"
    expression = f"{_describe_path_mtus(used)}; {stated}"
    return _ceiling_of_largest(network, used, expression, "path MTU")


def _path_mtus(network: Network, launches: Sequence[Launch]) -> dict[int, list[int]]:
    """Return the numbers of the launches by their queue pairs' path MTU, if packets are as large.

    On Omni-Path, verbs report 4096 for larger ones as well: see ``RdmaPort.path_mtu_bytes``.
    """
    launches_of_mtu: dict[int, list[int]] = {}
    for launch in launches:
        used = launch.header.transport if launch.header else None
        if launch.network == network.name and launch.completed and isinstance(used, UsedVerbs):
            launches_of_mtu.setdefault(used.path_mtu_bytes, []).append(launch.number)
    is_reported = network.technology == "omni-path" and PATH_MTUS[-1] not in launches_of_mtu
    return launches_of_mtu if is_reported or network.technology in RDMA else {}


def _describe_path_mtus(used: Mapping[int, Sequence[int]]) -> str:
    origin = "of the queue pairs, as the launches over verbs say"
    if len(used) == 1:
        return origin
    listed = (
        f"{mtu} (launch {', '.join(map(str, numbers))})" for mtu, numbers in sorted(used.items())
    )
    return f"{origin}: {'; '.join(listed)}; the largest, which no sound figure is above"
