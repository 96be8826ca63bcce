"""Do RoCE ports have their GID of version 2, and at the same index on every node? pure.

An IPv4 address is a mapped GID (InfiniBand Architecture Specification, Annex A17, RoCE v2).
"""

import ipaddress
from collections.abc import Iterator

from fabricgauge.doctor.checks import Check, examine_separately, make_finding
from fabricgauge.doctor.places import Cluster, Port, find_outliers
from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.groups import group_by
from fabricgauge.model.inventory import Gid
from fabricgauge.model.words.sentences import listed

#: The kernel's word for a GID of RoCE v2 (Linux 6.12, drivers/infiniband/core/cache.c,
#: gid_type_str).
V2 = "RoCE v2"

#: A port with the index of its GID of version 2, None without such a GID.
IndexedPort = tuple[Port, int | None]

NO_V2 = (
    "check that the address is configured on the port's own interface, and that the module of"
    " RDMA's connection manager is loaded (rdma_cm); load the driver again: it then fills the table"
)


def _group_ports(cluster: Cluster) -> tuple[tuple[IndexedPort, ...], ...]:
    """Return each network's active RoCE ports whose GID table is known.

    Like ports of nodes that did not answer count as a network, and their first IPv4 address as the
    address in it.
    """
    member_ips = {
        (network.name, member.node): {rail.ip for rail in network.rails_of(member.node)}
        for network in cluster.networks
        for member in network.members
    }
    indexed = []
    for port in filter(_is_active_roce, cluster.ports):
        network = port.network_name
        ips = member_ips.get((network, port.node.name), set()) if network else None
        indexed.append((port, _find_index(port.port.gids, ips)))
    return tuple(
        group_by(indexed, lambda entry: entry[0].network_name or id(entry[0].like_ports)).values()
    )


def _is_active_roce(port: Port) -> bool:
    """Check for a RoCE port with GIDs that is up; a printout may not give the state."""
    rdma_port = port.port
    if rdma_port.protocol != "roce" or not rdma_port.gids:
        return False
    if port.node.answered:
        return bool(port.network_name) and rdma_port.state == "ACTIVE"
    return rdma_port.state == "ACTIVE" or isinstance(rdma_port.state, Skipped)


def _find_index(gids: tuple[Gid, ...], ips: set[str] | None) -> int | None:
    v2 = ((gid.index, _get_ip(gid)) for gid in gids if gid.kind == V2)
    matches = (index for index, ip in v2 if (ip in ips if ips is not None else "." in ip))
    return next(matches, None)


def _get_ip(gid: Gid) -> str:
    address = ipaddress.IPv6Address(gid.address)
    return str(address.ipv4_mapped or address)


def _examine_ports(ports: tuple[IndexedPort, ...]) -> Iterator[Finding]:
    """Compare the ports of one network.

    A network without version 2 uses version 1, which is not a fault. If all ports have version 2
    for link-local addresses alone, no port can use it.
    """
    indices = {port.label: index for port, index in ports if index is not None}
    common, outliers = find_outliers(indices)
    for port, index in ports:
        evidence = [
            f"{port.label}: GID {gid.index} is {_get_ip(gid)}, {gid.kind}" for gid in port.port.gids
        ]
        if index is None and (indices or _has_only_link_local(port)):
            address = "an IPv4 address"
            if port.network_name:
                address = f"its address in {port.network_name}"
            severity, comparison = Severity.FAIL, "the other ports have one"
            if not indices:
                severity, comparison = Severity.WARN, "nor has any other port"
            summary = f"has no GID of {V2} for {address}, {comparison}"
            yield make_finding(severity, port, summary, *evidence, remedy=NO_V2)
        elif port.label in outliers:
            summary = f"has its GID of {V2} at index {index}, the other ports at {common}"
            if isinstance(common, Skipped):
                indices_text = listed([str(index) for index in sorted(set(outliers.values()))])
                summary = f"differs from the other ports in the index of {V2}: {indices_text}"
            yield make_finding(Severity.WARN, port, summary, *evidence)


def _has_only_link_local(port: Port) -> bool:
    """Check whether all GIDs of version 2 are of addresses that every port has by default."""
    v2_ips = [_get_ip(gid) for gid in port.port.gids if gid.kind == V2]
    return bool(v2_ips) and all(ip.startswith("fe80:") for ip in v2_ips)


GIDS = Check(
    "gid",
    "RoCE ports have their GID of version 2 at one index",
    "A program that uses one index for all nodes takes another address or RoCE v1 on this node: it"
    " cannot connect, or its packets have no priority.",
    _group_ports,
    "no RoCE port reports its GIDs",
    examine_separately(_examine_ports),
    "leave the choice to the library (no NCCL_IB_GID_INDEX, UCX_IB_GID_INDEX, -x of perftest), or"
    " bring addresses and VLANs of the interface up in the same order on all nodes",
)
