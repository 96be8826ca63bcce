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
    """Each network's active RoCE ports whose GID table is known; of nodes that were not asked, like
    ports are taken for a network, and the first IPv4 address for its address."""
    ips = {
        (network.name, member.node): {one.ip for one in network.rails_of(member.node)}
        for network in cluster.networks
        for member in network.members
    }
    known = [
        (one, _index(one.port.gids, ips.get((one.net, one.seen.name), set()) if one.net else None))
        for one in cluster.ports
        if _is_told(one)
    ]
    return tuple(grouped(known, lambda one: one[0].net or id(one[0].same)).values())


def _is_told(one: Port) -> bool:
    """Check for a RoCE port with GIDs that is up, as far as a printout tells it."""
    port = one.port
    if port.protocol != "roce" or not port.gids:
        return False
    if one.seen.asked:
        return bool(one.net) and port.state == "ACTIVE"
    return port.state == "ACTIVE" or isinstance(port.state, Skipped)


def _index(gids: tuple[Gid, ...], ips: set[str] | None) -> int | None:
    """The first place of version 2 with one of the addresses; with an IPv4 address where they are
    not known."""
    v2 = ((one.index, _ip(one)) for one in gids if one.kind == V2)
    return next((at for at, ip in v2 if (ip in ips if ips is not None else "." in ip)), None)


def _ip(gid: Gid) -> str:
    address = ipaddress.IPv6Address(gid.address)
    return str(address.ipv4_mapped or address)


def _gids(ports: tuple[Indexed, ...]) -> Iterator[Finding]:
    """Where no port of a network has version 2, it is of version 1, which is no fault. Where all
    have it for link-local addresses alone, none can use it."""
    having = {one.where: index for one, index in ports if index is not None}
    common, odd = unusual(having)
    for one, index in ports:
        told = [f"{one.where}: GID {gid.index} is {_ip(gid)}, {gid.kind}" for gid in one.port.gids]
        if index is None and (having or _is_link_local_alone(one)):
            its = f"its address in {one.net}" if one.net else "an IPv4 address"
            severity, others = Severity.FAIL, "the others have"
            if not having:
                severity, others = Severity.WARN, "nor have the others"
            what = f"has no GID of {V2} for {its}, {others}"
            yield found(severity, one, what, *told, remedy=NO_V2)
        elif one.where in odd:
            what = f"has its GID of {V2} at index {index}, the others at {common}"
            if isinstance(common, Skipped):
                places = listed([str(place) for place in sorted(set(odd.values()))])
                what = f"the index of the GID of {V2} differs between ports: {places}"
            yield found(Severity.WARN, one, what, *told)


def _is_link_local_alone(one: Port) -> bool:
    """Check whether all its GIDs of version 2 are of addresses that every port has by itself."""
    v2 = [_ip(gid) for gid in one.port.gids if gid.kind == V2]
    return bool(v2) and all(ip.startswith("fe80:") for ip in v2)


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
