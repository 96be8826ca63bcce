"""Do RoCE ports have their GID of version 2, and at the same index on every node? pure.

An IPv4 address is a mapped GID (InfiniBand Architecture Specification, Annex A17, RoCE v2).
"""

import ipaddress
from collections.abc import Iterator

from fabricgauge.doctor.check import Check, each, found
from fabricgauge.doctor.places import Cluster, Port, unusual
from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.groups import grouped
from fabricgauge.model.inventory import Gid
from fabricgauge.words.sentences import listed

#: The kernel's word for a GID of RoCE v2 (Linux 6.12, drivers/infiniband/core/cache.c,
#: gid_type_str).
V2 = "RoCE v2"

#: A port with the index of its own GID of version 2; None where it has none.
Indexed = tuple[Port, int | None]

NO_V2 = (
    "see whether the address is configured on the port's own interface and the module of RDMA's"
    " connection manager is there (rdma_cm); load the driver again: it then fills the table"
)


def _networks(cluster: Cluster) -> tuple[tuple[Indexed, ...], ...]:
    """Each network's active RoCE ports whose GID table is known."""
    ips = {
        (network.name, member.node): {one.ip for one in network.rails_of(member.node)}
        for network in cluster.networks
        for member in network.members
    }
    known = [
        (one, _index(one.port.gids, ips.get((one.net, one.seen.name), set())))
        for one in cluster.ports
        if one.net and one.port.protocol == "roce" and one.port.state == "ACTIVE" and one.port.gids
    ]
    return tuple(grouped(known, lambda one: one[0].net).values())


def _index(gids: tuple[Gid, ...], ips: set[str]) -> int | None:
    """The first place of version 2 with one of the addresses."""
    return next((one.index for one in gids if one.kind == V2 and _ip(one) in ips), None)


def _ip(gid: Gid) -> str:
    address = ipaddress.IPv6Address(gid.address)
    return str(address.ipv4_mapped or address)


def _gids(ports: tuple[Indexed, ...]) -> Iterator[Finding]:
    """Where no port of a network has version 2, it is of version 1, which is no fault."""
    having = {one.where: index for one, index in ports if index is not None}
    common, odd = unusual(having)
    for one, index in ports if having else ():
        told = (f"{one.where}: GID {gid.index} is {_ip(gid)}, {gid.kind}" for gid in one.port.gids)
        if index is None:
            what = f"has no GID of {V2} for its address in {one.net}, the others have"
            yield found(Severity.FAIL, one, what, *told, remedy=NO_V2)
        elif one.where in odd:
            what = f"has its GID of {V2} at index {index}, the others at {common}"
            if isinstance(common, Skipped):
                places = listed([str(place) for place in sorted(set(odd.values()))])
                what = f"the index of the GID of {V2} differs between ports: {places}"
            yield found(Severity.WARN, one, what, *told)


GIDS = Check(
    "gid",
    "RoCE ports have their GID of version 2 at one index",
    "Programs that are given one index for all nodes take another address or RoCE v1 there: they"
    " cannot connect, or their packets have no priority.",
    _networks,
    "no RoCE port tells its GIDs",
    each(_gids),
    "leave the choice to the library (no NCCL_IB_GID_INDEX, UCX_IB_GID_INDEX, -x of perftest), or"
    " bring addresses and VLANs of the interface up in the same order on all nodes",
)
